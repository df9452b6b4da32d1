//! `cargo xtask integrations`: the workspace of `integrations/`, controllers for other people's
//! transports, with a lock file of its own; its bench, with another one; and `integrations/gst/`,
//! with a third, because it needs GStreamer's headers.

use std::fs;
use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo, root};

const MANIFEST: &str = "integrations/Cargo.toml";
const BENCH: &str = "integrations/bench/Cargo.toml";
const GSTREAMER: &str = "integrations/gst/Cargo.toml";
/// Pages whose commands begin a project with a controller.
const READMES: [&str; 3] =
    ["crates/noq/README.md", "integrations/quinn/README.md", "integrations/rtc/README.md"];

/// Tests of those that are in use today; and the program behind `docs/media.md` is one.
pub(crate) fn check() -> Outcome {
    run(workspace(MANIFEST, "test").args(["--package", "tfrc-rtc"]))?;
    run(workspace(BENCH, "check").arg("--quiet"))?;
    for folder in ["integrations/gst/examples", "integrations/linux-dccp", "integrations/webrtc"] {
        run(Command::new("python3").args(["-m", "unittest", "discover", folder]))?;
    }
    Ok(())
}

/// `send --raw` and `recv --raw` with the DCCP of Linux 6.1, in a guest of qemu.
pub(crate) fn linux_dccp() -> Outcome {
    run(cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]))?;
    run(Command::new("python3")
        .arg("integrations/linux-dccp/suite.py")
        .arg("--tfrc")
        .arg(built().join("release/tfrc"))
        .arg("--cache")
        .arg(built().join("linux-dccp")))
}

/// One call of real browsers across `tfrc emu`, as those that `integrations/webrtc/runs.csv` has.
pub(crate) fn browsers() -> Outcome {
    browser_programs()?;
    run(cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]))?;
    let place = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    run(Command::new("python3")
        .arg("integrations/webrtc/calls.py")
        .args(["variable-one", "--control", "libwebrtc", "--most", "3", "--out"])
        .arg(place.path().join("runs.csv"))
        .arg("--tfrc")
        .arg(built().join("release/tfrc")))
}

/// The programs that a call of a browser needs.
fn browser_programs() -> Outcome {
    let missing = |program: &&str| Command::new(program).arg("--version").output().is_err();
    match ["chromium", "npm", "ffmpeg"].iter().find(|program| missing(program)) {
        None => Ok(()),
        Some(program) => {
            Err(format!("{program} is not there: install chromium, nodejs, npm and ffmpeg of Debian"))
        }
    }
}

/// Lints and tests of all, and the lines of their READMEs.
pub(crate) fn full() -> Outcome {
    lint_and_test(MANIFEST)?;
    READMES.into_iter().try_for_each(typed)?;
    // The tables and pictures of docs/media.md.
    lint_and_test(BENCH)?;
    run(workspace(BENCH, "run").args(["--release", "--", "--check"]))
}

/// Types what a README says into an empty folder, as a reader would: the commands of each block
/// that begins a project, and the first code as its program. The folder is outside of the
/// repository: a new project would become a member of a workspace above it.
fn typed(readme: &str) -> Outcome {
    let path = root().join(readme);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let place = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    for script in scripts(&text)? {
        println!("   {readme}, typed");
        run(Command::new("sh")
            .args(["-euc", &script])
            .current_dir(place.path())
            .env("TFRC", root())
            .env("CARGO_TARGET_DIR", built().join("typed")))?;
    }
    Ok(())
}

/// The scripts of a README: its blocks of `sh` that begin a project. The first code becomes the
/// program of those that bring none.
fn scripts(readme: &str) -> Result<Vec<String>, String> {
    let code = blocks(readme, "rust").into_iter().next().ok_or("no code")?;
    // Lines that the page of a crate hides.
    let shown: Vec<&str> = code.lines().filter(|line| !line.starts_with("# ")).collect();
    let program =
        format!("fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{}\nOk(())\n}}\n", shown.join("\n"));
    let begins = blocks(readme, "sh").into_iter().filter(|block| block.contains("cargo new "));
    let scripts: Vec<String> = begins
        .map(|block| match block.contains("cargo run") {
            true => block.to_owned(),
            false => format!("{block}\ncat > src/main.rs <<'END'\n{program}END\ncargo check\n"),
        })
        .collect();
    if scripts.is_empty() { Err("no block begins a project".to_owned()) } else { Ok(scripts) }
}

/// The blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// Lints and tests of the element of GStreamer, and the look of GStreamer itself at it.
pub(crate) fn gstreamer() -> Outcome {
    let headers = Command::new("pkg-config").args(["--exists", "gstreamer-1.0 >= 1.22"]).status();
    if !headers.is_ok_and(|status| status.success()) {
        return Err("no headers of GStreamer 1.22: install libgstreamer1.0-dev and \
                    gstreamer1.0-tools of Debian, and pkg-config"
            .to_owned());
    }
    lint_and_test(GSTREAMER)?;
    run(&mut workspace(GSTREAMER, "build"))?;
    let folder = built().join("gst/debug");
    let with_plugin = |command: &mut Command| {
        run(command.env("GST_REGISTRY", folder.join("registry")).env("GST_PLUGIN_PATH", &folder))
    };
    with_plugin(Command::new("gst-inspect-1.0").arg("rtptfrcbwe"))?;
    // A call to a browser across `tfrc emu`, which fails where the sender does not follow its path.
    browser_programs()?;
    run(cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]))?;
    let place = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    with_plugin(
        Command::new("/usr/bin/python3")
            .arg("integrations/gst/examples/halving.py")
            .args(["run", "--receiver", "chromium", "--out"])
            .arg(place.path())
            .arg("--tfrc")
            .arg(built().join("release/tfrc")),
    )
}

fn lint_and_test(manifest: &str) -> Outcome {
    let lint = ["--workspace", "--all-targets", "--", "--deny", "warnings"];
    run(workspace(manifest, "clippy").args(lint))?;
    run(workspace(manifest, "test").arg("--workspace"))
}

fn workspace(manifest: &str, command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--locked", "--manifest-path", manifest]);
    let folder = if manifest == GSTREAMER { "gst" } else { "integrations" };
    cargo.env("CARGO_TARGET_DIR", built().join(folder));
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_becomes_scripts() {
        let text = "# x\n```sh\ncargo new a && cd a\ncargo add b\n```\n```rust\nlet c = 1;\n# Ok(())\n```\n\
                    ```sh\ncargo new d\ncargo run\n```\n```sh\ncargo test\n```\n";
        let scripts = scripts(text).expect("two");
        assert_eq!(scripts.len(), 2);
        assert!(
            scripts[0].starts_with("cargo new a") && scripts[0].contains("let c = 1;\nOk(())\n}"),
            "{scripts:?}"
        );
        assert!(scripts[0].ends_with("cargo check\n") && !scripts[0].contains("# Ok"), "{scripts:?}");
        assert_eq!(scripts[1], "cargo new d\ncargo run\n");
        for readme in READMES {
            super::scripts(&fs::read_to_string(root().join(readme)).expect("there")).expect("a project");
        }
    }
}
