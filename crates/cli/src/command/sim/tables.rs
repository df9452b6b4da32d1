//! Results as tables for a person.

use std::collections::BTreeMap;

use tfrc_lab::Outcome;
use tfrc_lab::batch::{FlowRow, PointResult, Results};
use tfrc_lab::document::Timing;
use tfrc_lab::note::Note;
use tfrc_lab::record::FlowSummary;
use tfrc_lab::report::human;
use tfrc_lab::statistics::Estimate;

/// Formats the results of one run.
pub(in crate::command) fn single(outcome: &Outcome, notes: &[Note]) -> String {
    let or_dash = |x: Option<String>| x.unwrap_or_else(|| "-".to_owned());
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
    let (points, notes) = (results.points.len(), Note::of_points(results));
    let all_copies = notes.contains(&(Note::NothingRandom, points));
    let mut text = match results.shard {
        None => {
            let means = if all_copies { "means" } else { "means ± 95 % intervals" };
            format!("{points} points, {} runs each; {means}\n", results.runs)
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
    let text = format!(
        "\nprocessor {}, passed {}, {} ns a packet-hop{memory}",
        human::time(timing.cpu_s),
        human::time(timing.wall_s),
        human::number(timing.ns_per_hop)
    );
    plain(&text)
}

fn plain(text: &str) -> String {
    text.trim_end().replace('\u{a0}', " ")
}
