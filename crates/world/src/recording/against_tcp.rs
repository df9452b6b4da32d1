//! A TFRC flow against the TCPs that lose packets where it does: why their rates differ, as five
//! factors whose product is the ratio (after Vojnović and Le Boudec, SIGCOMM 2002, who ask of four
//! sub-conditions which one fails).

use std::collections::BTreeMap;

use tfrc::equation::Equation;
use tfrc_scenario::{FlowKind, Member};
use tfrc_sim::LinkId;
use tfrc_sim::packet::FlowId;
use tfrc_sim::tcp::Stack;
use tfrc_sim::trace::DroppedPacket;
use tfrc_units::{Duration, Instant, Probability};

use super::FlowRecord;
use crate::results::{AgainstTcp, FlowSummary, NoFactors, RateFactors};

/// Loss events of a flow below which its p says little.
const LEAST_EVENTS: u64 = 10;

/// Returns true if flows of TFRC and TCPs are among these.
pub(crate) fn applies(members: &[Member<'_>]) -> bool {
    members.iter().any(|member| rate_control(member).is_some()) && members.iter().any(is_tcp)
}

/// Compares each TFRC flow with the TCPs next to it in the time between `from` and `to`; `None` for
/// other flows, and an empty list where the scenario has no such TCP. `drops` are `None` if the
/// world does not know them.
pub(crate) fn compare(
    members: &[Member<'_>],
    flows: &[FlowSummary],
    records: &[FlowRecord],
    drops: Option<&[DroppedPacket]>,
    (from, to): (Instant, Instant),
) -> Vec<Option<AgainstTcp>> {
    if !applies(members) {
        return Vec::new();
    }
    let mut all: Vec<Side<'_>> = members
        .iter()
        .zip(flows)
        .zip(records)
        .map(|((member, flow), record)| Side { member, flow, record, times: Vec::new(), links: Vec::new() })
        .collect();
    let measured = drops.map(|drops| drops.iter().filter(|drop| drop.at >= from && drop.at <= to));
    let numbers: BTreeMap<FlowId, usize> = (0..).zip(members).map(|(n, member)| (member.id, n)).collect();
    for drop in measured.clone().into_iter().flatten() {
        if let Some(side) = numbers.get(&drop.flow).and_then(|number| all.get_mut(*number)) {
            side.add(drop);
        }
    }
    let losing: Vec<&Side<'_>> =
        all.iter().filter(|side| !side.links.is_empty() && is_tcp(side.member)).collect();
    // With thousands of flows each of the one kind would look at each of the other; most lose where
    // others do.
    let mut known: BTreeMap<&[LinkId], Result<Tcps, NoFactors>> = BTreeMap::new();
    let compared = all.iter().map(|side| {
        let Side { member, links, .. } = side;
        let equation = rate_control(member)?;
        let mut tcps = || {
            let there = losing.iter().filter(|tcp| tcp.loses_on(links)).copied();
            *known.entry(links).or_insert_with(|| Tcps::of(there))
        };
        Some(match measured {
            None => AgainstTcp::without(NoFactors::DropsUnknown),
            Some(_) => factors(side, &mut tcps, &equation).map_or_else(AgainstTcp::without, AgainstTcp::with),
        })
    });
    compared.collect()
}

/// The equation of a flow whose rate it gives.
fn rate_control(member: &Member<'_>) -> Option<Equation> {
    let config = match &member.flow.kind {
        FlowKind::Tfrc(flow) => &flow.config,
        FlowKind::Dccp(flow) => &flow.config,
        _ => return None,
    };
    Some(config.settings().algorithm.choices().equation)
}

/// Returns true for a TCP that always has data.
fn is_tcp(member: &Member<'_>) -> bool {
    matches!(member.flow.kind, FlowKind::Tcp(_)) && member.flow.timetable.is_endless()
}

/// A flow with its drops in the measured time.
struct Side<'a> {
    member: &'a Member<'a>,
    flow: &'a FlowSummary,
    record: &'a FlowRecord,
    times: Vec<Instant>,
    links: Vec<LinkId>,
}

impl Side<'_> {
    /// A packet of the flow was dropped; what its receiver sends does not count.
    fn add(&mut self, drop: &DroppedPacket) {
        if drop.from != self.member.from && drop.from != self.member.flow.from {
            return;
        }
        self.times.push(drop.at);
        if !self.links.contains(&drop.link) {
            self.links.push(drop.link);
        }
    }

    /// Returns true if one of these links has dropped packets of it.
    fn loses_on(&self, links: &[LinkId]) -> bool {
        self.links.iter().any(|link| links.contains(link))
    }

    /// R, seconds.
    fn rtt(&self) -> Option<f64> {
        self.flow.rtt_s.or(self.flow.srtt_s).filter(|rtt| *rtt > 0.0)
    }

    /// The retransmission timeout of a TCP while its round-trip time is `rtt`: as it was measured,
    /// or what its rule settles at on a steady path.
    fn timeout(&self, rtt: f64) -> f64 {
        let FlowKind::Tcp(flow) = &self.member.flow.kind else { return 4.0 * rtt };
        let (least, stack) = match flow.tcp.settings() {
            Ok(settings) => (settings.min_rto.as_secs_f64(), settings.stack),
            // A TCP of the kernel's alone.
            Err(_) => (0.2, Stack::Linux),
        };
        self.flow.rto_s.unwrap_or(match stack {
            Stack::Linux => rtt + least,
            _ => rtt.max(least),
        })
    }
}

/// The number of loss events in drops at these times: a drop within `rtt` of the first of an event
/// belongs to it (RFC 5348 §5.2).
fn loss_events(times: &[Instant], rtt: Duration) -> u64 {
    let mut events = 0;
    let mut begun: Option<Instant> = None;
    for time in times {
        if begun.is_none_or(|begun| *time > begun + rtt) {
            events += 1;
            begun = Some(*time);
        }
    }
    events
}

/// The TCPs that lose packets on some links.
#[derive(Debug, Clone, Copy)]
struct Tcps {
    flows: usize,
    /// Loss events for each packet sent.
    p: f64,
    /// Means in seconds and bit/s.
    rtt: f64,
    timeout: f64,
    goodput: f64,
}

impl Tcps {
    fn of<'a, 'b: 'a>(tcps: impl Iterator<Item = &'a Side<'b>>) -> Result<Self, NoFactors> {
        let few = NoFactors::FewLossEvents;
        let (mut events, mut packets) = (0, 0);
        let (mut goodputs, mut rtts, mut timeouts) = (Vec::new(), Vec::new(), Vec::new());
        for tcp in tcps {
            let rtt = tcp.rtt().ok_or(NoFactors::NothingArrived)?;
            let of_flow = loss_events(&tcp.times, Duration::from_secs_f64(rtt));
            if of_flow < LEAST_EVENTS {
                return Err(few);
            }
            events += of_flow;
            packets += tcp.record.counts.sent_packets;
            goodputs.push(tcp.flow.goodput_bps.unwrap_or(0.0));
            rtts.push(rtt);
            timeouts.push(tcp.timeout(rtt));
        }
        let mean = |values: &[f64]| crate::statistics::mean(values).filter(|mean| *mean > 0.0);
        let (Some(rtt), Some(timeout)) = (mean(&rtts), mean(&timeouts)) else { return Err(few) };
        let goodput = mean(&goodputs).ok_or(NoFactors::NothingArrived)?;
        Ok(Self { flows: rtts.len(), p: events as f64 / packets.max(1) as f64, rtt, timeout, goodput })
    }
}

fn factors(
    own: &Side<'_>,
    tcps: &mut dyn FnMut() -> Result<Tcps, NoFactors>,
    equation: &Equation,
) -> Result<RateFactors, NoFactors> {
    let few = NoFactors::FewLossEvents;
    if own.record.counts.loss_events.unwrap_or(0) < LEAST_EVENTS {
        return Err(few);
    }
    let p = own.flow.loss_event_rate.filter(|p| *p > 0.0).ok_or(few)?;
    let tcps = tcps()?;
    let (Some(rtt), Some(goodput)) = (own.rtt(), own.flow.goodput_bps.filter(|rate| *rate > 0.0)) else {
        return Err(NoFactors::NothingArrived);
    };
    let segment = own.record.counts.sent_bytes as f64 / own.record.counts.sent_packets.max(1) as f64;
    let rate = |p: f64, rtt: f64, timeout: Option<f64>| {
        let r = Duration::from_secs_f64(rtt);
        let timeout = timeout.map_or_else(|| equation.rto.timeout(r), Duration::from_secs_f64);
        equation.rate_with_timeout(segment, r, timeout, Probability::saturating(p)).bits_per_sec()
    };
    let own_rate = rate(p, rtt, None);
    let with_its_p = rate(tcps.p, rtt, None);
    let with_its_rtt = rate(tcps.p, tcps.rtt, None);
    let with_its_timeout = rate(tcps.p, tcps.rtt, Some(tcps.timeout));
    Ok(RateFactors {
        tcp_flows: tfrc_units::saturating(tcps.flows),
        ratio: goodput / tcps.goodput,
        obedience: goodput / own_rate,
        loss_events: own_rate / with_its_p,
        rtt: with_its_p / with_its_rtt,
        rto: with_its_rtt / with_its_timeout,
        tcp: with_its_timeout / tcps.goodput,
        tcp_loss_event_rate: tcps.p,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_within_a_round_trip_are_one_event() {
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let times = [0, 40, 100, 101, 150, 201, 202].map(at);
        // 0, 40 and 100; 101, 150 and 201; 202.
        assert_eq!(loss_events(&times, Duration::from_millis(100)), 3);
        assert_eq!(loss_events(&times, Duration::ZERO), 7);
        assert_eq!(loss_events(&[], Duration::from_millis(100)), 0);
    }
}
