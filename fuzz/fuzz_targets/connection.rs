//! Fuzz target: two endpoints under any sequence of operations.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::connection::check(data));
