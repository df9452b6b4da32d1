//! How close an emulation came to its network, measured while it ran.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use tfrc_sim::LinkId;
use tfrc_units::{Duration, Instant};

use crate::Undeliverable;
use crate::starvation::{LATE, Starvation};

/// Errors of an emulation, all made by the machine and not by the network.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fidelity {
    /// Largest relative difference, over the links that sent packets back to back, of the rate at
    /// which those left against the rate configured. `None`: no link did for long enough.
    pub rate_error: Option<f64>,
    /// Median of how much later packets left than the network says.
    pub delay_error_p50: Duration,
    /// The 99th percentile of it.
    pub delay_error_p99: Duration,
    /// Median of how late the engine was woken.
    pub wakeup_p50: Duration,
    /// The 99th percentile of it.
    pub wakeup_p99: Duration,
    /// Packets lost outside the network: no room at a packet socket, or refused by an interface.
    pub own_drops: u64,
    /// Wake-ups that were later than [`LATE`].
    pub overruns: u64,
    /// Packets measured.
    pub packets: u64,
    /// Shortest round trip over the routes that packets took: the delays of their links and the
    /// time of 1500 bytes on each, there and back. `None`: there were no packets.
    pub shortest_round_trip: Option<Duration>,
    /// Processor time that programs and the kernel did not get.
    pub starvation: Starvation,
    /// Packets that the network has no node for, the most frequent destinations first.
    pub undeliverable: Vec<Undeliverable>,
}

/// Measurement of a [`Fidelity`].
#[derive(Debug)]
pub(crate) struct FidelityMeter {
    delay: Histogram<u64>,
    wakeup: Histogram<u64>,
    links: BTreeMap<LinkId, BackToBack>,
    pub(crate) own_drops: u64,
    overruns: u64,
}

/// Departures of a link that followed each other without a pause.
#[derive(Debug, Clone, Copy, Default)]
struct BackToBack {
    rate: f64,
    last: Option<(Instant, Instant)>,
    bytes: u64,
    real: Duration,
}

/// Differences from the spacing of a link below which two packets left it back to back.
const TOLERANCE: Duration = Duration::from_micros(1);
/// Time that packets must have left back to back before their rate is reported.
const LONG_ENOUGH: Duration = Duration::from_secs(2);
/// Longest delay kept apart, nanoseconds.
const LONGEST: u64 = 10_000_000_000;

impl FidelityMeter {
    /// `links` are those of constant rate, with their rates in bytes per second.
    pub(crate) fn new(links: impl Iterator<Item = (LinkId, f64)>) -> Self {
        let histogram = || Histogram::new_with_bounds(100, LONGEST, 2).expect("the bounds are in order");
        let links = links.map(|(id, rate)| (id, BackToBack { rate, ..BackToBack::default() }));
        Self { delay: histogram(), wakeup: histogram(), links: links.collect(), own_drops: 0, overruns: 0 }
    }

    /// The engine was to be woken at `due`, and was at `now`.
    pub(crate) fn woken(&mut self, due: Instant, now: Instant) {
        let late = now.saturating_since(due);
        self.overruns += u64::from(late > LATE);
        self.wakeup.saturating_record(late.as_nanos());
    }

    /// A packet that crossed these links was to leave at `due`, and left at `real`; `late` is how
    /// much later than it came it was taken in.
    pub(crate) fn left(&mut self, route: &[LinkId], bytes: u32, due: Instant, real: Instant, late: Duration) {
        self.delay.saturating_record((real.saturating_since(due) + late).as_nanos());
        for link in route {
            if let Some(link) = self.links.get_mut(link) {
                link.left(bytes, due, real);
            }
        }
    }

    /// Everything up to now.
    pub(crate) fn fidelity(&self) -> Fidelity {
        let quantile = |histogram: &Histogram<u64>, q| {
            Duration::from_nanos(if histogram.is_empty() { 0 } else { histogram.value_at_quantile(q) })
        };
        Fidelity {
            rate_error: self.links.values().filter_map(BackToBack::error).reduce(f64::max),
            delay_error_p50: quantile(&self.delay, 0.5),
            delay_error_p99: quantile(&self.delay, 0.99),
            wakeup_p50: quantile(&self.wakeup, 0.5),
            wakeup_p99: quantile(&self.wakeup, 0.99),
            own_drops: self.own_drops,
            overruns: self.overruns,
            packets: self.delay.len(),
            shortest_round_trip: None,
            starvation: Starvation::default(),
            undeliverable: Vec::new(),
        }
    }
}

impl BackToBack {
    fn left(&mut self, bytes: u32, due: Instant, real: Instant) {
        if let Some((last_due, last_real)) = self.last {
            let spacing = Duration::from_secs_f64(f64::from(bytes) / self.rate);
            let between = due.saturating_since(last_due);
            let off = between.saturating_sub(spacing).max(spacing.saturating_sub(between));
            if off <= TOLERANCE {
                self.bytes += u64::from(bytes);
                self.real += real.saturating_since(last_real);
            }
        }
        self.last = Some((due, real));
    }

    fn error(&self) -> Option<f64> {
        let real = self.bytes as f64 / self.real.as_secs_f64();
        (self.real >= LONG_ENOUGH).then(|| (real / self.rate - 1.0).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_sim::Network;
    use tfrc_units::Rate;

    fn link() -> LinkId {
        let mut network = Network::new();
        let (a, b) = (network.node("a").unwrap(), network.node("b").unwrap());
        let spec = tfrc_sim::LinkSpec::new("l", a, b, Rate::from_bits_per_sec(8e6), Duration::ZERO);
        network.link(spec).unwrap()
    }

    #[test]
    fn rates_of_packets_back_to_back() {
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let link = link();
        let mut meter = FidelityMeter::new([(link, 1e6)].into_iter());
        // Packets of 1000 bytes, one a millisecond, each 50 µs late; but after a pause.
        for n in 0..4000 {
            let due = n * 1000 + if n < 2000 { 0 } else { 500_000 };
            meter.left(&[link], 1000, at(due), at(due + 50), Duration::ZERO);
        }
        let exact = meter.fidelity();
        assert!(exact.rate_error.is_some_and(|error| error < 1e-9), "{exact:?}");
        let p99 = exact.delay_error_p99.as_nanos();
        assert!((50_000..52_000).contains(&p99), "{p99}");
        // They leave two per cent too slowly.
        let mut slow = FidelityMeter::new([(link, 1e6)].into_iter());
        for n in 0..4000 {
            slow.left(&[link], 1000, at(n * 1000), at(n * 1020), Duration::ZERO);
        }
        let error = slow.fidelity().rate_error.unwrap();
        assert!((error - (1.0 - 1.0 / 1.02)).abs() < 1e-9, "{error}");
        // Too short, or never back to back: nothing is reported.
        let mut idle = FidelityMeter::new([(link, 1e6)].into_iter());
        for n in 0..4000 {
            idle.left(&[link], 1000, at(n * 1500), at(n * 1500), Duration::ZERO);
        }
        assert_eq!(idle.fidelity().rate_error, None);
    }
}
