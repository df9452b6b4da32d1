//! Two endpoints over the worst of networks, for as long as asked: the module `adversary` of the
//! test `memory` of `crates/dccp`, whose core is optimised in every profile.

use std::io::Write as _;
use std::process::Stdio;

use crate::{Outcome, cargo};

/// Packets of one run, unless an argument says otherwise.
pub(crate) const PACKETS: u64 = 1_000_000;
/// Its name as test programs know it.
const TEST: &str = "adversary::nothing_breaks";

/// Runs `packets` packets, beginning with this seed.
pub(crate) fn run(packets: u64, seed: u64) -> Outcome {
    let ended = cargo()
        .args(["test", "--locked", "--workspace", "--test", "memory"])
        .args(["--", TEST, "--exact", "--nocapture"])
        .env("ADVERSARY_PACKETS", packets.to_string())
        .env("ADVERSARY_SEED", seed.to_string())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    let _ = std::io::stdout().write_all(&ended.stdout);
    if !ended.status.success() {
        return Err(format!(
            "no clean end ({}) of {packets} packets from seed {seed}; a line `seed=` above repeats the \
             fault, without one the build failed",
            ended.status
        ));
    }
    // Cargo is content if no test has the name.
    let ran = String::from_utf8_lossy(&ended.stdout).contains("1 passed");
    if ran { Ok(()) } else { Err(format!("there is no test {TEST}")) }
}
