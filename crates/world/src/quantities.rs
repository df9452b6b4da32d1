//! The quantities of flows and links: their keys, meanings and where they are found, for results,
//! means, experiments and the documentation.

use tfrc_sim::link::LinkStats;

use crate::results::{FlowCounts, FlowSummary, LinkOutcome, RateFactors};

/// A quantity of a `T`, such as a flow or a link.
#[derive(Debug)]
pub struct Quantity<T: ?Sized> {
    /// The word in results and in experiments; it ends in the unit, if there is one.
    pub key: &'static str,
    /// The meaning, for the documentation.
    pub meaning: &'static str,
    /// The value; `None` where it is not known.
    pub of: fn(&T) -> Option<f64>,
}

const fn quantity<T: ?Sized>(
    key: &'static str,
    meaning: &'static str,
    of: fn(&T) -> Option<f64>,
) -> Quantity<T> {
    Quantity { key, meaning, of }
}

/// The quantities of a flow in the results of a run, over its measured time.
pub const FLOW: [Quantity<FlowSummary>; 25] = [
    quantity("send_rate_bps", "application data sent, bit/s", |flow| flow.send_rate_bps),
    quantity("goodput_bps", "application data that arrived, bit/s", |flow| flow.goodput_bps),
    quantity(
        "packet_loss_rate",
        "packets that links dropped, per packet that was dropped or arrived",
        |flow| flow.packet_loss_rate,
    ),
    quantity("loss_event_rate", "loss events per packet; of a TCP, window reductions", |flow| {
        flow.loss_event_rate
    }),
    quantity("rtt_s", "mean round-trip time, seconds", |flow| flow.rtt_s),
    quantity("cov", "coefficient of variation of the sending rate at 1 s", |flow| flow.cov),
    quantity("cov_200ms", "coefficient of variation of the sending rate at 0.2 s", |flow| flow.cov_200ms),
    quantity("delay_p50_s", "one-way delay of a data packet, median, seconds", |f| f.delays.delay_p50_s),
    quantity("delay_p95_s", "its 95th percentile", |flow| flow.delays.delay_p95_s),
    quantity("delay_p99_s", "its 99th percentile", |flow| flow.delays.delay_p99_s),
    quantity("queueing_delay_p50_s", "the part of it above that of an empty path, median, seconds", |flow| {
        flow.delays.queueing_delay_p50_s
    }),
    quantity("queueing_delay_p95_s", "its 95th percentile", |flow| flow.delays.queueing_delay_p95_s),
    quantity("queueing_delay_p99_s", "its 99th percentile", |flow| flow.delays.queueing_delay_p99_s),
    quantity("jitter_s", "difference of the delays of packets one after the other, mean, seconds", |flow| {
        flow.delays.jitter_s
    }),
    quantity("completed", "transfers that ended: of `transfer`, or objects of `web`", |flow| {
        flow.completion.completed.map(|n| n as f64)
    }),
    quantity("completion_p50_s", "time of a transfer, median, seconds", |flow| {
        flow.completion.completion_p50_s
    }),
    quantity("completion_p95_s", "its 95th percentile", |flow| flow.completion.completion_p95_s),
    quantity("completion_p99_s", "its 99th percentile", |flow| flow.completion.completion_p99_s),
    quantity("convergence_s", "time from its start until its goodput stays near the mean, seconds", |flow| {
        flow.convergence_s
    }),
    quantity("tcp_ratio", "of TFRC: goodput over that of the TCPs that lose packets where it does", |flow| {
        factors(flow).map(|of| of.ratio)
    }),
    quantity("tcp_ratio_obedience", "its factor of goodput over the equation's rate", |flow| {
        factors(flow).map(|of| of.obedience)
    }),
    quantity("tcp_ratio_loss_events", "its factor of fewer loss events", |flow| {
        factors(flow).map(|of| of.loss_events)
    }),
    quantity("tcp_ratio_rtt", "its factor of a shorter round-trip time", |flow| {
        factors(flow).map(|of| of.rtt)
    }),
    quantity("tcp_ratio_rto", "its factor of a shorter timeout in the equation", |flow| {
        factors(flow).map(|of| of.rto)
    }),
    quantity("tcp_ratio_tcp", "its factor of a TCP below the equation", |flow| {
        factors(flow).map(|of| of.tcp)
    }),
];

fn factors(flow: &FlowSummary) -> Option<RateFactors> {
    flow.against_tcp?.factors
}

/// The quantities of an emulated TCP flow that only experiments ask for.
pub const KERNEL_FLOW: [Quantity<FlowSummary>; 3] = [
    quantity("srtt_s", "smoothed round-trip time of the kernel's TCP, mean, seconds; in emulation", |flow| {
        flow.srtt_s
    }),
    quantity("rttvar_s", "its variation, mean, seconds; in emulation", |flow| flow.rttvar_s),
    quantity("rto_s", "retransmission timeout of the kernel's TCP, mean, seconds; in emulation", |flow| {
        flow.rto_s
    }),
];

/// The quantities of a link in the results of a run, over its measured time.
pub const LINK: [Quantity<LinkOutcome>; 3] = [
    quantity("utilization", "share of the time in transmission", |link| Some(link.utilization)),
    quantity("drop_rate", "share of the arriving packets that were dropped", |link| Some(link.drop_rate)),
    quantity("mean_queue_packets", "mean number of waiting packets", |link| Some(link.mean_queue_packets)),
];

/// The quantities of a flow that only experiments ask for.
pub const FLOW_COUNTS: [Quantity<FlowCounts>; 7] = [
    quantity("sent_packets", "packets sent", |flow| Some(flow.sent_packets as f64)),
    quantity("sent_bytes", "bytes of data sent", |flow| Some(flow.sent_bytes as f64)),
    quantity("received_packets", "packets received", |flow| Some(flow.received_packets as f64)),
    quantity("received_bytes", "bytes of data received", |flow| Some(flow.received_bytes as f64)),
    quantity(
        "acknowledged_packets",
        "segments that a TCP sender has seen acknowledged in sequence",
        |flow| flow.acknowledged_packets.map(|n| n as f64),
    ),
    quantity("loss_events", "loss events; of a TCP, window reductions", |flow| {
        flow.loss_events.map(|n| n as f64)
    }),
    quantity("mean_packet_bytes", "data in a packet on average, bytes", |flow| {
        (flow.sent_packets > 0).then(|| flow.sent_bytes as f64 / flow.sent_packets as f64)
    }),
];

/// The quantities of a link that only experiments ask for.
pub const LINK_COUNTS: [Quantity<LinkStats>; 9] = [
    quantity("byte_drop_rate", "share of the arriving bytes that were dropped", |link| {
        let dropped = link.lost.bytes + link.overflowed.bytes + link.corrupted.bytes;
        Some(dropped as f64 / link.arrivals.bytes as f64)
    }),
    quantity("arrived_packets", "packets that arrived", |link| Some(link.arrivals.packets as f64)),
    quantity("arrived_bytes", "bytes that arrived", |link| Some(link.arrivals.bytes as f64)),
    quantity("dropped_packets", "packets dropped", |link| {
        Some((link.lost.packets + link.overflowed.packets + link.corrupted.packets) as f64)
    }),
    quantity("dropped_bytes", "bytes dropped", |link| {
        Some((link.lost.bytes + link.overflowed.bytes + link.corrupted.bytes) as f64)
    }),
    quantity("early_drops", "packets that the queue dropped before it was full", |link| {
        Some(link.early.packets as f64)
    }),
    quantity("marked_packets", "packets marked", |link| Some(link.marked.packets as f64)),
    quantity("departed_bytes", "bytes that left", |link| Some(link.departures.bytes as f64)),
    quantity("mean_wait_s", "waiting time per packet that left, mean, seconds", |link| {
        let packets = link.departures.packets;
        (packets > 0).then(|| link.waited_ns as f64 / packets as f64 / 1e9)
    }),
];

/// The value of the quantity with a key; `None` if the list has no such key.
pub(crate) fn value<T: ?Sized>(list: &[Quantity<T>], key: &str, of: &T) -> Option<f64> {
    list.iter().find(|quantity| quantity.key == key).and_then(|quantity| (quantity.of)(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a list in `docs/experiments.md`.
    fn rows<T: ?Sized>(function: &str, list: &[Quantity<T>]) -> String {
        list.iter().map(|one| format!("| `{function}` | `{}` | {} |\n", one.key, one.meaning)).collect()
    }

    #[test]
    fn the_documentation_has_every_key() {
        let wanted = [
            rows("flow", &FLOW),
            rows("flow", &FLOW_COUNTS),
            rows("flow", &KERNEL_FLOW),
            rows("link", &LINK),
            rows("link", &LINK_COUNTS),
        ]
        .concat();
        let page = include_str!("../../../docs/experiments.md");
        assert!(page.contains(&wanted), "docs/experiments.md has to have these rows:\n{wanted}");
    }
}
