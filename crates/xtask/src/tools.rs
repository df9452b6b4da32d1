//! Programs from outside: those of the system, by `./check`, and cargo's, built once for each
//! version, outside of `target`.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, cargo, root};

/// A program of crates.io that a check runs.
pub(crate) struct Tool {
    /// The package and its program.
    name: &'static str,
    /// The version whose answers the checks are written for.
    pub(crate) version: &'static str,
    /// Further arguments of `cargo install`.
    features: &'static [&'static str],
}

/// Licences, sources and duplicate versions against `deny.toml`.
pub(crate) const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", features: &[] };
/// Public items of a crate against those of an earlier version.
pub(crate) const CARGO_SEMVER_CHECKS: Tool =
    Tool { name: "cargo-semver-checks", version: "0.51.0", features: &[] };
/// Software bills of materials.
pub(crate) const CARGO_CYCLONEDX: Tool = Tool { name: "cargo-cyclonedx", version: "0.5.9", features: &[] };
/// Debian packages.
pub(crate) const CARGO_DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0", features: &[] };
/// The book as a site; without its server.
pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", features: &["--no-default-features", "--features", "search"] };

impl Tool {
    /// The command that runs the program; it is built first if it is not there in this version.
    ///
    /// # Errors
    /// When cargo cannot build it.
    pub(crate) fn command(&self) -> Result<Command, String> {
        let program = self.program();
        if !program.exists() {
            println!("   building {} {}; this is done once", self.name, self.version);
            let place = self.place();
            let status = cargo()
                .args(["install", "--locked", "--quiet", self.name, "--version", self.version, "--root"])
                .arg(&place)
                .args(self.features)
                .status()
                .map_err(|e| format!("cargo did not start: {e}"))?;
            if !status.success() {
                return Err(format!("cargo install {} ended with {status}", self.name));
            }
        }
        let mut command = Command::new(program);
        command.current_dir(root());
        Ok(command)
    }

    /// A folder of the user's cache, which outlives `target`.
    fn place(&self) -> PathBuf {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
        let tools = cache.map_or_else(|| root().join("target/tools"), |cache| cache.join("tfrc-tools"));
        tools.join(format!("{}-{}", self.name, self.version))
    }

    fn program(&self) -> PathBuf {
        self.place().join("bin").join(self.name)
    }
}

/// Looks for the programs of the system that the tests use, and installs them where that is
/// possible.
pub(crate) fn check() -> Outcome {
    let status = Command::new("bash")
        .args(["check", "--tools"])
        .current_dir(root())
        .status()
        .map_err(|e| format!("bash did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err("the line above installs what is missing".to_owned()) }
}
