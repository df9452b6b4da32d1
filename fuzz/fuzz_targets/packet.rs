//! Fuzz target: the packet parser.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::packet::check(data));
