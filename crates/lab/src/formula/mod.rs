//! Formulas: numbers that are computed of the recording of a run.

mod expression;
mod printed;
mod theta;

use tfrc_sim::link::{FlowStats, PacketCount};
use tfrc_units::{Duration, Instant};

pub use expression::{Expression, Function, Given, Kind, Scope, Wrong};
pub use printed::{Printed, Unit, number, quantity, unit_of};
#[cfg(test)]
pub(crate) use theta::QUANTITIES as THETA;

use crate::metric::Series;
use crate::quantities::{self, is_of_packets, keys};
use crate::record::FlowSummary;
use crate::recording::{self, FlowRecord, Keep, LinkFlows, Looks, PacketDelays, Recording, Samples};
use crate::statistics;
use tfrc_scenario::{Scenario, hint};

const FLOW: Kind = Kind::Text("a flow or group");
const LINK: Kind = Kind::Text("a link");
const KEY: Kind = Kind::Text("a key");
const TEXT: Kind = Kind::Text("a text");

/// The functions of cells of experiments.
pub const FUNCTIONS: [Function; 26] = [
    Function { name: "flow", takes: &[FLOW, KEY] },
    Function { name: "total", takes: &[FLOW, KEY] },
    Function { name: "spread", takes: &[FLOW, KEY] },
    Function { name: "link", takes: &[LINK, KEY] },
    Function { name: "rate", takes: &[FLOW, Kind::Number, Kind::Number] },
    Function { name: "goodput", takes: &[FLOW, Kind::Number, Kind::Number] },
    Function { name: "cov", takes: &[FLOW, Kind::Number] },
    Function { name: "equivalence", takes: &[FLOW, FLOW, Kind::Number] },
    Function { name: "meets", takes: &[FLOW, FLOW, Kind::Number, Kind::Number] },
    Function { name: "row", takes: &[Kind::Text("a key column")] },
    Function { name: "is", takes: &[Kind::Text("a key column"), TEXT] },
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

/// One run and the row it belongs to.
#[derive(Debug)]
pub struct OfRun<'a> {
    /// The run.
    pub recording: &'a Recording,
    /// The key columns with the row's texts.
    pub keys: &'a [(String, String)],
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
            "spread" => statistics::variation(&known(
                &self.of_flows(text(0), |summary, record| of_flow(text(1), summary, record))?,
            )),
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
            "meets" => self.meets((text(0), text(1)), seconds(2), scale(3))?,
            "row" => number(self.written(text(0))?),
            "is" => Some(f64::from(u8::from(self.written(text(0))? == text(1)))),
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
            "theta" => mean(&self.of_flows(text(0), |_, record| {
                quantities::value(&theta::QUANTITIES, text(1), &theta::of(record, run.from)?)
            })?),
            "state" => mean(&self.of_flows(text(0), |_, record| state(record, text(1))?.at(at(2)))?),
            "mean_state" | "min_state" | "max_state" => {
                let of = |_: &FlowSummary, record: &FlowRecord| {
                    let values: Vec<f64> =
                        state(record, text(1))?.between(at(2), at(3)).map(|(_, value)| value).collect();
                    match name {
                        "min_state" => values.into_iter().reduce(f64::min),
                        "max_state" => values.into_iter().reduce(f64::max),
                        _ => statistics::mean(&values),
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
                statistics::mean(&values)
            }
            "duration" => Some(run.to.as_secs_f64()),
            "measured" => Some(run.to.saturating_since(run.from).as_secs_f64()),
            _ => None,
        })
    }
}

impl OfRun<'_> {
    /// The text of a key in the row.
    fn written(&self, key: &str) -> Result<&str, (String, String)> {
        let found = self.keys.iter().find(|(one, _)| one == key);
        found.map(|(_, written)| written.as_str()).ok_or_else(|| {
            let known: Vec<&str> = self.keys.iter().map(|(key, _)| key.as_str()).collect();
            (format!("there is no key `{key}`"), hint(key, &known))
        })
    }

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
        Ok(members.into_iter().map(|i| value(&run.outcome.flows[i], &run.flows[i])).collect())
    }

    /// The end of the first stretch of the run in which the mean goodputs of two groups differ by
    /// at most a factor, in seconds of the run.
    fn meets(
        &self,
        (a, b): (&str, &str),
        factor: f64,
        stretch: Duration,
    ) -> Result<Option<f64>, (String, String)> {
        let run = self.recording;
        let mut from = Instant::ZERO;
        while stretch > Duration::ZERO && from + stretch <= run.to {
            let to = from + stretch;
            let of = |name| {
                self.of_flows(name, |_, record| recording::rate(&record.received, from, to))
                    .map(|rates| mean(&rates).unwrap_or(0.0))
            };
            let (a, b) = (of(a)?, of(b)?);
            if a > 0.0 && a <= b * factor && b <= a * factor {
                return Ok(Some(to.as_secs_f64()));
            }
            from = to;
        }
        Ok(None)
    }

    fn first(&self, name: &str) -> Result<&Series, (String, String)> {
        self.of_flows(name, |_, _| None)?;
        let first = self.recording.members(name).and_then(|members| members.first().copied()).unwrap_or(0);
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

    /// Returns a quantity of a link for the packets of a group, all flows together.
    fn at_link(&self, link: &str, name: &str, key: &str) -> Result<Option<f64>, (String, String)> {
        self.of_flows(name, |_, _| None)?;
        let members = self.recording.members(name).unwrap_or_default();
        let stats = &self.recording.links[self.link(link)?].flows;
        let of_members = || members.iter().filter_map(|flow| stats.get(*flow));
        let sum = |of: fn(&FlowStats) -> PacketCount| {
            of_members().map(of).fold(PacketCount::default(), |all, one| PacketCount {
                packets: all.packets + one.packets,
                bytes: all.bytes + one.bytes,
            })
        };
        let all = FlowStats {
            arrivals: sum(|flow| flow.arrivals),
            dropped: sum(|flow| flow.dropped),
            marked: sum(|flow| flow.marked),
            in_profile: sum(|flow| flow.in_profile),
            in_profile_dropped: sum(|flow| flow.in_profile_dropped),
        };
        Ok(quantities::value(&quantities::AT_LINK, key, &all))
    }

    fn of_link(&self, name: &str, key: &str) -> Result<Option<f64>, (String, String)> {
        let run = self.recording;
        let at = self.link(name)?;
        let link = &run.links[at];
        let queue = || link.queue.between(run.from, run.to).map(|(_, n)| n).collect::<Vec<f64>>();
        let of_queue = || is_of_queue(key).then(|| quantities::value(&quantities::QUEUE, key, &queue()))?;
        Ok(quantities::value(&quantities::LINK, key, &run.outcome.links[at])
            .or_else(|| quantities::value(&quantities::LINK_COUNTS, key, &link.stats))
            .or_else(of_queue))
    }
}

fn of_flow(key: &str, summary: &FlowSummary, record: &FlowRecord) -> Option<f64> {
    quantities::value(&quantities::FLOW, key, summary)
        .or_else(|| quantities::value(&quantities::FLOW_COUNTS, key, &record.counts))
        .or_else(|| quantities::value(&quantities::KERNEL_FLOW, key, summary))
}

/// Returns true for the keys of `link` that need the queue to be looked at.
fn is_of_queue(key: &str) -> bool {
    quantities::keys(&quantities::QUEUE).any(|one| one == key)
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

/// Returns the parts of a run that must be kept for these formulas.
#[must_use]
pub fn needs<'e>(formulas: impl IntoIterator<Item = &'e Expression>) -> Keep {
    let mut keep = Keep::default();
    for formula in formulas {
        let looks = LOOKING.iter().any(|name| formula.calls(name))
            || formula.texts("link", 1).iter().any(|(_, key)| is_of_queue(key));
        if looks {
            keep.looks = Looks::Taken;
        }
        let of_flows = ["flow", "total", "spread"];
        if of_flows.iter().any(|name| formula.texts(name, 1).iter().any(|(_, key)| is_of_packets(key))) {
            keep.delays = PacketDelays::Measured;
        }
        if formula.calls("at_link") {
            keep.link_flows = LinkFlows::Counted;
        }
    }
    keep
}

/// The mean of the values present.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    statistics::mean(&known(values))
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

fn sum(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().sum()
}

/// Checks that the names in an expression exist, before anything is run.
///
/// # Errors
/// [`Wrong`] with the place of the first name that does not.
pub fn check(expression: &Expression, scenario: &Scenario, key_columns: &[String]) -> Result<(), Wrong> {
    let groups = || scenario.flows.iter().map(|flow| &flow.group);
    let flows: Vec<String> = groups().map(|group| group.name.clone()).chain(scenario.flow_names()).collect();
    let links: Vec<String> = scenario.network.links().map(|(_, spec)| spec.name.clone()).collect();
    for function in &FUNCTIONS {
        for (index, kind) in function.takes.iter().enumerate() {
            let (what, known): (&str, Vec<&str>) = match kind {
                Kind::Text(what) if *kind == FLOW => (what, flows.iter().map(String::as_str).collect()),
                Kind::Text(what) if *kind == LINK => (what, links.iter().map(String::as_str).collect()),
                Kind::Text(_) if *kind == KEY => match function.name {
                    "link" => ("a key of links", {
                        let of_run = keys(&quantities::LINK).chain(keys(&quantities::LINK_COUNTS));
                        of_run.chain(keys(&quantities::QUEUE)).collect()
                    }),
                    "at_link" => ("a key of `at_link`", keys(&quantities::AT_LINK).collect()),
                    "theta" => ("a key of `theta`", keys(&theta::QUANTITIES).collect()),
                    "flow" | "total" | "spread" => {
                        let all = keys(&quantities::FLOW).chain(keys(&quantities::FLOW_COUNTS));
                        ("a key of flows", all.chain(keys(&quantities::KERNEL_FLOW)).collect())
                    }
                    _ => ("a state", STATE_KEYS.into()),
                },
                Kind::Text(_) if *kind == TEXT => continue,
                Kind::Text(what) => (what, key_columns.iter().map(String::as_str).collect()),
                Kind::Number => continue,
            };
            for (place, text) in expression.texts(function.name, index) {
                if !known.iter().any(|one| text == *one || (*kind == FLOW && recording::is_meant(&text, one)))
                {
                    let message = format!("`{text}` is not {what}");
                    return Err(Wrong { place, message, hint: hint(&text, &known) });
                }
            }
        }
    }
    Ok(())
}
