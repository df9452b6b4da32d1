//! Flows: who sends what to whom, and how many of them.

use std::collections::BTreeSet;

use tfrc::config::{PacketSize, TfrcSp};
use tfrc::study::Revision;
use tfrc_sim::tcp::{Settings, Transfer};
use tfrc_sim::traffic::{Distribution, Pattern};
use tfrc_sim::{FlowId, Limit, NoAgent, Precedence, Queue, Seed};
use tfrc_units::{Dscp, Duration, Ecn, Instant, Rate, text, u64_from_f64};

use super::check::{Checked, Names, packet_bytes, parsed, positive_time, time, word};
use super::error::{Fault, Mistake};
use super::raw::{self, Spanned, Text};
use super::web_settings::{self, WebTraffic};
use super::{
    Application, Backlog, DatagramFlow, DccpFlow, Draws, Flow, FlowKind, Lines, LossIntervals, OwnLine, Pace,
    Phases, PingFlow, RoundTrip, TcpFlow, TfrcFlow, WebFlow, axis, distribution, flow_config, links, suggest,
    tcp_settings,
};

/// All kinds of flows.
pub(super) const KINDS: &[&str] =
    &["tfrc", "tfrc-sp", "dccp", "dccp-sp", "tcp", "cbr", "onoff", "web", "ping"];

/// Headers of a data packet of DCCP over UDP: IPv4 20, UDP 8, DCCP-Data with a 48-bit sequence number 16 bytes.
const HEADER_BYTES: u32 = 44;
/// Headers of a datagram: IPv4 20, UDP 8.
const DATAGRAM_HEADER_BYTES: u32 = 28;
const SEGMENT_BYTES: u32 = 1460;
/// An echo request with 56 bytes of data, as `ping` sends by default.
const PING_BYTES: u32 = 84;
/// Flows of a scenario.
const MOST_FLOWS: u32 = 1_000_000;

/// The flows of one entry of the file: their names and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The entry's name, or kind and number.
    pub name: String,
    /// The number of the first.
    pub first: u32,
    /// How many.
    pub count: u32,
    members: Members,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Members {
    /// The one is called as the group is.
    One,
    /// Name and number, from 1.
    Numbered,
}

impl Group {
    /// A flow alone.
    #[must_use]
    pub const fn one(name: String, number: u32) -> Self {
        Self { name, first: number, count: 1, members: Members::One }
    }

    /// The numbers of its flows.
    pub fn ids(&self) -> impl Iterator<Item = FlowId> + use<> {
        (self.first..self.first + self.count).map(FlowId)
    }

    /// The names of its flows.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|i| match self.members {
            Members::One => self.name.clone(),
            Members::Numbered => format!("{}-{}", self.name, i + 1),
        })
    }

    /// The number of the flow of this name.
    pub(super) fn member(&self, name: &str) -> Option<FlowId> {
        if self.members == Members::One {
            return None;
        }
        let number: u32 = name.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok()?;
        (1..=self.count).contains(&number).then(|| FlowId(self.first + number - 1))
    }
}

pub(super) fn groups(raw: &[raw::Flow]) -> Checked<Vec<Group>> {
    let mut list: Vec<Group> = Vec::new();
    let mut taken = BTreeSet::new();
    let mut first = 0;
    for flow in raw {
        let count = flow.count.as_ref().map_or(1, |count| *count.get_ref());
        if count > MOST_FLOWS - first {
            let place = flow.count.as_ref().map_or(flow.kind.span(), Spanned::span);
            return Err(Mistake::new(Fault::Range, place, format!("{count} flows more"), "too many")
                .hint(format!("at most {MOST_FLOWS} in all")));
        }
        let name = match &flow.name {
            Some(name) => name.get_ref().clone(),
            None => format!("{}-{}", flow.kind.get_ref(), list.len() + 1),
        };
        let members = if flow.count.is_some() { Members::Numbered } else { Members::One };
        let group = Group { name, first, count, members };
        let clash = group.names().find(|name| !taken.insert(name.clone()));
        let same = list.iter().any(|other| other.name == group.name);
        if let Some(name) = clash.or(same.then(|| group.name.clone())) {
            let place = flow.name.as_ref().unwrap_or(&flow.kind).span();
            let what = format!("two flows are called `{name}`");
            return Err(Mistake::new(Fault::Duplicate, place, what, "used before")
                .hint("give each flow a `name` of its own"));
        }
        first += count;
        list.push(group);
    }
    Ok(list)
}

pub(super) fn flows(raw: &[raw::Flow], groups: Vec<Group>, names: &Names<'_>) -> Checked<Vec<Flow>> {
    raw.iter().zip(groups).map(|(flow, group)| one(flow, group, names)).collect()
}

fn one(flow: &raw::Flow, group: Group, names: &Names<'_>) -> Checked<Flow> {
    let kind = flow.kind.get_ref().as_str();
    if !KINDS.contains(&kind) {
        let what = format!("there is no kind of flow `{kind}`");
        return Err(
            Mistake::new(Fault::Word, flow.kind.span(), what, "not a kind").hint(suggest::hint(kind, KINDS))
        );
    }
    idle_keys(flow, kind)?;
    let (from, to) = names.pair(&flow.from, &flow.to)?;
    let start = flow.start.as_ref().map_or(Ok(Distribution::Constant(0.0)), seconds)?;
    let stop = match &flow.stop {
        None => None,
        Some(t) => {
            let stop = time(t)?;
            if stop.as_secs_f64() <= latest(start) {
                let what = "the flow stops before it starts";
                return Err(Mistake::new(Fault::Order, t.span(), what, "not after `start`")
                    .hint("leave `stop` out to send until the end"));
            }
            Some(Instant::ZERO + stop)
        }
    };
    let lines = lines(flow, names, (from, to))?;
    let kind = match kind {
        "tfrc" => FlowKind::Tfrc(Box::new(tfrc(flow, PacketSize::Own)?)),
        "tfrc-sp" => FlowKind::Tfrc(Box::new(tfrc(flow, PacketSize::TfrcSp(TfrcSp::default()))?)),
        "dccp" => FlowKind::Dccp(Box::new(dccp(flow, tfrc_dccp::Ccid::Three)?)),
        "dccp-sp" => FlowKind::Dccp(Box::new(dccp(flow, tfrc_dccp::Ccid::Four)?)),
        "tcp" => FlowKind::Tcp(Box::new(tcp(flow)?)),
        "cbr" | "onoff" => FlowKind::Datagrams(datagrams(flow)?),
        "web" => FlowKind::Web(Box::new(web(flow)?)),
        _ => FlowKind::Ping(PingFlow {
            interval: flow.interval.as_ref().map_or(Ok(Duration::from_secs(1)), positive_time)?,
            size: flow.segment.as_ref().map_or(Ok(PING_BYTES), |t| packet_bytes(t, 1))?,
        }),
    };
    Ok(Flow { group, from, to, start, stop, lines, kind })
}

/// Keys of a flow that mean nothing for its kind are mistakes.
fn idle_keys(flow: &raw::Flow, kind: &str) -> Checked<()> {
    type Kinds = &'static [&'static str];
    const TFRC: Kinds = &["tfrc", "tfrc-sp"];
    const DCCP: Kinds = &["dccp", "dccp-sp"];
    const TCP: Kinds = &["tcp", "web"];
    let place = Spanned::<Text>::span;
    let word = Spanned::<String>::span;
    let number = Spanned::<f64>::span;
    let first_key = |table: &axis::Table| table.keys().next().map(Spanned::span);
    let given = [
        ("header", flow.header.as_ref().map(place), [TFRC, TCP, &["cbr", "onoff"]]),
        ("packets_per_second", flow.packets_per_second.as_ref().map(number), [TFRC, DCCP, &["cbr"]]),
        ("backlog", flow.backlog.as_ref().map(word), [TFRC, DCCP, &[]]),
        ("loss_intervals", flow.loss_intervals.as_ref().map(word), [TFRC, &[], &[]]),
        ("rate", flow.rate.as_ref().map(place), [&["cbr", "onoff"], &[], &[]]),
        ("on", flow.on.as_ref().map(place), [TFRC, DCCP, &["onoff"]]),
        ("off", flow.off.as_ref().map(place), [TFRC, DCCP, &["onoff"]]),
        ("draws", flow.draws.as_ref().map(Spanned::span), [&["onoff"], &[], &[]]),
        ("interval", flow.interval.as_ref().map(place), [&["ping"], &[], &[]]),
        ("transfer", flow.transfer.as_ref().map(place), [&["tcp"], &[], &[]]),
        ("overhead", flow.overhead.as_ref().map(place), [&["tcp"], &[], &[]]),
        ("guarantee", flow.guarantee.as_ref().map(place), [TFRC, &[], &[]]),
        ("guarantee_start", flow.guarantee_start.as_ref().map(word), [TFRC, &[], &[]]),
        ("guarantee_threshold", flow.guarantee_threshold.as_ref().map(number), [TFRC, &[], &[]]),
        ("dscp", flow.dscp.as_ref().map(place), [TFRC, DCCP, &[]]),
        ("ecn", flow.ecn.as_ref().map(word), [TFRC, DCCP, &[]]),
        ("tfrc", flow.tfrc.as_ref().and_then(first_key), [TFRC, DCCP, &[]]),
        ("tcp", flow.tcp.as_ref().and_then(first_key), [TCP, &[], &[]]),
        ("web", flow.web.as_ref().and_then(first_key), [&["web"], &[], &[]]),
    ];
    for (key, place, kinds) in given {
        if let Some(place) = place
            && !kinds.iter().any(|list| list.contains(&kind))
        {
            let all: Vec<&str> = kinds.concat();
            let what = format!("`{key}` does nothing in a flow of kind `{kind}`");
            return Err(Mistake::new(Fault::Idle, place, what, "does nothing here")
                .hint(format!("it is for {}", suggest::listed(&all))));
        }
    }
    Ok(())
}

fn seconds(given: &Spanned<Text>) -> Checked<Distribution> {
    let written = &given.get_ref().0;
    distribution::seconds(written).map_err(|hint| {
        Mistake::new(Fault::Quantity, given.span(), format!("`{written}` is no time"), "not understood")
            .hint(hint)
    })
}

/// The greatest value, as far as there is one.
fn latest(distribution: Distribution) -> f64 {
    match distribution {
        Distribution::Uniform { high, .. } => high,
        other => other.mean(),
    }
}

fn lines(
    flow: &raw::Flow,
    names: &Names<'_>,
    (from, to): (tfrc_sim::NodeId, tfrc_sim::NodeId),
) -> Checked<Lines> {
    let line = |raw: &raw::OwnLine| {
        Ok(OwnLine {
            rate: raw.rate.as_ref().map_or(Ok(Rate::INFINITY), |t| parsed(t, text::rate))?,
            delay: raw.delay.as_ref().map_or(Ok(Distribution::Constant(0.0)), seconds)?,
            queue: raw.queue.as_ref().map_or(Ok(Queue::DropTail(Limit::Unlimited)), links::queue)?,
        })
    };
    let mut lines = Lines {
        access: flow.access.as_ref().map(line).transpose()?,
        exit: flow.exit.as_ref().map(line).transpose()?,
        rtt: None,
    };
    if let Some(given) = &flow.rtt {
        let rtt = round_trip(given)?;
        let delays = [flow.access.as_ref(), flow.exit.as_ref()].into_iter().flatten();
        if let Some(delay) = delays.filter_map(|line| line.delay.as_ref()).next() {
            let what = "`rtt` says how long the flow's own lines are";
            return Err(Mistake::new(Fault::Conflict, delay.span(), what, "beside `rtt`")
                .hint("leave out `rtt` or this delay"));
        }
        let path = path_rtt(names, from, to);
        let least = match rtt {
            RoundTrip::Drawn(Distribution::Constant(x)) => x,
            RoundTrip::Drawn(Distribution::Uniform { low, .. }) | RoundTrip::Evenly { low, .. } => low,
            RoundTrip::Drawn(Distribution::Pareto { mean, shape }) => mean * (shape - 1.0) / shape,
            RoundTrip::Drawn(_) => 0.0,
        };
        if least < path.as_secs_f64() {
            let what = format!("the way there and back alone takes {} ms", path.as_secs_f64() * 1e3);
            return Err(Mistake::new(Fault::Range, given.span(), what, "may be shorter")
                .hint("make it longer, or the delays of the links shorter"));
        }
        lines.rtt = Some((rtt, path));
        lines.access.get_or_insert(OwnLine {
            rate: Rate::INFINITY,
            delay: Distribution::Constant(0.0),
            queue: Queue::DropTail(Limit::Unlimited),
        });
    }
    Ok(lines)
}

/// The round-trip times of an entry's flows: a distribution, or equal steps.
fn round_trip(given: &Spanned<Text>) -> Checked<RoundTrip> {
    let drawn = || seconds(given).map(RoundTrip::Drawn);
    let Some(bounds) = given.get_ref().0.trim().strip_prefix("evenly ") else { return drawn() };
    let bounds: Vec<_> = bounds.split_whitespace().map(text::time).collect();
    match bounds[..] {
        [Ok(low), Ok(high)] if low <= high => {
            Ok(RoundTrip::Evenly { low: low.as_secs_f64(), high: high.as_secs_f64() })
        }
        _ => {
            let what = "`evenly` wants the least and the greatest time";
            Err(Mistake::new(Fault::Quantity, given.span(), what, "not understood")
                .hint("for example \"evenly 40ms 240ms\""))
        }
    }
}

/// Propagation there and back.
fn path_rtt(names: &Names<'_>, from: tfrc_sim::NodeId, to: tfrc_sim::NodeId) -> Duration {
    let engine = names.network.build::<NoAgent<()>>(Seed(0));
    let way = [engine.route(from, to), engine.route(to, from)].concat();
    let delay = |id| names.network.links().find(|(known, _)| *known == id).map(|(_, spec)| spec.delay);
    way.into_iter().filter_map(delay).fold(Duration::ZERO, |sum, delay| sum + delay)
}

fn ecn(flow: &raw::Flow, default: Ecn) -> Checked<Ecn> {
    flow.ecn.as_ref().map_or(Ok(default), |given| {
        word("ecn", given, &["on", "off"], |w| match w {
            "on" => Some(Ecn::Ect0),
            "off" => Some(Ecn::NotEct),
            _ => None,
        })
    })
}

/// AFx1, AFx2 and AFx3 are low, medium and high (RFC 2597 §6); everything else is low.
fn drop_precedence(dscp: Dscp) -> Precedence {
    match (dscp.is_assured(), dscp.number() & 0b110) {
        (true, 0b100) => Precedence::Medium,
        (true, 0b110) => Precedence::High,
        _ => Precedence::Low,
    }
}

fn application(flow: &raw::Flow) -> Checked<Application> {
    let pace = match &flow.packets_per_second {
        None => Pace::Backlog,
        Some(rate) => {
            let r = *rate.get_ref();
            if !(1e-3..=1e7).contains(&r) {
                return Err(Mistake::new(
                    Fault::Range,
                    rate.span(),
                    format!("{r} packets a second"),
                    "out of range",
                )
                .hint("from 0.001 to 10000000; leave it out for a flow that always has something to send"));
            }
            Pace::Every(Duration::from_secs_f64(1.0 / r))
        }
    };
    let phases = match (&flow.on, &flow.off) {
        (None, None) => None,
        (Some(on), Some(off)) => Some(Phases { on: seconds(on)?, off: seconds(off)? }),
        (Some(one), None) | (None, Some(one)) => {
            let what = "`on` and `off` go together";
            return Err(Mistake::new(Fault::MissingKey, one.span(), what, "alone")
                .hint("for example on = \"exponential 1s\", off = \"exponential 1.35s\""));
        }
    };
    let sizes = match &flow.segment {
        Some(given) if given.get_ref().0.contains(' ') => {
            let written = &given.get_ref().0;
            distribution::sizes(written).map(Some).or_else(|hint| match text::size(written) {
                Ok(_) => Ok(None),
                Err(_) => {
                    let what = format!("`{written}` is no size");
                    Err(Mistake::new(Fault::Quantity, given.span(), what, "not understood").hint(hint))
                }
            })?
        }
        _ => None,
    };
    let sizes = sizes.filter(|sizes| !matches!(sizes, Distribution::Constant(_)));
    let backlog = backlog(flow, pace, phases)?;
    Ok(Application { pace, phases, sizes, backlog })
}

fn backlog(flow: &raw::Flow, pace: Pace, phases: Option<Phases>) -> Checked<Backlog> {
    let Some(given) = &flow.backlog else { return Ok(Backlog::LeftOut) };
    match given.get_ref().as_str() {
        "left-out" => Ok(Backlog::LeftOut),
        "kept" if pace == Pace::Backlog || phases.is_some() => {
            let what = "no packets to keep";
            Err(Mistake::new(Fault::Conflict, given.span(), what, "without a steady `packets_per_second`")
                .hint("give `packets_per_second`, and leave `on` and `off` out"))
        }
        "kept" => Ok(Backlog::Kept),
        other => {
            let what = format!("`{other}` is no backlog");
            Err(Mistake::new(Fault::Word, given.span(), what, "not known").hint("\"left-out\" or \"kept\""))
        }
    }
}

fn loss_intervals(flow: &raw::Flow) -> Checked<LossIntervals> {
    let Some(given) = &flow.loss_intervals else { return Ok(LossIntervals::LeftOut) };
    match given.get_ref().as_str() {
        "left-out" => Ok(LossIntervals::LeftOut),
        "kept" => Ok(LossIntervals::Kept),
        other => {
            let what = format!("loss intervals cannot be `{other}`");
            Err(Mistake::new(Fault::Word, given.span(), what, "not known").hint("\"left-out\" or \"kept\""))
        }
    }
}

/// Bytes of payload; of a distribution its mean.
fn segment(flow: &raw::Flow, application: &Application) -> Checked<u32> {
    match (&flow.segment, application.sizes) {
        (Some(given), Some(sizes)) => {
            let mean = u64_from_f64(sizes.mean());
            u32::try_from(mean).ok().filter(|m| (1..=65_535).contains(m)).ok_or_else(|| {
                Mistake::new(Fault::Range, given.span(), format!("{mean} bytes in a packet"), "out of range")
                    .hint("from 1 to 65535 bytes")
            })
        }
        (Some(given), None) => packet_bytes(given, 1),
        (None, _) => Ok(SEGMENT_BYTES),
    }
}

fn tfrc(flow: &raw::Flow, packet_size: PacketSize) -> Checked<TfrcFlow> {
    let application = application(flow)?;
    let segment = segment(flow, &application)?;
    let header = flow.header.as_ref().map_or(Ok(HEADER_BYTES), |t| packet_bytes(t, 0))?;
    let (config, dscp) = flow_config::config(flow, packet_size, segment, header)?;
    let precedence = drop_precedence(dscp);
    let (ecn, loss_intervals) = (ecn(flow, Ecn::NotEct)?, loss_intervals(flow)?);
    let revision = revision(flow);
    Ok(TfrcFlow { segment, header, application, config, revision, dscp, ecn, precedence, loss_intervals })
}

/// The revision that a flow's table names; its words have been checked with the table.
fn revision(flow: &raw::Flow) -> Revision {
    let mut table = flow.tfrc.iter().flatten();
    let named = table.find(|(key, _)| key.get_ref() == "revision");
    named.and_then(|(_, value)| Revision::from_name(&value.get_ref().0)).unwrap_or_default()
}

fn dccp(flow: &raw::Flow, ccid: tfrc_dccp::Ccid) -> Checked<DccpFlow> {
    let application = application(flow)?;
    let segment = match &flow.segment {
        Some(_) => segment(flow, &application)?,
        // What fits into 1500 bytes with IPv4, and a DCCP-DataAck with options.
        None => 1400,
    };
    if segment > 1400 || application.sizes.is_some_and(|sizes| latest(sizes) > 1400.0) {
        let place = flow.segment.as_ref().map_or(flow.kind.span(), Spanned::span);
        return Err(Mistake::new(
            Fault::Range,
            place,
            "a datagram of DCCP must fit into a packet",
            "too long",
        )
        .hint("at most 1400 bytes"));
    }
    let (config, dscp) = flow_config::config(flow, PacketSize::Own, segment, HEADER_BYTES)?;
    let precedence = drop_precedence(dscp);
    Ok(DccpFlow { ccid, segment, application, config, dscp, ecn: ecn(flow, Ecn::Ect0)?, precedence })
}

fn tcp_settings(flow: &raw::Flow) -> Checked<Settings> {
    let mut settings = Settings::default();
    if let Some(table) = &flow.tcp {
        axis::apply(tcp_settings::AXES, &mut settings, table)?;
    }
    if let Some(given) = &flow.segment {
        settings.segment = packet_bytes(given, 1)?;
    }
    if let Some(given) = &flow.header {
        settings.header = packet_bytes(given, 0)?;
    }
    Ok(settings)
}

fn tcp(flow: &raw::Flow) -> Checked<TcpFlow> {
    let transfer = match &flow.transfer {
        None => Transfer::Unlimited,
        Some(given) => Transfer::Bytes(parsed(given, text::size)?),
    };
    let overhead = flow.overhead.as_ref().map_or(Ok(Duration::ZERO), time)?;
    Ok(TcpFlow { settings: tcp_settings(flow)?, transfer, overhead })
}

fn web(flow: &raw::Flow) -> Checked<WebFlow> {
    let mut traffic = WebTraffic::default();
    if let Some(table) = &flow.web {
        axis::apply(web_settings::AXES, &mut traffic, table)?;
    }
    Ok(WebFlow { settings: tcp_settings(flow)?, traffic })
}

fn datagrams(flow: &raw::Flow) -> Checked<DatagramFlow> {
    let data = flow.segment.as_ref().map_or(Ok(1000), |t| packet_bytes(t, 1))?;
    let header = flow.header.as_ref().map_or(Ok(DATAGRAM_HEADER_BYTES), |t| packet_bytes(t, 0))?;
    let application = application(flow)?;
    let given = flow.rate.as_ref().map(|t| parsed(t, text::rate)).transpose()?;
    let paced = match application.pace {
        Pace::Every(gap) => Some(Rate::of(f64::from(data), gap)),
        Pace::Backlog => None,
    };
    let rate = match (given, paced) {
        (Some(rate), None) | (None, Some(rate)) => rate,
        (None, None) => {
            let what = "`rate` is missing";
            return Err(Mistake::new(
                Fault::MissingKey,
                flow.kind.span(),
                what,
                "a flow of this kind needs it",
            )
            .hint("add rate = \"1Mbit/s\", the rate of data"));
        }
        (Some(_), Some(_)) => {
            let place = flow.rate.as_ref().map_or(flow.kind.span(), Spanned::span);
            return Err(Mistake::new(Fault::Conflict, place, "two rates", "beside `packets_per_second`")
                .hint("leave one of them out"));
        }
    };
    let pattern = match (flow.kind.get_ref().as_str(), application.phases) {
        ("onoff", Some(Phases { on, off })) => Pattern::OnOff { rate, on, off },
        ("onoff", None) => {
            let what = "`on` and `off` are missing";
            return Err(Mistake::new(
                Fault::MissingKey,
                flow.kind.span(),
                what,
                "a flow of this kind needs them",
            )
            .hint("for example on = \"exponential 1s\", off = \"exponential 1.35s\""));
        }
        _ => Pattern::Constant(rate),
    };
    Ok(DatagramFlow { pattern, draws: draws(flow)?, data, header })
}

fn draws(flow: &raw::Flow) -> Checked<Draws> {
    let Some(given) = &flow.draws else { return Ok(Draws::default()) };
    let raw::Draws { rate, on, off } = given.get_ref();
    let rates = |given: &Spanned<Text>| {
        let written = &given.get_ref().0;
        distribution::rates(written).map_err(|hint| {
            let what = format!("`{written}` is no rate");
            Mistake::new(Fault::Quantity, given.span(), what, "not understood").hint(hint)
        })
    };
    Ok(Draws {
        rate: rate.as_ref().map(rates).transpose()?,
        on: on.as_ref().map(seconds).transpose()?,
        off: off.as_ref().map(seconds).transpose()?,
    })
}
