//! See `keyloom_fuzz::changes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::changes(input));
