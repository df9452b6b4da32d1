//! Puts a hash of all code that decides what is measured into the program: the cache of runs must
//! not outlive a change of that code.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

use std::io;
use std::path::Path;
use std::process::Command;

use tfrc_fingerprint::sources::{self, CRATES};
use tfrc_fingerprint::{Code, locked};

fn main() -> io::Result<()> {
    let mut code = Code::default();
    for (folder, _) in CRATES {
        println!("cargo:rerun-if-changed=../{folder}/src");
    }
    for file in sources::of(Path::new(".."))? {
        code.add(&file, &std::fs::read_to_string(&file)?);
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
