//! See `keyloom_fuzz::import`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::import(input));
