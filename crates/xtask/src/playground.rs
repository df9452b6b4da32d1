//! The playground of `docs/playground`: its module, which is committed and checked by a hash of its
//! sources, and its pages in a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tfrc_fingerprint::{Code, locked, sources};

use crate::files::OF_FEATURES;
use crate::python::{built, run as command};
use crate::{Outcome, build_command, cargo, paths, root};

const TARGET: &str = "wasm32-unknown-unknown";
/// The crate of the module, outside of the workspace.
const CRATE: &str = "crates/playground";
/// The module as a script, so that a page in a file can load it: by gzip and base64.
const MODULE: &str = "docs/playground/module.js";
/// Sources besides those that decide what is measured: the crate's own, and the documents.
const FURTHER: [&str; 3] =
    ["crates/playground/src", "crates/report/src/document.rs", "crates/report/src/record.rs"];
/// Bytes of the folder that a visitor downloads, each file by gzip.
const MOST_BYTES: u64 = 900_000;
/// Bytes of the largest file: base64 writes four for three.
const MOST_COMMITTED: u64 = MOST_BYTES / 3 * 4;

/// Builds the module from the sources, and writes it into the page's folder.
pub(crate) fn build() -> Outcome {
    let module = module()?;
    let packed = output(Command::new("gzip").args(["-9", "--no-name", "--stdout"]).arg(&module))?;
    let (folder, version) = (root().join("target/playground"), version()?);
    let file = folder.join("module.gz");
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, packed)).map_err(failed)?;
    let text = output(Command::new("base64").arg("--wrap=0").arg(&file))?;
    let text = String::from_utf8(text).map_err(|error| format!("base64: {error}"))?;
    let script = format!("{}\"use strict\";\nconst TFRC_MODULE = \"{text}\";\n", head(&version));
    std::fs::write(root().join(MODULE), script).map_err(|error| format!("{MODULE}: {error}"))?;
    println!("   {MODULE}: version {version}");
    sizes()
}

/// Compares the version in the committed module with that of the sources, and looks at sizes.
pub(crate) fn check() -> Outcome {
    let committed = std::fs::read_to_string(root().join(MODULE)).map_err(|e| format!("{MODULE}: {e}"))?;
    let version = version()?;
    if !committed.starts_with(&head(&version)) {
        let first = committed.lines().next().unwrap_or_default();
        return Err(format!(
            "{MODULE} is of other sources ({first:?}; these are {version}): run `cargo xtask playground`, \
             three minutes of CPU, and commit it"
        ));
    }
    println!("   {MODULE} is of these sources, version {version}");
    sizes()
}

/// The pages in Chromium: figures equal to those of the program, every example by pictures, labels,
/// contrast, keys and frames.
pub(crate) fn browse() -> Outcome {
    check()?;
    module()?;
    command(&mut build_command())?;
    let program = built().join("debug/tfrc");
    let pictures = built().join("playground/pictures");
    command(
        Command::new("python3")
            .arg(root().join(CRATE).join("check.py"))
            .args([&program, &pictures])
            .current_dir(root()),
    )
}

/// The first lines of the script.
fn head(version: &str) -> String {
    format!(
        "// The simulator as a module, version {version} of its sources: `cargo xtask playground` writes it.\n"
    )
}

/// Builds the module; its paths are those of the repository, and of crates by their names.
fn module() -> Result<PathBuf, String> {
    installed()?;
    command(
        cargo()
            .args(["build", "--release", "--locked", "--target", TARGET])
            .current_dir(root().join(CRATE))
            .env("CARGO_TARGET_DIR", built())
            .env("RUSTFLAGS", paths::of_nobody()),
    )?;
    Ok(built().join(TARGET).join("release/tfrc_playground.wasm"))
}

/// Adds the standard library of the target where rustup is, and says what to install elsewhere.
fn installed() -> Outcome {
    if let Ok(status) = Command::new("rustup").args(["target", "add", TARGET]).stderr(Stdio::null()).status()
        && status.success()
    {
        return Ok(());
    }
    let folder = output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if Path::new(String::from_utf8_lossy(&folder).trim()).exists() {
        return Ok(());
    }
    Err(format!(
        "this compiler has no standard library for {TARGET}: with rustup, `rustup target add {TARGET}`; \
         with Debian's compiler (1.95 or later), `apt-get install libstd-rust-dev-wasm32 lld`"
    ))
}

/// A hash of the sources that decide what the module computes: not of comments, tests and layout,
/// of modules that it does not have, or of the compiler.
fn version() -> Result<String, String> {
    let mut code = Code::default();
    let mut files = sources::of(&root().join("crates")).map_err(|error| format!("crates: {error}"))?;
    for further in FURTHER {
        let path = root().join(further);
        if path.is_file() {
            files.push(path);
        } else {
            let listed = std::fs::read_dir(&path).map_err(|error| format!("{further}: {error}"))?;
            files.extend(listed.flatten().map(|entry| entry.path()));
        }
    }
    for file in &files {
        let name = file.strip_prefix(root()).unwrap_or(file);
        if OF_FEATURES.iter().any(|left_out| name.starts_with(left_out.trim_end_matches('/'))) {
            continue;
        }
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        code.add(name, &text);
    }
    let lock = Path::new(CRATE).join("Cargo.lock");
    let text = std::fs::read_to_string(root().join(&lock)).map_err(|e| format!("{}: {e}", lock.display()))?;
    code.add(&lock, &locked::packages(&text, &["tfrc-playground"]));
    Ok(code.version())
}

/// The size of what a visitor downloads.
fn sizes() -> Outcome {
    let folder = root().join("docs/playground");
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut total = 0;
    for file in files.flatten().map(|entry| entry.path()) {
        let size = std::fs::metadata(&file).map_or(0, |about| about.len());
        if size > MOST_COMMITTED {
            return Err(format!("{} has {size} bytes; at most {MOST_COMMITTED}", file.display()));
        }
        // Pictures are for pages of the book.
        if file.extension().is_none_or(|ending| ending != "png") {
            total += output(Command::new("gzip").args(["-9", "--stdout"]).arg(&file))?.len() as u64;
        }
    }
    println!("   the pages have {total} bytes by gzip, of {MOST_BYTES}");
    if total > MOST_BYTES {
        Err(format!("the pages have {total} bytes by gzip; at most {MOST_BYTES}"))
    } else {
        Ok(())
    }
}

/// The standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} did not start: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}
