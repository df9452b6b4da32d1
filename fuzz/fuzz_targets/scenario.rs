//! Fuzz target: the scenario file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::scenario::check(data));
