//! Two endpoints in virtual time over the worst of networks: random loss, duplication, reordering,
//! corruption, delay spikes, clock steps, blackholes and address changes. What happens follows from
//! a seed alone.
//!
//! `cargo xtask adversary --packets N --seed S` runs it for longer; the plain test is a short one.

mod end;
mod network;
mod plan;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::{Outcome, World};

/// Packets of the plain test.
const PACKETS: u64 = 60_000;
const SEED: u64 = 1;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a whole number"))
    })
}

#[test]
fn nothing_breaks() {
    let (packets, first) = (number("ADVERSARY_PACKETS", PACKETS), number("ADVERSARY_SEED", SEED));
    let mut total = Outcome::default();
    let mut seed = first;
    while total.packets < packets {
        match catch_unwind(AssertUnwindSafe(|| World::new(seed).run())) {
            Ok(outcome) => total.add(&outcome),
            Err(_) => panic!("seed={seed}; to repeat it: cargo xtask adversary --packets 1 --seed {seed}"),
        }
        seed += 1;
    }
    #[expect(clippy::disallowed_macros, reason = "what a long run of `cargo xtask adversary` came to")]
    {
        println!("seeds {first}..{seed}: {total:?}");
    }
    // The network is bad, but not so bad that nothing is tested.
    assert!(total.delivered * 4 > total.packets || packets < 10_000, "{total:?}");
    assert!(total.orderly * 3 > seed - first || packets < 10_000, "{total:?}");
}
