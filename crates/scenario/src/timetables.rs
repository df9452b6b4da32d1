//! Timetables of flows: `transfer`, `active` and `writes`.

use tfrc_sim::traffic::{Disorder, Span, Timetable, Write};
use tfrc_units::{Instant, u64_from_f64};

use super::error::{Checked, Fault, Mistake};
use super::links::{LogClock, unit_of};
use super::logs::{self, Columns};
use super::syntax::{self, Spanned, Writes};
use super::traces::{LogKind, Traces};
use super::{FlowTimetable, TimetableClock};

/// The timetable of a flow.
pub(super) fn timetable(flow: &syntax::Flow, traces: &mut Traces) -> Checked<FlowTimetable> {
    let conflict = |place, what: &str, hint: &str| {
        Err(Mistake::new(Fault::Conflict, place, what.to_owned(), "two rules for the same data").hint(hint))
    };
    if let (Some(phase), true) =
        (flow.on.as_ref().or(flow.off.as_ref()), flow.active.is_some() || flow.writes.is_some())
    {
        return conflict(
            phase.span(),
            "`on` and `off` stand beside given times",
            "leave them out, or leave `active` and `writes` out",
        );
    }
    let mut timetable = match (&flow.active, &flow.writes) {
        (None, None) => FlowTimetable::default(),
        (Some(spans), None) => active(spans)?,
        (None, Some(writes)) => {
            let beside = [
                flow.transfer.as_ref().map(Spanned::span),
                flow.packets_per_second.as_ref().map(Spanned::span),
                flow.backlog.as_ref().map(Spanned::span),
            ];
            if let Some(place) = beside.into_iter().flatten().next() {
                return conflict(
                    place,
                    "`writes` has all times and sizes of the data",
                    "leave this key out: the transfer is the sum of the writes, and all data waits",
                );
            }
            written(writes, traces)?
        }
        (Some(spans), Some(_)) => {
            return conflict(
                spans.span(),
                "`writes` says when there is data",
                "leave `active` or `writes` out",
            );
        }
    };
    if let Some(given) = &flow.transfer {
        if given.0 == 0 {
            let what = "a transfer of nothing has no end";
            return Err(Mistake::new(Fault::Range, given.span(), what, "not above zero").hint("from 1B"));
        }
        timetable.table = timetable.table.with_transfer(given.0);
    }
    Ok(timetable)
}

fn active(spans: &Spanned<Vec<Spanned<syntax::Span>>>) -> Checked<FlowTimetable> {
    if spans.get_ref().is_empty() {
        let what = "a flow that is never active";
        return Err(Mistake::new(Fault::Range, spans.span(), what, "an empty list")
            .hint("for example active = [{ from = \"10s\", to = \"20s\" }]"));
    }
    let at = |time: &Spanned<_>| Instant::ZERO + **time;
    let list = spans.get_ref().iter().map(|span| Span { from: at(&span.from), to: at(&span.to) }).collect();
    let table = Timetable::active(list).map_err(|Disorder(place)| {
        let place = spans.get_ref().get(place).map_or(spans.span(), Spanned::span);
        let what = "the times of `active` must follow each other";
        Mistake::new(Fault::Order, place, what, "ends before it begins, or begins before the last one ends")
            .hint("sort the list, and let `from` be less than `to`")
    })?;
    Ok(FlowTimetable { table, clock: TimetableClock::Run })
}

fn written(writes: &Spanned<Writes>, traces: &mut Traces) -> Checked<FlowTimetable> {
    let empty = || {
        Mistake::new(Fault::Range, writes.span(), "nothing is written", "no write")
            .hint("for example writes = [{ at = \"1s\", bytes = \"30kB\" }]")
    };
    match writes.get_ref() {
        Writes::List(list) => {
            if list.is_empty() {
                return Err(empty());
            }
            let write = |w: &Spanned<syntax::Write>| Write { at: Instant::ZERO + *w.at, bytes: w.bytes.0 };
            let table = Timetable::writes(list.iter().map(write).collect()).map_err(|Disorder(place)| {
                let place = list.get(place).map_or(writes.span(), Spanned::span);
                let what = "`writes` must be in the order of time, each of at least a byte";
                Mistake::new(Fault::Order, place, what, "earlier than the one before, or empty")
                    .hint("sort the list by `at`")
            })?;
            Ok(FlowTimetable { table, clock: TimetableClock::Run })
        }
        Writes::File(file) => {
            let clock = LogClock { time: &file.time, time_unit: &file.time_unit, interval: &file.interval };
            let times = clock.times().ok_or_else(|| {
                Mistake::new(Fault::MissingKey, writes.span(), "the times are missing", "a file needs them")
                    .hint("add time = \"NAME\", the column of times, or interval = \"40ms\"")
            })??;
            let unit = file.unit.as_ref().map_or(Ok(1.0), |unit| unit_of(unit, logs::size_unit))?;
            let columns = Columns { times, value: file.bytes.get_ref(), unit };
            let entries = traces.log(&file.file, &columns, LogKind::Sizes)?;
            let write = |entry: &logs::Entry| Write {
                at: Instant::ZERO + entry.at,
                bytes: u64_from_f64(entry.value + 0.5),
            };
            let list: Vec<Write> = entries.iter().map(write).filter(|write| write.bytes > 0).collect();
            if list.is_empty() {
                return Err(empty());
            }
            // The lines are in the order of time.
            let table = Timetable::writes(list).map_err(|_| empty())?;
            Ok(FlowTimetable { table, clock: TimetableClock::Flow })
        }
    }
}
