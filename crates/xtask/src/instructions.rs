//! `cargo xtask instructions`: what the core costs for each data packet, counted by valgrind,
//! against what was recorded.
//!
//! Counts do not depend on how busy the machine is. They do depend on the compiler, so a new one
//! may need `--write`.

use std::process::Command;

use crate::{Outcome, cargo, root};

/// Where the figure is kept.
const RECORD: &str = "benches/instructions.txt";
/// How much more is too much, as a share.
const GROWTH: f64 = 0.03;
/// Two lengths of run: their difference leaves the set-up out.
const PACKETS: [u32; 2] = [20_000, 120_000];

/// Compares, or writes the record anew.
pub(crate) fn check() -> Outcome {
    let (per_packet, recorded) = (measure()?, recorded()?);
    println!(
        "   {per_packet:.1} instructions for a data packet (sender, receiver, feedback); recorded: {recorded:.1}"
    );
    if per_packet > recorded * (1.0 + GROWTH) {
        let more = (per_packet / recorded - 1.0) * 100.0;
        return Err(format!(
            "{more:.1} % more than recorded; if that is meant: cargo xtask instructions --write"
        ));
    }
    Ok(())
}

pub(crate) fn write() -> Outcome {
    let text = format!("{:.1}\n", measure()?);
    print!("{RECORD}: {text}");
    std::fs::write(root().join(RECORD), text).map_err(|error| format!("{RECORD}: {error}"))
}

fn recorded() -> Result<f64, String> {
    let text = std::fs::read_to_string(root().join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
    text.trim().parse().map_err(|_| format!("{RECORD}: not a number"))
}

fn measure() -> Result<f64, String> {
    let manifest = root().join("benches/Cargo.toml").display().to_string();
    let arguments =
        ["build", "--locked", "--quiet", "--release", "--no-default-features", "--manifest-path", &manifest];
    let built = cargo().args(arguments).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the benches do not build".to_owned());
    }
    // What the pattern itself costs is not work of the core.
    let cost =
        |which: &str| Ok::<f64, String>(instructions(which, PACKETS[1])? - instructions(which, PACKETS[0])?);
    Ok((cost("tfrc")? - cost("nothing")?) / f64::from(PACKETS[1] - PACKETS[0]))
}

fn instructions(which: &str, packets: u32) -> Result<f64, String> {
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(root().join("benches/target/release/core"))
        .args([which, &packets.to_string()])
        .output()
        .map_err(|error| format!("valgrind (Debian package valgrind) does not start: {error}"))?;
    let text = String::from_utf8_lossy(&out.stderr);
    let line =
        text.lines().find(|line| line.contains("refs:")).ok_or_else(|| format!("valgrind says: {text}"))?;
    let digits: String = line.rsplit(':').next().unwrap_or("").chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("valgrind says: {line}"))
}
