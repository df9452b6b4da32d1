//! `cargo xtask release`: the program, a Debian package, the static program, an image with it, and
//! the software bill of materials.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::tools::{CARGO_CYCLONEDX, CARGO_DEB};
use crate::{Outcome, cargo, root};

/// Folder of the files for users; the program that needs a C library stays in `target/release`.
const DIST: &str = "target/dist";
/// Manual pages and completions for the package; `crates/cli/Cargo.toml` names these paths.
const SHARE: &str = "target/deb-share";
/// The name and path of each completion, by the name of its shell.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "tfrc.bash"), ("fish", "tfrc.fish"), ("zsh", "_tfrc")];

/// Features of the program that users get, besides the default ones: it is built once, for many.
const FEATURES: [&str; 2] = ["--features", "quic"];

/// Name of a step, and the function that returns the file it made.
type Step = (&'static str, fn() -> Result<PathBuf, String>);

/// The steps in their order: later steps read the files of earlier ones.
const STEPS: [Step; 5] = [
    ("program", program),
    ("bill of materials", bill),
    ("Debian package", package),
    ("static program", static_program),
    ("image", image),
];

/// Makes all files; prints path, size and time of each.
pub(crate) fn run() -> Outcome {
    std::fs::create_dir_all(root().join(DIST)).map_err(|e| format!("{DIST}: {e}"))?;
    let mut lines = Vec::new();
    for (name, step) in STEPS {
        println!("== {name}");
        let since = Instant::now();
        let line = match step() {
            Ok(file) => {
                let size = std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len();
                let shown = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
                format!("{shown}, {:.1} MB", size as f64 / 1e6)
            }
            // Not every machine has podman.
            Err(why) if name == "image" => format!("not made: {why}"),
            Err(why) => return Err(format!("{name}: {why}")),
        };
        lines.push(format!("{name:<18} {:>5.0} s  {line}", since.elapsed().as_secs_f64()));
    }
    println!("\n{}", lines.join("\n"));
    Ok(())
}

fn program() -> Result<PathBuf, String> {
    done(cargo().args(["build", "--release", "--locked", "--package", "tfrc-cli"]).args(FEATURES))?;
    Ok(root().join("target/release/tfrc"))
}

/// The bill of materials of the program (CycloneDX 1.5, JSON).
fn bill() -> Result<PathBuf, String> {
    let mut command = CARGO_CYCLONEDX.command()?;
    command.args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--describe", "binaries"]);
    done(command.args(["--manifest-path", "crates/cli/Cargo.toml"]).args(FEATURES))?;
    let written = root().join("crates/cli/tfrc_bin.cdx.json");
    let bill = root().join(DIST).join("tfrc.cdx.json");
    std::fs::rename(&written, &bill).map_err(|e| format!("{}: {e}", written.display()))?;
    // It also writes a bill for this tool, which is not for users.
    let _ = std::fs::remove_file(root().join("crates/xtask/xtask_bin.cdx.json"));
    Ok(bill)
}

/// The program with its manual pages, completions, systemd unit and licences.
fn package() -> Result<PathBuf, String> {
    let share = root().join(SHARE);
    let _ = std::fs::remove_dir_all(&share);
    let tfrc = root().join("target/release/tfrc");
    done(Command::new(&tfrc).arg("man").arg(share.join("man1")))?;
    for (shell, name) in COMPLETIONS {
        let file = std::fs::File::create(share.join(name)).map_err(|e| format!("{name}: {e}"))?;
        done(Command::new(&tfrc).args(["completions", shell]).stdout(file))?;
    }
    let mut command = CARGO_DEB.command()?;
    command.args([
        "deb",
        "-q",
        "--no-build",
        "--no-strip",
        "--locked",
        "--package",
        "tfrc-cli",
        "--output",
        DIST,
    ]);
    done(&mut command)?;
    newest(&root().join(DIST), "deb")
}

/// The program, linked statically with the C library (glibc).
fn static_program() -> Result<PathBuf, String> {
    let target = host()?;
    let mut command = cargo();
    command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    let arguments = ["build", "--release", "--locked", "--package", "tfrc-cli", "--target", &target];
    done(command.args(arguments).args(FEATURES))?;
    let (built, given) =
        (root().join("target").join(target).join("release/tfrc"), root().join(DIST).join("tfrc"));
    std::fs::copy(&built, &given).map_err(|e| format!("{}: {e}", built.display()))?;
    Ok(given)
}

/// The image that `contrib/Containerfile` describes, as an archive that podman and docker load.
fn image() -> Result<PathBuf, String> {
    let archive = root().join(DIST).join("tfrc-image.tar");
    let podman = || {
        let mut command = Command::new("podman");
        // The driver that needs nothing of the kernel; an image of one layer loses nothing by it.
        command.current_dir(root()).args(["--storage-driver", "vfs"]);
        command
    };
    done(podman().args(["build", "--quiet", "--network", "host", "--tag", "tfrc"]).args([
        "--file",
        "contrib/Containerfile",
        DIST,
    ]))?;
    let _ = std::fs::remove_file(&archive);
    done(podman().args(["save", "--quiet", "--output"]).arg(&archive).arg("tfrc"))?;
    Ok(archive)
}

/// The target that rustc compiles for by itself.
fn host() -> Result<String, String> {
    let told = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc did not start: {e}"))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

/// The file of a folder with this ending that was written last.
fn newest(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let files = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let written = path.metadata().and_then(|about| about.modified()).ok()?;
        (path.extension()? == ending).then_some((written, path))
    });
    files.max().map(|(_, path)| path).ok_or_else(|| format!("no .{ending} in {}", folder.display()))
}

/// Runs a command to its end.
///
/// # Errors
/// When it does not start, or ends with another status than 0.
fn done(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("{name} did not start: {error}")),
    }
}
