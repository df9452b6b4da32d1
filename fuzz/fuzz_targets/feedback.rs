//! Fuzz target: reports of TWCC, RFC 8888 and QUIC.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::feedback::check(data));
