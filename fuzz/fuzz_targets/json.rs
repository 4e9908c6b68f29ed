//! See `keyloom_fuzz::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::json(input));
