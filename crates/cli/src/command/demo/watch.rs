//! Observations of a demo while it runs, and their summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_emu::{Monitor, Snapshot};
use tfrc_report::record::{EventKind, Record, Summary};
use tfrc_scenario::Scenario;
use tfrc_units::{Duration, Instant, Rate};
use tfrc_world::results::{FlowSummary, Interval};
use tfrc_world::watch::Look;
use tfrc_world::world::relayed::{Flows, summaries};

use super::contest::Contest;
use crate::session::{Connection, Sampler, Tally, as_f64, complete};

/// Everything that is seen of the run while it lasts.
pub(super) struct Watch {
    sampler: Sampler,
    monitor: Monitor<Flows>,
    scenario: Scenario,
    /// All of the bottleneck, over the whole run.
    link: FairShare,
    /// The current rate of the bottleneck.
    rate_now: Rate,
    /// Number of competing flows, the scenario's first; the others have not been started.
    competing: usize,
    /// An equal share of the bottleneck, over the measured part.
    fair: FairShare,
    /// Bytes of data that the receiver has.
    received: Arc<AtomicU64>,
    last: Counters,
    /// The measured part begins when slow start is over, but not before this.
    not_before: Duration,
    slow_start: SlowStartPhase,
    from: Option<Counters>,
    to: Option<Counters>,
    contest: Contest,
}

/// Bits that an equal share of the bottleneck would have carried.
#[derive(Debug, Clone, Copy, Default)]
struct FairShare {
    bits: f64,
    time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlowStartPhase {
    Lasts,
    Over,
}

/// The counters at one moment.
#[derive(Debug, Clone, Default)]
struct Counters {
    received: u64,
    snapshot: Arc<Snapshot<Flows>>,
}

impl Watch {
    /// Begins to look; `began` is the sender's time at the start, `not_before` the relay's before
    /// which nothing is measured.
    pub(super) fn new(
        began: Instant,
        connection: &Connection,
        monitor: Monitor<Flows>,
        scenario: Scenario,
        competing: usize,
        received: Arc<AtomicU64>,
        not_before: Duration,
    ) -> Self {
        let rate_now = scenario.network.links().next().map_or(Rate::ZERO, |(_, link)| link.rate);
        Self {
            sampler: Sampler::new(began, connection.status()),
            monitor,
            scenario,
            link: FairShare::default(),
            rate_now,
            competing,
            fair: FairShare::default(),
            received,
            last: Counters::default(),
            not_before,
            slow_start: SlowStartPhase::Lasts,
            from: None,
            to: None,
            contest: Contest::default(),
        }
    }

    pub(super) fn event(&self, at: Instant, event: EventKind) -> Record {
        self.sampler.event(at, event)
    }

    /// An event at the bottleneck.
    pub(super) fn link_change(&self, at: Instant, what: String) -> Record {
        self.sampler.event_with(at, EventKind::LinkChange, Some(what))
    }

    /// The bottleneck has another rate from now on.
    pub(super) fn rate_changed(&mut self, rate: Rate) {
        self.rate_now = rate;
    }

    /// One flow more of the scenario competes from now on.
    pub(super) fn one_more_competes(&mut self) {
        self.competing += 1;
    }

    /// The records of one sample, those of the TFRC flow first.
    /// `look` is what the network has seen meanwhile.
    pub(super) fn records(&mut self, connection: &Connection, look: Look) -> Vec<Record> {
        let now = self.moment();
        let mut records = self.sampler.sender(connection);
        let mut others = Vec::new();
        let Look { mut flows, links } = look;
        let queue = links.first().and_then(|link| link.queue_packets);
        for record in &mut records {
            match record {
                Record::Interval(interval) => {
                    self.complete(interval, queue, &now);
                    others = self.competitors(interval.t_s, std::mem::take(&mut flows));
                }
                Record::Event(event) if event.event == EventKind::SlowStartEnd => {
                    self.slow_start = SlowStartPhase::Over;
                }
                _ => {}
            }
        }
        if self.slow_start == SlowStartPhase::Over && now.snapshot.elapsed >= self.not_before {
            if self.from.is_some() {
                let passed = now.snapshot.elapsed.saturating_sub(self.last.snapshot.elapsed);
                self.fair.add(self.rate_now, self.competing, passed);
            }
            self.from.get_or_insert_with(|| now.clone());
            self.contest.look(&now.snapshot, self.competing);
        }
        self.last = now;
        records.extend(others);
        records
    }

    /// The measured part ends.
    pub(super) fn end_measuring(&mut self) {
        self.to = Some(self.moment());
    }

    fn moment(&self) -> Counters {
        Counters { received: self.received.load(Ordering::Relaxed), snapshot: self.monitor.latest() }
    }

    /// Adds what is visible only from both ends and the network.
    fn complete(&mut self, interval: &mut Interval, queue: Option<f64>, now: &Counters) {
        let bytes = now.received.saturating_sub(self.last.received);
        interval.goodput_bps = Some(as_f64(bytes) * 8.0 / interval.interval_s);
        interval.queue_packets = queue;
        interval.link_rate_bps = Some(self.rate_now.bits_per_sec());
        self.link.add(self.rate_now, 0, Duration::from_secs_f64(interval.interval_s));
    }

    /// The figures of the run, which lasted `time`.
    pub(super) fn summary(&self, connection: &Connection, tally: Tally, time: Duration) -> Summary {
        let status = connection.status();
        let mut summary = Summary {
            duration_s: time.as_secs_f64(),
            sent_bytes: Some(status.stats.sent_data_bytes),
            send_rate_bps: Some(Rate::of(as_f64(status.stats.sent_data_bytes), time).bits_per_sec()),
            allowed_rate_bps: self.sampler.mean_allowed_rate(),
            rtt_s: self.sampler.mean_rtt(),
            late_dropped_packets: Some(status.late_dropped),
            bottleneck_bps: self.link.mean_bps().map(f64::round),
            cov_ratio: self.contest.variation_ratio(),
            equivalence_ratio: self.contest.equivalence(),
            ..Summary::default()
        };
        complete(&tally, status.stats.sent_data_packets, &mut summary);
        let measured = self.measured();
        summary.wire_goodput_bps = measured.map(|m| m.rate(|moment| moment.snapshot.there.delivered.bytes));
        summary.flows = vec![FlowSummary {
            id: "tfrc".to_owned(),
            kind: "tfrc".to_owned(),
            send_rate_bps: summary.send_rate_bps,
            goodput_bps: measured.map(|m| m.rate(|moment| moment.received)),
            packet_loss_rate: summary.packet_loss_rate,
            loss_event_rate: summary.loss_event_rate,
            rtt_s: summary.rtt_s,
            cov: self.contest.variation(0),
            ..FlowSummary::default()
        }];
        summary.flows.extend(self.competitor_summaries());
        if self.competing > 0 {
            summary.share =
                summary.wire_goodput_bps.zip(self.fair.mean_bps()).map(|(rate, fair)| rate / fair);
        }
        summary
    }

    /// The figures of the competitors; only their names if nothing was measured.
    fn competitor_summaries(&self) -> Vec<FlowSummary> {
        let nothing = Counters::default();
        let measured = self.measured();
        let (from, to) = measured.map_or((&nothing, &nothing), |measured| (measured.from, measured.to));
        let all = summaries(&self.scenario, &from.snapshot, &to.snapshot).into_iter().enumerate();
        let known = |(n, flow): (usize, FlowSummary)| match measured {
            Some(_) => FlowSummary { cov: self.contest.variation(n + 1), ..flow },
            None => FlowSummary { id: flow.id, kind: flow.kind, ..FlowSummary::default() },
        };
        all.take(self.competing).map(known).collect()
    }

    fn measured(&self) -> Option<MeasuredPart<'_>> {
        self.from.as_ref().zip(self.to.as_ref()).and_then(|(from, to)| MeasuredPart::new(from, to))
    }

    /// The packets and rates of the competitors, for the interval that ends at `t_s`.
    fn competitors(&self, t_s: f64, flows: Vec<Interval>) -> Vec<Record> {
        let shown = |interval: Interval| Interval {
            t_s,
            // Not among the records of the demo: an interval holds too few packets for them.
            lost_packets: None,
            packet_loss_rate: None,
            rtt_s: None,
            ..interval
        };
        flows.into_iter().take(self.competing).map(|interval| Record::Interval(shown(interval))).collect()
    }
}

impl FairShare {
    /// For `time`, `competing` flows shared a bottleneck of this rate with the TFRC flow.
    fn add(&mut self, rate: Rate, competing: usize, time: Duration) {
        self.bits += rate.bits_per_sec() / (as_f64(competing as u64) + 1.0) * time.as_secs_f64();
        self.time += time;
    }

    /// The mean over the time, bit/s.
    fn mean_bps(self) -> Option<f64> {
        (self.bits > 0.0 && !self.time.is_zero()).then(|| self.bits / self.time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fair_share_is_a_mean_over_rates_and_flows() {
        let mut fair = FairShare::default();
        assert_eq!(fair.mean_bps(), None);
        // 1 Mbit/s for 3 s, then 0.25 Mbit/s for 1 s.
        fair.add(Rate::from_bits_per_sec(2e6), 1, Duration::from_secs(3));
        fair.add(Rate::from_bits_per_sec(1e6), 3, Duration::from_secs(1));
        assert!(fair.mean_bps().is_some_and(|bps| (bps - 812_500.0).abs() < 1e-3), "{fair:?}");
    }
}

/// The part of the run that is measured.
#[derive(Clone, Copy)]
struct MeasuredPart<'a> {
    from: &'a Counters,
    to: &'a Counters,
    time: Duration,
}

impl<'a> MeasuredPart<'a> {
    fn new(from: &'a Counters, to: &'a Counters) -> Option<Self> {
        let time = to.snapshot.elapsed.saturating_sub(from.snapshot.elapsed);
        (!time.is_zero()).then_some(Self { from, to, time })
    }

    /// How fast a count of bytes grew, in bit/s.
    fn rate(self, bytes: impl Fn(&Counters) -> u64) -> f64 {
        let grown = bytes(self.to).saturating_sub(bytes(self.from));
        Rate::of(as_f64(grown), self.time).bits_per_sec()
    }
}
