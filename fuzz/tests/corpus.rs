//! The corpora through their targets, and short runs of bytes without a pattern.
#![expect(clippy::disallowed_macros, reason = "a failure names its file or its bytes")]

use std::path::Path;

#[test]
fn the_corpora_break_nothing() {
    for (name, check) in tfrc_fuzz::TARGETS {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut files: Vec<_> = std::fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
            .map(|entry| entry.expect("readable").path())
            .collect();
        files.sort();
        assert!(files.len() >= 3, "{name} has a corpus");
        for file in files {
            let bytes = std::fs::read(&file).expect("readable");
            eprintln!("{}", file.display());
            check(&bytes);
        }
    }
}

#[test]
fn noise_breaks_nothing() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut byte = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    for (name, check) in tfrc_fuzz::TARGETS {
        for n in 0..100 {
            let bytes: Vec<u8> = (0..n * 4).map(|_| byte()).collect();
            eprintln!("{name}: {bytes:?}");
            check(&bytes);
        }
    }
}
