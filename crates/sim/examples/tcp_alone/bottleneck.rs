//! One bottleneck, the TCPs that share it, and the figures of a run.

use tfrc_sim::loss::Loss;
use tfrc_sim::packet::FlowId;
use tfrc_sim::queue::Queue;
use tfrc_sim::tcp::Settings;
use tfrc_sim::traffic::{Peer, TcpSetup, TcpSink, TcpSource, Timetable, Traffic};
use tfrc_sim::{AgentId, Engine, LinkId, LinkSpec, Network, Seed, TimerKey};
use tfrc_units::{Duration, Instant, Rate};

/// Bytes of a full segment on the wire.
pub(crate) const PACKET: u32 = 1500;
/// Time between two looks at the queue.
const STEP: Duration = Duration::from_millis(1);

/// A bottleneck.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) mbit: u32,
    /// Round-trip time without queueing, in milliseconds.
    pub(crate) rtt_ms: u32,
    pub(crate) queue: Queue,
}

impl Path {
    /// The bandwidth-delay product, in packets.
    pub(crate) fn bdp(&self) -> f64 {
        f64::from(self.mbit) * 1e6 * f64::from(self.rtt_ms) / 1e3 / 8.0 / f64::from(PACKET)
    }

    fn packets_per_second(&self) -> f64 {
        f64::from(self.mbit) * 1e6 / 8.0 / f64::from(PACKET)
    }
}

/// How long a run may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    /// Until slow start's losses are repaired and another one has come.
    pub(crate) settling: Duration,
    /// Measured after that, at least and at most.
    pub(crate) least: Duration,
    pub(crate) most: Duration,
    /// Loss events after which a run that is long enough ends.
    pub(crate) events: u32,
}

/// The figures of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// When slow start's losses were repaired, in seconds; `None` if they were not.
    pub(crate) repaired: Option<f64>,
    /// Seconds measured: a whole number of sawteeth, or what was left if there were fewer than two
    /// loss events.
    pub(crate) seconds: f64,
    /// Loss events in them.
    pub(crate) events: u32,
    /// New data delivered, with its headers, over the capacity.
    pub(crate) utilisation: f64,
    /// Drops over arrivals at the bottleneck.
    pub(crate) loss: f64,
    /// Timeouts of all flows.
    pub(crate) timeouts: u64,
    /// The sum of the windows at each loss event, the first and the last one included: the
    /// bandwidth-delay product and the queue; where the queue was empty, the congestion windows.
    pub(crate) tops: Vec<f64>,
    /// The largest window of any flow, in segments.
    pub(crate) largest: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    at: f64,
    delivered: u64,
    arrivals: u64,
    drops: u64,
    timeouts: u64,
}

/// A network with its flows.
pub(crate) struct Run {
    pub(crate) engine: Engine<Traffic>,
    link: LinkId,
    sources: Vec<AgentId>,
    sinks: Vec<AgentId>,
    path: Path,
}

impl Run {
    /// Sets the network up and starts the flows, 370 ms apart.
    pub(crate) fn start(path: &Path, loss: Loss, settings: &Settings, flows: u32, seed: u64) -> Option<Self> {
        let mut network = Network::new();
        let (a, b) = (network.node("a").ok()?, network.node("b").ok()?);
        let rate = Rate::from_bits_per_sec(f64::from(path.mbit) * 1e6);
        let delay = Duration::from_micros(u64::from(path.rtt_ms) * 500);
        let link = network
            .link(LinkSpec { queue: path.queue, loss, ..LinkSpec::new("ab", a, b, rate, delay) })
            .ok()?;
        network.link(LinkSpec::new("ba", b, a, rate, delay)).ok()?;
        let mut engine = network.build::<Traffic>(Seed(seed));
        let (mut sources, mut sinks) = (Vec::new(), Vec::new());
        for flow in 0..flows {
            let sink = engine.attach(b, Traffic::TcpSink(Box::new(TcpSink::new(settings)))).ok()?;
            // Several flows take up to a packet's time to send, which keeps them out of step.
            let overhead = match flows {
                1 => Duration::ZERO,
                _ => Duration::from_secs_f64(1.0 / path.packets_per_second()),
            };
            let setup = TcpSetup {
                settings: *settings,
                timetable: Timetable::default(),
                peer: Peer { to: engine.address(sink)?, flow: FlowId(flow) },
                stop: None,
                overhead,
                stream: Seed(seed).stream(&format!("flow/{flow}")),
            };
            let source = engine.attach(a, Traffic::TcpSource(Box::new(TcpSource::new(setup)))).ok()?;
            let start = Instant::ZERO + Duration::from_millis(370 * u64::from(flow));
            engine.set_timer(source, TimerKey::First, start);
            sources.push(source);
            sinks.push(sink);
        }
        Some(Self { engine, link, sources, sinks, path: *path })
    }

    pub(crate) fn senders(&self) -> impl Iterator<Item = &tfrc_sim::tcp::Sender> {
        self.sources.iter().filter_map(|id| match self.engine.agent(*id) {
            Some(Traffic::TcpSource(source)) => Some(source.sender()),
            _ => None,
        })
    }

    fn counts(&self) -> Counts {
        let link = self.engine.link_stats(self.link).unwrap_or_default();
        Counts {
            at: self.engine.now().as_secs_f64(),
            delivered: self
                .sinks
                .iter()
                .filter_map(|id| self.engine.agent(*id))
                .map(|sink| sink.delivered().packets)
                .sum(),
            arrivals: link.arrivals.packets,
            drops: link.overflowed.packets,
            timeouts: self.senders().map(|sender| sender.stats().timeouts).sum(),
        }
    }

    fn waiting(&self) -> f64 {
        let queue = self.engine.queue_state(self.link).unwrap_or_default();
        tfrc_units::f64_from_u64(queue.waiting.packets)
    }

    /// The sum of the windows at a loss event.
    fn top(&self) -> f64 {
        match self.waiting() {
            0.0 => self.senders().map(tfrc_sim::tcp::Sender::cwnd).sum::<f64>().min(self.path.bdp()),
            queue => self.path.bdp() + queue,
        }
    }

    /// One step on; the time a packet would then need for its round trip.
    fn step(&mut self) -> f64 {
        self.engine.run_until(self.engine.now() + STEP);
        f64::from(self.path.rtt_ms) / 1e3 + self.waiting() / self.path.packets_per_second()
    }
}

/// Watches for slow start's losses to be repaired: each flow's first reduction, then the
/// acknowledgement of all that it had sent by then, in congestion avoidance.
struct Repair(Vec<Option<u64>>);

impl Repair {
    fn done(&mut self, run: &Run) -> bool {
        let mut done = true;
        for (mark, sender) in self.0.iter_mut().zip(run.senders()) {
            let stats = sender.stats();
            if mark.is_none() && stats.window_cuts > 0 {
                *mark = Some(stats.sent_segments - stats.retransmitted_segments);
            }
            done &=
                mark.is_some_and(|sent| stats.acked_segments >= sent) && sender.cwnd() >= sender.ssthresh();
        }
        done
    }
}

/// Runs `flows` flows of these settings through the path.
pub(crate) fn run(
    path: &Path,
    settings: &Settings,
    flows: u32,
    length: &Length,
    seed: u64,
) -> Option<Figures> {
    let mut run = Run::start(path, Loss::None, settings, flows, seed)?;
    let mut repair = Repair(vec![None; run.sources.len()]);
    let mut figures = Figures::default();
    let settling = length.settling.as_secs_f64();
    // The state before the step, and when the next drop is of another loss event.
    let (mut before, mut event_over) = (run.counts(), 0.0);
    let mut first: Option<Counts> = None;
    let mut last = before;
    loop {
        let rtt = run.step();
        let now = run.counts();
        figures.largest = run.senders().map(tfrc_sim::tcp::Sender::cwnd).fold(figures.largest, f64::max);
        if figures.repaired.is_none() && repair.done(&run) {
            figures.repaired = Some(now.at);
        }
        let event = now.drops > before.drops && now.at >= event_over;
        if event {
            event_over = now.at + rtt;
        }
        match first {
            None if event && figures.repaired.is_some() || now.at >= settling => {
                first = Some(before);
                figures.tops.push(run.top());
                last = before;
            }
            Some(start) => {
                if event {
                    figures.events += 1;
                    figures.tops.push(run.top());
                    last = before;
                }
                let measured = now.at - start.at;
                let enough = measured >= length.least.as_secs_f64() && figures.events >= length.events;
                if enough || measured >= length.most.as_secs_f64() {
                    break;
                }
            }
            None => {}
        }
        before = now;
    }
    let start = first?;
    let end = if figures.events == 0 { before } else { last };
    figures.seconds = end.at - start.at;
    let packets = |a: u64, b: u64| tfrc_units::f64_from_u64(a - b);
    figures.utilisation =
        packets(end.delivered, start.delivered) / (figures.seconds * path.packets_per_second());
    figures.loss = packets(end.drops, start.drops) / packets(end.arrivals, start.arrivals).max(1.0);
    figures.timeouts = end.timeouts - start.timeouts;
    Some(figures)
}
