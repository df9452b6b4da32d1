//! Figures of a flow between two states of it.

use tfrc::config::PacketSize;
use tfrc_scenario::{FlowKind, Member};
use tfrc_units::{Duration, Instant, Rate};

use crate::results::{FlowCounts, FlowSummary, Interval};
use crate::state::Progress;

/// Returns the counters of a flow between two states.
pub(crate) fn counts(before: &Progress, after: &Progress) -> FlowCounts {
    let during = Passed::between(before, after);
    FlowCounts {
        sent_packets: during.sent,
        sent_bytes: during.sent_bytes,
        received_packets: during.received,
        received_bytes: during.received_bytes,
        acknowledged_packets: before
            .acknowledged_packets
            .zip(after.acknowledged_packets)
            .map(|(a, b)| b.saturating_sub(a)),
        loss_events: before.losses.zip(after.losses).map(|(a, b)| b.events.saturating_sub(a.events)),
    }
}

/// Returns the figures of a flow between two states, but for its coefficient of variation.
pub(crate) fn summary(
    member: &Member<'_>,
    before: &Progress,
    after: &Progress,
    time: Duration,
) -> FlowSummary {
    let during = Passed::between(before, after);
    FlowSummary {
        id: member.name.clone(),
        kind: kind(&member.flow.kind).to_owned(),
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        packet_loss_rate: during.loss_rate(),
        loss_event_rate: loss_event_rate(before, after),
        rtt_s: after.rtt.since(before.rtt).get(),
        srtt_s: after.srtt.since(before.srtt).get(),
        rttvar_s: after.rttvar.since(before.rttvar).get(),
        rto_s: after.rto.since(before.rto).get(),
        stopped: after.last_stop,
        competing_s: after
            .competed
            .map(|competed| competed.saturating_sub(before.competed.unwrap_or_default()).as_secs_f64()),
        ..FlowSummary::default()
    }
}

/// The kind of a flow in results.
fn kind(kind: &FlowKind) -> &'static str {
    match kind {
        FlowKind::Tfrc(tfrc) => match tfrc.config.settings().packet_size {
            PacketSize::TfrcSp(_) => "tfrc-sp",
            _ => "tfrc",
        },
        FlowKind::Dccp(dccp) => match dccp.ccid {
            tfrc_dccp::Ccid::Four => "dccp-sp",
            _ => "dccp",
        },
        FlowKind::Tcp(tcp) => tcp.tcp.name(),
        FlowKind::Datagrams(datagrams) => match datagrams.pattern {
            tfrc_sim::traffic::Pattern::OnOff { .. } => "onoff",
            _ => "cbr",
        },
        FlowKind::Custom(_) => "custom",
        FlowKind::Ping(_) => "ping",
        FlowKind::Web(_) => "web",
    }
}

/// The record of a flow between two states.
pub(crate) fn interval(
    from: Instant,
    to: Instant,
    flow: String,
    before: &Progress,
    after: &Progress,
) -> Interval {
    let time = to.saturating_since(from);
    let during = Passed::between(before, after);
    Interval {
        t_s: to.as_secs_f64(),
        interval_s: time.as_secs_f64(),
        flow: Some(flow),
        sent_packets: Some(during.sent),
        received_packets: Some(during.received),
        lost_packets: during.lost,
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        allowed_rate_bps: after.allowed_bps,
        loss_event_rate: after.p,
        packet_loss_rate: during.loss_rate(),
        rtt_s: after.smoothed_rtt.map(Duration::as_secs_f64).or_else(|| after.rtt.since(before.rtt).get()),
        loss_events: before.losses.zip(after.losses).map(|(a, b)| b.events.saturating_sub(a.events)),
        cwnd_packets: after.cwnd,
        stopped: after.stopped,
        limit: after.limit,
        ..Interval::default()
    }
}

/// Packets and bytes of a flow between two states.
struct Passed {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    /// Packets that links dropped.
    lost: Option<u64>,
}

impl Passed {
    fn between(before: &Progress, after: &Progress) -> Self {
        let received = after.received_packets - before.received_packets;
        Self {
            sent: after.sent_packets - before.sent_packets,
            sent_bytes: after.sent_bytes - before.sent_bytes,
            received,
            received_bytes: after.received_bytes - before.received_bytes,
            lost: after.dropped.map(|dropped| dropped - before.dropped.unwrap_or(0)),
        }
    }

    /// The share of the packets dropped among those dropped or received.
    fn loss_rate(&self) -> Option<f64> {
        self.lost.map(|lost| share(lost, lost + self.received))
    }
}

fn loss_event_rate(before: &Progress, after: &Progress) -> Option<f64> {
    let (start, end) = (before.losses?, after.losses?);
    let base = match (before.first_event, after.first_event) {
        (None, Some(first)) => first,
        _ => start,
    };
    // Loss events may be taken back when late packets fill their holes.
    Some(share(end.events.saturating_sub(base.events), end.packets - base.packets))
}

fn bits_per_sec(bytes: u64, time: Duration) -> f64 {
    Rate::of(bytes as f64, time).bits_per_sec()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
