//! See `keyloom_fuzz::model`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::model(input));
