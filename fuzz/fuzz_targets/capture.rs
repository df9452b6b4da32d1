//! Fuzz target: capture files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::capture::check(data));
