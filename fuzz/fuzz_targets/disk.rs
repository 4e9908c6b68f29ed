//! See `keyloom_fuzz::disk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::disk(input));
