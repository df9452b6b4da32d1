//! Puts a hash of all sources that decide what is measured into the program: the cache of experiments must not outlive
//! a change of them.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

use std::path::{Path, PathBuf};

/// The sources, from this directory.
const SOURCES: [&str; 5] = ["../units/src", "../tfrc/src", "../dccp/src", "../sim/src", "src"];
/// What only reads results and shows them.
const SHOWS: [&str; 15] = [
    "report",
    "human.rs",
    "judge.rs",
    "cell.rs",
    "verdict.rs",
    "claims.rs",
    "results.rs",
    "library.rs",
    "paper.rs",
    "mutation.rs",
    "undecided.rs",
    "cache.rs",
    "runner.rs",
    "publish",
    "tests.rs",
];

fn main() -> std::io::Result<()> {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        collect(Path::new(source), &mut files)?;
    }
    files.sort();
    // Fowler-Noll-Vo 1a, 128 bits.
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        for byte in name.bytes().chain(std::fs::read(&file)?) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    println!("cargo:rustc-env=TFRC_CODE_VERSION={:012x}", hash >> 80);
    Ok(())
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if SHOWS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
