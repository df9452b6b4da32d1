//! Fuzz target: the options of a DCCP packet.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::options::check(data));
