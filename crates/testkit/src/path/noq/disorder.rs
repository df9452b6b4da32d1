//! Packets that come late and are not lost, next to the transport's own CUBIC.

use std::fmt::Write as _;
use std::time::Instant;

use tfrc::study::Profile;
use tfrc_units::{Duration, Rate};

use super::{Factory, Noq, cubic};
use crate::path::quic::{Quic, Traffic, pair};
use crate::path::{Rule, World};
use crate::{Fate, Random, Side, Wire};

/// Time of a run, and its beginning that does not count.
const RUN: u64 = 60;
const BEGINNING: u64 = 10;
/// Bits of a datagram of the application with its headers.
const BITS: f64 = 1200.0 * 8.0;

/// The rate of a greedy client over 80 ms, 4 Mbit/s and 60 packets, in Mbit/s; this share of its
/// packets comes `late` ms after its time, and this share is lost.
#[must_use]
pub fn rate(controller: Factory, share: f64, late: u64, lost: f64) -> f64 {
    let mut random = Random::new(1);
    let rule: Rule = Box::new(move |side| match side {
        Side::Client if random.happens(lost) => Fate::Drop,
        Side::Client if random.happens(share) => Fate::Late(Duration::from_millis(late)),
        _ => Fate::Deliver,
    });
    let start = Instant::now();
    let (client, server) = pair::<Noq>(start, controller, 8 << 10, false);
    let wire = Wire::bottleneck(Duration::from_millis(40), Rate::from_bits_per_sec(4e6), 60);
    let mut world = World::new(start, client, server, wire, rule);
    world.client.traffic = Traffic::Greedy;
    world.run(Duration::from_secs(BEGINNING));
    let before = world.server.arrivals.len();
    world.run(Duration::from_secs(RUN - BEGINNING));
    (world.server.arrivals.len() - before) as f64 * BITS / (RUN - BEGINNING) as f64 / 1e6
}

/// A row of the table.
pub struct Row {
    /// TFRC's rate over CUBIC's.
    pub to_cubic: f64,
    /// TFRC's rate over its own without disorder.
    pub to_order: f64,
}

/// A row for each share of late packets and lateness, as text and as numbers.
#[must_use]
pub fn table() -> (String, Vec<Row>) {
    let tfrc = |share, late| rate(Noq::tfrc_of(Profile::Balanced), share, late, 0.0);
    let order = tfrc(0.0, 0);
    let mut text = String::from(
        "| late packets | by | TFRC | CUBIC | TFRC over CUBIC | over TFRC in order |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut rows = Vec::new();
    for (share, late) in [(0.0, 0), (0.01, 10), (0.01, 40), (0.05, 10), (0.05, 40), (0.2, 10), (0.2, 40)] {
        let (tfrc, cubic) = (tfrc(share, late), rate(cubic(), share, late, 0.0));
        let row = Row { to_cubic: tfrc / cubic, to_order: tfrc / order };
        let percent = share * 100.0;
        writeln!(
            text,
            "| {percent} % | {late} ms | {tfrc:.2} | {cubic:.2} | {:.2} | {:.2} |",
            row.to_cubic, row.to_order
        )
        .expect("a string takes all");
        rows.push(row);
    }
    (text, rows)
}
