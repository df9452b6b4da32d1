//! A half-connection: data in one direction, and the reports about them in the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tfrc::PacketKind;
use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::arrivals::{Arrivals, Came, InverseP, without_discounting};
use crate::bounded::{Samples, Series};
use crate::document::{Direction, Gap, LossEvent, LossesSeen, OptionSeen, Queueing, ReportSeen, Reports};
use crate::model::{Effect, Model};

/// Reports that are kept.
const REPORTS: usize = 400;
/// Packets that wait for their acknowledgement, where the losses are known by a list.
const WAITING: usize = 1 << 16;
/// Reports agree with a rule if 1/p differs by at most this many packets or this share.
const PACKETS: f64 = 2.0;
const SHARE: f64 = 0.03;
/// Share of the reports with losses that must agree before the rule is named.
const MOST: f64 = 0.9;

/// A report as it stands in a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) packet: u64,
    pub(crate) at: Instant,
    /// Number acknowledged.
    pub(crate) ack: u64,
    /// 1/p; `None` without a loss event.
    pub(crate) inverse_p: Option<f64>,
    /// X_recv.
    pub(crate) receive_rate: Option<Rate>,
    pub(crate) rtt: Option<Duration>,
    /// Queueing delay in seconds, and how it was measured.
    pub(crate) queueing: Option<(f64, &'static str)>,
    /// Time from here until what the sender does about the report passes the tap.
    pub(crate) delay: Duration,
}

/// A rule by which a peer may compute p, with the words for it.
type Rule = (&'static str, fn(&InverseP) -> Option<f64>);

const RULES: [Rule; 4] = [
    ("RFC 5348 §5.5, with history discounting", |p| p.discounted),
    ("RFC 5348 §5.4, without history discounting", |p| p.plain),
    ("RFC 4342 §10.2, loss events by CCVal", |p| p.by_counter),
    (LINUX, |p| p.linux),
];
const LINUX: &str = "Linux 6.1: one interval too few until nine loss events; CCVal modulo 16; lengths with \
                     acknowledgements";

/// Data in one direction.
#[derive(Debug, Clone)]
pub(crate) struct Half {
    pub(crate) ccid: Option<u8>,
    packets: u64,
    data_packets: u64,
    data_bytes: u64,
    first_data: Option<Instant>,
    last_data: Option<Instant>,
    pub(crate) ndp_seen: bool,
    arrivals: Arrivals,
    /// Data packets that were lost after the tap, counted from 1, if they are known.
    lost: Option<BTreeSet<u64>>,
    waiting: VecDeque<Came>,
    model: Model,
    reports: Series<ReportSeen>,
    last_report: Option<Instant>,
    spacing: Samples,
    queueing: Samples,
    queueing_by: Option<&'static str>,
    since_report: u64,
    /// Reports with a loss event, and how many of them agree with each rule.
    compared: u64,
    agreeing: [u64; RULES.len()],
    options: BTreeMap<u8, OptionSeen>,
}

impl Half {
    pub(crate) fn new(lost: Option<BTreeSet<u64>>) -> Self {
        Self {
            ccid: None,
            packets: 0,
            data_packets: 0,
            data_bytes: 0,
            first_data: None,
            last_data: None,
            ndp_seen: false,
            arrivals: Arrivals::new(),
            lost,
            waiting: VecDeque::new(),
            model: Model::new(),
            reports: Series::new(REPORTS),
            last_report: None,
            spacing: Samples::new(),
            queueing: Samples::new(),
            queueing_by: None,
            since_report: 0,
            compared: 0,
            agreeing: [0; RULES.len()],
            options: BTreeMap::new(),
        }
    }

    /// The first packet has this number.
    pub(crate) fn expect(&mut self, at: Instant, number: u64) {
        self.arrivals.expect(at, number);
    }

    /// A packet of any kind passes the tap.
    pub(crate) fn on_packet(&mut self, came: &Came, feeds: bool) {
        self.packets += 1;
        if came.kind == PacketKind::Data {
            self.data_packets += 1;
            self.data_bytes += came.size as u64;
            self.since_report += came.size as u64;
            self.first_data.get_or_insert(came.at);
            self.last_data = Some(came.at);
            self.model.on_sent(came.at, came.size);
        }
        if !feeds {
            return;
        }
        match &self.lost {
            None => self.arrivals.on_packet(came),
            Some(lost) if came.kind == PacketKind::Data && lost.contains(&self.data_packets) => {}
            Some(_) => {
                if self.waiting.len() < WAITING {
                    self.waiting.push_back(*came);
                }
            }
        }
    }

    /// A report about these data passes the tap.
    pub(crate) fn on_report(&mut self, told: &Told, origin: u64, sees_arrivals: bool) {
        while let Some(came) = self.waiting.pop_front_if(|came| came.number <= told.ack) {
            self.arrivals.on_packet(&came);
        }
        let by = self.arrivals.on_report(told.inverse_p, told.ack);
        let sees_arrivals = sees_arrivals || self.lost.is_some();
        if let Some(reported) = told.inverse_p.filter(|_| sees_arrivals) {
            self.compared += 1;
            for ((_, rule), agreeing) in RULES.iter().zip(&mut self.agreeing) {
                let agrees =
                    rule(&by).is_some_and(|ours| (ours - reported).abs() <= PACKETS.max(SHARE * reported));
                *agreeing += u64::from(agrees);
            }
        }
        let since = self.last_report.map(|last| told.at.saturating_since(last).as_secs_f64());
        if let Some(since) = since {
            self.spacing.push(since);
        }
        let shown = |inverse_p: Option<f64>| inverse_p.filter(|_| sees_arrivals);
        self.reports.push(ReportSeen {
            packet: told.packet,
            time_s: told.at.as_secs_f64(),
            acknowledges: told.ack.saturating_sub(origin),
            inverse_p: told.inverse_p,
            inverse_p_rfc5348: shown(by.plain),
            inverse_p_discounted: shown(by.discounted),
            inverse_p_same_first: shown(by.with_their_first),
            inverse_p_linux: shown(by.linux),
            receive_rate_bps: told.receive_rate.map(Rate::bits_per_sec),
            passed_bps: since.filter(|s| *s > 0.0).map(|s| self.since_report as f64 * 8.0 / s),
        });
        (self.last_report, self.since_report) = (Some(told.at), 0);
        if let Some((delay, by)) = told.queueing {
            self.queueing.push(delay);
            self.queueing_by = Some(by);
        }
        if let (Some(rtt), Some(receive_rate)) = (told.rtt, told.receive_rate) {
            let p = Probability::saturating(told.inverse_p.map_or(0.0, |inverse| 1.0 / inverse));
            let by_arrivals = shown(by.plain).map(|inverse| 1.0 / inverse);
            let at = told.at + told.delay;
            let queueing = told.queueing.map(|(delay, _)| delay);
            self.model.on_report(told.at, Effect { at, rtt, p, by_arrivals, receive_rate, queueing });
        }
    }

    /// Counts an option of a packet in this direction.
    pub(crate) fn on_option(&mut self, number: u8, name: &'static str, value: impl FnOnce() -> String) {
        let option = self.options.entry(number).or_insert_with(|| OptionSeen {
            number,
            name: name.to_owned(),
            times: 0,
            last: String::new(),
        });
        option.times += 1;
        option.last = value();
    }

    /// p from the lengths of a Loss Intervals option, for peers that report no other; 1/p.
    pub(crate) fn inverse_p_of(lengths: &[f64]) -> Option<f64> {
        let p = tfrc::history::loss_event_rate(lengths, &without_discounting()).get();
        (p > 0.0).then(|| 1.0 / p)
    }

    pub(crate) fn counter_rtt(&self) -> Option<f64> {
        self.arrivals.counter_rtt().filter(|_| self.data_packets > 0).map(Duration::as_secs_f64)
    }

    /// The result: `origin` is the number of the first packet.
    pub(crate) fn finish(mut self, from: &str, origin: u64, sees_arrivals: bool) -> Direction {
        while let Some(came) = self.waiting.pop_front() {
            self.arrivals.on_packet(&came);
        }
        let seconds = match (self.first_data, self.last_data) {
            (Some(first), Some(last)) => last.saturating_since(first).as_secs_f64(),
            _ => 0.0,
        };
        let best = self.agreeing.iter().enumerate().max_by(|(a, x), (b, y)| x.cmp(y).then(b.cmp(a)));
        let best = best.filter(|_| self.compared > 0);
        let share = best.map(|(_, agreeing)| *agreeing as f64 / self.compared as f64);
        let rule = best.zip(share).map(|((n, _), share)| match share >= MOST {
            true => RULES.get(n).map_or("", |(name, _)| name),
            false => "no rule that is known here",
        });
        Direction {
            from: from.to_owned(),
            ccid: self.ccid,
            packets: self.packets,
            data_packets: self.data_packets,
            data_bytes: self.data_bytes,
            duration_s: seconds,
            rate_bps: (seconds > 0.0).then(|| self.data_bytes as f64 * 8.0 / seconds),
            losses: (sees_arrivals || self.lost.is_some()).then(|| self.losses(origin)),
            reports: Reports {
                count: self.reports.seen(),
                spacing_s: self.spacing.median(),
                rule: rule.map(str::to_owned),
                agreeing: share,
                series: self.reports.items().to_vec(),
            },
            rates: self.model.rates(),
            queueing: self.queueing_by.map(|by| Queueing {
                by: by.to_owned(),
                samples: self.queueing.count(),
                median_s: self.queueing.median(),
                most_s: self.queueing.most(),
            }),
            options: self.options.into_values().collect(),
        }
    }

    fn losses(&self, origin: u64) -> LossesSeen {
        let counts = self.arrivals.losses();
        let shown = |number: u64| number.saturating_sub(origin);
        LossesSeen {
            gaps: counts.gaps,
            data: counts.data,
            acknowledgements: counts.non_data,
            ndp_counts: self.ndp_seen,
            marked: counts.marked,
            late: counts.late,
            duplicates: counts.duplicates,
            events: self.arrivals.loss_events(),
            first_gaps: self
                .arrivals
                .holes()
                .iter()
                .map(|hole| Gap {
                    at: shown(hole.first),
                    length: hole.end - hole.first,
                    acknowledgements: hole.non_data,
                })
                .collect(),
            first_events: self
                .arrivals
                .events()
                .iter()
                .map(|event| LossEvent { at: shown(event.number), found_s: event.at.as_secs_f64() })
                .collect(),
        }
    }
}
