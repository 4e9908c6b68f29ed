//! See `keyloom_fuzz::wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::wire(input));
