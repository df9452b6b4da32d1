//! The Python package: its wheel, built and installed as users do it, and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, build_command, cargo, files, root};

/// Python's packages that the tests use, in the versions that they are written for.
const REQUIREMENTS: &str = "bindings/python/tests/requirements.txt";

/// Installs a gigabyte of them in a ninth of pip's time.
const UV: &str = "uv==0.13.9";

/// Settings of the wheel and of what looks at it.
const SETTINGS: &str = "bindings/python/pyproject.toml";

/// Builds the wheel, installs it with what the tests need into a virtual environment in
/// `target/python`, holds the types against the module (mypy, stubtest), and runs pytest; the
/// program and an example of `tfrc` are built for the tests that compare.
pub(crate) fn check() -> Outcome {
    let python = environment()?;
    let pip = || pip(&python);
    let wheels = root().join("target/wheels");
    run(pip()
        .args(["wheel", "--no-deps", "./bindings/python", "--wheel-dir"])
        .arg(&wheels)
        .args(["--config-settings", "build-args=--profile dev --locked"]))?;
    run(pip().args(["install", "--no-deps", "--force-reinstall"]).arg(newest(&wheels)?))?;
    let program = development()?;
    run(cargo().args(["build", "--locked", "--quiet", "--workspace", "--example", "advisor_trace"]))?;
    let module = || {
        let mut command = Command::new(&python);
        command.env("MYPY_CACHE_DIR", root().join("target/python/mypy"));
        command
    };
    run(module().args(["-m", "mypy", "--config-file", SETTINGS, "bindings/python/python/tfrc"]))?;
    run(module()
        .args(["-m", "mypy.stubtest", "--mypy-config-file", SETTINGS, "--ignore-unused-allowlist"])
        .args(["--allowlist", "bindings/python/tests/stubtest.txt", "tfrc"]))?;
    run(Command::new(&python)
        .args(["-m", "pytest", "--numprocesses", "2", "--config-file", SETTINGS, "bindings/python"])
        .env("TFRC_PROGRAM", program)
        .env("TFRC_ADVISOR_TRACE", built().join("debug/examples/advisor_trace")))?;
    // Three experiments of docs/results.md, chosen by the commit.
    let chosen = files::commit()?.unwrap_or_default();
    run(Command::new(&python).args(["-m", "tfrc.lab.cli", "check", "--sample", &chosen]))
}

/// The interpreter of the virtual environment in `target/python`, with what the tests of the
/// bindings use installed there: by one step at a time.
pub(crate) fn environment() -> Result<PathBuf, String> {
    let page = root().join("target/python.lock");
    let broken = |error: std::io::Error| format!("{}: {error}", page.display());
    std::fs::create_dir_all(root().join("target")).map_err(broken)?;
    let turn = std::fs::File::create(&page).map_err(broken)?;
    turn.lock().map_err(broken)?;
    let python = virtual_environment(&root().join("target/python"))?;
    run(pip(&python).args(["install", UV]))?;
    run(Command::new(&python)
        .args(["-m", "uv", "pip", "install", "--quiet", "--no-cache", "--python"])
        .arg(&python)
        .args(["--requirement", REQUIREMENTS])
        .env("TMPDIR", scratch()))?;
    Ok(python)
}

/// The interpreter of a virtual environment, which is made if it is not there.
pub(crate) fn virtual_environment(folder: &Path) -> Result<PathBuf, String> {
    if !folder.join("bin/pip").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    std::fs::create_dir_all(scratch()).map_err(|e| format!("{}: {e}", scratch().display()))?;
    Ok(folder.join("bin/python"))
}

/// pip, which leaves no cache and unpacks in `target`: the system's folder for temporary files is
/// often too small for what the tests need (a gigabyte).
pub(crate) fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]);
    command.env("TMPDIR", scratch());
    command
}

fn scratch() -> PathBuf {
    root().join("target/python/tmp")
}

/// The release build of the program, for hours of runs and for measurements.
pub(crate) fn release() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]))?;
    Ok(built().join("release/tfrc"))
}

/// The development build, which the tests have built: results are equal in every profile.
pub(crate) fn development() -> Result<PathBuf, String> {
    run(&mut build_command())?;
    Ok(built().join("debug/tfrc"))
}

/// The folder that cargo builds into.
pub(crate) fn built() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |path| root().join(path))
}

/// The wheel that was written last.
fn newest(folder: &Path) -> Result<PathBuf, String> {
    let broken = |error: std::io::Error| format!("{}: {error}", folder.display());
    let wheels = std::fs::read_dir(folder).map_err(broken)?.filter_map(Result::ok).map(|entry| entry.path());
    let wheels = wheels.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    let newest = wheels.max_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
    newest.ok_or_else(|| format!("{}: no wheel was built", folder.display()))
}

/// Runs a command, at the root of the repository unless it has a folder.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let shown = command.get_program().to_string_lossy().into_owned();
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let status = command.status().map_err(|e| format!("{shown} did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} ended with {status}")) }
}
