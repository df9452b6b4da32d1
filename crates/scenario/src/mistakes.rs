//! All mistakes of a text at once: the place of one is taken out, and the rest is read again.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{Checked, Fault, Mistake};

/// Mistakes that are shown at once, at most.
const MOST: usize = 10;

/// A step into a tree.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Entry(usize),
    Key(String),
}

/// The mistakes of a tree after the first. One that only follows from the gap that an earlier one
/// leaves is left out; so is all that a missing key or name hides.
pub(super) fn after<'t, T>(
    first: &Mistake,
    tree: &Spanned<DeTable<'t>>,
    read: &dyn Fn(Spanned<DeTable<'t>>) -> Checked<T>,
) -> Vec<Mistake> {
    let mut found: Vec<Mistake> = Vec::new();
    let mut rest = tree.clone();
    while found.len() + 1 < MOST {
        let place = found.last().unwrap_or(first).place.clone().unwrap_or_default();
        let Some(path) = path_to(rest.get_ref(), &place) else { break };
        let next = gaps(path).into_iter().find_map(|gap| {
            let mut left = rest.clone();
            let table = take(left.get_mut(), &gap)?;
            let mistake = read(left.clone()).err()?;
            let table = table.unwrap_or_else(|| left.span());
            // One about the value around the gap follows from it.
            let is_around = mistake.place.as_ref().is_some_and(|around| holds(around, &place));
            let is_another = !is_around && is_another(&mistake, &gap, &table, left.get_ref());
            is_another.then_some((left, mistake))
        });
        let Some((left, mistake)) = next else { break };
        rest = left;
        found.push(mistake);
    }
    found
}

/// The parts of a tree that may be taken out for a mistake at a path: the value, else the whole
/// entry of the list that it is in.
fn gaps(path: Vec<Step>) -> Vec<Vec<Step>> {
    let entry = path.iter().position(|step| matches!(step, Step::Entry(_)));
    let whole = entry.and_then(|at| path.get(..=at)).map(<[Step]>::to_vec);
    let whole = whole.filter(|whole| *whole != path);
    std::iter::once(path).chain(whole).collect()
}

/// Returns true if a mistake is one of its own: a gap makes keys missing in its table, and names
/// unknown that it defined.
fn is_another(mistake: &Mistake, gap: &[Step], table: &Range<usize>, left: &DeTable<'_>) -> bool {
    let flow = Step::Key("flow".to_owned());
    // Links may name flows; flows name nodes.
    let defines = match (gap.first(), gap.last()) {
        (Some(Step::Key(list)), _) if list == "nodes" => true,
        (_, Some(Step::Key(key))) => key == "name",
        _ => {
            let place = mistake.place.clone().unwrap_or_default();
            gap.first() == Some(&flow) && path_to(left, &place).is_none_or(|path| path.first() != Some(&flow))
        }
    };
    match mistake.fault {
        Fault::MissingKey => mistake.place.as_ref() != Some(table),
        Fault::UnknownName => !defines,
        Fault::Idle | Fault::Memory | Fault::Path | Fault::Unreachable => false,
        _ => true,
    }
}

/// The path to the smallest value, or key, that a place lies in.
fn path_to(table: &DeTable<'_>, place: &Range<usize>) -> Option<Vec<Step>> {
    let mut best: Option<(usize, Vec<Step>)> = None;
    look(table, place, &mut Vec::new(), &mut best);
    best.map(|(_, path)| path)
}

fn look(
    table: &DeTable<'_>,
    place: &Range<usize>,
    path: &mut Vec<Step>,
    best: &mut Option<(usize, Vec<Step>)>,
) {
    for (key, value) in table {
        path.push(Step::Key(key.get_ref().to_string()));
        consider(&key.span(), place, path, best);
        look_at(value, place, path, best);
        path.pop();
    }
}

fn look_at(
    value: &Spanned<DeValue<'_>>,
    place: &Range<usize>,
    path: &mut Vec<Step>,
    best: &mut Option<(usize, Vec<Step>)>,
) {
    consider(&value.span(), place, path, best);
    match value.get_ref() {
        DeValue::Table(table) => look(table, place, path, best),
        DeValue::Array(list) => {
            for (number, entry) in list.iter().enumerate() {
                path.push(Step::Entry(number));
                look_at(entry, place, path, best);
                path.pop();
            }
        }
        _ => {}
    }
}

fn consider(span: &Range<usize>, place: &Range<usize>, path: &[Step], best: &mut Option<(usize, Vec<Step>)>) {
    // Of equal spans the inner one.
    if holds(span, place) && best.as_ref().is_none_or(|(length, _)| span.len() <= *length) {
        *best = Some((span.len(), path.to_vec()));
    }
}

const fn holds(span: &Range<usize>, place: &Range<usize>) -> bool {
    span.start <= place.start && place.end <= span.end
}

/// Takes a value out of a table; returns the span of the innermost table that it was in, `None`
/// inside for the whole text.
fn take(table: &mut DeTable<'_>, path: &[Step]) -> Option<Option<Range<usize>>> {
    let [Step::Key(key), inner @ ..] = path else { return None };
    if inner.is_empty() {
        return table.remove(key.as_str()).map(|_| None);
    }
    take_from(table.get_mut(key.as_str())?, inner)
}

fn take_from(value: &mut Spanned<DeValue<'_>>, path: &[Step]) -> Option<Option<Range<usize>>> {
    let span = value.span();
    match (value.get_mut(), path) {
        (DeValue::Table(table), _) => take(table, path).map(|inner| inner.or(Some(span))),
        (DeValue::Array(list), [Step::Entry(number)]) => {
            let left = std::mem::replace(list, DeArray::new()).into_iter().enumerate();
            *list = left.filter(|(n, _)| n != number).map(|(_, entry)| entry).collect();
            Some(Some(span))
        }
        (DeValue::Array(list), [Step::Entry(number), inner @ ..]) => take_from(list.get_mut(*number)?, inner),
        _ => None,
    }
}
