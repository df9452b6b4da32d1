//! Fuzz target: journals.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::journal::check(data));
