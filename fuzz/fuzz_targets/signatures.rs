//! See `keyloom_fuzz::signatures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::signatures(input));
