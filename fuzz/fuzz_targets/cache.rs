//! Fuzz target: files of the cache.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrc_fuzz::cache::check(data));
