//! From the text's values to a scenario: units, names, what must hold between them.

use std::collections::BTreeSet;
use std::ops::Range;

use tfrc::{PacketSize, TfrcSp};
use tfrc_sim::{Limit, LinkSpec, Loss, Network, NetworkError, NodeId, Queue, RateChange, Seed};
use tfrc_units::text::{self, TextError};
use tfrc_units::{Duration, Instant, Probability};
use toml::Spanned;

use super::error::Mistake;
use super::flow_config;
use super::{Application, Flow, FlowKind, Gateways, Scenario, TfrcFlow, raw, suggest};

pub(super) type Checked<T> = Result<T, Mistake>;

/// Headers of a data packet of DCCP over UDP: IPv4 20, UDP 8, DCCP-Data with a 48-bit sequence number 16 bytes.
const HEADER_BYTES: u32 = 44;
const SEGMENT_BYTES: u32 = 1460;

pub(super) fn check(raw: raw::Scenario) -> Checked<Scenario> {
    let duration = positive_time(&raw.duration)?;
    let warmup = match &raw.warmup {
        None => Duration::ZERO,
        Some(t) => {
            let warmup = time(t)?;
            if warmup >= duration {
                return Err(Mistake::new(t.span(), "nothing is left to measure", "not less than `duration`")
                    .hint("make `warmup` shorter or `duration` longer"));
            }
            warmup
        }
    };
    let mut network = Network::new();
    for node in raw.nodes.get_ref() {
        network.node(node.get_ref()).map_err(|error| refused(node.span(), &error))?;
    }
    let names = Names { network, nodes: &raw.nodes };
    let network = links(&raw.link, names)?;
    let names = Names { network, nodes: &raw.nodes };
    let flows = flows(&raw.flow, &names)?;
    let gateways = gateways(raw.gateway.as_ref(), &names)?;
    let seed = Seed(raw.seed.unwrap_or(1));
    Ok(Scenario { duration, warmup, seed, network: names.network, flows, gateways })
}

/// The network so far, and how to speak of its nodes.
struct Names<'a> {
    network: Network,
    nodes: &'a Spanned<Vec<Spanned<String>>>,
}

impl Names<'_> {
    fn find(&self, name: &Spanned<String>) -> Checked<NodeId> {
        self.network.find_node(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = self.nodes.get_ref().iter().map(|n| n.get_ref().as_str()).collect();
            Mistake::new(name.span(), format!("there is no node `{}`", name.get_ref()), "not in `nodes`")
                .hint(suggest::hint(name.get_ref(), &known))
        })
    }

    /// Two different nodes with a way there and back.
    fn pair(&self, from: &Spanned<String>, to: &Spanned<String>) -> Checked<(NodeId, NodeId)> {
        let (a, b) = (self.find(from)?, self.find(to)?);
        if a == b {
            return Err(Mistake::new(to.span(), "from a node to itself", "the same node")
                .hint("name two different nodes"));
        }
        for (x, y, from, to) in [(a, b, from, to), (b, a, to, from)] {
            if !self.network.connects(x, y) {
                let what = format!("no way leads from `{}` to `{}`", from.get_ref(), to.get_ref());
                return Err(Mistake::new(to.span(), what, "these two must reach each other")
                    .hint("add a `[[link]]`; feedback needs the way back, so mind `reverse = \"none\"`"));
            }
        }
        Ok((a, b))
    }
}

fn links(links: &[raw::Link], mut names: Names<'_>) -> Checked<Network> {
    for link in links {
        let (from, to) = (names.find(&link.from)?, names.find(&link.to)?);
        let place = link.name.as_ref().unwrap_or(&link.to).span();
        let (a, b) = (link.from.get_ref(), link.to.get_ref());
        let name = link.name.as_ref().map_or_else(|| format!("{a}-{b}"), |n| n.get_ref().clone());
        let forward = LinkSpec {
            queue: link.queue.as_ref().map_or(Ok(Queue::DropTail(Limit::Unlimited)), queue)?,
            loss: link.loss.as_ref().map_or(Ok(Loss::None), loss)?,
            changes: changes(&link.changes)?,
            ..LinkSpec::new(&name, from, to, parsed(&link.rate, text::rate)?, time(&link.delay)?)
        };
        let back = LinkSpec {
            name: link.name.as_ref().map_or_else(|| format!("{b}-{a}"), |n| format!("{} back", n.get_ref())),
            from: to,
            to: from,
            loss: Loss::None,
            changes: Vec::new(),
            ..forward.clone()
        };
        let back = match &link.reverse {
            None => Some(back),
            Some(given) => reverse(given, back)?,
        };
        for spec in [Some(forward), back].into_iter().flatten() {
            names.network.link(spec).map_err(|error| refused(place.clone(), &error))?;
        }
    }
    Ok(names.network)
}

fn reverse(given: &Spanned<raw::Reverse>, back: LinkSpec) -> Checked<Option<LinkSpec>> {
    match given.get_ref() {
        raw::Reverse::Word(word) => match word.as_str() {
            "same" => Ok(Some(back)),
            "none" => Ok(None),
            _ => Err(Mistake::new(given.span(), format!("`reverse` cannot be `{word}`"), "not understood")
                .hint("possible: \"same\", \"none\", or a table such as { rate = \"1Mbit/s\" }")),
        },
        raw::Reverse::Table(table) => Ok(Some(LinkSpec {
            rate: table.rate.as_ref().map_or(Ok(back.rate), |t| parsed(t, text::rate))?,
            delay: table.delay.as_ref().map_or(Ok(back.delay), time)?,
            queue: table.queue.as_ref().map_or(Ok(back.queue), queue)?,
            loss: table.loss.as_ref().map_or(Ok(Loss::None), loss)?,
            changes: changes(&table.changes)?,
            ..back
        })),
    }
}

fn changes(raw: &[raw::Change]) -> Checked<Vec<RateChange>> {
    let mut list: Vec<RateChange> = Vec::new();
    for change in raw {
        let at = Instant::ZERO + time(&change.at)?;
        if list.last().is_some_and(|last| last.at >= at) {
            return Err(Mistake::new(
                change.at.span(),
                "the changes of a link must be in the order of time",
                "not after the one before",
            )
            .hint("sort the list by `at`"));
        }
        list.push(RateChange { at, rate: parsed(&change.rate, text::rate)? });
    }
    Ok(list)
}

fn flows(raw: &[raw::Flow], names: &Names<'_>) -> Checked<Vec<Flow>> {
    let mut list = Vec::new();
    let mut taken = BTreeSet::new();
    for (number, flow) in (1..).zip(raw) {
        let kind = match flow.kind.get_ref().as_str() {
            "tfrc" => FlowKind::Tfrc(tfrc(flow, PacketSize::Own)?),
            "tfrc-sp" => FlowKind::Tfrc(tfrc(flow, PacketSize::TfrcSp(TfrcSp::default()))?),
            other => {
                return Err(Mistake::new(
                    flow.kind.span(),
                    format!("there is no kind of flow `{other}`"),
                    "not a kind",
                )
                .hint(suggest::hint(other, &["tfrc", "tfrc-sp"])));
            }
        };
        let (from, to) = names.pair(&flow.from, &flow.to)?;
        let start = Instant::ZERO + flow.start.as_ref().map_or(Ok(Duration::ZERO), time)?;
        let stop = match &flow.stop {
            None => None,
            Some(t) => {
                let stop = Instant::ZERO + time(t)?;
                if stop <= start {
                    return Err(Mistake::new(
                        t.span(),
                        "the flow stops before it starts",
                        "not after `start`",
                    )
                    .hint("leave `stop` out to send until the end"));
                }
                Some(stop)
            }
        };
        let name = match &flow.name {
            Some(name) => name.get_ref().clone(),
            None => format!("{}-{number}", flow.kind.get_ref()),
        };
        if !taken.insert(name.clone()) {
            let place = flow.name.as_ref().unwrap_or(&flow.kind).span();
            return Err(Mistake::new(place, format!("two flows are called `{name}`"), "used before")
                .hint("give each flow a `name` of its own"));
        }
        list.push(Flow { name, from, to, start, stop, kind });
    }
    Ok(list)
}

fn tfrc(flow: &raw::Flow, packet_size: PacketSize) -> Checked<TfrcFlow> {
    let segment = flow.segment.as_ref().map_or(Ok(SEGMENT_BYTES), |t| packet_bytes(t, 1))?;
    let header = flow.header.as_ref().map_or(Ok(HEADER_BYTES), |t| packet_bytes(t, 0))?;
    let application = match &flow.packets_per_second {
        None => Application::Backlog,
        Some(rate) => {
            let r = *rate.get_ref();
            if !(1e-3..=1e7).contains(&r) {
                return Err(Mistake::new(rate.span(), format!("{r} packets a second"), "out of range").hint(
                    "from 0.001 to 10000000; leave it out for a flow that always has something to send",
                ));
            }
            Application::Every(Duration::from_secs_f64(1.0 / r))
        }
    };
    let (config, dscp) = flow_config::config(flow, packet_size, segment, header)?;
    Ok(TfrcFlow { segment, header, application, config, dscp })
}

fn gateways(raw: Option<&raw::Gateway>, names: &Names<'_>) -> Checked<Gateways> {
    let (listen, to) = match raw {
        Some(gateway) => names.pair(&gateway.listen, &gateway.to)?,
        None => match &names.nodes.get_ref()[..] {
            [first, .., last] => (names.find(first)?, names.find(last)?),
            _ => {
                return Err(Mistake::new(names.nodes.span(), "a network needs two nodes", "fewer than two")
                    .hint("for example nodes = [\"near\", \"far\"]"));
            }
        },
    };
    Ok(Gateways { listen, to })
}

fn queue(given: &Spanned<raw::Text>) -> Checked<Queue> {
    let word = given.get_ref().0.trim();
    let limit = if word == "unlimited" {
        Limit::Unlimited
    } else if let Some(number) = word.strip_suffix("packets").or_else(|| word.strip_suffix('p')) {
        Limit::Packets(number.trim().replace('_', "").parse().map_err(|_| {
            Mistake::new(given.span(), "`queue` is not a whole number of packets", "not understood")
                .hint("for example \"25p\" (packets) or \"50kB\" (bytes)")
        })?)
    } else {
        Limit::Bytes(parsed(given, text::size).map_err(|m| {
            m.hint("a queue is given in packets (\"25p\"), in bytes (\"50kB\"), or as \"unlimited\"")
        })?)
    };
    Ok(Queue::DropTail(limit))
}

fn loss(given: &Spanned<raw::Loss>) -> Checked<Loss> {
    match given.get_ref() {
        raw::Loss::Text(t) => share_at(&t.0, given.span()).map(Loss::Bernoulli),
        raw::Loss::Model(raw::LossModel::Bernoulli(t)) => share(t).map(Loss::Bernoulli),
        raw::Loss::Model(raw::LossModel::GilbertElliott(g)) => Ok(Loss::GilbertElliott {
            to_bad: share(&g.to_bad)?,
            to_good: share(&g.to_good)?,
            in_good: share(&g.in_good)?,
            in_bad: share(&g.in_bad)?,
        }),
        raw::Loss::Model(raw::LossModel::Scripted(numbers)) => Ok(Loss::Scripted(numbers.clone())),
    }
}

fn share(given: &Spanned<raw::Text>) -> Checked<Probability> {
    share_at(&given.get_ref().0, given.span())
}

fn share_at(written: &str, place: Range<usize>) -> Checked<Probability> {
    text::probability(written).map_err(|error| quantity(written, place, error))
}

fn time(given: &Spanned<raw::Text>) -> Checked<Duration> {
    parsed(given, text::time)
}

fn positive_time(given: &Spanned<raw::Text>) -> Checked<Duration> {
    let t = time(given)?;
    if t.is_zero() {
        return Err(Mistake::new(given.span(), "a run of no time", "must be more than zero"));
    }
    Ok(t)
}

/// Bytes of a packet or of its headers, from `least` to 64 kB.
fn packet_bytes(given: &Spanned<raw::Text>, least: u32) -> Checked<u32> {
    let bytes = parsed(given, text::size)?;
    match u32::try_from(bytes) {
        Ok(n) if (least..=65_535).contains(&n) => Ok(n),
        _ => Err(Mistake::new(given.span(), format!("{bytes} bytes in a packet"), "out of range")
            .hint(format!("from {least} to 65535 bytes"))),
    }
}

pub(super) fn parsed<T>(given: &Spanned<raw::Text>, read: fn(&str) -> Result<T, TextError>) -> Checked<T> {
    let written = &given.get_ref().0;
    read(written).map_err(|error| quantity(written, given.span(), error))
}

fn quantity(written: &str, place: Range<usize>, error: TextError) -> Mistake {
    let whole = error.to_string();
    let what = whole.split(';').next().unwrap_or(&whole);
    Mistake::new(place, format!("`{written}` {what}"), "not understood")
        .hint(format!("expected {}", error.expected))
}

/// What the network says of a node or link, at the place that named it.
fn refused(place: Range<usize>, error: &NetworkError) -> Mistake {
    let whole = error.to_string();
    let (what, hint) = whole.split_once(": ").unwrap_or((&whole, ""));
    let mistake = Mistake::new(place, what, "here");
    if hint.is_empty() { mistake } else { mistake.hint(hint) }
}
