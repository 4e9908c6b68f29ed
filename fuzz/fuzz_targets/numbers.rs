//! See `keyloom_fuzz::numbers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::numbers(input));
