//! The tests that there are, by asking the test programs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::cargo;

/// A line of `cargo test --message-format json`, as far as it matters.
#[derive(Debug, Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<BuildTarget>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct BuildTarget {
    kind: Vec<String>,
}

/// A test program and what its tests' names begin with in our lists.
#[derive(Debug)]
pub(crate) struct TestProgram {
    pub(crate) prefix: String,
    pub(crate) path: PathBuf,
}

/// Every test of these packages, as `package::path`. The files of a crate's `tests/` are modules of
/// its test programs, so that a file's name comes first in the path.
///
/// # Errors
/// When cargo or a test program fails.
pub(crate) fn of(packages: &BTreeSet<String>) -> Result<BTreeSet<String>, String> {
    let mut all = BTreeSet::new();
    let mut command = cargo();
    // The whole workspace, as the tests themselves are built: nothing is compiled twice.
    command.args(["test", "--locked", "--quiet", "--workspace", "--no-run"]);
    let built = messages(&mut command)?;
    for package in packages {
        for TestProgram { prefix, path } in programs(&built, package) {
            let output = Command::new(&path)
                .args(["--list", "--format", "terse"])
                .output()
                .map_err(|e| format!("{}: {e}", path.display()))?;
            let list = String::from_utf8_lossy(&output.stdout);
            all.extend(
                list.lines().filter_map(|l| l.strip_suffix(": test")).map(|name| format!("{prefix}{name}")),
            );
        }
    }
    Ok(all)
}

/// Runs a `cargo test --no-run` and says which programs it built for `package`.
///
/// # Errors
/// The compiler's messages.
pub(crate) fn build(command: &mut Command, package: &str) -> Result<Vec<TestProgram>, String> {
    Ok(programs(&messages(command)?, package))
}

/// Runs a `cargo test --no-run`; gives its messages.
///
/// # Errors
/// The compiler's messages.
fn messages(command: &mut Command) -> Result<String, String> {
    let output = command
        .env("CARGO_TERM_QUIET", "true")
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if !output.status.success() {
        return Err(format!("the tests do not build:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The test programs of a package among those that cargo says it has built.
fn programs(messages: &str, package: &str) -> Vec<TestProgram> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    messages.filter_map(|message| program(message, package)).collect()
}

fn program(message: Message, package: &str) -> Option<TestProgram> {
    let (target, path) = (message.target?, message.executable?);
    let folder = message.manifest_path?.parent()?.file_name()?.to_string_lossy().into_owned();
    let is_ours = folder == package.strip_prefix("tfrc-").unwrap_or(package);
    let is_test = matches!(target.kind.first()?.as_str(), "test" | "lib");
    (is_ours && is_test).then(|| TestProgram { prefix: format!("{package}::"), path })
}
