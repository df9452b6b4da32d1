//! Flows: who sends what to whom, and how many of them.
//!
//! The shape of the table has been read by `syntax`; its values are checked against each other
//! here, and a mistake has its place in the text.

use std::collections::BTreeSet;
use std::ops::Range;

use tfrc::config::{PacketSize, TfrcSp};
use tfrc::study::Revision;
use tfrc_sim::packet::{FlowId, Precedence};
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::traffic::{Distribution, Pattern};
use tfrc_sim::{NoAgent, Seed};
use tfrc_units::text::TextErrorKind;
use tfrc_units::{Dscp, Duration, Ecn, Instant, Rate, f64_from_u64, text, u64_from_f64};

use super::check::{Names, positive_time};
use super::error::{Checked, Fault, Mistake};
use super::syntax::{self, Kind, Overhead, Spanned, Text};
use super::table::{Table, Tabular};
use super::timetables::timetable;
use super::traces::Traces;
use super::written::{Seconds, packet_bytes};
use super::{
    Application, Backlog, CustomFlow, DatagramFlow, DccpFlow, Draws, Flow, FlowKind, Lines, LossIntervals,
    OwnLine, Pace, Phases, PingFlow, Refusal, RoundTrip, Seats, Tcp, TcpFlow, TfrcFlow, WebFlow, World,
    distribution, flow_config, links, suggest,
};

/// Headers of a data packet of DCCP over UDP: IPv4 20, UDP 8, DCCP-Data with a 48-bit sequence
/// number 16 bytes.
const HEADER_BYTES: u32 = 44;
/// Headers of a datagram: IPv4 20, UDP 8.
const DATAGRAM_HEADER_BYTES: u32 = 28;
/// Headers of a TCP segment without options: IPv4 20, TCP 20.
const TCP_HEADER_BYTES: u32 = 40;
/// Data of a packet unless the file says otherwise: 1,500 bytes less the headers of IPv4 and TCP.
const SEGMENT_BYTES: u32 = 1460;
/// `packetSize_` of ns-2's TFRC (docs/ns2-facts.md §1).
const NS2_SEGMENT_BYTES: u32 = 1000;
/// `headersize_` of ns-2's TFRC, which its packets have on the links besides.
const NS2_HEADER_BYTES: u32 = 32;
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

pub(super) fn groups(raw: &[syntax::Flow]) -> Checked<Vec<Group>> {
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
        flow.name.as_ref().map_or(Ok(()), super::check::name)?;
        let name = match &flow.name {
            Some(name) => name.get_ref().clone(),
            None => format!("{}-{}", flow.kind.word(), list.len() + 1),
        };
        let members = if flow.count.is_some() { Members::Numbered } else { Members::One };
        let group = Group { name, first, count, members };
        let clash = group.names().find(|name| !taken.insert(name.clone()));
        let same = list.iter().any(|other| other.name == group.name);
        if let Some(name) = clash.or(same.then(|| group.name.clone())) {
            let place = flow.name.as_ref().map_or(flow.kind.span(), Spanned::span);
            let what = format!("two flows are called `{name}`");
            return Err(Mistake::new(Fault::Duplicate, place, what, "used before")
                .hint("give each flow a `name` of its own"));
        }
        first += count;
        list.push(group);
    }
    Ok(list)
}

pub(super) fn flows(
    raw: &[syntax::Flow],
    groups: Vec<Group>,
    names: &Names<'_>,
    world: World,
    traces: &mut Traces,
) -> Checked<Vec<Flow>> {
    let mut list = Vec::new();
    for (flow, group) in raw.iter().zip(groups) {
        list.push(one(flow, group, names, world, traces, &list)?);
    }
    Ok(list)
}

fn one(
    flow: &syntax::Flow,
    group: Group,
    names: &Names<'_>,
    world: World,
    traces: &mut Traces,
    above: &[Flow],
) -> Checked<Flow> {
    let kind = *flow.kind;
    idle_keys(flow, kind)?;
    let (from, to) = names.pair(&flow.from, &flow.to)?;
    let start = flow.start.as_ref().map_or(Distribution::Constant(0.0), |start| start.0);
    let stop = match &flow.stop {
        None => None,
        Some(stop) => {
            if stop.as_secs_f64() <= latest(start) {
                let what = "the flow stops before it starts";
                return Err(Mistake::new(Fault::Order, stop.span(), what, "not after `start`")
                    .hint("leave `stop` out to send until the end"));
            }
            Some(Instant::ZERO + **stop)
        }
    };
    let lines = match &flow.hosts {
        None => lines(flow, names, (from, to))?,
        Some(hosts) => Lines { hosts: Some(hosts_of(flow, hosts, (from, to), above)?), ..Lines::default() },
    };
    let timetable = timetable(flow, traces)?;
    let kind = match kind {
        Kind::Tfrc => FlowKind::Tfrc(Box::new(tfrc(flow, PacketSize::Own)?)),
        Kind::TfrcSp => FlowKind::Tfrc(Box::new(tfrc(flow, PacketSize::TfrcSp(TfrcSp::default()))?)),
        Kind::Dccp => FlowKind::Dccp(Box::new(dccp(flow, tfrc_dccp::Ccid::Three)?)),
        Kind::DccpSp => FlowKind::Dccp(Box::new(dccp(flow, tfrc_dccp::Ccid::Four)?)),
        Kind::Tcp => FlowKind::Tcp(Box::new(tcp(flow, world)?)),
        Kind::Cbr | Kind::Onoff => FlowKind::Datagrams(datagrams(flow)?),
        Kind::Web => FlowKind::Web(Box::new(web(flow, world)?)),
        Kind::Custom => FlowKind::Custom(custom(flow, world)?),
        Kind::Ping => FlowKind::Ping(PingFlow {
            interval: flow.interval.as_ref().map_or(Ok(Duration::from_secs(1)), positive_time)?,
            size: flow.segment.as_ref().map_or(Ok(PING_BYTES), payload)?,
        }),
    };
    let host = match flow.overhead.as_deref() {
        Some(Overhead::Host(host)) => Some(*host),
        Some(Overhead::UpTo(_)) | None => None,
    };
    Ok(Flow { group, from, to, start, stop, timetable, lines, host, kind })
}

/// The place of an `overhead` that is a time: a measured host is for every kind of flow.
fn time_of_overhead(flow: &syntax::Flow) -> Option<Range<usize>> {
    let given = flow.overhead.as_ref()?;
    matches!(given.get_ref(), Overhead::UpTo(_)).then(|| given.span())
}

/// Keys of a flow that mean nothing for its kind are mistakes.
fn idle_keys(flow: &syntax::Flow, kind: Kind) -> Checked<()> {
    use Kind::{Cbr, Custom, Dccp, DccpSp, Onoff, Ping, Tcp, Tfrc, TfrcSp, Web};
    const TFRC: &[Kind] = &[Tfrc, TfrcSp];
    const RATED: &[Kind] = &[Tfrc, TfrcSp, Dccp, DccpSp];
    const PHASED: &[Kind] = &[Tfrc, TfrcSp, Dccp, DccpSp, Onoff];
    fn place<T>(value: Option<&Spanned<T>>) -> Option<Range<usize>> {
        value.map(Spanned::span)
    }
    const MARKED: &[Kind] = &[Tfrc, TfrcSp, Dccp, DccpSp, Custom];
    const TIMED: &[Kind] = &[Tfrc, TfrcSp, Dccp, DccpSp, Tcp, Cbr, Onoff, Ping, Custom];
    const WRITTEN: &[Kind] = &[Tfrc, TfrcSp, Dccp, DccpSp, Tcp, Cbr, Custom];
    let given: [(_, _, &[Kind]); 22] = [
        ("controller", place(flow.controller.as_ref()), &[Custom]),
        ("header", place(flow.header.as_ref()), &[Tfrc, TfrcSp, Tcp, Web, Cbr, Onoff, Custom]),
        ("packets_per_second", place(flow.packets_per_second.as_ref()), &[Tfrc, TfrcSp, Dccp, DccpSp, Cbr]),
        ("backlog", place(flow.backlog.as_ref()), RATED),
        ("loss_intervals", place(flow.loss_intervals.as_ref()), TFRC),
        ("rate", place(flow.rate.as_ref()), &[Cbr, Onoff]),
        ("on", place(flow.on.as_ref()), PHASED),
        ("off", place(flow.off.as_ref()), PHASED),
        ("draws", place(flow.draws.as_ref()), &[Onoff]),
        ("interval", place(flow.interval.as_ref()), &[Ping]),
        ("transfer", place(flow.transfer.as_ref()), TIMED),
        ("active", place(flow.active.as_ref()), TIMED),
        ("writes", place(flow.writes.as_ref()), WRITTEN),
        ("overhead", time_of_overhead(flow), &[Tcp]),
        ("guarantee", place(flow.guarantee.as_ref()), TFRC),
        ("guarantee_start", place(flow.guarantee_start.as_ref()), TFRC),
        ("guarantee_threshold", place(flow.guarantee_threshold.as_ref()), TFRC),
        ("dscp", place(flow.dscp.as_ref()), RATED),
        ("ecn", place(flow.ecn.as_ref()), MARKED),
        ("tfrc", flow.tfrc.as_ref().and_then(Table::place), RATED),
        ("tcp", flow.tcp.as_ref().and_then(Table::place), &[Tcp, Web]),
        ("web", flow.web.as_ref().and_then(Table::place), &[Web]),
    ];
    for (key, place, kinds) in given {
        if let Some(place) = place
            && !kinds.contains(&kind)
        {
            let all: Vec<String> = kinds.iter().map(|kind| format!("`{}`", kind.word())).collect();
            let what = format!("`{key}` does nothing in a flow of kind `{}`", kind.word());
            return Err(Mistake::new(Fault::Idle, place, what, "does nothing here")
                .hint(format!("it is for {}", all.join(", "))));
        }
    }
    Ok(())
}

/// The greatest value, as far as there is one.
fn latest(distribution: Distribution) -> f64 {
    match distribution {
        Distribution::Uniform { high, .. } => high,
        other => other.mean(),
    }
}

fn lines(
    flow: &syntax::Flow,
    names: &Names<'_>,
    (from, to): (tfrc_sim::NodeId, tfrc_sim::NodeId),
) -> Checked<Lines> {
    let line = |raw: &syntax::OwnLine| {
        Ok(OwnLine {
            rate: raw.rate.as_deref().map_or(Rate::INFINITY, |rate| *rate),
            delay: raw.delay.as_ref().map_or(Distribution::Constant(0.0), |delay| delay.0),
            queue: links::queue(raw.queue.as_ref(), Queue::DropTail(Limit::Unlimited), names.world)?,
        })
    };
    let mut lines = Lines {
        access: flow.access.as_ref().map(line).transpose()?,
        exit: flow.exit.as_ref().map(line).transpose()?,
        rtt: None,
        hosts: None,
    };
    if let Some(given) = &flow.rtt {
        let rtt = given.0;
        let mut delays = [flow.access.as_ref(), flow.exit.as_ref()].into_iter().flatten();
        if let Some(delay) = delays.find_map(|line| line.delay.as_ref()) {
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

/// The number of the entry whose hosts the flows have.
fn hosts_of(
    flow: &syntax::Flow,
    hosts: &Spanned<String>,
    ends: (tfrc_sim::NodeId, tfrc_sim::NodeId),
    above: &[Flow],
) -> Checked<(usize, Seats)> {
    let own = [("access", flow.access.is_some()), ("exit", flow.exit.is_some()), ("rtt", flow.rtt.is_some())];
    if let Some((key, _)) = own.into_iter().find(|(_, given)| *given) {
        let what = format!("`{key}` is of lines that these flows do not have");
        return Err(Mistake::new(Fault::Conflict, hosts.span(), what, "the hosts of other flows")
            .hint(format!("leave out `{key}` or `hosts`")));
    }
    let (name, seats) = match hosts.get_ref().strip_prefix("drawn ") {
        Some(name) => (name.trim(), Seats::Drawn),
        None => (hosts.get_ref().as_str(), Seats::InTurn),
    };
    let Some(number) = above.iter().position(|other| other.group.name == name) else {
        let known: Vec<&str> = above.iter().map(|other| other.group.name.as_str()).collect();
        let what = format!("no entry above is called `{name}`");
        return Err(Mistake::new(Fault::UnknownName, hosts.span(), what, "not a flow above")
            .hint(suggest::hint(name, &known)));
    };
    if above.get(number).is_some_and(|other| (other.from, other.to) != ends) {
        let what = format!("the flows of `{name}` go from and to other nodes");
        return Err(Mistake::new(Fault::Conflict, hosts.span(), what, "other hosts")
            .hint("give both entries the same `from` and `to`"));
    }
    Ok((number, seats))
}

/// Propagation there and back.
fn path_rtt(names: &Names<'_>, from: tfrc_sim::NodeId, to: tfrc_sim::NodeId) -> Duration {
    let engine = names.network.build::<NoAgent<()>>(Seed(0));
    let way = [engine.route(from, to), engine.route(to, from)].concat();
    let delay = |id| names.network.links().find(|(known, _)| *known == id).map(|(_, spec)| spec.delay);
    way.into_iter().filter_map(delay).fold(Duration::ZERO, |sum, delay| sum + delay)
}

/// AFx1, AFx2 and AFx3 are low, medium and high (RFC 2597 §6); everything else is low.
fn drop_precedence(dscp: Dscp) -> Precedence {
    match (dscp.is_assured(), dscp.number() & 0b110) {
        (true, 0b100) => Precedence::Medium,
        (true, 0b110) => Precedence::High,
        _ => Precedence::Low,
    }
}

fn application(flow: &syntax::Flow) -> Checked<Application> {
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
        (Some(on), Some(off)) => Some(Phases { on: on.0, off: off.0 }),
        (Some(one), None) | (None, Some(one)) => {
            let what = "`on` and `off` go together";
            return Err(Mistake::new(Fault::MissingKey, one.span(), what, "alone")
                .hint("for example on = \"exponential 1s\", off = \"exponential 1.35s\""));
        }
    };
    let sizes = match &flow.segment {
        Some(given) if given.0.contains(' ') && text::size(&given.0).is_err() => {
            let size = |written: &str| text::size(written).map(f64_from_u64).map_err(|error| error.kind);
            let sizes = distribution::read(&given.0, size).map_err(|kind| {
                let what = format!("`{}` {kind}", given.0);
                Mistake::new(Fault::Quantity, given.span(), what, "not understood")
                    .hint("a size such as 1460B, or a distribution such as `uniform 400B 1200B`")
            })?;
            Some(sizes)
        }
        _ => None,
    };
    let sizes = sizes.filter(|sizes| !matches!(sizes, Distribution::Constant(_)));
    if let (Some(given), Some(_), Some(_)) = (&flow.segment, sizes, &flow.writes) {
        let what = "`writes` has the sizes of the data";
        return Err(Mistake::new(Fault::Conflict, given.span(), what, "a distribution beside `writes`")
            .hint("give the largest packet, such as \"1200B\""));
    }
    let backlog = backlog(flow, pace, phases)?;
    Ok(Application { pace, phases, sizes, backlog })
}

fn backlog(flow: &syntax::Flow, pace: Pace, phases: Option<Phases>) -> Checked<Backlog> {
    let Some(given) = &flow.backlog else { return Ok(Backlog::LeftOut) };
    if **given == Backlog::Kept && (pace == Pace::Backlog || phases.is_some()) {
        let what = "no packets to keep";
        return Err(Mistake::new(
            Fault::Conflict,
            given.span(),
            what,
            "without a steady `packets_per_second`",
        )
        .hint("give `packets_per_second`, and leave `on` and `off` out"));
    }
    Ok(**given)
}

/// Bytes of payload; of a distribution its mean.
fn segment(flow: &syntax::Flow, application: &Application, default: u32) -> Checked<u32> {
    match (&flow.segment, application.sizes) {
        (Some(given), Some(sizes)) => {
            let mean = u64_from_f64(sizes.mean());
            u32::try_from(mean).ok().filter(|m| (1..=65_535).contains(m)).ok_or_else(|| {
                Mistake::new(Fault::Range, given.span(), format!("{mean} bytes in a packet"), "out of range")
                    .hint("from 1 to 65535 bytes")
            })
        }
        (Some(given), None) => payload(given),
        (None, _) => Ok(default),
    }
}

/// Bytes of payload in a packet, from 1 to 65,535.
fn payload(given: &Spanned<Text>) -> Checked<u32> {
    match packet_bytes(&given.0) {
        Err(kind @ TextErrorKind::NoUnit(_)) => {
            let what = format!("`{}` {kind}", given.0);
            Err(Mistake::new(Fault::Quantity, given.span(), what, "a bare number").hint("from 1B to 65535B"))
        }
        Ok(bytes) if bytes >= 1 => Ok(bytes),
        _ => {
            let what = format!("`{}` is not the size of a packet", given.0);
            Err(Mistake::new(Fault::Range, given.span(), what, "out of range").hint("from 1B to 65535B"))
        }
    }
}

fn tfrc(flow: &syntax::Flow, packet_size: PacketSize) -> Checked<TfrcFlow> {
    let application = application(flow)?;
    let revision = revision(flow);
    let (data, headers) = match revision {
        Revision::Ns2 => (NS2_SEGMENT_BYTES, NS2_HEADER_BYTES),
        _ => (SEGMENT_BYTES, HEADER_BYTES),
    };
    let segment = segment(flow, &application, data)?;
    let header = flow.header.as_ref().map_or(headers, |bytes| bytes.0);
    let (config, dscp) = flow_config::config(flow, packet_size, segment, header)?;
    let precedence = drop_precedence(dscp);
    let ecn = flow.ecn.as_deref().map_or(Ecn::NotEct, |switch| (*switch).into());
    let loss_intervals = flow.loss_intervals.as_deref().map_or(LossIntervals::LeftOut, |kept| *kept);
    Ok(TfrcFlow { segment, header, application, config, revision, dscp, ecn, precedence, loss_intervals })
}

/// The revision that a flow's table names; its words have been checked with the table.
fn revision(flow: &syntax::Flow) -> Revision {
    let named = flow.tfrc.as_ref().and_then(|table| table.get("revision"));
    named.and_then(|value| Revision::from_name(&value.get_ref().0)).unwrap_or_default()
}

fn dccp(flow: &syntax::Flow, ccid: tfrc_dccp::Ccid) -> Checked<DccpFlow> {
    let application = application(flow)?;
    let segment = match &flow.segment {
        Some(_) => segment(flow, &application, SEGMENT_BYTES)?,
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
    let ecn = flow.ecn.as_deref().map_or(Ecn::Ect0, |switch| (*switch).into());
    Ok(DccpFlow { ccid, segment, application, config, dscp, ecn, precedence })
}

/// The TCP of a flow, which the world must have.
fn tcp_of(flow: &syntax::Flow, world: World) -> Checked<Tcp> {
    let mut tcp: Tcp = table(flow.tcp.as_ref())?;
    if let Some(given) = &flow.segment {
        tcp.settings_mut().segment = payload(given)?;
    }
    if let Some(given) = &flow.header {
        tcp.settings_mut().header = given.0;
    }
    let refusal = match world {
        World::Emulated => tcp.kernel().err(),
        World::Links => None,
        World::Extended | World::Simulated => tcp.settings().err(),
    };
    match refusal {
        None => Ok(tcp),
        Some(Refusal { key, message, hint }) => {
            let in_table = flow.tcp.as_ref().and_then(|table| table.get(key)).map(Spanned::span);
            let beside = match key {
                "segment" => flow.segment.as_ref().map(Spanned::span),
                "header" => flow.header.as_ref().map(Spanned::span),
                _ => None,
            };
            let place = beside.or(in_table).unwrap_or_else(|| flow.kind.span());
            Err(Mistake::new(Fault::World, place, message, "not to be had here").hint(hint))
        }
    }
}

fn tcp(flow: &syntax::Flow, world: World) -> Checked<TcpFlow> {
    let overhead = match flow.overhead.as_deref() {
        Some(Overhead::UpTo(time)) => *time,
        Some(Overhead::Host(_)) | None => Duration::ZERO,
    };
    Ok(TcpFlow { tcp: tcp_of(flow, world)?, overhead })
}

fn web(flow: &syntax::Flow, world: World) -> Checked<WebFlow> {
    Ok(WebFlow { traffic: table(flow.web.as_ref())?, tcp: tcp_of(flow, world)? })
}

/// A flow with a controller of the host's own.
fn custom(flow: &syntax::Flow, world: World) -> Checked<CustomFlow> {
    of_the_host(world, flow.kind.span(), "the congestion control of a `custom` flow")?;
    let Some(controller) = &flow.controller else {
        let what = "`controller` is missing";
        return Err(Mistake::new(Fault::MissingKey, flow.kind.span(), what, "a flow of this kind needs it")
            .hint("add controller = \"NAME\", its name in the program that runs the file"));
    };
    Ok(CustomFlow {
        controller: controller.get_ref().clone(),
        segment: flow.segment.as_ref().map_or(Ok(SEGMENT_BYTES), payload)?,
        header: flow.header.as_ref().map_or(TCP_HEADER_BYTES, |bytes| bytes.0),
        ecn: flow.ecn.as_deref().map_or(Ecn::NotEct, |switch| (*switch).into()),
    })
}

/// Refuses what only a program of the user's has, where there is none.
pub(super) fn of_the_host(world: World, place: Range<usize>, what: &str) -> Checked<()> {
    match world {
        World::Extended | World::Links => Ok(()),
        World::Emulated | World::Simulated => {
            let what = format!("{what} is in a program of yours, which has to run this file");
            Err(Mistake::new(Fault::World, place, what, "not to be had here")
                .hint("run it from Python or Rust (docs/guides/custom-algorithms.md)"))
        }
    }
}

/// The settings of a table that may be left out.
fn table<S: Tabular>(table: Option<&Table<S>>) -> Checked<S> {
    table.map_or_else(|| Ok(S::start()), |table| table.apply(&S::start()))
}

fn datagrams(flow: &syntax::Flow) -> Checked<DatagramFlow> {
    let data = flow.segment.as_ref().map_or(Ok(1000), payload)?;
    let header = flow.header.as_ref().map_or(DATAGRAM_HEADER_BYTES, |bytes| bytes.0);
    let application = application(flow)?;
    let given = flow.rate.as_deref().copied();
    let paced = match application.pace {
        Pace::Every(gap) => Some(Rate::of(f64::from(data), gap)),
        Pace::Backlog => None,
    };
    let rate = match (given, paced) {
        (Some(rate), None) | (None, Some(rate)) => rate,
        // Each write leaves at once.
        (None, None) if flow.writes.is_some() => Rate::INFINITY,
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
    let pattern = match (*flow.kind, application.phases) {
        (Kind::Onoff, Some(Phases { on, off })) => Pattern::OnOff { rate, on, off },
        (Kind::Onoff, None) => {
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
    Ok(DatagramFlow { pattern, draws: draws(flow), data, header })
}

fn draws(flow: &syntax::Flow) -> Draws {
    let Some(syntax::Draws { rate, on, off }) = flow.draws.as_deref() else { return Draws::default() };
    let mean = |given: &Option<Spanned<Seconds>>| given.as_ref().map(|mean| mean.0);
    Draws { rate: rate.as_ref().map(|rate| rate.0), on: mean(on), off: mean(off) }
}
