//! The rate of a greedy client as a share of TFRC's fixed point, and its even or uneven arrivals.

use std::fmt::Write as _;
use std::thread;
use std::time::Instant;

use tfrc::study::Profile;
use tfrc_units::Duration;

use super::{Quic, Traffic, world};
use crate::Wire;
use crate::path::{Rule, fixed_point, lossy, quantiles};

/// Time of a character in a picture of arrivals.
const CHARACTER: std::time::Duration = std::time::Duration::from_millis(2);

/// A run, after its first part.
pub struct Greedy {
    /// Packets sent in a round-trip time over those of the fixed point.
    pub share: f64,
    arrivals: Vec<Instant>,
}

impl Greedy {
    /// Milliseconds between arrivals: a tenth, half and nine tenths of them are shorter.
    fn gaps(&self) -> [f64; 3] {
        quantiles(self.arrivals.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e3).collect())
    }

    /// The arrivals of 200 ms, a digit for each 2 ms that has any.
    #[must_use]
    pub fn picture(&self) -> String {
        let start = self.arrivals[0];
        let counts = (0..100).map(|n| {
            let from = start + CHARACTER * n;
            self.arrivals.iter().filter(|at| (from..from + CHARACTER).contains(*at)).count()
        });
        counts.map(|count| if count == 0 { '.' } else { char::from(b'0' + count.min(9) as u8) }).collect()
    }
}

/// A greedy client on a path with this loss and rule.
#[must_use]
pub fn greedy<Q: Quic<Factory: Clone>>(p: f64, rtt: Duration, rule: Rule) -> Greedy {
    let l = fixed_point(p);
    let mut world = world::<Q>(Wire::new(rtt / 2), rule, Q::tfrc_of(Profile::Rfc5348), false);
    world.client.traffic = Traffic::Greedy;
    world.run(rtt * 400);
    let (sent, arrived) = (world.sent, world.server.arrivals.len());
    // At least 400 losses: the rate follows the square root of p, so 1/√400 / 2 is 2.5 %.
    let packets = (400.0 / p).clamp(100_000.0, 400_000.0);
    let round_trips = (packets / l) as u64;
    world.run(rtt * round_trips);
    let share = (world.sent - sent) as f64 / round_trips as f64 / l;
    Greedy { share, arrivals: world.server.arrivals.split_off(arrived) }
}

/// A row for each path, with three seeds; and all shares.
#[must_use]
pub fn table<Q: Quic<Factory: Clone>>() -> (String, Vec<f64>) {
    let mut table = String::from(
        "| loss | round trip | share, seeds 1 to 3 | gaps between arrivals, p10, p50, p90 |\n\
         | ---: | ---: | --- | --- |\n",
    );
    let mut shares = Vec::new();
    for (p, rtt) in [(0.001, 50), (0.01, 50), (0.01, 100), (0.05, 50)] {
        let runs = thread::scope(|scope| {
            let run = |seed| greedy::<Q>(p, Duration::from_millis(rtt), lossy(p, seed));
            let running = [1, 2, 3].map(|seed| scope.spawn(move || run(seed)));
            running.map(|run| run.join().expect("a run that does not panic"))
        });
        shares.extend(runs.iter().map(|run| run.share));
        let [a, b, c] = [0, 1, 2].map(|n| runs[n].share);
        let [p10, p50, p90] = runs[0].gaps();
        let percent = p * 100.0;
        writeln!(
            table,
            "| {percent} % | {rtt} ms | {a:.2}, {b:.2}, {c:.2} | {p10:.1}, {p50:.1}, {p90:.1} ms |"
        )
        .expect("a string takes all");
    }
    (table, shares)
}
