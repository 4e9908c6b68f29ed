//! See `keyloom_fuzz::times`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::times(input));
