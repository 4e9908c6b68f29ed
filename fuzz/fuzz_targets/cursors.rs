//! See `keyloom_fuzz::cursors`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| keyloom_fuzz::cursors(input));
