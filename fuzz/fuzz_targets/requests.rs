//! See `keyloom_fuzz::requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::requests(input));
