//! Fuzz target: the rate control with any input.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::core::check(data));
