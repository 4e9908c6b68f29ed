//! See `keyloom_fuzz::expressions`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::expressions(input));
