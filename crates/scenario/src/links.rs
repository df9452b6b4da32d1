//! Links: lines, queues, losses, markers.
//!
//! The shape of the table has been read by `syntax`; its values are checked against each other
//! here, and a mistake has its place in the text.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use tfrc_sim::link::DeliveryTrace;
use tfrc_sim::loss::{Flows, Loss, LossAction, LossPlace, LossRule, Period, Step};
use tfrc_sim::marker::{ColorMode, Marker, MarkerRule, MeterScope};
use tfrc_sim::network::{RateChange, Reorder};
use tfrc_sim::queue::{Limit, OwnName, Queue};
use tfrc_sim::{LinkSpec, Network};
use tfrc_units::{Duration, Instant, Probability, Rate};

use super::World;
use super::check::{Checked, Names, name, refused};
use super::error::{Fault, Mistake};
use super::flows::{Group, of_the_host};
use super::suggest;
use super::syntax::{self, Spanned};
use super::table::{Table, Tabular};
use super::traces::Traces;

pub(super) fn links(
    links: &[syntax::Link],
    groups: &[Group],
    mut names: Names<'_>,
    traces: &mut Traces,
) -> Checked<Network> {
    for link in links {
        let (from, to) = (names.find(&link.from)?, names.find(&link.to)?);
        let (a, b) = (link.from.get_ref(), link.to.get_ref());
        link.name.as_ref().map_or(Ok(()), name)?;
        let name = link.name.as_ref().map_or_else(|| format!("{a}-{b}"), |n| n.get_ref().clone());
        let (loss, losses) = link.loss.as_ref().map_or(Ok(Default::default()), |l| all_losses(l, groups))?;
        let (rate, trace) = line(&link.rate, &link.changes, traces)?;
        let forward = LinkSpec {
            trace,
            queue: queue(link.queue.as_ref(), Queue::DropTail(Limit::Unlimited), names.world)?,
            loss,
            losses,
            markers: markers(&link.marker, groups)?,
            reorder: link.reorder.as_ref().map_or_else(Reorder::default, reorder),
            duplicate: link.duplicate.as_deref().map_or(Probability::ZERO, |share| *share),
            changes: changes(&link.changes)?,
            ..LinkSpec::new(&name, from, to, rate, *link.delay)
        };
        let back = LinkSpec {
            trace: forward.trace.clone(),
            queue: forward.queue,
            ..LinkSpec::new(
                &link.name.as_ref().map_or_else(|| format!("{b}-{a}"), |n| format!("{} back", n.get_ref())),
                to,
                from,
                forward.rate,
                forward.delay,
            )
        };
        let back = match &link.reverse {
            None => Some(back),
            Some(given) => reverse(given, back, groups, traces, names.world)?,
        };
        for spec in [Some(forward), back].into_iter().flatten() {
            names.network.link(spec).map_err(|error| {
                let queue = link.queue.as_ref().map(Spanned::span);
                let loss = link.loss.as_ref().map(Spanned::span);
                let place = match error {
                    tfrc_sim::network::NetworkError::Queue { .. } => queue,
                    tfrc_sim::network::NetworkError::UnorderedLosses(_) => loss,
                    _ => None,
                };
                refused(place.unwrap_or_else(|| link_place(link)), &error)
            })?;
        }
    }
    Ok(names.network)
}

fn link_place(link: &syntax::Link) -> Range<usize> {
    link.name.as_ref().unwrap_or(&link.to).span()
}

/// A rate with its trace; one with a trace has no `changes`.
fn line(
    given: &Spanned<syntax::LinkRate>,
    changes: &[syntax::Change],
    traces: &mut Traces,
) -> Checked<(Rate, Option<Arc<DeliveryTrace>>)> {
    let table = match given.get_ref() {
        syntax::LinkRate::Constant(rate) => return Ok((*rate, None)),
        syntax::LinkRate::Trace(table) => table,
    };
    if let Some(change) = changes.first() {
        let what = "a trace has every rate of its link";
        return Err(Mistake::new(Fault::Conflict, change.at.span(), what, "beside a trace")
            .hint("leave `changes` out, or give the link a constant rate"));
    }
    let trace = traces.find(&table.trace)?;
    Ok((trace.mean_rate(), Some(trace)))
}

fn reverse(
    given: &Spanned<syntax::Reverse>,
    back: LinkSpec,
    groups: &[Group],
    traces: &mut Traces,
    world: World,
) -> Checked<Option<LinkSpec>> {
    match given.get_ref() {
        syntax::Reverse::Word(word) => match word.as_str() {
            "same" => Ok(Some(back)),
            "none" => Ok(None),
            _ => Err(Mistake::new(
                Fault::Word,
                given.span(),
                format!("`reverse` cannot be `{word}`"),
                "not understood",
            )
            .hint("possible: \"same\", \"none\", or a table such as { rate = \"1Mbit/s\" }")),
        },
        syntax::Reverse::Table(table) => {
            let (loss, losses) =
                table.loss.as_ref().map_or(Ok(Default::default()), |l| all_losses(l, groups))?;
            let (rate, trace) = match &table.rate {
                Some(rate) => line(rate, &table.changes, traces)?,
                None => (back.rate, back.trace.clone()),
            };
            Ok(Some(LinkSpec {
                rate,
                trace,
                delay: table.delay.as_deref().map_or(back.delay, |delay| *delay),
                queue: queue(table.queue.as_ref(), back.queue, world)?,
                loss,
                losses,
                markers: markers(&table.marker, groups)?,
                reorder: table.reorder.as_ref().map_or_else(Reorder::default, reorder),
                duplicate: table.duplicate.as_deref().map_or(Probability::ZERO, |share| *share),
                changes: changes(&table.changes)?,
                ..back
            }))
        }
    }
}

fn changes(raw: &[syntax::Change]) -> Checked<Vec<RateChange>> {
    let mut list: Vec<RateChange> = Vec::new();
    for change in raw {
        let at = Instant::ZERO + *change.at;
        if list.last().is_some_and(|last| last.at >= at) {
            return Err(Mistake::new(
                Fault::Order,
                change.at.span(),
                "the changes of a link must be in the order of time",
                "not after the one before",
            )
            .hint("sort the list by `at`"));
        }
        list.push(RateChange { at, rate: *change.rate });
    }
    Ok(list)
}

fn reorder(raw: &syntax::Reorder) -> Reorder {
    Reorder { share: *raw.share, extra: *raw.extra }
}

/// A queue, `unless` if none is given.
pub(super) fn queue(given: Option<&Spanned<syntax::Queue>>, unless: Queue, world: World) -> Checked<Queue> {
    let Some(given) = given else { return Ok(unless) };
    match given.get_ref() {
        syntax::Queue::Limit(limit) => Ok(Queue::DropTail(limit.0)),
        syntax::Queue::Table(table) => {
            let syntax::QueueTable { codel, custom, drop_tail: tail, fq_codel: fair, pie, red, rio } =
                &**table;
            if let Some(name) = custom
                && [
                    codel.is_some(),
                    tail.is_some(),
                    fair.is_some(),
                    pie.is_some(),
                    red.is_some(),
                    rio.is_some(),
                ] == [false; 6]
            {
                return own_queue(name, world);
            }
            match (codel, fair, tail, pie, red, rio) {
                (Some(t), None, None, None, None, None) => settings(t).map(Queue::CoDel),
                (None, Some(t), None, None, None, None) => settings(t).map(Queue::FqCoDel),
                (None, None, Some(t), None, None, None) => Ok(Queue::DropTail(t.0)),
                (None, None, None, Some(t), None, None) => settings(t).map(Queue::Pie),
                (None, None, None, None, Some(t), None) => settings(t).map(Queue::Red),
                (None, None, None, None, None, Some(t)) => settings(t).map(Queue::Rio),
                _ => Err(Mistake::new(
                    Fault::Conflict,
                    given.span(),
                    "a queue has one discipline",
                    "none, or several",
                )
                .hint("for example { red = { limit = \"100p\" } }")),
            }
        }
    }
}

/// A queue of the host's own.
fn own_queue(name: &Spanned<String>, world: World) -> Checked<Queue> {
    of_the_host(world, name.span(), "a `custom` queue")?;
    OwnName::new(name.get_ref()).map(Queue::Own).ok_or_else(|| {
        let what = format!("`{}` cannot be the name of a queue", name.get_ref());
        Mistake::new(Fault::Word, name.span(), what, "not 1 to 31 bytes of ASCII")
            .hint("give the queue a short name, such as \"mine\"")
    })
}

/// The settings of a queue that must have a limit.
fn settings<S: Tabular>(table: &Spanned<Table<S>>) -> Checked<S> {
    if table.get_ref().get("limit").is_none() {
        return Err(Mistake::new(Fault::MissingKey, table.span(), "`limit` is missing", "in this table")
            .hint("add `limit = \"100p\"`, or \"unlimited\""));
    }
    table.get_ref().apply(&S::start())
}

/// The one loss model of all packets, and the rules that say more.
fn all_losses(given: &Spanned<syntax::Losses>, groups: &[Group]) -> Checked<(Loss, Vec<LossRule>)> {
    match given.get_ref() {
        syntax::Losses::Share(share) => Ok((Loss::Bernoulli(*share), Vec::new())),
        syntax::Losses::One(rule) => {
            let rule = loss_rule(rule, given.span(), groups)?;
            let plain = LossRule::from(rule.model.clone());
            Ok(if plain == rule { (rule.model, Vec::new()) } else { (Loss::None, vec![rule]) })
        }
        syntax::Losses::Several(list) => {
            let rules = list.iter().map(|rule| loss_rule(rule.get_ref(), rule.span(), groups));
            Ok((Loss::None, rules.collect::<Checked<_>>()?))
        }
    }
}

fn loss_rule(raw: &syntax::LossRule, place: Range<usize>, groups: &[Group]) -> Checked<LossRule> {
    let at = |time: &Spanned<Duration>| Instant::ZERO + **time;
    let phase = |p: &syntax::Period| Period { at: at(&p.at), every: NonZeroU64::new(p.every) };
    let step = |s: &syntax::Step| Step { at: at(&s.at), p: *s.p };
    let gilbert = |g: &syntax::Gilbert| Loss::GilbertElliott {
        to_bad: *g.to_bad,
        to_good: *g.to_good,
        in_good: *g.in_good,
        in_bad: *g.in_bad,
    };
    let models = [
        raw.bernoulli.as_ref().map(|p| Loss::Bernoulli(**p)),
        raw.bernoulli_per_byte.as_ref().map(|p| Loss::BernoulliPerByte(**p)),
        raw.gilbert_elliott.as_ref().map(gilbert),
        raw.periodic.as_ref().map(|phases| Loss::Periodic(phases.iter().map(phase).collect())),
        raw.scripted.clone().map(Loss::Scripted),
        raw.scripted_times.as_ref().map(|times| Loss::ScriptedTimes(times.iter().map(at).collect())),
        raw.time_varying.as_ref().map(|steps| Loss::TimeVarying(steps.iter().map(step).collect())),
    ];
    let mut models = models.into_iter().flatten();
    let (Some(model), None) = (models.next(), models.next()) else {
        return Err(Mistake::new(Fault::Conflict, place, "a loss rule has one model", "none, or several")
            .hint("for example { bernoulli = \"1%\" }; several rules go in a list"));
    };
    let action = raw.action.as_deref().map_or(LossAction::Drop, |action| *action);
    let place = raw.place.as_deref().map_or(LossPlace::BeforeQueue, |place| *place);
    Ok(LossRule { model, action, place, flows: chosen(raw.flows.as_deref(), groups)? })
}

fn markers(raw: &[syntax::Marker], groups: &[Group]) -> Checked<Vec<MarkerRule>> {
    raw.iter().map(|marker| marker_rule(marker, groups)).collect()
}

fn marker_rule(raw: &syntax::Marker, groups: &[Group]) -> Checked<MarkerRule> {
    let marker = match (&raw.fixed, &raw.token_bucket, &raw.single_rate) {
        (Some(w), None, None) => Marker::Fixed(**w),
        (None, Some(bucket), None) => Marker::TokenBucket { cir: *bucket.rate, burst: bucket.burst.0 },
        (None, None, Some(rate)) => Marker::SingleRate {
            cir: *rate.rate,
            cbs: rate.burst.0,
            ebs: rate.excess.0,
            colors: rate.colors.as_deref().map_or(ColorMode::Blind, |colors| *colors),
        },
        _ => {
            let place = raw.fixed.as_ref().map(Spanned::span).or(raw.scope.as_ref().map(Spanned::span));
            let burst = raw.token_bucket.as_ref().map(|b| b.rate.span());
            let place = place.or(burst).or(raw.single_rate.as_ref().map(|r| r.rate.span())).unwrap_or(0..0);
            return Err(Mistake::new(
                Fault::Conflict,
                place,
                "a marker meters in one way",
                "none, or several",
            )
            .hint("one of fixed, token_bucket, single_rate"));
        }
    };
    let scope = raw.scope.as_deref().map_or(MeterScope::Aggregate, |scope| *scope);
    Ok(MarkerRule { marker, scope, flows: chosen(raw.flows.as_deref(), groups)? })
}

/// Flows by the names of their groups, or their own.
fn chosen(names: Option<&[Spanned<String>]>, groups: &[Group]) -> Checked<Flows> {
    let Some(names) = names else { return Ok(Flows::All) };
    let mut list = Vec::new();
    for name in names {
        let written = name.get_ref();
        let known: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        if let Some(group) = groups.iter().find(|group| group.name == *written) {
            list.extend(group.ids());
        } else if let Some(id) = groups.iter().find_map(|group| group.member(written)) {
            list.push(id);
        } else {
            let what = format!("there is no flow `{written}`");
            return Err(Mistake::new(Fault::UnknownName, name.span(), what, "not the name of a flow")
                .hint(suggest::hint(written, &known)));
        }
    }
    list.sort_unstable();
    list.dedup();
    Ok(Flows::Only(list))
}
