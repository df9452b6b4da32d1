//! `cargo xtask integrations`: the workspace of `integrations/`, controllers for other people's
//! transports, with a lock file of its own; its bench, with another one; and `integrations/gst/`,
//! with a third, because it needs GStreamer's headers.

use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo};

const MANIFEST: &str = "integrations/Cargo.toml";
const BENCH: &str = "integrations/bench/Cargo.toml";
const GSTREAMER: &str = "integrations/gst/Cargo.toml";

/// Format and tests of those that are in use today.
pub(crate) fn check() -> Outcome {
    format(MANIFEST)?;
    format(GSTREAMER)?;
    run(workspace(MANIFEST, "test").args([
        "--package",
        "tfrc-noq",
        "--package",
        "tfrc-rtc",
        "--package",
        "tfrc-testpath",
    ]))
}

/// Lints and tests of all.
pub(crate) fn full() -> Outcome {
    format(MANIFEST)?;
    lint_and_test(MANIFEST)?;
    // The tables and pictures of docs/media.md.
    format(BENCH)?;
    lint_and_test(BENCH)?;
    run(workspace(BENCH, "run").args(["--", "--check"]))
}

/// Lints and tests of the element of GStreamer, and the look of GStreamer itself at it.
pub(crate) fn gstreamer() -> Outcome {
    let headers = Command::new("pkg-config").args(["--exists", "gstreamer-1.0 >= 1.22"]).status();
    if !headers.is_ok_and(|status| status.success()) {
        return Err("no headers of GStreamer 1.22: install libgstreamer1.0-dev and \
                    gstreamer1.0-tools of Debian, and pkg-config"
            .to_owned());
    }
    format(GSTREAMER)?;
    lint_and_test(GSTREAMER)?;
    run(&mut workspace(GSTREAMER, "build"))?;
    let folder = built().join("gst/debug");
    run(Command::new("gst-inspect-1.0")
        .arg("rtptfrcbwe")
        .env("GST_REGISTRY", folder.join("registry"))
        .env("GST_PLUGIN_PATH", folder))
}

fn lint_and_test(manifest: &str) -> Outcome {
    let lint = ["--workspace", "--all-targets", "--", "--deny", "warnings"];
    run(workspace(manifest, "clippy").args(lint))?;
    run(workspace(manifest, "test").arg("--workspace"))
}

fn format(manifest: &str) -> Outcome {
    run(cargo().args(["fmt", "--all", "--check", "--manifest-path", manifest]))
}

fn workspace(manifest: &str, command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--locked", "--manifest-path", manifest]);
    let folder = if manifest == GSTREAMER { "gst" } else { "integrations" };
    cargo.env("CARGO_TARGET_DIR", built().join(folder));
    cargo
}
