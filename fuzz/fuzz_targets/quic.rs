//! Fuzz target: the messages and headers of sessions over QUIC.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::quic::check(data));
