//! Notes on simulated results: reasons to read them with care that the figures do not show.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc::study::Revision;
use tfrc_sim::loss::Loss;
use tfrc_sim::queue::{Activation, Limit, Pie, Queue};
use tfrc_sim::tcp::Stack;
use tfrc_sim::tcp::study::AfterIdle;
use tfrc_sim::traffic::{Distribution, Pattern};
use tfrc_sim::{LinkId, LinkSpec, Network, NodeId};
use tfrc_units::{Probability, Rate, f64_from_u64};

use crate::results::Outcome;
use tfrc_scenario::{Application, Flow, FlowKind, RoundTrip, Scenario};

/// A reason to read simulated results with care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// A TCP that takes late packets for lost crosses a link that makes some of them late by the
    /// time of three packets or more.
    LateTakenForLost,
    /// All runs of a point gave the same figures: the seed changes nothing, and the means have no
    /// interval.
    NothingRandom,
    /// Two flows alone share a drop-tail queue that dropped packets, and nothing is random: rates
    /// depend on phase.
    PhaseEffects,
    /// A PIE queue drops nothing before a third of its limit waits, which is more than half a
    /// second of its line: it may let a queue of seconds grow and then lose much.
    PieActivatesLate,
    /// Some of the TFRC flows and TCPs have the settings of ns-2, others do not, and the sizes of
    /// their packets differ: a rate that is fair in packets is not fair in bytes.
    SizesDiffer,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LateTakenForLost => {
                "A TCP of the RFCs crosses a link that delivers packets late, and takes them for lost; kernels adapt: \
                 write `settings = \"linux\"` (docs/models/tcp-linux.md, \"Disorder\")."
            }
            Self::NothingRandom => {
                "Nothing in this file is random: runs with other seeds are copies, so the means have no interval."
            }
            Self::PieActivatesLate => {
                "A PIE queue begins to drop at a third of its limit, more than half a second of its line: shorten `limit`, \
                 or write `activation = \"always\"` (docs/models/queues.md, \"PIE\")."
            }
            Self::SizesDiffer => {
                "Some flows have the settings of ns-2, others do not, and their packets differ in size: shares in bytes \
                 follow from that; name `segment` and `header` (docs/guides/ns2.md)."
            }
            Self::PhaseEffects => {
                "Two flows alone share a drop-tail queue: their rates depend on phase, and a delay changed by less \
                 than a packet's time changes them (docs/guides/emulation.md, \"One file in two worlds\")."
            }
        })
    }
}

impl Note {
    /// All, in the order in which they are shown.
    pub(crate) const ALL: [Self; 5] = [
        Self::NothingRandom,
        Self::PhaseEffects,
        Self::PieActivatesLate,
        Self::LateTakenForLost,
        Self::SizesDiffer,
    ];

    /// The notes on one run of a scenario.
    #[must_use]
    pub fn of_run(scenario: &Scenario, outcome: &Outcome) -> Vec<Self> {
        kept(before_runs(scenario), &[outcome])
    }

    /// The sentence, with the number of points where it is not about all of them.
    #[must_use]
    pub fn sentence(self, points: usize, of: usize) -> String {
        if points == of { self.to_string() } else { format!("At {points} of {of} points: {self}") }
    }
}

/// The notes that the scenario alone gives; its runs decide whether they stay ([`kept`]).
pub(crate) fn before_runs(scenario: &Scenario) -> Vec<Note> {
    let phase = !draws(scenario) && two_flows_share_a_drop_tail_queue(scenario);
    let pie = scenario.network.links().any(|(_, link)| pie_activates_late(link));
    let late = scenario
        .network
        .links()
        .filter(|(_, link)| link.reorder.share != Probability::ZERO || !link.reorder.scripted.is_empty())
        .any(|(id, link)| scenario.flows.iter().any(|flow| late_is_lost(scenario, id, link, flow)));
    let notes = [
        phase.then_some(Note::PhaseEffects),
        pie.then_some(Note::PieActivatesLate),
        late.then_some(Note::LateTakenForLost),
        sizes_differ(scenario).then_some(Note::SizesDiffer),
    ];
    notes.into_iter().flatten().collect()
}

/// True if segments of the flow may be late by so much on this link that its TCP takes them for
/// lost: three others overtake them (RFC 5681 §3.2, RFC 6675 §4). Linux's TCP adapts (RFC 8985).
fn late_is_lost(scenario: &Scenario, id: LinkId, link: &LinkSpec, flow: &Flow) -> bool {
    let (tcp, both_ways) = match &flow.kind {
        FlowKind::Tcp(flow) => (&flow.tcp, false),
        FlowKind::Web(flow) => (&flow.tcp, true),
        _ => return false,
    };
    let Some(settings) = tcp.settings().ok().filter(|settings| settings.stack != Stack::Linux) else {
        return false;
    };
    let fastest = link.changes.iter().filter_map(|change| change.rate).map(Rate::bytes_per_sec);
    let fastest = fastest.fold(link.rate.bytes_per_sec(), f64::max);
    let overtaking = f64::from(DUPLICATES * settings.data_size(settings.payload()));
    let (network, from, to) = (&scenario.network, flow.from, flow.to);
    link.reorder.extra.as_secs_f64() * fastest >= overtaking
        && (must_cross(network, id, from, to) || (both_ways && must_cross(network, id, to, from)))
}

/// Duplicate acknowledgements that make a loss.
const DUPLICATES: u32 = 3;

/// A size that a file names is meant; of the others those of one set differ from those of another.
fn sizes_differ(scenario: &Scenario) -> bool {
    let sizes = scenario.flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Tcp(tcp) => {
            let settings = tcp.tcp.settings().ok()?;
            let is_ns2 = settings.algorithm.choices().after_idle == AfterIdle::Keep;
            Some((is_ns2, settings.data_size(settings.payload())))
        }
        FlowKind::Tfrc(tfrc) if tfrc.application.sizes.is_none() => {
            Some((tfrc.revision == Revision::Ns2, tfrc.segment.saturating_add(tfrc.header)))
        }
        _ => None,
    });
    let sizes: Vec<(bool, u32)> = sizes.collect();
    let (of_ns2, others): (Vec<_>, Vec<_>) = sizes.into_iter().partition(|(is_ns2, _)| *is_ns2);
    // Headers of 32 and 40 bytes differ in ns-2, too.
    let differ = |a: u32, b: u32| a.abs_diff(b) * 10 > a.max(b);
    of_ns2.iter().any(|(_, a)| others.iter().any(|(_, b)| differ(*a, *b)))
}

fn pie_activates_late(link: &LinkSpec) -> bool {
    let Queue::Pie(Pie { activation: Activation::ThirdFull, limit, mean_packet, .. }) = link.queue else {
        return false;
    };
    let bytes = match limit {
        Limit::Packets(packets) | Limit::Ns2Packets(packets) => {
            f64_from_u64(packets) * f64::from(mean_packet)
        }
        Limit::Buffers { count, bytes } => f64_from_u64(count) * f64::from(bytes),
        Limit::Bytes(bytes) | Limit::Ns2Bytes(bytes) | Limit::Ns2RedBytes(bytes) => f64_from_u64(bytes),
        // It never works.
        _ => return true,
    };
    bytes / 3.0 > LATE_SECONDS * link.rate.bytes_per_sec()
}

/// A third of the limit that lasts longer makes PIE late: slow start has filled it before the
/// probability has grown (RFC 8033 §5.5 lets it grow by 0.02 in 15 ms).
const LATE_SECONDS: f64 = 0.5;

/// The notes of a scenario after its runs.
pub(crate) fn kept(before: Vec<Note>, runs: &[&Outcome]) -> Vec<Note> {
    let dropped = runs.iter().flat_map(|run| &run.links).any(|link| link.drop_rate > 0.0);
    let before = before.into_iter().filter(|note| *note != Note::PhaseEffects || dropped);
    are_copies(runs).then_some(Note::NothingRandom).into_iter().chain(before).collect()
}

/// Several runs that differ in their seeds alone. No list of random settings can forget one here.
fn are_copies(runs: &[&Outcome]) -> bool {
    let Some((first, others)) = runs.split_first() else { return false };
    let is_copy = |other: &&Outcome| Outcome { seed: first.seed, ..(**other).clone() } == **first;
    !others.is_empty() && others.iter().all(is_copy)
}

/// True if a link or a flow draws from the seed.
fn draws(scenario: &Scenario) -> bool {
    scenario.network.links().any(|(_, link)| link_draws(link)) || scenario.flows.iter().any(flow_draws)
}

fn link_draws(link: &LinkSpec) -> bool {
    queue_draws(&link.queue)
        || loss_draws(&link.loss)
        || link.losses.iter().any(|rule| loss_draws(&rule.model))
        || !link.markers.is_empty()
        || link.reorder.share != Probability::ZERO
        || link.duplicate != Probability::ZERO
}

fn queue_draws(queue: &Queue) -> bool {
    !matches!(queue, Queue::DropTail(_) | Queue::CoDel(_))
}

fn loss_draws(loss: &Loss) -> bool {
    !matches!(loss, Loss::None | Loss::Periodic(_) | Loss::Scripted(_) | Loss::ScriptedTimes(_))
}

fn flow_draws(flow: &Flow) -> bool {
    let lines = [&flow.lines.access, &flow.lines.exit];
    flow.host.is_some()
        || is_drawn(flow.start)
        || lines.into_iter().flatten().any(|line| is_drawn(line.delay) || queue_draws(&line.queue))
        || matches!(flow.lines.rtt, Some((RoundTrip::Drawn(from), _)) if is_drawn(from))
        || match &flow.kind {
            FlowKind::Datagrams(datagrams) => matches!(datagrams.pattern, Pattern::OnOff { .. }),
            FlowKind::Dccp(dccp) => application_draws(&dccp.application),
            // It may draw, and nothing here can know.
            FlowKind::Custom(_) => true,
            FlowKind::Ping(_) => false,
            FlowKind::Tcp(tcp) => !tcp.overhead.is_zero(),
            FlowKind::Tfrc(tfrc) => application_draws(&tfrc.application),
            FlowKind::Web(_) => true,
        }
}

fn application_draws(application: &Application) -> bool {
    let phases = application.phases.iter().flat_map(|phases| [phases.on, phases.off]);
    phases.chain(application.sizes).any(is_drawn)
}

fn is_drawn(from: Distribution) -> bool {
    !matches!(from, Distribution::Constant(_))
}

fn two_flows_share_a_drop_tail_queue(scenario: &Scenario) -> bool {
    let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.group.count)).sum();
    flows == 2
        && scenario.network.links().any(|(id, link)| {
            let limited = matches!(link.queue, Queue::DropTail(limit) if limit != Limit::Unlimited);
            limited && scenario.flows.iter().all(|flow| must_cross(&scenario.network, id, flow.from, flow.to))
        })
}

/// True if every path from one node to the other has this link.
fn must_cross(network: &Network, link: LinkId, from: NodeId, to: NodeId) -> bool {
    let mut without = Network::new();
    for (_, name) in network.nodes() {
        without.node(name).expect("a node of a right network");
    }
    for (_, spec) in network.links().filter(|(id, _)| *id != link) {
        without.link(spec.clone()).expect("a link of a right network");
    }
    !without.connects(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Order, Results, run_plan};
    use tfrc_scenario::Document;

    const TWO: &str = "duration = '6s'\nwarmup = '1s'\nruns = 2\nnodes = ['a', 'b']\n\
        [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '2Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n\
        [[flow]]\nname = 'one'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n\
        [[flow]]\nname = 'two'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n";

    fn results(changes: &[&str]) -> Results {
        let mut document = Document::new("t", TWO);
        for change in changes {
            document.set(*change);
        }
        let plan = document.plan().expect("right");
        run_plan(&document, &plan, Order::default())
    }

    #[test]
    fn runs_that_are_copies_have_means_without_intervals() {
        let found = results(&[]).points.remove(0);
        assert_eq!(found.notes, [Note::NothingRandom, Note::PhaseEffects]);
        let mean = found.mean.expect("means");
        let rows = || mean.flows.iter().chain(&mean.groups).chain(&mean.links);
        assert!(rows().flat_map(|row| row.values.values()).all(|value| value.ci95.is_none()));
        assert!(mean.groups[1].values["goodput_bps"].mean.is_some_and(|mean| mean > 0.0));
    }

    #[test]
    fn whatever_differs_between_seeds_is_random() {
        let random = [
            "link.path.loss='1%'",
            "flow.one.start='uniform 0s 1s'",
            "flow.two.overhead='5ms'",
            "link.path.duplicate='1%'",
        ];
        for change in random {
            let found = results(&[change]).points.remove(0);
            assert_eq!(found.notes, [], "{change}");
            let goodput = found.mean.expect("means").groups[1].values["goodput_bps"];
            assert!(goodput.ci95.is_some_and(|half| half > 0.0), "{change}");
        }
    }

    #[test]
    fn phase_is_for_two_flows_in_a_full_drop_tail_queue() {
        let notes = |changes: &[&str]| results(&[&["runs=1"][..], changes].concat()).points.remove(0).notes;
        assert_eq!(notes(&[]), [Note::PhaseEffects]);
        // Three flows; opposite ways; a queue that never drops; one that draws.
        assert_eq!(notes(&["flow.two.count=2"]), []);
        assert_eq!(notes(&["flow.two.from='b'", "flow.two.to='a'"]), []);
        assert_eq!(notes(&["link.path.queue='unlimited'"]), []);
        assert_eq!(notes(&["link.path.queue='100000p'"]), []);
        assert_eq!(notes(&["link.path.queue={ pie = { limit = '10p', revision = 'enhanced' } }"]), []);
        let scenario = Scenario::parse("t", TWO).expect("right");
        assert_eq!(Note::of_run(&scenario, &crate::run(&scenario)), [Note::PhaseEffects]);
    }

    #[test]
    fn pie_that_activates_late_is_named() {
        // 2 Mbit/s: 375 packets of 1000 bytes are 1.5 s.
        let late = |queue: &str| {
            let text = TWO.replace("'10p'", queue);
            before_runs(&Scenario::parse("t", &text).expect("right")).contains(&Note::PieActivatesLate)
        };
        assert!(late("{ pie = { limit = '376p', revision = 'enhanced' } }"));
        assert!(!late("{ pie = { limit = '375p', revision = 'enhanced' } }"));
        assert!(late("{ pie = { limit = '400kB', revision = 'enhanced' } }"));
        assert!(late("{ pie = { limit = 'unlimited', revision = 'enhanced' } }"));
        assert!(!late("{ pie = { limit = '376p', revision = 'enhanced', activation = 'always' } }"));
        assert!(!late("{ pie = { limit = '376p' } }") && !late("'376p'"));
    }

    #[test]
    fn tcps_that_take_late_packets_for_lost_are_named() {
        // 2 Mbit/s: three packets of 1500 bytes take 18 ms.
        let late = |reorder: &str, changes: &[(&str, &str)]| {
            let mut text = TWO.replace("queue = '10p'", &format!("queue = '10p'\nreorder = {{ {reorder} }}"));
            for (from, to) in changes {
                assert!(text.contains(from), "{from}");
                text = text.replace(from, to);
            }
            let scenario = Scenario::parse("t", &text).expect("right");
            before_runs(&scenario).contains(&Note::LateTakenForLost)
        };
        let some = "share = '1%', extra = '18ms'";
        assert!(late(some, &[]));
        assert!(!late("share = '1%', extra = '17ms'", &[]));
        assert!(!late("share = '0%', extra = '18ms'", &[]));
        // Only where segments go, and only for a TCP of the RFCs.
        let tcp = "name = 'two'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n";
        assert!(!late(some, &[(tcp, "name = 'two'\nkind = 'tcp'\nfrom = 'b'\nto = 'a'\n")]));
        assert!(!late(some, &[(tcp, &format!("{tcp}[flow.tcp]\nsettings = 'linux'\n"))]));
        assert!(late(some, &[(tcp, &format!("{tcp}[flow.tcp]\nsettings = 'ns2'\nsegment = '1460B'\n"))]));
        assert!(!late(some, &[("kind = 'tcp'", "kind = 'tfrc'")]));
        assert!(late("share = '1%', extra = '9ms'", &[("rate = '2Mbit/s'", "rate = '4Mbit/s'")]));
    }

    #[test]
    fn a_note_on_some_points_says_on_how_many() {
        let sweep = "sweep=[{ set = 'link.path.loss', values = ['0%', '1%', '2%'] }]";
        let found = results(&[sweep]);
        let counted = found.notes();
        assert_eq!(counted, [(Note::NothingRandom, 1)]);
        assert!(Note::NothingRandom.sentence(1, 3).starts_with("At 1 of 3 points: Nothing"));
        assert!(Note::NothingRandom.sentence(3, 3).starts_with("Nothing"));
    }
}
