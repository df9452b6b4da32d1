//! A scenario's network with its flows, in whichever world: simulated, emulated or relayed.
//!
//! A world lets its time go on, and says how far its flows have come and what its links have done.
//! `record` drives any of them and records it; observers ([`crate::watch`]) look at any of them.

pub(crate) mod agents;
#[cfg(all(feature = "emu", target_os = "linux"))]
pub mod emulated;
#[cfg(feature = "relay")]
pub mod relayed;
pub(crate) mod simulated;

use tfrc_units::Instant;

use crate::metric::BIN;
use crate::recording::{Recorder, Recording};
use crate::state::{Stage, World};
use crate::watch::{Watch, Watchers};

/// Lets a world run from its beginning to the end of the stage, or until it ends or `goes_on` says
/// false, which is asked at least every 100 ms of the world's time. `None` if it ended before its
/// measured part.
pub(crate) fn record<W: World>(
    world: &mut W,
    stage: &Stage<'_>,
    watches: &mut [Watch<'_>],
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Recording> {
    let Stage { from, to, .. } = *stage;
    let mut recorder = Recorder::new(stage);
    let mut watchers = Watchers::new(watches, stage, world);
    let fine = recorder.step();
    let mut next_fine = fine.map(|fine| Instant::ZERO + fine);
    let mut bin = Instant::ZERO + BIN;
    let mut now = Instant::ZERO;
    // Without a warm-up, what happens at time zero is measured as well.
    if from == now {
        world.begin_measuring();
        recorder.begin(world, now);
    }
    loop {
        let stop = bin.min(watchers.next(to)).min(next_fine.unwrap_or(to));
        if !recorder.has_begun() && from <= stop {
            let reached = world.advance(from);
            if reached < from {
                break;
            }
            world.begin_measuring();
            recorder.begin(world, reached);
        }
        let reached = world.advance(stop);
        if reached < stop {
            break;
        }
        now = reached;
        if stop == bin {
            recorder.sample(world);
            bin += BIN;
        }
        if next_fine == Some(stop) {
            recorder.look(world);
            next_fine = fine.map(|fine| stop + fine);
        }
        watchers.see(now, stage, world);
        if stop == to || !goes_on() {
            break;
        }
    }
    watchers.end(now, stage, world);
    recorder.recording(world, stage, now)
}
