//! See `keyloom_fuzz::statements`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::statements(input));
