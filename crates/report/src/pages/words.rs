//! The page's sentences and figures: headline, tiles and rows of tables, from the summary alone.

use super::RunRecords;
use crate::human;
use crate::record::{Role, Summary};
use tfrc_world::batch::{GroupOf, PointResult, Results, RunOutcome};
use tfrc_world::note::Note;
use tfrc_world::results::FlowSummary;
use tfrc_world::results::LinkOutcome;
use tfrc_world::statistics::{self, Estimate};

/// A key figure at the top of the page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) note: String,
}

/// Sums up the run in one sentence.
pub(super) fn headline(run: &RunRecords) -> String {
    if let Some((t_s, message)) = &run.failure {
        return format!("The run failed after {}: {message}.", human::time(*t_s));
    }
    let Some(s) = &run.summary else { return "The run has not ended.".to_owned() };
    let peer = |word: &str| run.start.peer.as_ref().map_or(String::new(), |p| format!(" {word} {p}"));
    let time = human::time(s.duration_s);
    match run.start.role {
        Role::Demo => demo(run, s, &time),
        Role::Recv => format!(
            "{} received{} in {time}{}{}.",
            s.received_bytes.map_or("Data".to_owned(), human::bytes),
            peer("from"),
            s.goodput_bps.map_or(String::new(), |r| format!(", {} on average", human::rate(r))),
            lost(s),
        ),
        Role::Send => format!(
            "{} sent{} in {time}{}{}.",
            s.sent_bytes.map_or("Data".to_owned(), human::bytes),
            peer("to"),
            s.send_rate_bps.map_or(String::new(), |r| format!(", {} on average", human::rate(r))),
            lost(s),
        ),
        Role::Emu => scenario(s, &format!("{time} were emulated")),
        Role::Link => scenario(s, &format!("The network was in use for {time}")),
        Role::Sim => scenario(s, &format!("{time} were simulated")),
    }
}

fn demo(run: &RunRecords, s: &Summary, time: &str) -> String {
    let rates = || run.intervals.iter().filter_map(|interval| interval.link_rate_bps);
    let (least, most) =
        rates().fold((f64::INFINITY, 0.0_f64), |(least, most), b| (least.min(b), most.max(b)));
    let link = match s.bottleneck_bps {
        // The user changed it.
        Some(mean) if least < most => {
            format!(
                "a bottleneck of {} to {}, {} on average,",
                human::rate(least),
                human::rate(most),
                human::rate(mean)
            )
        }
        Some(b) => format!("a {} bottleneck", human::rate(b)),
        None => "one bottleneck".to_owned(),
    };
    let goodput = s.goodput_bps.map_or("an unknown rate".to_owned(), human::rate);
    match (s.flows.len().saturating_sub(1), s.share) {
        (0, _) | (_, None) => {
            let used = s
                .bottleneck_bps
                .zip(s.goodput_bps)
                .filter(|(b, _)| *b > 0.0)
                .map_or(String::new(), |(b, g)| format!(", {} of the link", human::percent(g / b)));
            format!("A TFRC flow had {link} to itself for {time}: {goodput} arrived{used}{}.", lost(s))
        }
        (n, Some(share)) => format!(
            "A TFRC flow and {n} TCP flow{} shared {link} for {time}: TFRC got {goodput}, {} times \
             an equal share.",
            if n == 1 { "" } else { "s" },
            human::number(share),
        ),
    }
}

/// Sums up a scenario: its flows, and the link that was used most.
fn scenario(s: &Summary, begin: &str) -> String {
    let number = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let flows = match s.flows.len() {
        0 => String::new(),
        n => format!(", with {}", number(n, "flow")),
    };
    let busiest = s.links.iter().max_by(|a, b| a.utilization.total_cmp(&b.utilization));
    let link = busiest.map_or(String::new(), |link| {
        let LinkOutcome { id, utilization, drop_rate, .. } = link;
        let (used, dropped) = (human::percent(*utilization), human::percent(*drop_rate));
        format!("; link {id} was busy for {used} of the time and dropped {dropped} of its packets")
    });
    format!("{begin}{flows}{link}.")
}

/// Sums up several runs: the goodput of TFRC next to TCP where both are at every point, otherwise
/// goodput and queueing delay of one entry. `None` for a shard, and where nothing is known.
pub(super) fn swept(results: &Results) -> Option<String> {
    let points = results.points.as_slice();
    let first = points.first().filter(|_| results.shard.is_none())?;
    let (over, capital) = match (points.len(), first.at.keys().next()) {
        (1, _) | (_, None) => (String::new(), "A"),
        (n, Some(key)) if first.at.len() == 1 => (format!("Over {n} values of {key}, "), "a"),
        (n, _) => (format!("Over {n} points, "), "a"),
    };
    let shares = points.iter().map(share).collect::<Option<Vec<(f64, Option<f64>)>>>();
    if let Some(shares) = shares {
        let half = match shares.as_slice() {
            [(_, Some(half))] => format!(" ± {}", human::number(*half)),
            _ => String::new(),
        };
        let times = range(shares.iter().map(|(mean, _)| *mean), human::number);
        return Some(format!("{over}{capital} TFRC flow got {times}{half} times the goodput of a TCP flow."));
    }
    let values = |group: &GroupOf, key: &str| -> Vec<f64> {
        let of = |point: &PointResult| {
            point.mean.as_ref()?.groups.iter().find(|row| row.id == group.id)?.values.get(key)?.mean
        };
        points.iter().filter_map(of).collect()
    };
    let is_tfrc = |group: &&GroupOf| {
        let flow = first.runs.first().and_then(|run| run.outcome.flows.get(group.first));
        flow.is_some_and(|flow| flow.kind.starts_with("tfrc"))
    };
    let known = || first.groups.iter().filter(|group| !values(group, "goodput_bps").is_empty());
    let group = known().find(is_tfrc).or_else(|| known().next())?;
    let goodput = range(values(group, "goodput_bps"), human::rate);
    let delays = values(group, "queueing_delay_p95_s");
    let delay = match delays.is_empty() {
        true => String::new(),
        false => format!(", and a queueing delay of {} (95th percentile)", range(delays, human::time)),
    };
    let who = if group.count > 1 { format!("a flow of {}", group.id) } else { group.id.clone() };
    Some(format!("{over}{who} had a goodput of {goodput}{delay}."))
}

/// Values in words: the least and the most.
fn range(values: impl IntoIterator<Item = f64>, show: fn(f64) -> String) -> String {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let (least, most) =
        values.into_iter().fold(ends, |(least, most), value| (least.min(value), most.max(value)));
    let (least, most) = (show(least), show(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// The goodput of a TFRC flow over that of a TCP, over the runs of a point: the mean, and half of
/// its 95 % interval unless the runs are copies. `None` if it has not both.
fn share(point: &PointResult) -> Option<(f64, Option<f64>)> {
    let mean_of = |flows: &[FlowSummary], is_one: &dyn Fn(&str) -> bool| {
        let goodputs: Vec<f64> =
            flows.iter().filter(|flow| is_one(&flow.kind)).filter_map(|flow| flow.goodput_bps).collect();
        statistics::mean(&goodputs)
    };
    let of_run = |run: &RunOutcome| {
        let flows = &run.outcome.flows;
        let tcp = mean_of(flows, &|kind| kind.starts_with("tcp")).filter(|goodput| *goodput > 0.0)?;
        Some(mean_of(flows, &|kind| kind.starts_with("tfrc"))? / tcp)
    };
    let ratios = point.runs.iter().map(of_run).collect::<Option<Vec<f64>>>()?;
    let Estimate { mean, ci95 } = statistics::estimate(&ratios);
    Some((mean?, ci95.filter(|_| !point.notes.contains(&Note::NothingRandom))))
}

fn lost(s: &Summary) -> String {
    let said = |share: Option<f64>, what: &str| {
        share.map_or(String::new(), |share| format!("; {} of the packets were {what}", human::percent(share)))
    };
    let some = |share: Option<f64>| share.filter(|share| *share > 0.0);
    said(s.packet_loss_rate, "lost")
        + &said(some(s.late_dropped_rate), "dropped late by the sender")
        + &said(some(s.dropped_by_reader_rate), "dropped by a slow reader")
}

/// The key figures that are known, at most six.
pub(super) fn tiles(run: &RunRecords) -> Vec<Tile> {
    let Some(s) = &run.summary else { return Vec::new() };
    let tile = |label, value: Option<String>, note: String| value.map(|value| Tile { label, value, note });
    let main = if run.start.role == Role::Send && s.goodput_bps.is_none() {
        tile("Send rate", s.send_rate_bps.map(human::rate), "application data, whole run".to_owned())
    } else {
        let note = s.bottleneck_bps.filter(|b| *b > 0.0).zip(s.goodput_bps).map_or_else(
            || "application data, whole run".to_owned(),
            |(b, g)| format!("{} of the link", human::percent(g / b)),
        );
        tile("Goodput", s.goodput_bps.map(human::rate), note)
    };
    [
        main,
        tile(
            "Share",
            s.share.map(|x| format!("{}×", human::number(x))),
            "of an equal share of the link".to_owned(),
        ),
        tile("Allowed rate X", s.allowed_rate_bps.map(human::rate), "mean".to_owned()),
        tile("Loss event rate p", s.loss_event_rate.map(human::number), "slow start excluded".to_owned()),
        tile(
            "Packets lost",
            s.packet_loss_rate.map(human::percent),
            s.lost_packets.map_or(String::new(), |n| format!("{} packets", human::count(n))),
        ),
        tile(
            "Dropped late",
            percent_of_some(s.late_dropped_rate),
            "past their deadline, at the sender".to_owned(),
        ),
        tile(
            "Dropped by a slow reader",
            percent_of_some(s.dropped_by_reader_rate),
            "arrived and not written out".to_owned(),
        ),
        tile("Round-trip time", s.rtt_s.map(human::time), "mean".to_owned()),
        tile(
            "Smoothness",
            s.cov_ratio.map(|c| format!("{}×", human::number(c))),
            "coefficient of variation, TFRC over TCP".to_owned(),
        ),
    ]
    .into_iter()
    .flatten()
    .take(6)
    .collect()
}

fn percent_of_some(share: Option<f64>) -> Option<String> {
    share.filter(|share| *share > 0.0).map(human::percent)
}

/// Every known figure of a summary: name, value, key.
pub(super) fn rows(s: &Summary) -> Vec<(&'static str, String, &'static str)> {
    let count = |n: Option<u64>| n.map(human::count);
    // A row of its own only where there were any.
    let some = |n: Option<u64>| count(n.filter(|n| *n > 0));
    let rate = |x: Option<f64>| x.map(human::rate);
    let percent = |x: Option<f64>| x.map(human::percent);
    let number = |x: Option<f64>| x.map(human::number);
    [
        ("Rate control", s.variant.clone(), "variant"),
        ("Profile", s.profile.clone(), "profile"),
        ("Duration", Some(human::time(s.duration_s)), "duration_s"),
        ("Packets sent", count(s.sent_packets), "sent_packets"),
        ("Packets received", count(s.received_packets), "received_packets"),
        ("Packets lost by the network", count(s.lost_packets), "lost_packets"),
        ("Packets too late", count(s.late_packets), "late_packets"),
        ("Packets dropped by a slow reader", some(s.dropped_by_reader_packets), "dropped_by_reader_packets"),
        ("Reports of an absent player", some(s.unreachable_reports), "unreachable_reports"),
        ("Datagrams too long for the path", some(s.too_long_packets), "too_long_packets"),
        ("Datagrams that came too fast", some(s.source_dropped_packets), "source_dropped_packets"),
        ("Packets unsent at the end", some(s.unsent_packets), "unsent_packets"),
        ("Pictures a second, encoded", s.encoder_fps.map(human::number), "encoder_fps"),
        ("Bitrate of the encoder", s.encoder_rate_bps.map(human::rate), "encoder_rate_bps"),
        ("Speed of the encoder, 1 is real time", s.encoder_speed.map(human::number), "encoder_speed"),
        ("Packets dropped late by the sender", count(s.late_dropped_packets), "late_dropped_packets"),
        ("Data sent", s.sent_bytes.map(human::bytes), "sent_bytes"),
        ("Data sent again", s.repaired_bytes.filter(|n| *n > 0).map(human::bytes), "repaired_bytes"),
        ("Data received", s.received_bytes.map(human::bytes), "received_bytes"),
        ("Send rate", rate(s.send_rate_bps), "send_rate_bps"),
        ("Goodput", rate(s.goodput_bps), "goodput_bps"),
        ("Allowed rate X, mean", rate(s.allowed_rate_bps), "allowed_rate_bps"),
        ("Loss event rate p", number(s.loss_event_rate), "loss_event_rate"),
        ("Lost by the network", percent(s.packet_loss_rate), "packet_loss_rate"),
        ("Dropped late by the sender", percent_of_some(s.late_dropped_rate), "late_dropped_rate"),
        ("Dropped by a slow reader", percent_of_some(s.dropped_by_reader_rate), "dropped_by_reader_rate"),
        ("Round-trip time, mean", s.rtt_s.map(human::time), "rtt_s"),
        ("Bottleneck", rate(s.bottleneck_bps), "bottleneck_bps"),
        ("Jain's index of the goodputs, 1 if all are equal", number(s.jain_index), "jain_index"),
        ("Arrived on the wire after slow start", rate(s.wire_goodput_bps), "wire_goodput_bps"),
        ("Share, 1 is an equal one", number(s.share), "share"),
        ("Variation of the rate, TFRC over TCP", number(s.cov_ratio), "cov_ratio"),
        (
            "Equivalence of the rates, 1 is equal at every moment",
            number(s.equivalence_ratio),
            "equivalence_ratio",
        ),
    ]
    .into_iter()
    .filter_map(|(name, value, key)| Some((name, value?, key)))
    .collect()
}

/// Column heads of the table of flows.
pub(super) const FLOW_HEADS: [&str; 7] =
    ["Flow", "Kind", "Goodput", "Packet loss", "Loss event rate p", "RTT", "Variation"];

/// Column heads of the table of delays.
pub(super) const DELAY_HEADS: [&str; 7] = [
    "Flow",
    "One-way delay p50 / p95 / p99",
    "Queueing delay p50 / p95 / p99",
    "Jitter",
    "Transfers",
    "Completion p50 / p95 / p99",
    "Converged after",
];

/// True if the table of delays has something to say on a flow.
pub(super) fn has_delays(flow: &FlowSummary) -> bool {
    flow.delays.delay_p50_s.is_some() || flow.completion.completed.is_some()
}

/// The table of delays: its flows, then the groups whose transfers end.
pub(super) fn delay_rows(summary: &Summary) -> impl Iterator<Item = [String; 7]> + '_ {
    let flows = summary.flows.iter().filter(|flow| has_delays(flow)).cloned();
    let groups = summary.groups.iter().filter(|group| group.completion.completed.is_some());
    let groups = groups.map(|group| FlowSummary {
        id: format!("{} (all)", group.id),
        completion: group.completion,
        ..FlowSummary::default()
    });
    flows.chain(groups).map(|flow| delay_row(&flow))
}

fn delay_row(flow: &FlowSummary) -> [String; 7] {
    let time = |s: Option<f64>| s.map_or_else(|| "–".to_owned(), human::time);
    let three = |all: [Option<f64>; 3]| match all {
        [None, None, None] => "–".to_owned(),
        some => some.map(time).join(" / "),
    };
    let (d, c) = (&flow.delays, &flow.completion);
    [
        flow.id.clone(),
        three([d.delay_p50_s, d.delay_p95_s, d.delay_p99_s]),
        three([d.queueing_delay_p50_s, d.queueing_delay_p95_s, d.queueing_delay_p99_s]),
        time(d.jitter_s),
        c.completed.map_or_else(|| "–".to_owned(), human::count),
        three([c.completion_p50_s, c.completion_p95_s, c.completion_p99_s]),
        time(flow.convergence_s),
    ]
}

/// Column heads of the table of links.
pub(super) const LINK_HEADS: [&str; 4] = ["Link", "Utilization", "Drop rate", "Mean queue"];

/// One row of the table of links.
pub(super) fn link_row(link: &LinkOutcome) -> [String; 4] {
    [
        link.id.clone(),
        human::percent(link.utilization),
        human::percent(link.drop_rate),
        format!("{} packets", human::number(link.mean_queue_packets)),
    ]
}

/// One row of the table of flows; a dash where a value is unknown.
pub(super) fn flow_row(flow: &FlowSummary) -> [String; 7] {
    let or_dash = |x: Option<String>| x.unwrap_or_else(|| "–".to_owned());
    [
        flow.id.clone(),
        flow.kind.clone(),
        or_dash(flow.goodput_bps.map(human::rate)),
        or_dash(flow.packet_loss_rate.map(human::percent)),
        or_dash(flow.loss_event_rate.map(human::number)),
        or_dash(flow.rtt_s.map(human::time)),
        or_dash(flow.cov.map(human::number)),
    ]
}
