//! Two endpoints over the worst of networks, for as long as asked: the test `adversary` of
//! `crates/dccp`, whose core is optimised in every profile.

use std::time::Instant;

use crate::{Outcome, cargo};

/// Packets of one run, unless an argument says otherwise: about 20 seconds.
pub(crate) const PACKETS: u64 = 1_000_000;

/// The run of `cargo xtask ci`.
pub(crate) fn check() -> Outcome {
    run(PACKETS, 1)
}

/// Runs `packets` packets, beginning with this seed.
pub(crate) fn run(packets: u64, seed: u64) -> Outcome {
    let begin = Instant::now();
    let status = cargo()
        .args(["test", "--locked", "--workspace", "--test", "memory"])
        .args(["--", "adversary::nothing_breaks", "--exact", "--nocapture"])
        .env("ADVERSARY_PACKETS", packets.to_string())
        .env("ADVERSARY_SEED", seed.to_string())
        .status();
    match status {
        Ok(status) if status.success() => {
            println!(
                "{packets} packets or more in {:.1} s, building included",
                begin.elapsed().as_secs_f64()
            );
            Ok(())
        }
        Ok(status) => Err(format!("the adversary found something: cargo ended with {status}")),
        Err(error) => Err(format!("cargo did not start: {error}")),
    }
}
