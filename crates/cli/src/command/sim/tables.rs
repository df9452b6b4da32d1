//! Results as tables for a person.

use std::collections::BTreeMap;

use tfrc_report::document::Timing;
use tfrc_report::human;
use tfrc_units::saturating;
use tfrc_world::batch::{FlowRow, Means, PointResult, Results};
use tfrc_world::note::Note;
use tfrc_world::results::FlowSummary;
use tfrc_world::results::{Completion, Outcome};
use tfrc_world::statistics::Estimate;

use crate::session::counted;

/// Formats the results of one run.
pub(in crate::command) fn single(outcome: &Outcome, notes: &[Note]) -> String {
    let mut text = format!(
        "seed {}, {} s measured, {} packet-hops\n\nflow            goodput         loss        p           RTT         variation at 1 s\n",
        outcome.seed, outcome.measured_s, outcome.packet_hops
    );
    for f in &outcome.flows {
        text.push_str(&format!(
            "{:<15} {:<15} {:<11} {:<11} {:<11} {}\n",
            f.id,
            or_dash(f.goodput_bps.map(human::rate)),
            or_dash(f.packet_loss_rate.map(human::percent)),
            or_dash(f.loss_event_rate.map(human::number)),
            or_dash(f.rtt_s.map(human::time)),
            or_dash(f.cov.map(human::number)),
        ));
    }
    text.push_str(&delays(&outcome.flows));
    text.push_str(&transfers(outcome));
    text.push_str(&stops(&outcome.flows));
    text.push_str("\nlink            utilization     drop rate   mean queue\n");
    for l in &outcome.links {
        text.push_str(&format!(
            "{:<15} {:<15} {:<11} {} packets\n",
            l.id,
            human::number(l.utilization),
            human::percent(l.drop_rate),
            human::number(l.mean_queue_packets)
        ));
    }
    text.extend(notes.iter().map(|note| format!("\n{note}\n")));
    plain(&text)
}

/// The delays of each flow's packets, where they were measured.
fn delays(flows: &[FlowSummary]) -> String {
    let mut text = String::new();
    for flow in flows {
        let d = &flow.delays;
        let three = |delays: [Option<f64>; 3]| delays.map(|s| or_dash(s.map(human::time))).join(" / ");
        if d.delay_p50_s.is_some() {
            text.push_str(&format!(
                "{:<15} {:<32} {:<32} {:<11} {}\n",
                flow.id,
                three([d.delay_p50_s, d.delay_p95_s, d.delay_p99_s]),
                three([d.queueing_delay_p50_s, d.queueing_delay_p95_s, d.queueing_delay_p99_s]),
                or_dash(d.jitter_s.map(human::time)),
                or_dash(flow.convergence_s.map(human::time)),
            ));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\n{:<15} {:<32} {:<32} {:<11} converged after\n{text}",
        "flow", "one-way delay p50 / p95 / p99", "queueing p50 / p95 / p99", "jitter"
    )
}

/// The times of transfers that end, of flows alone and of groups, and Jain's index.
fn transfers(outcome: &Outcome) -> String {
    let in_groups = |id: &str| {
        let of = |group: &str| id.strip_prefix(group).is_some_and(|rest| rest.starts_with('-'));
        outcome.groups.iter().any(|group| of(&group.id))
    };
    let alone = outcome.flows.iter().filter(|flow| !in_groups(&flow.id));
    let all = alone.map(|flow| (&flow.id, flow.completion));
    let all = all.chain(outcome.groups.iter().map(|group| (&group.id, group.completion)));
    let line = |(id, c): (&String, Completion)| {
        let times = [c.completion_p50_s, c.completion_p95_s, c.completion_p99_s];
        let times = times.map(|s| or_dash(s.map(human::time))).join(" / ");
        Some(format!("{id:<15} {:<32} {times}\n", human::count(c.completed?)))
    };
    let mut text: String = all.filter_map(line).collect();
    if !text.is_empty() {
        text = format!("\n{:<15} {:<32} time p50 / p95 / p99\n{text}", "flow", "transfers that ended");
    }
    let groups = outcome.groups.iter().filter_map(|group| Some((group.id.as_str(), group.jain_index?)));
    let whole = outcome.jain_index.map(|index| ("all", index));
    let indices: Vec<String> =
        whole.into_iter().chain(groups).map(|(of, index)| format!("{of} {}", human::number(index))).collect();
    if !indices.is_empty() {
        text.push_str(&format!("\nJain's index: {}\n", indices.join(", ")));
    }
    text
}

fn or_dash(x: Option<String>) -> String {
    x.unwrap_or_else(|| "-".to_owned())
}

/// A line for each flow that its circuit breaker or its stop rule has stopped.
fn stops(flows: &[FlowSummary]) -> String {
    let stops = flows.iter().filter_map(|flow| Some((&flow.id, flow.stopped?)));
    stops.map(|(id, stop)| format!("\n{id}: {stop}\n")).collect()
}

/// A line for each flow that was stopped in a run: in how many, and the first of them.
fn stops_of_runs(point: &PointResult) -> String {
    let mut stops: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for run in &point.runs {
        for flow in &run.outcome.flows {
            if let Some(stop) = flow.stopped {
                let first = || (0, format!("seed {} {stop}", run.outcome.seed));
                stops.entry(&flow.id).or_insert_with(first).0 += 1;
            }
        }
    }
    let runs = point.runs.len();
    let line = |(id, (count, first))| format!("\n{id}: stopped in {count} of {runs} runs; {first}\n");
    stops.into_iter().map(line).collect()
}

/// Several runs: of each point the means with their 95 % intervals.
pub(super) fn several(results: &Results) -> String {
    let runs: usize = results.points.iter().map(|point| point.runs.len()).sum();
    let (points, notes) = (results.points.len(), results.notes());
    let all_copies = notes.contains(&(Note::NothingRandom, points));
    let mut text = match results.shard {
        None => {
            let means = match (results.runs, all_copies) {
                (0 | 1, _) => "",
                (_, true) => "; means",
                (_, false) => "; means ± 95 % intervals",
            };
            let points = counted(saturating(points), "point");
            format!("{points}, {} each{means}\n", counted(results.runs.into(), "run"))
        }
        Some(shard) => format!("{runs} runs of shard {}/{}; print them with --json\n", shard.index, shard.of),
    };
    for point in &results.points {
        text.push_str(&one_point(point));
    }
    if results.shard.is_none() {
        text.extend(notes.iter().map(|(note, at)| format!("\n{}\n", note.sentence(*at, points))));
    }
    plain(&text)
}

fn one_point(point: &PointResult) -> String {
    let Some(means) = &point.mean else { return String::new() };
    let at: Vec<String> = point.at.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let mut text = if at.is_empty() { String::new() } else { format!("\n{}\n", at.join(", ")) };
    text.push_str("\nflows            goodput of each             loss                 p                    RTT                  variation at 1 s\n");
    let get = |row: &FlowRow, key: &str, show: fn(f64) -> String| match row.values.get(key) {
        Some(estimate) => with_interval(*estimate, show),
        None => "-".to_owned(),
    };
    for (row, group) in means.groups.iter().zip(&point.groups) {
        let name = if group.count > 1 { format!("{} ({})", row.id, group.count) } else { row.id.clone() };
        text.push_str(&format!(
            "{:<16} {:<27} {:<20} {:<20} {:<20} {}\n",
            name,
            get(row, "goodput_bps", human::rate),
            get(row, "packet_loss_rate", human::percent),
            get(row, "loss_event_rate", human::number),
            get(row, "rtt_s", human::time),
            get(row, "cov", human::number),
        ));
    }
    text.push_str(&delays_of_runs(point, means, get));
    text.push_str(&stops_of_runs(point));
    text.push_str("\nlink             utilization            drop rate            mean queue, packets\n");
    for row in &means.links {
        text.push_str(&format!(
            "{:<16} {:<22} {:<20} {}\n",
            row.id,
            get(row, "utilization", human::number),
            get(row, "drop_rate", human::percent),
            get(row, "mean_queue_packets", human::number),
        ));
    }
    text
}

/// The delays of groups, the times of their transfers, and Jain's index.
fn delays_of_runs(
    point: &PointResult,
    means: &Means,
    get: impl Fn(&FlowRow, &str, fn(f64) -> String) -> String,
) -> String {
    let has = |row: &FlowRow, key: &str| row.values.get(key).is_some_and(|value| value.mean.is_some());
    let mut text = String::new();
    let table = |heads: [&str; 5], keys: [&str; 4]| {
        let rows = means.groups.iter().filter(|row| has(row, keys[0]));
        let line = |row: &FlowRow| {
            let [a, b, c, d] = keys.map(|key| get(row, key, human::time));
            format!("{:<16} {a:<20} {b:<20} {c:<20} {d}\n", row.id)
        };
        let lines: String = rows.map(line).collect();
        let [first, a, b, c, d] = heads;
        match lines.is_empty() {
            true => lines,
            false => format!("\n{first:<16} {a:<20} {b:<20} {c:<20} {d}\n{lines}"),
        }
    };
    text.push_str(&table(
        ["flows", "one-way delay p50", "p95", "p99", "jitter"],
        ["delay_p50_s", "delay_p95_s", "delay_p99_s", "jitter_s"],
    ));
    text.push_str(&table(
        ["flows", "queueing delay p50", "p95", "p99", "converged after"],
        ["queueing_delay_p50_s", "queueing_delay_p95_s", "queueing_delay_p99_s", "convergence_s"],
    ));
    let completed = |row: &FlowRow| get(row, "completed", human::number);
    for row in means.groups.iter().filter(|row| has(row, "completed")) {
        let times = ["completion_p50_s", "completion_p95_s", "completion_p99_s"];
        let times = times.map(|key| get(row, key, human::time)).join(" / ");
        text.push_str(&format!(
            "\n{}: {} transfers ended, time p50 / p95 / p99 {times}\n",
            row.id,
            completed(row)
        ));
    }
    if means.jain_index.mean.is_some() && point.groups.iter().map(|group| group.count).sum::<usize>() > 1 {
        text.push_str(&format!("\nJain's index: {}\n", with_interval(means.jain_index, human::number)));
    }
    text
}

fn with_interval(estimate: Estimate, show: fn(f64) -> String) -> String {
    match (estimate.mean, estimate.ci95) {
        (None, _) => "-".to_owned(),
        (Some(mean), None) => show(mean),
        (Some(mean), Some(half)) => format!("{} ± {}", show(mean), show(half)),
    }
}

/// Describes the cost of the runs: time, memory.
pub(super) fn timing(timing: &Timing) -> String {
    let memory = timing
        .peak_memory_bytes
        .map_or(String::new(), |bytes| format!(", {} of memory", human::bytes(bytes)));
    let processor = timing.cpu_s.zip(timing.ns_per_hop).map_or(String::new(), |(cpu, hop)| {
        format!("processor {}, {} ns a packet-hop, ", human::time(cpu), human::number(hop))
    });
    let text = format!("\n{processor}passed {}{memory}", human::time(timing.wall_s));
    plain(&text)
}

fn plain(text: &str) -> String {
    text.trim_end().replace('\u{a0}', " ")
}
