//! Delays of the data packets that reach the end of a flow.

use hdrhistogram::Histogram;
use tfrc_sim::packet::Header;
use tfrc_units::Instant;

use crate::metric::Mean;

/// The time that a packet takes over a path on which nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct EmptyPath {
    pub(crate) propagation_ns: u64,
    /// Transmission on all lines.
    pub(crate) ns_per_byte: f64,
}

impl EmptyPath {
    fn least(self, bytes: u32) -> u64 {
        self.propagation_ns + (self.ns_per_byte * f64::from(bytes)) as u64
    }
}

/// Delays of packets so far.
#[derive(Debug)]
pub(crate) struct Meter {
    path: EmptyPath,
    /// Bytes of the latest packet, and its time over the empty path.
    size: Option<(u32, u64)>,
    queueing: Histogram<u32>,
    /// Kept once packets differ in size, or are faster than the empty path. Before that it differs
    /// from `queueing` by a constant.
    one_way: Option<Box<Histogram<u32>>>,
    latest: Option<u64>,
    changes: Mean,
}

/// Percentiles of delays, and their variation, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Delays {
    /// Of each packet from its sender to its receiver: median, 95th and 99th percentile.
    pub(crate) one_way: [f64; 3],
    /// The part of it above the time over the empty path.
    pub(crate) queueing: [f64; 3],
    /// The mean difference, without its sign, between the delays of packets that arrive one after
    /// the other; `None` of one packet.
    pub(crate) jitter: Option<f64>,
}

/// Delays below are as one, nanoseconds.
const FINEST: u64 = 1000;
/// Longest delay that a histogram has room for at first, nanoseconds; it grows with what comes.
const SHORT: u64 = 16_000_000;
/// Reason why recording cannot fail.
const GROWS: &str = "a histogram grows to what is recorded";
/// The percentiles that are reported.
pub(crate) const SHARES: [f64; 3] = [0.5, 0.95, 0.99];

impl Meter {
    pub(crate) fn new(path: EmptyPath) -> Self {
        let (queueing, changes) = (empty(), Mean::default());
        Self { path, size: None, queueing, one_way: None, latest: None, changes }
    }

    pub(crate) const fn path(&self) -> EmptyPath {
        self.path
    }

    /// A packet arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Instant, header: &Header) {
        let delay = now.saturating_since(header.sent).as_nanos();
        let least = match self.size {
            Some((size, least)) if size == header.size && delay >= least => least,
            _ => self.keep_one_way(header.size, delay),
        };
        self.queueing.record(delay.saturating_sub(least)).expect(GROWS);
        if let Some(one_way) = &mut self.one_way {
            one_way.record(delay).expect(GROWS);
        }
        if let Some(latest) = self.latest.replace(delay) {
            self.changes.add(delay.abs_diff(latest) as f64 / 1e9);
        }
    }

    /// Takes note of a packet that is of another size, or faster than the empty path, and gives its
    /// time over the empty path.
    #[cold]
    fn keep_one_way(&mut self, size: u32, delay: u64) -> u64 {
        let least = self.path.least(size);
        let former = self.size.replace((size, least));
        if self.one_way.is_none() && (former.is_some() || delay < least) {
            let mut one_way = empty();
            for one in self.queueing.iter_recorded() {
                let delay = one.value_iterated_to() + former.map_or(0, |(_, least)| least);
                one_way.record_n(delay, one.count_at_value()).expect(GROWS);
            }
            self.one_way = Some(Box::new(one_way));
        }
        least
    }

    /// `None` if no packet arrived.
    pub(crate) fn delays(&self) -> Option<Delays> {
        let (_, least) = self.size?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let percentiles =
            |of: &Histogram<u32>| SHARES.map(|share| of.lowest_equivalent(of.value_at_quantile(share)));
        let queueing = percentiles(&self.queueing);
        let one_way = match &self.one_way {
            Some(one_way) => percentiles(one_way),
            None => queueing.map(|delay| delay + least),
        };
        let (one_way, queueing) = (one_way.map(seconds), queueing.map(seconds));
        Some(Delays { one_way, queueing, jitter: self.changes.get() })
    }
}

/// A histogram to within 1 %.
fn empty() -> Histogram<u32> {
    let mut delays = Histogram::new_with_bounds(FINEST, SHORT, 2).expect("right bounds");
    delays.auto(true);
    delays
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    #[test]
    fn percentiles_and_jitter_by_hand() {
        // 1 ms of propagation and 1 µs a byte: 2 ms for 1000 bytes.
        let path = EmptyPath { propagation_ns: 1_000_000, ns_per_byte: 1000.0 };
        let mut meter = Meter::new(path);
        assert_eq!(meter.delays(), None);
        let mut engine_header = header();
        for n in 0..100 {
            engine_header.sent = Instant::ZERO + Duration::from_millis(n * 10);
            let waited = Duration::from_micros(if n < 95 { 500 } else { 40_000 });
            meter.arrived(engine_header.sent + Duration::from_millis(2) + waited, &engine_header);
        }
        let delays = meter.delays().expect("packets came");
        let near = |values: [f64; 3], wanted: [f64; 3]| {
            values.iter().zip(wanted).all(|(value, wanted)| (value / wanted - 1.0).abs() < 0.01)
        };
        assert!(near(delays.one_way, [2.5e-3, 2.5e-3, 42e-3]), "{delays:?}");
        assert!(near(delays.queueing, [0.5e-3, 0.5e-3, 40e-3]), "{delays:?}");
        // One change by 39.5 ms in 99.
        assert!(delays.jitter.is_some_and(|jitter| (jitter - 39.5e-3 / 99.0).abs() < 1e-9));
        // From packets of two sizes on each has a queueing delay of its own.
        for n in 100..200 {
            engine_header.size = if n % 2 == 0 { 200 } else { 1000 };
            engine_header.sent = Instant::ZERO + Duration::from_millis(n * 10);
            let least = Duration::from_micros(1000 + u64::from(engine_header.size));
            meter.arrived(engine_header.sent + least + Duration::from_micros(500), &engine_header);
        }
        let delays = meter.delays().expect("packets came");
        assert!(near(delays.queueing, [0.5e-3, 0.5e-3, 40e-3]), "{delays:?}");
        // A minute is kept as well as a millisecond.
        let mut meter = Meter::new(EmptyPath::default());
        engine_header.sent = Instant::ZERO;
        meter.arrived(Instant::ZERO + Duration::from_secs(60), &engine_header);
        assert!(near(meter.delays().expect("one").one_way, [60.0; 3]));
    }

    /// The header of a packet of 1000 bytes.
    fn header() -> Header {
        use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
        use tfrc_sim::{Engine, LinkSpec, Network, NoAgent, Seed};
        use tfrc_units::{Ecn, Rate};
        let mut network = Network::new();
        let (a, b) = (network.node("a").expect("new"), network.node("b").expect("new"));
        network.link(LinkSpec::new("l", a, b, Rate::INFINITY, Duration::ZERO)).expect("right");
        let mut engine: Engine<NoAgent<()>> = network.build(Seed(1));
        let (from, to) = (engine.gateway(a).expect("there"), engine.gateway(b).expect("there"));
        let packet = Outgoing {
            to,
            flow: FlowId(0),
            size: 1000,
            ecn: Ecn::NotEct,
            precedence: Precedence::Low,
            payload: (),
        };
        engine.inject(Instant::ZERO, from, packet);
        engine.run_until(Instant::ZERO);
        engine.poll_delivery(to).expect("there at once").packet.header
    }
}
