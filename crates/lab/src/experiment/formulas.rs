//! What formulas of cells can ask of one run.

use tfrc_sim::FlowStats;
use tfrc_units::{Duration, Instant};

use super::expression::{Expression, Function, Given, Kind, Scope, Wrong};
use super::table::number;
use super::theta;
use crate::metric::Series;
use crate::record::FlowSummary;
use crate::recording::{self, FlowRecord, Keep, LinkFlows, Looks, Recording, Samples};
use crate::scenario::{Scenario, hint};

const FLOW: Kind = Kind::Text("a flow or group");
const LINK: Kind = Kind::Text("a link");
const KEY: Kind = Kind::Text("a key");

/// The functions of cells.
pub(crate) const FUNCTIONS: [Function; 24] = [
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
    Function { name: "at_link", takes: &[LINK, FLOW, KEY] },
    Function { name: "active", takes: &[FLOW, Kind::Number, Kind::Number] },
    Function { name: "end", takes: &[FLOW] },
    Function { name: "p", takes: &[FLOW] },
    Function { name: "p_hat", takes: &[FLOW] },
    Function { name: "theta", takes: &[FLOW, KEY] },
    Function { name: "state", takes: &[FLOW, KEY, Kind::Number] },
    Function { name: "mean_state", takes: &[FLOW, KEY, Kind::Number, Kind::Number] },
    Function { name: "min_state", takes: &[FLOW, KEY, Kind::Number, Kind::Number] },
    Function { name: "max_state", takes: &[FLOW, KEY, Kind::Number, Kind::Number] },
    Function { name: "time_below", takes: &[FLOW, KEY, Kind::Number, Kind::Number] },
    Function { name: "time_above", takes: &[FLOW, KEY, Kind::Number, Kind::Number] },
    Function { name: "mean_queue", takes: &[LINK, Kind::Number, Kind::Number] },
];

/// Functions that need states to be looked at.
const LOOKING: [&str; 7] =
    ["state", "mean_state", "min_state", "max_state", "time_below", "time_above", "mean_queue"];

/// The keys of a state.
const STATE_KEYS: [&str; 3] = ["allowed_bps", "p", "rtt_s"];

/// The keys of `theta`.
const THETA_KEYS: [&str; 7] = ["events", "mean", "cv", "mean_hat", "cv_hat", "cov", "normalized_cov"];

/// The keys of `at_link`.
const AT_LINK_KEYS: [&str; 12] = [
    "arrived_packets",
    "arrived_bytes",
    "dropped_packets",
    "dropped_bytes",
    "marked_packets",
    "drop_rate",
    "in_profile_packets",
    "in_profile_bytes",
    "in_profile_dropped_packets",
    "in_profile_share",
    "in_profile_drop_rate",
    "out_profile_drop_rate",
];

/// The keys of `link` that need states to be looked at.
const QUEUE_KEYS: [&str; 3] = ["queue_stddev", "queue_max", "queue_min"];

/// The keys of a flow.
const FLOW_KEYS: [&str; 14] = [
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
    "acknowledged_packets",
    "loss_events",
    "mean_packet_bytes",
];

/// The keys of a link.
const LINK_KEYS: [&str; 14] = [
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
    "queue_stddev",
    "queue_max",
    "queue_min",
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
            "rate" => mean(&self.of_flows(text(0), |_, record| recording::rate(&record.sent, at(1), at(2)))?),
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
            "at_link" => self.at_link(text(0), text(1), text(2))?,
            "active" => {
                let got = |_: &FlowSummary, record: &FlowRecord| {
                    recording::rate(&record.received, at(1), at(2))
                        .map(|rate| f64::from(u8::from(rate > 0.0)))
                };
                sum(&self.of_flows(text(0), got)?)
            }
            "end" => mean(&self.of_flows(text(0), |_, record| record.received.end())?),
            "p" => mean(&self.of_flows(text(0), |_, record| Some(1.0 / theta::of(record, run.from)?.mean))?),
            "p_hat" => mean(&self.of_flows(text(0), |_, record| theta::of(record, run.from)?.p_hat)?),
            "theta" => mean(&self.of_flows(text(0), |_, record| theta::of(record, run.from)?.get(text(1)))?),
            "state" => mean(&self.of_flows(text(0), |_, record| state(record, text(1))?.at(at(2)))?),
            "mean_state" | "min_state" | "max_state" => {
                let of = |_: &FlowSummary, record: &FlowRecord| {
                    let values: Vec<f64> =
                        state(record, text(1))?.between(at(2), at(3)).map(|(_, value)| value).collect();
                    match name {
                        "min_state" => values.into_iter().reduce(f64::min),
                        "max_state" => values.into_iter().reduce(f64::max),
                        _ => mean_of(&values),
                    }
                };
                mean(&self.of_flows(text(0), of)?)
            }
            "time_below" | "time_above" => {
                let beyond = |x: f64| if name == "time_below" { x < seconds(3) } else { x > seconds(3) };
                let of = |_: &FlowSummary, record: &FlowRecord| {
                    let mut later = state(record, text(1))?.between(at(2), run.to);
                    later.find(|(_, value)| beyond(*value)).map(|(time, _)| time)
                };
                mean(&self.of_flows(text(0), of)?)
            }
            "mean_queue" => {
                let link = self.link(text(0))?;
                let values: Vec<f64> = run.links[link].queue.between(at(1), at(2)).map(|(_, n)| n).collect();
                mean_of(&values)
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

    /// The number of a link.
    fn link(&self, name: &str) -> Result<usize, (String, String)> {
        let links = &self.recording.outcome.links;
        links.iter().position(|link| link.id == name).ok_or_else(|| {
            let names: Vec<&str> = links.iter().map(|link| link.id.as_str()).collect();
            (format!("there is no link `{name}`"), hint(name, &names))
        })
    }

    /// What a link did to the packets of a group, all flows together.
    fn at_link(&self, link: &str, name: &str, key: &str) -> Result<Option<f64>, (String, String)> {
        self.of_flows(name, |_, _| None)?;
        let members = self.recording.members(name).unwrap_or_default();
        let stats = &self.recording.links[self.link(link)?].flows;
        let sum = |of: fn(&FlowStats) -> u64| {
            stats.get(members.clone()).unwrap_or_default().iter().map(of).sum::<u64>() as f64
        };
        let arrived = sum(|s| s.arrivals.packets);
        let (inside, inside_dropped) = (sum(|s| s.in_profile.packets), sum(|s| s.in_profile_dropped.packets));
        let dropped = sum(|s| s.dropped.packets);
        Ok(Some(match key {
            "arrived_packets" => arrived,
            "arrived_bytes" => sum(|s| s.arrivals.bytes),
            "dropped_packets" => dropped,
            "dropped_bytes" => sum(|s| s.dropped.bytes),
            "marked_packets" => sum(|s| s.marked.packets),
            "drop_rate" => dropped / arrived,
            "in_profile_packets" => inside,
            "in_profile_bytes" => sum(|s| s.in_profile.bytes),
            "in_profile_dropped_packets" => inside_dropped,
            "in_profile_share" => inside / arrived,
            "in_profile_drop_rate" => inside_dropped / inside,
            "out_profile_drop_rate" => (dropped - inside_dropped) / (arrived - inside),
            _ => return Ok(None),
        }))
    }

    fn of_link(&self, name: &str, key: &str) -> Result<Option<f64>, (String, String)> {
        let run = self.recording;
        let at = self.link(name)?;
        let (link, stats) = (&run.outcome.links[at], &run.links[at].stats);
        if QUEUE_KEYS.contains(&key) {
            let queue: Vec<f64> = run.links[at].queue.between(run.from, run.to).map(|(_, n)| n).collect();
            return Ok(match key {
                "queue_max" => queue.into_iter().reduce(f64::max),
                "queue_min" => queue.into_iter().reduce(f64::min),
                _ => deviation(&queue),
            });
        }
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
        "acknowledged_packets" => counts.acknowledged_packets.map(count),
        "loss_events" => counts.loss_events.map(count),
        "mean_packet_bytes" => {
            (counts.sent_packets > 0).then(|| count(counts.sent_bytes) / count(counts.sent_packets))
        }
        _ => None,
    }
}

/// A state of a flow over time.
fn state<'r>(record: &'r FlowRecord, key: &str) -> Option<&'r Samples> {
    match key {
        "allowed_bps" => Some(&record.allowed),
        "p" => Some(&record.p),
        "rtt_s" => Some(&record.rtt),
        _ => None,
    }
}

/// What must be kept of a run for these formulas.
pub(crate) fn needs<'e>(formulas: impl IntoIterator<Item = &'e Expression>) -> Keep {
    let mut keep = Keep::default();
    for formula in formulas {
        let looks = LOOKING.iter().any(|name| formula.calls(name))
            || formula.texts("link", 1).iter().any(|(_, key)| QUEUE_KEYS.contains(&key.as_str()));
        if looks {
            keep.looks = Looks::Taken;
        }
        if formula.calls("at_link") {
            keep.link_flows = LinkFlows::Counted;
        }
    }
    keep
}

/// The mean of those that have a value.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    mean_of(&values.iter().flatten().copied().collect::<Vec<f64>>())
}

fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of the values themselves, not of a population that they are drawn from.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean_of(values)?;
    mean_of(&values.iter().map(|x| (x - middle) * (x - middle)).collect::<Vec<f64>>()).map(f64::sqrt)
}

fn sum(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().sum()
}

/// Standard deviation over mean.
fn spread(values: &[Option<f64>]) -> Option<f64> {
    let middle = mean(values)?;
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let deviation = deviation(&known)?;
    (middle > 0.0 && known.len() > 1).then(|| deviation / middle)
}

/// Whether the names in an expression are there, before anything is run.
pub(crate) fn check(expression: &Expression, scenario: &Scenario, keys: &[String]) -> Result<(), Wrong> {
    let groups = || scenario.flows.iter().map(|flow| &flow.group);
    let flows: Vec<String> = groups().map(|group| group.name.clone()).chain(scenario.flow_names()).collect();
    let links: Vec<String> = scenario.network.links().map(|(_, spec)| spec.name.clone()).collect();
    for function in &FUNCTIONS {
        for (index, kind) in function.takes.iter().enumerate() {
            let (what, known): (&str, Vec<&str>) = match kind {
                Kind::Text(what) if *kind == FLOW => (what, flows.iter().map(String::as_str).collect()),
                Kind::Text(what) if *kind == LINK => (what, links.iter().map(String::as_str).collect()),
                Kind::Text(_) if *kind == KEY => match function.name {
                    "link" => ("a key of links", LINK_KEYS.into()),
                    "at_link" => ("a key of `at_link`", AT_LINK_KEYS.into()),
                    "theta" => ("a key of `theta`", THETA_KEYS.into()),
                    "flow" | "total" | "spread" => ("a key of flows", FLOW_KEYS.into()),
                    _ => ("a state", STATE_KEYS.into()),
                },
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
