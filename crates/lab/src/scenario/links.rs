//! Links: lines, queues, losses, markers.

use std::num::NonZeroU64;
use std::ops::Range;

use tfrc_sim::{
    CoDel, ColorMode, Flows, Limit, LinkSpec, Loss, LossAction, LossPlace, LossRule, Marker, MarkerRule,
    MeterScope, Network, Period, Pie, Precedence, Queue, RateChange, Reorder, Step,
};
use tfrc_units::{Instant, text};

use super::axis::{self, Axis, Table};
use super::check::{Checked, Names, parsed, refused, share, share_at, time, word};
use super::error::{Fault, Mistake};
use super::flows::Group;
use super::raw::{self, Spanned, Text};
use super::{link_settings, suggest};

pub(super) fn links(links: &[raw::Link], groups: &[Group], mut names: Names<'_>) -> Checked<Network> {
    for link in links {
        let (from, to) = (names.find(&link.from)?, names.find(&link.to)?);
        let (a, b) = (link.from.get_ref(), link.to.get_ref());
        let name = link.name.as_ref().map_or_else(|| format!("{a}-{b}"), |n| n.get_ref().clone());
        let (loss, losses) = link.loss.as_ref().map_or(Ok(Default::default()), |l| all_losses(l, groups))?;
        let forward = LinkSpec {
            queue: link.queue.as_ref().map_or(Ok(Queue::DropTail(Limit::Unlimited)), queue)?,
            loss,
            losses,
            markers: markers(&link.marker, groups)?,
            reorder: link.reorder.as_ref().map_or(Ok(Reorder::default()), reorder)?,
            duplicate: link.duplicate.as_ref().map_or(Ok(Default::default()), share)?,
            changes: changes(&link.changes)?,
            ..LinkSpec::new(&name, from, to, parsed(&link.rate, text::rate)?, time(&link.delay)?)
        };
        let back = LinkSpec {
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
            Some(given) => reverse(given, back, groups)?,
        };
        for spec in [Some(forward), back].into_iter().flatten() {
            names.network.link(spec).map_err(|error| {
                let queue = link.queue.as_ref().map(Spanned::span);
                let loss = link.loss.as_ref().map(Spanned::span);
                let place = match error {
                    tfrc_sim::NetworkError::Queue { .. } => queue,
                    tfrc_sim::NetworkError::UnorderedLosses(_) => loss,
                    _ => None,
                };
                refused(place.unwrap_or_else(|| link_place(link)), &error)
            })?;
        }
    }
    Ok(names.network)
}

fn link_place(link: &raw::Link) -> Range<usize> {
    link.name.as_ref().unwrap_or(&link.to).span()
}

fn reverse(given: &Spanned<raw::Reverse>, back: LinkSpec, groups: &[Group]) -> Checked<Option<LinkSpec>> {
    match given.get_ref() {
        raw::Reverse::Word(word) => match word.as_str() {
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
        raw::Reverse::Table(table) => {
            let (loss, losses) = table.loss.as_ref().map_or(Ok(Default::default()), |l| all_losses(l, groups))?;
            Ok(Some(LinkSpec {
                rate: table.rate.as_ref().map_or(Ok(back.rate), |t| parsed(t, text::rate))?,
                delay: table.delay.as_ref().map_or(Ok(back.delay), time)?,
                queue: table.queue.as_ref().map_or(Ok(back.queue), queue)?,
                loss,
                losses,
                markers: markers(&table.marker, groups)?,
                reorder: table.reorder.as_ref().map_or(Ok(Reorder::default()), reorder)?,
                duplicate: table.duplicate.as_ref().map_or(Ok(Default::default()), share)?,
                changes: changes(&table.changes)?,
                ..back
            }))
        }
    }
}

fn changes(raw: &[raw::Change]) -> Checked<Vec<RateChange>> {
    let mut list: Vec<RateChange> = Vec::new();
    for change in raw {
        let at = Instant::ZERO + time(&change.at)?;
        if list.last().is_some_and(|last| last.at >= at) {
            return Err(Mistake::new(
                Fault::Order,
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

fn reorder(raw: &raw::Reorder) -> Checked<Reorder> {
    Ok(Reorder { share: share(&raw.share)?, extra: time(&raw.extra)? })
}

pub(super) fn queue(given: &Spanned<raw::Queue>) -> Checked<Queue> {
    match given.get_ref() {
        raw::Queue::Text(written) => drop_tail(&written.0, given.span()),
        raw::Queue::Table(table) => {
            let raw::QueueTable { codel, drop_tail: tail, pie, red, rio } = &**table;
            match (codel, tail, pie, red, rio) {
                (Some(t), None, None, None, None) => {
                    settings(link_settings::CODEL, CoDel::new(Limit::Unlimited), t).map(Queue::CoDel)
                }
                (None, Some(t), None, None, None) => drop_tail(&t.get_ref().0, t.span()),
                (None, None, Some(t), None, None) => {
                    settings(link_settings::PIE, Pie::new(Limit::Unlimited), t).map(Queue::Pie)
                }
                (None, None, None, Some(t), None) => {
                    settings(link_settings::RED, link_settings::red(), t).map(Queue::Red)
                }
                (None, None, None, None, Some(t)) => {
                    settings(link_settings::RIO, link_settings::rio(), t).map(Queue::Rio)
                }
                _ => Err(Mistake::new(Fault::Conflict, given.span(), "a queue has one discipline", "none, or several")
                    .hint("for example { red = { limit = \"100p\" } }")),
            }
        }
    }
}

/// The settings of a queue that must have a limit.
fn settings<S>(axes: &'static [Axis<S>], mut start: S, table: &Spanned<Table>) -> Checked<S> {
    if !table.get_ref().keys().any(|key| key.get_ref() == "limit") {
        return Err(Mistake::new(Fault::MissingKey, table.span(), "`limit` is missing", "in this table")
            .hint("add `limit = \"100p\"`, or \"unlimited\""));
    }
    axis::apply(axes, &mut start, table.get_ref())?;
    Ok(start)
}

fn drop_tail(written: &str, place: Range<usize>) -> Checked<Queue> {
    link_settings::limit(written).map(Queue::DropTail).map_err(|_| {
        Mistake::new(Fault::Quantity, place, format!("`{written}` is no limit of a queue"), "not understood")
            .hint(format!("a queue is given in {}", link_settings::LIMIT))
    })
}

/// The one loss model of all packets, and the rules that say more.
fn all_losses(given: &Spanned<raw::Losses>, groups: &[Group]) -> Checked<(Loss, Vec<LossRule>)> {
    match given.get_ref() {
        raw::Losses::Text(Text(written)) => {
            Ok((Loss::Bernoulli(share_at(written, given.span())?), Vec::new()))
        }
        raw::Losses::One(rule) => {
            let rule = loss_rule(rule, given.span(), groups)?;
            let plain = LossRule::from(rule.model.clone());
            Ok(if plain == rule { (rule.model, Vec::new()) } else { (Loss::None, vec![rule]) })
        }
        raw::Losses::Several(list) => {
            let rules = list.iter().map(|rule| loss_rule(rule.get_ref(), rule.span(), groups));
            Ok((Loss::None, rules.collect::<Checked<_>>()?))
        }
    }
}

fn loss_rule(raw: &raw::LossRule, place: Range<usize>, groups: &[Group]) -> Checked<LossRule> {
    let mut models = Vec::new();
    models.extend(raw.bernoulli.as_ref().map(|t| share(t).map(Loss::Bernoulli)));
    models.extend(raw.bernoulli_per_byte.as_ref().map(|t| share(t).map(Loss::BernoulliPerByte)));
    models.extend(raw.gilbert_elliott.as_ref().map(|g| {
        Ok(Loss::GilbertElliott {
            to_bad: share(&g.to_bad)?,
            to_good: share(&g.to_good)?,
            in_good: share(&g.in_good)?,
            in_bad: share(&g.in_bad)?,
        })
    }));
    models.extend(raw.periodic.as_ref().map(|phases| {
        let phase = |p: &raw::Period| {
            Ok(Period { at: Instant::ZERO + time(&p.at)?, every: NonZeroU64::new(p.every) })
        };
        phases.iter().map(phase).collect::<Checked<_>>().map(Loss::Periodic)
    }));
    models.extend(raw.scripted.as_ref().map(|numbers| Ok(Loss::Scripted(numbers.clone()))));
    models.extend(raw.scripted_times.as_ref().map(|times| {
        let at = |t| Ok(Instant::ZERO + time(t)?);
        times.iter().map(at).collect::<Checked<_>>().map(Loss::ScriptedTimes)
    }));
    models.extend(raw.time_varying.as_ref().map(|steps| {
        let step = |s: &raw::Step| Ok(Step { at: Instant::ZERO + time(&s.at)?, p: share(&s.p)? });
        steps.iter().map(step).collect::<Checked<_>>().map(Loss::TimeVarying)
    }));
    let mut models = models.into_iter();
    let (Some(model), None) = (models.next(), models.next()) else {
        return Err(Mistake::new(Fault::Conflict, place, "a loss rule has one model", "none, or several")
            .hint("for example { bernoulli = \"1%\" }; several rules go in a list"));
    };
    let action = raw.action.as_ref().map_or(Ok(LossAction::Drop), |w| {
        word("action", w, &["drop", "mark"], |w| match w {
            "drop" => Some(LossAction::Drop),
            "mark" => Some(LossAction::Mark),
            _ => None,
        })
    })?;
    let place = raw.place.as_ref().map_or(Ok(LossPlace::BeforeQueue), |w| {
        word("place", w, &["before-queue", "after-line"], |w| match w {
            "before-queue" => Some(LossPlace::BeforeQueue),
            "after-line" => Some(LossPlace::AfterLine),
            _ => None,
        })
    })?;
    Ok(LossRule { model: model?, action, place, flows: chosen(raw.flows.as_deref(), groups)? })
}

fn markers(raw: &[raw::Marker], groups: &[Group]) -> Checked<Vec<MarkerRule>> {
    raw.iter().map(|marker| marker_rule(marker, groups)).collect()
}

fn marker_rule(raw: &raw::Marker, groups: &[Group]) -> Checked<MarkerRule> {
    let marker = match (&raw.fixed, &raw.token_bucket, &raw.single_rate) {
        (Some(w), None, None) => Marker::Fixed(precedence("fixed", w)?),
        (None, Some(bucket), None) => Marker::TokenBucket {
            cir: parsed(&bucket.rate, text::rate)?,
            burst: burst_bytes(&bucket.burst)?,
        },
        (None, None, Some(rate)) => Marker::SingleRate {
            cir: parsed(&rate.rate, text::rate)?,
            cbs: burst_bytes(&rate.burst)?,
            ebs: burst_bytes(&rate.excess)?,
            colors: rate.colors.as_ref().map_or(Ok(ColorMode::Blind), |w| {
                word("colors", w, &["aware", "blind"], |w| match w {
                    "aware" => Some(ColorMode::Aware),
                    "blind" => Some(ColorMode::Blind),
                    _ => None,
                })
            })?,
        },
        _ => {
            let place = [&raw.fixed, &raw.scope].into_iter().flatten().map(Spanned::span).next();
            let burst = raw.token_bucket.as_ref().map(|b| b.rate.span());
            let place = place.or(burst).or(raw.single_rate.as_ref().map(|r| r.rate.span())).unwrap_or(0..0);
            return Err(Mistake::new(Fault::Conflict, place, "a marker meters in one way", "none, or several")
                .hint("one of fixed, token_bucket, single_rate"));
        }
    };
    let scope = raw.scope.as_ref().map_or(Ok(MeterScope::Aggregate), |w| {
        word("scope", w, &["aggregate", "each-flow", "each-source"], |w| match w {
            "aggregate" => Some(MeterScope::Aggregate),
            "each-flow" => Some(MeterScope::EachFlow),
            "each-source" => Some(MeterScope::EachSource),
            _ => None,
        })
    })?;
    Ok(MarkerRule { marker, scope, flows: chosen(raw.flows.as_deref(), groups)? })
}

fn burst_bytes(given: &Spanned<Text>) -> Checked<u32> {
    let bytes = parsed(given, text::size)?;
    u32::try_from(bytes).map_err(|_| {
        Mistake::new(Fault::Range, given.span(), format!("a burst of {bytes} bytes"), "out of range")
            .hint("at most 4 GB")
    })
}

/// A drop precedence by its word.
pub(super) fn precedence(key: &str, given: &Spanned<String>) -> Checked<Precedence> {
    word(key, given, &["low", "medium", "high"], |w| match w {
        "low" => Some(Precedence::Low),
        "medium" => Some(Precedence::Medium),
        "high" => Some(Precedence::High),
        _ => None,
    })
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
