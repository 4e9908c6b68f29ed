//! See `keyloom_fuzz::key_bytes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::key_bytes(input));
