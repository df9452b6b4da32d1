//! How much memory a run needs, roughly: enough to refuse one that cannot end well.

use tfrc_sim::LinkSpec;
use tfrc_sim::queue::{Limit, Queue};
use tfrc_units::{Duration, u64_from_f64};

use super::{FlowKind, Scenario};

/// The width of a bin of the records of a flow, and the finest time scale of a rate.
pub const BIN: Duration = Duration::from_millis(100);

/// Bytes of a packet on a link: its place in the arena and in the ring.
const PACKET_BYTES: u64 = 256;
/// A packet that fills a line or a queue of bytes, bytes.
const SMALL_PACKET: u64 = 500;
/// Bytes of the agents of a flow with what they remember: 100,000 TFRC flows were seen to take 16
/// kB each.
const FLOW_BYTES: u64 = 16 << 10;
/// Bytes of the agents of a DCCP connection with what they remember.
const DCCP_BYTES: u64 = 64 << 10;
/// Bytes of a web session with what it remembers.
const SESSION_BYTES: u64 = 16 << 10;
/// Bytes of a node or a link, without packets.
const LINK_BYTES: u64 = 1 << 10;

impl Scenario {
    /// Memory that a run needs, by estimate, in bytes: flows with their records, and what the lines
    /// and the queues with a limit hold. A queue without one is left out.
    #[must_use]
    pub fn memory_estimate(&self) -> u64 {
        let bins = self.duration.as_nanos().div_ceil(BIN.as_nanos());
        let links: u64 = self.network.links().map(|(_, spec)| link(spec)).fold(0, u64::saturating_add);
        let flows = self.flows.iter().map(|flow| {
            let own = u64::from(flow.lines.access.is_some()) + u64::from(flow.lines.exit.is_some());
            let agents = match &flow.kind {
                FlowKind::Dccp(_) => DCCP_BYTES,
                FlowKind::Web(web) => SESSION_BYTES.saturating_mul(u64::from(web.traffic.sessions)),
                _ => FLOW_BYTES,
            };
            let each = agents + bins.saturating_mul(8) + own * 2 * LINK_BYTES;
            each.saturating_mul(u64::from(flow.group.count))
        });
        links.saturating_add(flows.fold(0, u64::saturating_add))
    }
}

fn link(spec: &LinkSpec) -> u64 {
    let limit = match spec.queue {
        Queue::CoDel(queue) => queue.limit,
        Queue::DropTail(limit) => limit,
        Queue::FqCoDel(queue) => queue.limit,
        Queue::Pie(queue) => queue.limit,
        Queue::Red(queue) => queue.limit,
        Queue::Rio(queue) => queue.limit,
        _ => Limit::Unlimited,
    };
    let waiting = match limit {
        Limit::Buffers { count, .. } => count,
        Limit::Bytes(n) | Limit::Ns2Bytes(n) | Limit::Ns2RedBytes(n) => n / SMALL_PACKET,
        Limit::Ns2Packets(n) | Limit::Packets(n) => n,
        _ => 0,
    };
    let later = spec.changes.iter();
    let rate = later.clone().filter_map(|change| change.rate).fold(spec.rate, tfrc_units::Rate::max);
    let delay = later.filter_map(|change| change.delay).fold(spec.delay, Duration::max);
    let flying = if rate.is_infinite() {
        0
    } else {
        u64_from_f64(rate.bytes_per_sec() * delay.as_secs_f64()) / SMALL_PACKET
    };
    waiting.saturating_add(flying).saturating_mul(PACKET_BYTES).saturating_add(LINK_BYTES)
}
