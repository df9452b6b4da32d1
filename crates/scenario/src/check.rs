//! From the text's values to a scenario: units, names, what must hold between them.

use std::ops::Range;

use tfrc_sim::network::NetworkError;
use tfrc_sim::{Network, NodeId, Seed};
use tfrc_units::Duration;

use super::error::{Checked, Fault, Mistake};
use super::syntax::{self, Spanned};
use super::traces::Traces;
use super::{Gateways, Scenario, World, flows, links, suggest};
use crate::text::moves_a_terminal;

/// Memory that a run may need by estimate, unless the scenario says another.
const MAX_MEMORY: u64 = 8 << 30;
/// Runs of a point, at most.
const MOST_RUNS: u32 = 100_000;

pub(super) fn check(raw: &syntax::Scenario, world: World, traces: &mut Traces) -> Checked<Scenario> {
    let duration = positive_time(&raw.duration)?;
    let warmup = match &raw.warmup {
        None => Duration::ZERO,
        Some(warmup) => {
            if **warmup >= duration {
                let what = "nothing is left to measure";
                return Err(Mistake::new(Fault::Order, warmup.span(), what, "not less than `duration`")
                    .hint("make `warmup` shorter or `duration` longer"));
            }
            **warmup
        }
    };
    let mut network = Network::new();
    for node in raw.nodes.get_ref() {
        name(node)?;
        network.node(node.get_ref()).map_err(|error| refused(node.span(), &error))?;
    }
    let groups = flows::groups(&raw.flow)?;
    let names = Names { network, nodes: &raw.nodes, world };
    let network = links::links(&raw.link, &groups, names, traces, duration)?;
    let names = Names { network, nodes: &raw.nodes, world };
    let flows = flows::flows(&raw.flow, groups, &names, world, traces)?;
    let gateways = gateways(raw.gateway.as_ref(), &names)?;
    let seed = Seed(raw.seed.as_ref().map_or(1, |seed| *seed.get_ref()));
    let max_memory = raw.max_memory.as_ref().map_or(MAX_MEMORY, |bytes| bytes.0);
    let scenario = Scenario { duration, warmup, seed, network: names.network, flows, gateways };
    let estimate = scenario.memory_estimate();
    if estimate > max_memory {
        let place = raw.max_memory.as_ref().map_or(raw.duration.span(), Spanned::span);
        let what = format!("a run needs about {} MiB", estimate.div_ceil(1 << 20));
        return Err(Mistake::new(
            Fault::Memory,
            place,
            what,
            format!("{} MiB are allowed", max_memory >> 20),
        )
        .hint("use fewer flows, less duration or smaller queues, or set max_memory = \"16GiB\""));
    }
    Ok(scenario)
}

pub(super) fn runs(raw: &syntax::Scenario) -> Checked<u32> {
    let Some(given) = &raw.runs else { return Ok(1) };
    match *given.get_ref() {
        runs @ 1..=MOST_RUNS => Ok(runs),
        other => Err(Mistake::new(Fault::Range, given.span(), format!("{other} runs"), "out of range")
            .hint(format!("from 1 to {MOST_RUNS}"))),
    }
}

/// Refuses a name that would move a terminal, or put lines of its own into a file.
pub(super) fn name(given: &Spanned<String>) -> Checked<()> {
    match given.get_ref().chars().find(|c| moves_a_terminal(*c)) {
        None => Ok(()),
        Some(c) => {
            let what = format!("a name with the character U+{:04X} in it", u32::from(c));
            Err(Mistake::new(Fault::Word, given.span(), what, "this name")
                .hint("names have no control characters and no invisible ones"))
        }
    }
}

/// The network so far, and how to speak of its nodes.
pub(super) struct Names<'a> {
    pub(super) network: Network,
    pub(super) world: World,
    nodes: &'a Spanned<Vec<Spanned<String>>>,
}

impl Names<'_> {
    pub(super) fn find(&self, name: &Spanned<String>) -> Checked<NodeId> {
        self.network.find_node(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = self.nodes.get_ref().iter().map(|n| n.get_ref().as_str()).collect();
            let what = format!("there is no node `{}`", name.get_ref());
            Mistake::new(Fault::UnknownName, name.span(), what, "not in `nodes`")
                .hint(suggest::hint(name.get_ref(), &known))
        })
    }

    /// Two different nodes with a way there and back.
    pub(super) fn pair(&self, from: &Spanned<String>, to: &Spanned<String>) -> Checked<(NodeId, NodeId)> {
        let (a, b) = (self.find(from)?, self.find(to)?);
        if a == b {
            return Err(Mistake::new(Fault::Loop, to.span(), "from a node to itself", "the same node")
                .hint("name two different nodes"));
        }
        for (x, y, from, to) in [(a, b, from, to), (b, a, to, from)] {
            if !self.network.connects(x, y) {
                let place = if x == a { to.span() } else { from.span() };
                let what = format!("no way leads from `{}` to `{}`", from.get_ref(), to.get_ref());
                return Err(Mistake::new(Fault::Unreachable, place, what, "these two must reach each other")
                    .hint("add a `[[link]]`; feedback needs the way back, so mind `reverse = \"none\"`"));
            }
        }
        Ok((a, b))
    }
}

fn gateways(raw: Option<&syntax::Gateway>, names: &Names<'_>) -> Checked<Gateways> {
    let (listen, to) = match raw {
        Some(gateway) => names.pair(&gateway.listen, &gateway.to)?,
        None => match &names.nodes.get_ref()[..] {
            [first, .., last] => (names.find(first)?, names.find(last)?),
            _ => {
                let what = "a network needs two nodes";
                return Err(Mistake::new(Fault::Range, names.nodes.span(), what, "fewer than two")
                    .hint("for example nodes = [\"near\", \"far\"]"));
            }
        },
    };
    Ok(Gateways { listen, to })
}

pub(super) fn positive_time(given: &Spanned<Duration>) -> Checked<Duration> {
    if given.is_zero() {
        return Err(Mistake::new(Fault::Range, given.span(), "no time at all", "must be more than zero")
            .hint("for example \"60s\""));
    }
    Ok(**given)
}

/// Turns the network's error about a node or link into a mistake at the place that named it.
pub(super) fn refused(place: Range<usize>, error: &NetworkError) -> Mistake {
    let whole = error.to_string();
    let (what, hint) = whole.split_once(": ").unwrap_or((&whole, ""));
    let fault = match error {
        NetworkError::Duplicate(_) => Fault::Duplicate,
        NetworkError::Loop(_) => Fault::Loop,
        NetworkError::UnknownNode(_) => Fault::UnknownName,
        NetworkError::UnorderedChanges(_) | NetworkError::UnorderedLosses(_) => Fault::Order,
        NetworkError::LimitOfDiscipline(_)
        | NetworkError::Queue { .. }
        | NetworkError::TraceAndChanges(_) => Fault::Conflict,
        _ => Fault::Range,
    };
    let mistake = Mistake::new(fault, place, what, "here");
    if hint.is_empty() { mistake } else { mistake.hint(hint) }
}
