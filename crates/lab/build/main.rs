//! Puts a hash of all code that decides what is measured into the program (the cache of experiments
//! must not outlive a change of that code), and the scenarios and experiments themselves.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

mod fingerprint;
mod library;

use std::path::{Path, PathBuf};

use fingerprint::Code;

/// The directories of the code that measures, from `crates/`.
const SOURCES: [&str; 5] = ["units/src", "tfrc/src", "dccp/src", "sim/src", "lab/src"];

/// Files and directories among them that only read results, judge and show them, or emulate,
/// from `crates/`.
const SHOWS: [&str; 24] = [
    "lab/src/compare.rs",
    "lab/src/document.rs",
    "lab/src/emulated.rs",
    "lab/src/emulation",
    "lab/src/experiment/cache.rs",
    "lab/src/experiment/cell.rs",
    "lab/src/experiment/claims.rs",
    "lab/src/experiment/emulation",
    "lab/src/experiment/error.rs",
    "lab/src/experiment/human.rs",
    "lab/src/experiment/judge.rs",
    "lab/src/experiment/library.rs",
    "lab/src/experiment/mutation.rs",
    "lab/src/experiment/paper.rs",
    "lab/src/experiment/publish",
    "lab/src/experiment/results.rs",
    "lab/src/experiment/runner.rs",
    "lab/src/experiment/undecided.rs",
    "lab/src/experiment/verdict.rs",
    "lab/src/experiment/welch.rs",
    "lab/src/library.rs",
    "lab/src/record.rs",
    "lab/src/report",
    "lab/src/series.rs",
];

fn main() -> std::io::Result<()> {
    library::write()?;
    let crates = Path::new("..");
    let shows = SHOWS.map(|path| crates.join(path));
    if let Some(gone) = shows.iter().find(|path| !path.exists()) {
        return Err(std::io::Error::other(format!("{}: listed in build/main.rs, not there", gone.display())));
    }
    let mut files = Vec::new();
    for source in SOURCES.map(|path| crates.join(path)) {
        println!("cargo:rerun-if-changed={}", source.display());
        collect(&source, &shows, &mut files)?;
    }
    files.sort();
    let mut code = Code::default();
    for file in files {
        code.add(&file, &std::fs::read_to_string(&file)?);
    }
    println!("cargo:rustc-env=TFRC_CODE_VERSION={}", code.version());
    Ok(())
}

fn collect(directory: &Path, left_out: &[PathBuf], files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if left_out.contains(&path) {
            continue;
        }
        if path.is_dir() {
            collect(&path, left_out, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
