//! Delays of the data packets that reach the end of a flow.

use tfrc_sim::Depth;
use tfrc_sim::packet::Header;
use tfrc_units::Instant;

use crate::histogram::Histogram;

/// The time that a packet takes over a path on which nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EmptyPath {
    /// The delays of its lines together, ns.
    pub propagation_ns: u64,
    /// Transmission on all lines.
    pub ns_per_byte: f64,
    /// Number of lines. Each cuts off what a transmission has below a nanosecond, so that a packet
    /// may arrive this many nanoseconds early.
    pub lines: u32,
}

impl EmptyPath {
    fn least(self, bytes: u32) -> u64 {
        self.propagation_ns + (self.ns_per_byte * f64::from(bytes)) as u64
    }
}

/// Delays of packets so far.
#[derive(Debug)]
pub struct Meter {
    path: EmptyPath,
    /// The size of the latest packet, once there is one.
    size: Option<u32>,
    /// Its time over the empty path.
    least: u64,
    /// The delay of the latest packet, and the differences between delays added up.
    latest: u64,
    changed_ns: u64,
    packets: u64,
    queueing: Histogram,
    /// Kept once packets differ in size, or are faster than the empty path. Before that it differs
    /// from `queueing` by a constant.
    one_way: Option<Box<Histogram>>,
}

/// Percentiles of delays, and their variation, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Delays {
    /// Of each packet from its sender to its receiver: median, 95th and 99th percentile.
    pub one_way: [f64; 3],
    /// The part of it above the time over the empty path.
    pub queueing: [f64; 3],
    /// The mean difference, without its sign, between the delays of packets that arrive one after
    /// the other; `None` of one packet.
    pub jitter: Option<f64>,
}

/// The percentiles that are reported.
pub const SHARES: [f64; 3] = [0.5, 0.95, 0.99];

impl Meter {
    /// A meter that has measured nothing.
    #[must_use]
    pub fn new(path: EmptyPath) -> Self {
        Self {
            path,
            size: None,
            least: 0,
            latest: 0,
            changed_ns: 0,
            packets: 0,
            queueing: Histogram::default(),
            one_way: None,
        }
    }

    /// The path while nothing waits.
    #[must_use]
    pub const fn path(&self) -> EmptyPath {
        self.path
    }

    /// Reads what a packet needs, to have it near.
    #[inline(always)]
    pub(super) fn touch(&self, depth: Depth) -> u64 {
        match depth {
            Depth::Surface => self.latest ^ self.packets ^ u64::from(self.path.lines),
            Depth::Below => self.queueing.touch(),
        }
    }

    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, now: Instant, header: &Header) {
        let delay = now.saturating_since(header.sent).as_nanos();
        if self.size != Some(header.size) || delay + u64::from(self.path.lines) < self.least {
            self.keep_one_way(header.size, delay);
        }
        self.queueing.record(delay.saturating_sub(self.least));
        if let Some(one_way) = &mut self.one_way {
            one_way.record(delay);
        }
        if self.packets > 0 {
            self.changed_ns = self.changed_ns.saturating_add(delay.abs_diff(self.latest));
        }
        self.latest = delay;
        self.packets += 1;
    }

    /// Takes note of a packet that is of another size, or faster than the empty path.
    #[cold]
    fn keep_one_way(&mut self, size: u32, delay: u64) {
        let former = self.least;
        self.least = self.path.least(size);
        let early = delay + u64::from(self.path.lines) < self.least;
        if self.one_way.is_none() && (self.size.is_some() || early) {
            self.one_way = Some(Box::new(self.queueing.moved(former)));
        }
        self.size = Some(size);
    }

    /// `None` if no packet arrived.
    #[must_use]
    pub fn delays(&self) -> Option<Delays> {
        self.size?;
        let queueing = self.queueing.quantiles(SHARES);
        let one_way = match &self.one_way {
            Some(one_way) => one_way.quantiles(SHARES),
            None => queueing.map(|delay| delay + self.least),
        };
        let seconds = |ns: u64| ns as f64 / 1e9;
        let changes = self.packets.saturating_sub(1);
        let jitter = (changes > 0).then(|| seconds(self.changed_ns) / changes as f64);
        Some(Delays { one_way: one_way.map(seconds), queueing: queueing.map(seconds), jitter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    #[test]
    fn percentiles_and_jitter_by_hand() {
        // 1 ms of propagation and 1 µs a byte: 2 ms for 1000 bytes.
        let path = EmptyPath { propagation_ns: 1_000_000, ns_per_byte: 1000.0, lines: 1 };
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
        // A nanosecond a line is no difference; more makes delays that are kept apart.
        engine_header.sent = Instant::ZERO + Duration::from_millis(999);
        for (early_ns, apart) in [(0, false), (1, false), (2, true)] {
            let least = Duration::from_nanos(2_000_000 - early_ns);
            meter.arrived(engine_header.sent + least, &engine_header);
            assert_eq!(meter.one_way.is_some(), apart, "{early_ns}");
        }
        assert_eq!(meter.one_way.as_ref().expect("kept").quantiles([0.001, 1.0]), [1_998_848, 41_680_896]);
        let mut meter = Meter::new(path);
        for n in 0..100 {
            engine_header.sent = Instant::ZERO + Duration::from_millis(n * 10);
            let waited = Duration::from_micros(if n < 95 { 500 } else { 40_000 });
            meter.arrived(engine_header.sent + Duration::from_millis(2) + waited, &engine_header);
        }
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
