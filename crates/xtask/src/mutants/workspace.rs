//! A copy of the core crates, built and tested apart from the working tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::compliance::known_tests::{TestProgram, build};
use crate::mutants::MutatedPackage;
use crate::python::built;

/// Paths that the tests need besides the manifest, from the root of the repository.
const COPIED: [&str; 10] = [
    "Cargo.lock",
    "crates/tfrc",
    "crates/units",
    "crates/testkit",
    "crates/sim",
    "crates/dccp",
    "crates/feedback",
    // A part of testkit that no core crate has on, whose manifest cargo reads.
    "crates/noq",
    "docs/models",
    "testdata",
];

/// A test that takes longer hangs: the whole suite takes seconds.
const LONGEST: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
}

/// The test programs of one build.
#[derive(Debug)]
pub(super) struct TestBuild {
    programs: Vec<TestProgram>,
    /// Where their output goes.
    output: PathBuf,
    /// Where they run.
    folder: PathBuf,
}

impl Workspace {
    /// Copies `root` to `folder`. What is there already stays if it is the same, so that cargo
    /// builds only what changed.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub(super) fn new(root: &Path, folder: &Path) -> Result<Self, String> {
        let manifest =
            std::fs::read_to_string(root.join("Cargo.toml")).map_err(|e| format!("Cargo.toml: {e}"))?;
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        write_if_new(&folder.join("Cargo.toml"), for_a_copy(&manifest).as_bytes())
            .map_err(|e| format!("Cargo.toml: {e}"))?;
        for name in COPIED.into_iter().filter(|name| root.join(name).exists()) {
            copy(&root.join(name), &folder.join(name)).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn read(&self, file: &Path) -> Result<String, String> {
        std::fs::read_to_string(self.folder.join(file)).map_err(|e| format!("{}: {e}", file.display()))
    }

    pub(super) fn write(&self, file: &Path, text: &str) -> Result<(), String> {
        std::fs::write(self.folder.join(file), text).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Builds these test programs of a package; `None` is that of the unit tests.
    ///
    /// # Errors
    /// The compiler's messages.
    pub(super) fn build(
        &self,
        package: MutatedPackage,
        programs: &BTreeSet<Option<&str>>,
    ) -> Result<TestBuild, String> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(&self.folder)
            // What the tests have built of other people's crates is used again.
            .env("CARGO_TARGET_DIR", built())
            .args(["test", "--package", package.name, "--no-run"]);
        for program in programs {
            match program {
                None => command.arg("--lib"),
                Some(program) => command.args(["--test", program]),
            };
        }
        Ok(TestBuild {
            programs: build(&mut command, package.name)?,
            output: self.folder.join("output.txt"),
            folder: self.folder.join(package.folder),
        })
    }
}

impl TestBuild {
    /// Returns true if the test of this name passes; a test that hangs fails.
    ///
    /// # Errors
    /// When there is no such test.
    pub(super) fn passes(&self, test: &str) -> Result<bool, String> {
        // Unit tests and integration tests are programs of one prefix.
        for program in &self.programs {
            let Some(name) = test.strip_prefix(&program.prefix) else { continue };
            let (ended_well, output) = self.start(program, &["--exact", name])?;
            if !ended_well || output.contains("1 passed") {
                return Ok(ended_well);
            }
        }
        Err(format!("there is no test {test}"))
    }

    /// Runs every test; gives back the name of one that fails.
    ///
    /// # Errors
    /// When a program does not start.
    pub(super) fn all(&self) -> Result<Option<String>, String> {
        for program in &self.programs {
            let (ended_well, output) = self.start(program, &[])?;
            if !ended_well {
                let failed = output
                    .lines()
                    .find_map(|l| l.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
                    .map_or("a test that hangs or aborts".to_owned(), |name| {
                        format!("{}{name}", program.prefix)
                    });
                return Ok(Some(failed));
            }
        }
        Ok(None)
    }

    fn start(&self, program: &TestProgram, arguments: &[&str]) -> Result<(bool, String), String> {
        let error = |e: std::io::Error| format!("{}: {e}", program.path.display());
        let output = &self.output;
        let mut child = Command::new(&program.path)
            .args(arguments)
            .current_dir(&self.folder)
            // The same cases in every run, no search for the smallest, nothing written into the
            // tree.
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(output).map_err(error)?)
            .stderr(Stdio::null())
            .spawn()
            .map_err(error)?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(error)? {
                break Some(status);
            }
            if begin.elapsed() > LONGEST {
                child.kill().map_err(error)?;
                child.wait().map_err(error)?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = std::fs::read_to_string(output).map_err(error)?;
        Ok((status.is_some_and(|s| s.success()), text))
    }
}

/// The workspace's manifest for a part of its members, which are found by a pattern; without lints,
/// as a mutant makes warnings that are not new, and with a core that is built quickly.
fn for_a_copy(manifest: &str) -> String {
    let mut text = String::new();
    let mut lints = false;
    let mut section = "";
    for line in manifest.lines().filter(|line| !line.starts_with("default-members")) {
        if line.starts_with('[') {
            lints = line.starts_with("[workspace.lints");
            section = line;
        }
        // A mutant runs a few tests: it is built with little optimisation.
        if section == "[profile.dev.package]" && line.starts_with("tfrc = ") {
            continue;
        }
        if section == "[profile.dev.package]" && line.starts_with("tfrc-dccp = ") {
            text += "tfrc-dccp = { opt-level = 0, incremental = false }\n";
            continue;
        }
        if line.starts_with("members = ") {
            text += "members = [\"crates/*\"]\n";
        } else if !lints || line.starts_with('[') {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// Cargo compares file times: an unchanged file must not be written again.
fn write_if_new(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if std::fs::read(file).is_ok_and(|old| old == bytes) { Ok(()) } else { std::fs::write(file, bytes) }
}

/// Copies a file or a folder; files that are gone go from the copy too.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        return write_if_new(to, &std::fs::read(from)?);
    }
    std::fs::create_dir_all(to)?;
    let names = |folder: &Path| -> std::io::Result<BTreeSet<std::ffi::OsString>> {
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.file_name())).collect()
    };
    let kept = names(from)?;
    for name in names(to)?.difference(&kept) {
        let gone = to.join(name);
        if gone.is_dir() { std::fs::remove_dir_all(gone)? } else { std::fs::remove_file(gone)? }
    }
    kept.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_for_any_members() {
        let manifest = "[workspace]\nmembers = [\"bindings/*\", \"crates/*\"]\ndefault-members = [\"crates/cli\"]\n\
             [workspace.lints.rust]\nunsafe_code = \"deny\"\n[profile.dev]\nopt-level = 1\n";
        let copy =
            "[workspace]\nmembers = [\"crates/*\"]\n[workspace.lints.rust]\n[profile.dev]\nopt-level = 1\n";
        assert_eq!(for_a_copy(manifest), copy);
    }

    #[test]
    fn a_copy_follows_its_original() {
        let folder = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        std::fs::create_dir_all(from.join("sub")).expect("a folder");
        std::fs::write(from.join("sub/a"), "1").expect("a file");
        copy(&from, &to).expect("a copy");
        assert_eq!(std::fs::read_to_string(to.join("sub/a")).expect("copied"), "1");
        std::fs::write(from.join("sub/b"), "2").expect("a file");
        std::fs::remove_file(from.join("sub/a")).expect("removed");
        copy(&from, &to).expect("a copy");
        assert!(to.join("sub/b").is_file() && !to.join("sub/a").exists());
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
