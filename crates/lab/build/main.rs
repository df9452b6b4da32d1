//! Puts a hash of all code that decides what is measured into the program: the cache of runs must
//! not outlive a change of that code.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

mod fingerprint;
mod locked;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use fingerprint::Code;

/// The crates that decide what is measured: their folders in `crates/`, and their names.
const CRATES: [(&str, &str); 6] = [
    ("units", "tfrc-units"),
    ("tfrc", "tfrc"),
    ("dccp", "tfrc-dccp"),
    ("sim", "tfrc-sim"),
    ("scenario", "tfrc-scenario"),
    ("lab", "tfrc-lab"),
];

fn main() -> io::Result<()> {
    let mut code = Code::default();
    for (folder, _) in CRATES {
        let source = Path::new("..").join(folder).join("src");
        println!("cargo:rerun-if-changed={}", source.display());
        let mut files = Vec::new();
        collect(&source, &mut files)?;
        for file in files {
            code.add(&file, &std::fs::read_to_string(&file)?);
        }
    }
    let lock = Path::new("../../Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    code.add(lock, &locked::packages(&std::fs::read_to_string(lock)?, &CRATES.map(|(_, name)| name)));
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("-vV").output()?;
    code.add(Path::new("rustc"), &String::from_utf8_lossy(&version.stdout));
    println!("cargo:rustc-env=TFRC_CODE_VERSION={}", code.version());
    Ok(())
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
