//! Fuzz target: feature negotiation.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::features::check(data));
