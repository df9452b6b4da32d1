//! The daily loop: what a change is tried with many times a day, in at most three minutes once the
//! workspace is built.

use crate::{Outcome, cargo};

/// Tests left to `cargo xtask ci`: they drive a browser, ffmpeg and Wireshark, which a machine for
/// daily work need not have.
const LEFT_OUT: [&str; 4] = ["browser::", "capture::", "opens_in_tshark", "video::"];

pub(crate) fn run() -> Outcome {
    step(&["fmt", "--all", "--check"])?;
    step(&["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    let mut tests = vec!["test", "--locked", "--workspace", "--lib", "--bins", "--tests", "--"];
    for name in LEFT_OUT {
        tests.extend(["--skip", name]);
    }
    step(&tests)
}

fn step(arguments: &[&str]) -> Outcome {
    println!("\n== cargo {}", arguments.join(" "));
    let status = cargo().args(arguments).status().map_err(|e| format!("cargo did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} ended with {status}", arguments.join(" "))) }
}
