//! Every TCP alone, and four of it, through one bottleneck: utilisation, loss and timeouts,
//! compared with the theoretical sawtooth.
//!
//! ```text
//! cargo run --release -p tfrc-sim --example tcp_alone -- 20 40 > tcp-alone.csv
//! ```
//!
//! The arguments are rates in Mbit/s and round-trip times in milliseconds, in pairs; without any
//! the whole table is made; decision 0010 in `docs/decisions/` draws its conclusion.

#![expect(clippy::disallowed_macros, reason = "a program prints")]

mod bottleneck;
mod sawtooth;

use std::error::Error;

use bottleneck::{Length, Path, run};
use sawtooth::Teeth;
use tfrc_sim::queue::{Adaptation, CoDel, Limit, Pie, Queue, Red, Thresholds, Weight};
use tfrc_sim::tcp::{Settings, Variant};
use tfrc_units::{Duration, u64_from_f64};

const RATES_MBIT: [u32; 3] = [2, 20, 100];
const RTTS_MS: [u32; 3] = [10, 40, 200];
const VARIANTS: [(&str, Variant); 5] = [
    ("Tahoe", Variant::Tahoe),
    ("Reno", Variant::Reno),
    ("NewReno", Variant::NewReno),
    ("SACK", Variant::Sack),
    ("CUBIC", Variant::Cubic),
];
const LENGTH: Length = Length {
    settling: Duration::from_secs(60),
    least: Duration::from_secs(100),
    most: Duration::from_secs(300),
    events: 10,
};
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u32> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let all = || RATES_MBIT.iter().flat_map(|rate| RTTS_MS.iter().map(move |rtt| (*rate, *rtt)));
    let paths: Vec<(u32, u32)> = match arguments.as_slice() {
        [] => all().collect(),
        pairs => pairs.chunks_exact(2).filter_map(|p| Some((*p.first()?, *p.get(1)?))).collect(),
    };
    println!(
        "rate_mbit,rtt_ms,queue,variant,flows,bdp,repaired_s,seconds,events,utilisation,sawtooth_utilisation,loss,\
         sawtooth_loss,timeouts,largest_window"
    );
    for (mbit, rtt_ms) in paths {
        let bdp = Path { mbit, rtt_ms, queue: Queue::DropTail(Limit::Unlimited) }.bdp();
        for (queue_name, queue) in queues(bdp) {
            for (name, variant) in VARIANTS {
                for flows in [1, 4] {
                    let path = Path { mbit, rtt_ms, queue };
                    let figures =
                        run(&path, &Settings::rfc(variant), flows, &LENGTH, SEED).ok_or("no run")?;
                    let rtt = f64::from(rtt_ms) / 1e3;
                    let teeth = Teeth { variant, bdp, rtt, flows, tops: &figures.tops };
                    let repaired = figures.repaired.map_or_else(String::new, |at| format!("{at:.1}"));
                    println!(
                        "{mbit},{rtt_ms},{queue_name},{name},{flows},{bdp:.1},{repaired},{:.1},{},{:.4},{:.4},{:.7},\
                         {:.7},{},{:.0}",
                        figures.seconds,
                        figures.events,
                        figures.utilisation,
                        teeth.utilisation(),
                        figures.loss,
                        teeth.loss(),
                        figures.timeouts,
                        figures.largest,
                    );
                }
            }
        }
    }
    Ok(())
}

/// The queues of a path of this many packets. Drop-tail by its bandwidth-delay product; the active
/// ones hold four of them, at least 100 packets, and have the values of their papers: Adaptive RED
/// with automatic thresholds and weight, CoDel, the basic PIE.
fn queues(bdp: f64) -> [(&'static str, Queue); 6] {
    let tail = |share: f64| Queue::DropTail(Limit::Packets(u64_from_f64((share * bdp).max(2.0))));
    let limit = Limit::Packets(u64_from_f64((4.0 * bdp).max(100.0)));
    let red = Red {
        thresholds: Thresholds::Automatic { target_delay: Duration::from_millis(5) },
        weight: Weight::Automatic,
        adaptation: Adaptation::paper(),
        mean_packet: bottleneck::PACKET,
        ..Red::new(limit)
    };
    [
        ("drop-tail 0.25", tail(0.25)),
        ("drop-tail 1", tail(1.0)),
        ("drop-tail 4", tail(4.0)),
        ("RED", Queue::Red(red)),
        ("CoDel", Queue::CoDel(CoDel::new(limit))),
        ("PIE", Queue::Pie(Pie::new(limit))),
    ]
}
