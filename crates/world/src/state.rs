//! A world as a recorder sees it: its time, the states of its flows, the counters of its links.

use tfrc::Limit;
use tfrc::guard::Trip;
use tfrc_scenario::{Member, Scenario};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::trace::DroppedPacket;
use tfrc_units::{Duration, Instant};

use crate::agent::{Delays, FlowLosses, LossEvent};
use crate::keep::Keep;
use crate::metric::Mean;
use crate::results::Stop;

/// A network with flows in it. Flows and links count from 0, in the order of the scenario; the
/// links are those of its file, each direction on its own.
pub(crate) trait World {
    /// Lets time go on to `to`, and returns the time reached: a little later in a world that is
    /// seen only now and then, earlier in one that has ended.
    fn advance(&mut self, to: Instant) -> Instant;

    /// The counters and the state of a flow.
    fn flow(&self, number: usize) -> Progress;

    /// Returns true if no flow has sent, received or measured anything yet: then nothing of the
    /// states of the flows is kept for later.
    fn is_new(&self) -> bool {
        false
    }

    /// The bytes of data that a flow has sent and received.
    fn bytes(&self, number: usize) -> [u64; 2] {
        let Progress { sent_bytes, received_bytes, .. } = self.flow(number);
        [sent_bytes, received_bytes]
    }

    /// The loss events of a flow that were logged; `None` in a world that does not know them.
    fn loss_events(&self, _number: usize) -> Option<Vec<LossEvent>> {
        None
    }

    /// The measured part begins.
    fn begin_measuring(&mut self) {}

    /// The delays of the data packets of a flow in the measured part, if they are measured.
    fn delays(&self, _number: usize) -> Option<Delays> {
        None
    }

    /// The transfers of a flow that have ended.
    fn completions(&self, _number: usize) -> Completions {
        Completions::default()
    }

    /// Each packet that links have dropped, in the order of the times; `None` in a world that does
    /// not know them.
    fn drops(&self) -> Option<&[DroppedPacket]> {
        None
    }

    /// The counters of the links.
    fn links(&self) -> Vec<LinkStats>;

    /// The packets that wait at each link behind the one in transmission.
    fn waiting(&self) -> Vec<u64>;

    /// The counters of each flow at each link, if they are kept.
    fn link_flows(&self) -> Vec<Vec<(FlowId, FlowStats)>>;

    /// Packets that crossed a link, over all links.
    fn packet_hops(&self) -> u64;

    /// The run is over, and the counters of the links have been read: what only a time to come
    /// needs may go, to make room for the figures.
    fn end(&mut self) {}
}

/// Transfers of a flow that have ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Completions {
    /// When the only transfer of the flow had arrived.
    pub(crate) transfer: Option<Instant>,
    /// The times of the objects of a web flow in the measured part, from request to end, seconds,
    /// if they are kept.
    pub(crate) objects: Option<Vec<f64>>,
}

/// Counters and state of a flow at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    /// Segments that the sender has seen acknowledged in sequence; of TCPs only.
    pub(crate) acknowledged_packets: Option<u64>,
    /// Packets of the sender that links have dropped; of those of a ping, the replies too.
    pub(crate) dropped: Option<u64>,
    /// Loss events, and the packets up to now.
    pub(crate) losses: Option<FlowLosses>,
    /// Loss events and packets at the end of slow start, where that is known.
    pub(crate) first_event: Option<FlowLosses>,
    pub(crate) rtt: Mean,
    pub(crate) smoothed_rtt: Option<Duration>,
    pub(crate) allowed_bps: Option<f64>,
    pub(crate) p: Option<f64>,
    /// Congestion window, segments; of TCPs only.
    pub(crate) cwnd: Option<f64>,
    /// Of the kernel's TCPs: smoothed round-trip time, its mean deviation and retransmission
    /// timeout, seconds.
    pub(crate) srtt: Mean,
    pub(crate) rttvar: Mean,
    pub(crate) rto: Mean,
    /// The rule that has stopped the flow.
    pub(crate) stopped: Option<Trip>,
    /// Its last stop, also if it is over.
    pub(crate) last_stop: Option<Stop>,
    /// Time for which a flow with a bound on the queueing delay has competed with others.
    pub(crate) competed: Option<Duration>,
    /// Reason for its rate.
    pub(crate) limit: Option<Limit>,
}

impl Progress {
    /// The state of the flow before it had done anything.
    pub(crate) fn before_all(&self) -> Self {
        Self {
            acknowledged_packets: self.acknowledged_packets.map(|_| 0),
            dropped: self.dropped.map(|_| 0),
            losses: self.losses.map(|_| FlowLosses { events: 0, packets: 0 }),
            ..Self::default()
        }
    }
}

/// The part of a world that is recorded.
pub(crate) struct Stage<'s> {
    pub(crate) scenario: &'s Scenario,
    /// The flows of the scenario that run in the world.
    pub(crate) members: &'s [Member<'s>],
    pub(crate) keep: Keep,
    /// When the measured part begins.
    pub(crate) from: Instant,
    /// When the run ends.
    pub(crate) to: Instant,
}

impl<'s> Stage<'s> {
    /// The whole scenario.
    pub(crate) fn of(scenario: &'s Scenario, members: &'s [Member<'s>], keep: Keep) -> Self {
        let (from, to) = (Instant::ZERO + scenario.warmup, Instant::ZERO + scenario.duration);
        Self { scenario, members, keep, from, to }
    }

    /// The names of the links.
    pub(crate) fn link_names(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        self.scenario.network.links().map(|(_, spec)| spec.name.as_str())
    }
}
