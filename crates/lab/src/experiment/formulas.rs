//! What formulas of cells can ask of one run.

use tfrc_units::{Duration, Instant};

use super::expression::{Expression, Function, Given, Kind, Scope, Wrong};
use super::table::number;
use crate::metric::Series;
use crate::record::FlowSummary;
use crate::recording::{self, FlowRecord, Recording};
use crate::scenario::{Scenario, hint};

const FLOW: Kind = Kind::Text("a flow or group");
const LINK: Kind = Kind::Text("a link");
const KEY: Kind = Kind::Text("a key");

/// The functions of cells.
pub(crate) const FUNCTIONS: [Function; 11] = [
    Function { name: "flow", takes: &[FLOW, KEY] },
    Function { name: "total", takes: &[FLOW, KEY] },
    Function { name: "spread", takes: &[FLOW, KEY] },
    Function { name: "link", takes: &[LINK, KEY] },
    Function { name: "rate", takes: &[FLOW, Kind::Number, Kind::Number] },
    Function { name: "goodput", takes: &[FLOW, Kind::Number, Kind::Number] },
    Function { name: "cov", takes: &[FLOW, Kind::Number] },
    Function { name: "equivalence", takes: &[FLOW, FLOW, Kind::Number] },
    Function { name: "row", takes: &[Kind::Text("a key column")] },
    Function { name: "duration", takes: &[] },
    Function { name: "measured", takes: &[] },
];

/// The keys of a flow.
const FLOW_KEYS: [&str; 13] = [
    "send_rate_bps",
    "goodput_bps",
    "packet_loss_rate",
    "loss_event_rate",
    "rtt_s",
    "cov",
    "cov_200ms",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "loss_events",
    "mean_packet_bytes",
];

/// The keys of a link.
const LINK_KEYS: [&str; 11] = [
    "utilization",
    "drop_rate",
    "byte_drop_rate",
    "mean_queue_packets",
    "arrived_packets",
    "arrived_bytes",
    "dropped_packets",
    "dropped_bytes",
    "early_drops",
    "marked_packets",
    "departed_bytes",
];

/// One run and the row it belongs to.
pub(crate) struct OfRun<'a> {
    pub(crate) recording: &'a Recording,
    /// The key columns with the row's texts.
    pub(crate) keys: &'a [(String, String)],
}

impl Scope for OfRun<'_> {
    fn call(&self, name: &str, given: &[Given<'_>]) -> Result<Option<f64>, (String, String)> {
        let text = |i: usize| given.get(i).map_or("", Given::text);
        let seconds = |i: usize| given.get(i).map_or(0.0, Given::number);
        let at = |i: usize| Instant::ZERO + Duration::from_secs_f64(seconds(i).max(0.0));
        let scale = |i: usize| Duration::from_secs_f64(seconds(i).max(0.0));
        let run = self.recording;
        Ok(match name {
            "flow" => mean(&self.of_flows(text(0), |summary, record| of_flow(text(1), summary, record))?),
            "total" => sum(&self.of_flows(text(0), |summary, record| of_flow(text(1), summary, record))?),
            "spread" => spread(&self.of_flows(text(0), |summary, record| of_flow(text(1), summary, record))?),
            "link" => self.of_link(text(0), text(1))?,
            "rate" => {
                mean(&self.of_flows(text(0), |_, record| recording::rate(&record.sent, at(1), at(2)))?)
            }
            "goodput" => {
                mean(&self.of_flows(text(0), |_, record| recording::rate(&record.received, at(1), at(2)))?)
            }
            "cov" => mean(&self.of_flows(text(0), |_, record| record.sent.cov(run.from, run.to, scale(1)))?),
            "equivalence" => {
                let (a, b) = (self.first(text(0))?, self.first(text(1))?);
                recording::equivalence(a, b, run.from, run.to, scale(2))
            }
            "row" => {
                let found = self.keys.iter().find(|(key, _)| key == text(0));
                let Some((_, written)) = found else {
                    let known: Vec<&str> = self.keys.iter().map(|(key, _)| key.as_str()).collect();
                    return Err((format!("there is no key `{}`", text(0)), hint(text(0), &known)));
                };
                number(written)
            }
            "duration" => Some(run.to.as_secs_f64()),
            "measured" => Some(run.to.saturating_since(run.from).as_secs_f64()),
            _ => None,
        })
    }
}

impl OfRun<'_> {
    /// A value of each flow of a group; `None` if it has none.
    fn of_flows(
        &self,
        name: &str,
        value: impl Fn(&FlowSummary, &FlowRecord) -> Option<f64>,
    ) -> Result<Vec<Option<f64>>, (String, String)> {
        let run = self.recording;
        let Some(members) = run.members(name) else {
            let names: Vec<&str> = run.groups.iter().map(|(name, ..)| name.as_str()).collect();
            return Err((format!("there is no flow `{name}`"), hint(name, &names)));
        };
        Ok(members.map(|i| value(&run.outcome.flows[i], &run.flows[i])).collect())
    }

    fn first(&self, name: &str) -> Result<&Series, (String, String)> {
        self.of_flows(name, |_, _| None)?;
        let first = self.recording.members(name).map_or(0, |members| members.start);
        Ok(&self.recording.flows[first].sent)
    }

    fn of_link(&self, name: &str, key: &str) -> Result<Option<f64>, (String, String)> {
        let run = self.recording;
        let Some(at) = run.outcome.links.iter().position(|link| link.id == name) else {
            let names: Vec<&str> = run.outcome.links.iter().map(|link| link.id.as_str()).collect();
            return Err((format!("there is no link `{name}`"), hint(name, &names)));
        };
        let (link, stats) = (&run.outcome.links[at], &run.links[at]);
        let dropped_packets = stats.lost.packets + stats.overflowed.packets + stats.corrupted.packets;
        let dropped_bytes = stats.lost.bytes + stats.overflowed.bytes + stats.corrupted.bytes;
        let count = |n: u64| n as f64;
        Ok(Some(match key {
            "utilization" => link.utilization,
            "drop_rate" => link.drop_rate,
            "byte_drop_rate" => count(dropped_bytes) / count(stats.arrivals.bytes),
            "mean_queue_packets" => link.mean_queue_packets,
            "arrived_packets" => count(stats.arrivals.packets),
            "arrived_bytes" => count(stats.arrivals.bytes),
            "dropped_packets" => count(dropped_packets),
            "dropped_bytes" => count(dropped_bytes),
            "early_drops" => count(stats.early.packets),
            "marked_packets" => count(stats.marked.packets),
            "departed_bytes" => count(stats.departures.bytes),
            _ => return Ok(None),
        }))
    }
}

fn of_flow(key: &str, summary: &FlowSummary, record: &FlowRecord) -> Option<f64> {
    let counts = &record.counts;
    let count = |n: u64| n as f64;
    match key {
        "send_rate_bps" => summary.send_rate_bps,
        "goodput_bps" => summary.goodput_bps,
        "packet_loss_rate" => summary.packet_loss_rate,
        "loss_event_rate" => summary.loss_event_rate,
        "rtt_s" => summary.rtt_s,
        "cov" => summary.cov,
        "cov_200ms" => summary.cov_200ms,
        "sent_packets" => Some(count(counts.sent_packets)),
        "sent_bytes" => Some(count(counts.sent_bytes)),
        "received_packets" => Some(count(counts.received_packets)),
        "received_bytes" => Some(count(counts.received_bytes)),
        "loss_events" => counts.loss_events.map(count),
        "mean_packet_bytes" => {
            (counts.sent_packets > 0).then(|| count(counts.sent_bytes) / count(counts.sent_packets))
        }
        _ => None,
    }
}

/// The mean of those that have a value.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn sum(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().sum()
}

/// Standard deviation over mean.
fn spread(values: &[Option<f64>]) -> Option<f64> {
    let middle = mean(values)?;
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let variance = known.iter().map(|x| (x - middle) * (x - middle)).sum::<f64>() / known.len() as f64;
    (middle > 0.0 && known.len() > 1).then(|| variance.sqrt() / middle)
}

/// Whether the names in an expression are there, before anything is run.
pub(crate) fn check(expression: &Expression, scenario: &Scenario, keys: &[String]) -> Result<(), Wrong> {
    let groups = || scenario.flows.iter().map(|flow| &flow.group);
    let flows: Vec<String> =
        groups().map(|group| group.name.clone()).chain(scenario.flow_names()).collect();
    let links: Vec<String> = scenario.network.links().map(|(_, spec)| spec.name.clone()).collect();
    for function in &FUNCTIONS {
        for (index, kind) in function.takes.iter().enumerate() {
            let (what, known): (&str, Vec<&str>) = match kind {
                Kind::Text(what) if *kind == FLOW => (what, flows.iter().map(String::as_str).collect()),
                Kind::Text(what) if *kind == LINK => (what, links.iter().map(String::as_str).collect()),
                Kind::Text(_) if *kind == KEY && function.name == "link" => ("a key of links", LINK_KEYS.into()),
                Kind::Text(_) if *kind == KEY => ("a key of flows", FLOW_KEYS.into()),
                Kind::Text(what) => (what, keys.iter().map(String::as_str).collect()),
                Kind::Number => continue,
            };
            for (place, text) in expression.texts(function.name, index) {
                if !known.contains(&text.as_str()) {
                    let message = format!("`{text}` is not {what}");
                    return Err(Wrong { place, message, hint: hint(&text, &known) });
                }
            }
        }
    }
    Ok(())
}
