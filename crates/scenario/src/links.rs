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
use tfrc_sim::network::{LinkChange, Reorder};
use tfrc_sim::queue::{CustomName, Limit, Queue};
use tfrc_sim::{LinkSpec, Network};
use tfrc_units::{Duration, Instant, Probability, Rate};

use super::World;
use super::check::{Names, name, positive_time, refused};
use super::error::{Checked, Fault, Mistake};
use super::flows::{Group, of_the_host};
use super::logs::{self, Columns, Times};
use super::suggest;
use super::syntax::{self, Spanned};
use super::table::{Table, Tabular};
use super::traces::{LogKind, Traces};

pub(super) fn links(
    links: &[syntax::Link],
    groups: &[Group],
    mut names: Names<'_>,
    traces: &mut Traces,
    duration: Duration,
) -> Checked<Network> {
    // A relay runs on after the time of the file.
    let until = if names.world == World::Links { duration.max(RELAYED) } else { duration };
    let mut course = Courses { groups, traces, until };
    for link in links {
        let (from, to) = (names.find(&link.from)?, names.find(&link.to)?);
        let (a, b) = (link.from.get_ref(), link.to.get_ref());
        link.name.as_ref().map_or(Ok(()), name)?;
        let name = link.name.as_ref().map_or_else(|| format!("{a}-{b}"), |n| n.get_ref().clone());
        let (loss, losses) = link.loss.as_ref().map_or(Ok(Default::default()), |l| all_losses(l, groups))?;
        let line = course.line(&link.rate, &link.changes)?;
        let changes = course.changes(&link.changes)?;
        let forward = LinkSpec {
            trace: line.trace.clone(),
            queue: queue(link.queue.as_ref(), Queue::DropTail(Limit::Unlimited), names.world)?,
            loss,
            losses,
            markers: markers(&link.marker, groups)?,
            reorder: link.reorder.as_ref().map_or_else(Reorder::default, reorder),
            duplicate: link.duplicate.as_deref().map_or(Probability::ZERO, |share| *share),
            changes: merged(&line.rates, changes),
            ..LinkSpec::new(&name, from, to, line.rate, *link.delay)
        };
        let back = LinkSpec {
            trace: forward.trace.clone(),
            queue: forward.queue,
            changes: merged(&line.rates, Vec::new()),
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
            Some(given) => reverse(given, back, &mut course, names.world)?,
        };
        for spec in [Some(forward), back].into_iter().flatten() {
            names.network.link(spec).map_err(|error| {
                let queue = link.queue.as_ref().map(Spanned::span);
                let loss = link.loss.as_ref().map(Spanned::span);
                let place = match error {
                    tfrc_sim::network::NetworkError::LimitOfDiscipline(_)
                    | tfrc_sim::network::NetworkError::Queue { .. } => queue,
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

/// How long a relay follows a log.
const RELAYED: Duration = Duration::from_secs(86_400);
/// Rates of a link over time, at most: 80 MB of them.
const MOST_RATES: usize = 1_000_000;

/// The rate of a line: the first one, and those of a trace or a log.
struct Line {
    rate: Rate,
    trace: Option<Arc<DeliveryTrace>>,
    rates: Vec<LinkChange>,
}

/// Everything that settings over time are read with.
struct Courses<'c> {
    groups: &'c [Group],
    traces: &'c mut Traces,
    /// How long a log is followed.
    until: Duration,
}

impl Courses<'_> {
    /// The rate of a line. One with a trace or a log has no other `changes` of the rate.
    fn line(&mut self, given: &Spanned<syntax::LinkRate>, changes: &[syntax::Change]) -> Checked<Line> {
        let table = match given.get_ref() {
            syntax::LinkRate::Constant(rate) => {
                return Ok(Line { rate: *rate, trace: None, rates: Vec::new() });
            }
            syntax::LinkRate::Course(table) => table,
        };
        if let Some(rate) = changes.iter().find_map(|change| change.rate.as_ref()) {
            let what = "a trace or a log has every rate of its link";
            return Err(Mistake::new(Fault::Conflict, rate.span(), what, "beside a trace")
                .hint("leave `rate` out of `changes`, or give the link a constant rate"));
        }
        match (&table.trace, &table.log) {
            (Some(name), None) => {
                let idle = [&table.time, &table.time_unit, &table.rate, &table.unit].into_iter().flatten();
                let idle = idle.map(Spanned::span).chain(table.interval.as_ref().map(Spanned::span)).next();
                if let Some(place) = idle {
                    let what = "a trace has no columns";
                    return Err(Mistake::new(Fault::Idle, place, what, "does nothing here")
                        .hint("write log = … for a table of times and rates"));
                }
                let trace = self.traces.find(name)?;
                Ok(Line { rate: trace.mean_rate(), trace: Some(trace), rates: Vec::new() })
            }
            (None, Some(file)) => self.log(file, table, given.span()),
            _ => Err(Mistake::new(Fault::Conflict, given.span(), "a line follows one course", "none, or two")
                .hint("for example { trace = \"lte\" }, or { log = \"rates.csv\", time = \"1\", rate = \"2\", unit = \"kbit/s\" }")),
        }
    }

    /// The rates of a log, again and again until the end.
    fn log(
        &mut self,
        file: &Spanned<String>,
        table: &syntax::CourseTable,
        place: Range<usize>,
    ) -> Checked<Line> {
        let missing = |key: &str, example: &str| {
            Mistake::new(Fault::MissingKey, place.clone(), format!("`{key}` is missing"), "a log needs it")
                .hint(format!("add {key} = {example}"))
        };
        let value = table.rate.as_ref().ok_or_else(|| missing("rate", "\"NAME\", the column of rates"))?;
        let unit = table.unit.as_ref().ok_or_else(|| missing("unit", "\"kbit/s\", that of the rates"))?;
        let clock = LogClock { time: &table.time, time_unit: &table.time_unit, interval: &table.interval };
        let columns = Columns {
            times: clock.times().ok_or_else(|| missing("time", "\"NAME\", the column of times"))??,
            value: value.get_ref(),
            unit: unit_of(unit, logs::rate_unit)?,
        };
        let entries = self.traces.log(file, &columns, LogKind::Rates)?;
        let period = logs::period(&entries);
        let mut rates: Vec<LinkChange> = Vec::new();
        let mut begin = Instant::ZERO;
        while begin < Instant::ZERO + self.until {
            for entry in &entries {
                let change = LinkChange::of_rate(begin + entry.at, Rate::from_bits_per_sec(entry.value));
                // Of several lines of one time the last holds.
                if rates.last().is_some_and(|last| last.at == change.at) {
                    rates.pop();
                }
                if rates.last().is_none_or(|last| last.rate != change.rate) {
                    rates.push(change);
                }
            }
            if rates.len() > MOST_RATES {
                let what = format!("{} has too many rates for this duration", file.get_ref());
                return Err(Mistake::new(Fault::Trace, file.span(), what, format!("more than {MOST_RATES}"))
                    .hint("make a trace of it: tfrc scenario trace"));
            }
            begin += period;
        }
        let first = if rates.is_empty() { Rate::ZERO } else { rates.remove(0).rate.unwrap_or(Rate::ZERO) };
        Ok(Line { rate: first, trace: None, rates })
    }

    fn changes(&self, raw: &[syntax::Change]) -> Checked<Vec<LinkChange>> {
        let mut list: Vec<LinkChange> = Vec::new();
        for change in raw {
            let syntax::Change { at, rate, delay, queue, loss } = change;
            let time = Instant::ZERO + **at;
            if list.last().is_some_and(|last| last.at >= time) {
                return Err(Mistake::new(
                    Fault::Order,
                    at.span(),
                    "the changes of a link must be in the order of time",
                    "not after the one before",
                )
                .hint("sort the list by `at`; several settings of one time go in one entry"));
            }
            if rate.is_none() && delay.is_none() && queue.is_none() && loss.is_none() {
                let what = "nothing changes at this time";
                return Err(Mistake::new(Fault::MissingKey, at.span(), what, "an entry without a setting")
                    .hint("add rate, delay, queue or loss"));
            }
            let losses = loss.as_ref().map(|loss| all_losses(loss, self.groups)).transpose()?;
            list.push(LinkChange {
                at: time,
                rate: rate.as_deref().copied(),
                delay: delay.as_deref().copied(),
                limit: queue.as_ref().map(|limit| limit.0),
                losses: losses.map(|(first, rest)| std::iter::once(first.into()).chain(rest).collect()),
            });
        }
        Ok(list)
    }
}

/// The keys of a log's times.
pub(super) struct LogClock<'c> {
    pub(super) time: &'c Option<Spanned<String>>,
    pub(super) time_unit: &'c Option<Spanned<String>>,
    pub(super) interval: &'c Option<Spanned<Duration>>,
}

impl<'c> LogClock<'c> {
    /// The times of the lines; `None` without any key of them.
    pub(super) fn times(&self) -> Option<Checked<Times<'c>>> {
        let conflict = |place: Range<usize>, what: &str| {
            Mistake::new(Fault::Conflict, place, what.to_owned(), "beside `interval`")
                .hint("leave one of them out")
        };
        Some(match (self.time, self.time_unit, self.interval) {
            (Some(time), _, Some(_)) => Err(conflict(time.span(), "two kinds of times")),
            (None, Some(unit), Some(_)) => Err(conflict(unit.span(), "an interval has its own unit")),
            (Some(name), unit, None) => {
                let unit = unit.as_ref().map_or(Ok(1.0), |unit| unit_of(unit, logs::time_unit));
                unit.map(|unit| Times::Column { name: name.get_ref(), unit })
            }
            (None, None, Some(step)) => positive_time(step).map(Times::Every),
            (None, _, None) => return None,
        })
    }
}

/// The value of a unit.
pub(super) fn unit_of(given: &Spanned<String>, find: fn(&str) -> Result<f64, String>) -> Checked<f64> {
    find(given.get_ref()).map_err(|hint| {
        let what = format!("there is no unit `{}` here", given.get_ref());
        Mistake::new(Fault::Word, given.span(), what, "not understood").hint(hint)
    })
}

/// Rates and other changes as one list; of one time they are one change.
fn merged(rates: &[LinkChange], changes: Vec<LinkChange>) -> Vec<LinkChange> {
    if rates.is_empty() {
        return changes;
    }
    let mut all: Vec<LinkChange> = rates.iter().cloned().chain(changes).collect();
    all.sort_by_key(|change| change.at);
    all.dedup_by(|later, first| {
        let same = later.at == first.at;
        if same {
            let rate = first.rate;
            *first = std::mem::take(later);
            first.rate = rate;
        }
        same
    });
    all
}

fn reverse(
    given: &Spanned<syntax::Reverse>,
    back: LinkSpec,
    course: &mut Courses<'_>,
    world: World,
) -> Checked<Option<LinkSpec>> {
    let groups = course.groups;
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
            let line = match &table.rate {
                Some(rate) => course.line(rate, &table.changes)?,
                None => Line { rate: back.rate, trace: back.trace.clone(), rates: back.changes.clone() },
            };
            if !line.rates.is_empty()
                && let Some(rate) = table.changes.iter().find_map(|change| change.rate.as_ref())
            {
                let what = "the way back follows the log of its link";
                return Err(Mistake::new(Fault::Conflict, rate.span(), what, "beside a log")
                    .hint("give the way back a `rate` of its own"));
            }
            let changes = course.changes(&table.changes)?;
            Ok(Some(LinkSpec {
                rate: line.rate,
                trace: line.trace,
                delay: table.delay.as_deref().map_or(back.delay, |delay| *delay),
                queue: queue(table.queue.as_ref(), back.queue, world)?,
                loss,
                losses,
                markers: markers(&table.marker, groups)?,
                reorder: table.reorder.as_ref().map_or_else(Reorder::default, reorder),
                duplicate: table.duplicate.as_deref().map_or(Probability::ZERO, |share| *share),
                changes: merged(&line.rates, changes),
                ..back
            }))
        }
    }
}

fn reorder(raw: &syntax::Reorder) -> Reorder {
    Reorder {
        share: raw.share.as_deref().map_or(Probability::ZERO, |share| *share),
        scripted: raw.scripted.clone().unwrap_or_default(),
        extra: *raw.extra,
    }
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
                return custom_queue(name, world);
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
fn custom_queue(name: &Spanned<String>, world: World) -> Checked<Queue> {
    of_the_host(world, name.span(), "a `custom` queue")?;
    CustomName::new(name.get_ref()).map(Queue::Custom).ok_or_else(|| {
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
    let phase = |p: &syntax::Period| Period {
        at: at(&p.at),
        every: NonZeroU64::new(p.every),
        first: p.first.as_ref().and_then(|first| NonZeroU64::new(*first.get_ref())),
    };
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
