//! A scenario's text as a tree, and what may be done to it before it is read: single values
//! changed, values with their sources taken out of their tables, one tree for each point of a
//! sweep.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tfrc_units::hash::fnv1a;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check;
use super::error::{Checked, Fault, Mistake};
use super::traces::Traces;
use super::{Plan, Point, ScenarioError, World, mistakes, reader, suggest, syntax, whole};

/// The text of a scenario and the changes asked for, not yet read.
#[derive(Debug, Clone)]
pub struct Document {
    /// Names and texts, each with the offset at which it begins: first the file, then one for each
    /// change. A place is an offset into all of them laid end to end.
    texts: Vec<(String, String, usize)>,
    /// The folder of the files that the scenario names.
    folder: PathBuf,
}

/// Where a value comes from, as the scenario says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The value's path, as `--set` takes it; entries of lists by number.
    pub path: String,
    /// The origin that the scenario states.
    pub origin: Origin,
}

/// Origin of a value, as a scenario states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is a guess, for this reason.
    Assumed(String),
    /// It is stated there.
    Source(String),
}

/// One part of a path.
#[derive(Debug, Clone)]
struct Segment {
    name: String,
    place: Range<usize>,
}

type Tree<'t> = Spanned<DeTable<'t>>;
type Value<'t> = Spanned<DeValue<'t>>;

impl Document {
    /// The text of a scenario; `name` is for error messages. Files that it names are looked for in
    /// the current folder, unless [`in_folder`](Self::in_folder) names another.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { texts: vec![(name.into(), text.into(), 0)], folder: PathBuf::new() }
    }

    /// Sets the folder of the scenario; it names files relative to it.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// The text of the file, without changes.
    #[must_use]
    pub fn file_text(&self) -> &str {
        self.texts.first().map_or("", |(_, text, _)| text)
    }

    /// The folder relative to which the scenario names files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Changes one value: `path=value`. The path is the keys with dots between them; an entry of a
    /// list is given by its number from 0 or by its name (`link.bottleneck.rate`; a link without a
    /// name is called after its nodes); a name that ends in `*` means all entries whose names begin
    /// so, perhaps none (`flow.tfrc-*.tfrc.revision`). The value is TOML; what is not counts as
    /// text, so that `2Mbit/s` needs no quotes. Errors show when the scenario is read.
    pub fn set(&mut self, assignment: impl Into<String>) {
        let start = self.texts.last().map_or(0, |(_, text, start)| start + text.len() + 1);
        self.texts.push(("--set".to_owned(), assignment.into(), start));
    }

    /// Reads the scenario for the simulator, one for each point of its sweeps.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] with the first mistake found.
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        self.plan_for(World::Simulated)
    }

    /// Reads the scenario for a world, one for each point of its sweeps.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] with the mistakes found, ten at most; a flow that the world does not
    /// have is one.
    pub fn plan_for(&self, world: World) -> Result<Plan, ScenarioError> {
        let (tree, provenance) = self.tree().map_err(|mistake| mistake.in_texts(Vec::new(), &self.texts))?;
        let mut traces = Traces::beside(&self.folder);
        match Self::read(tree.clone(), world, &mut traces) {
            Ok((points, runs)) => Ok(Plan { points, runs, provenance, logs: traces.into_logs() }),
            Err(mistake) => {
                let read = |tree| Self::read(tree, world, &mut Traces::beside(&self.folder));
                let others = mistakes::after(&mistake, &tree, &read);
                Err(mistake.in_texts(others, &self.texts))
            }
        }
    }

    /// All that determines what the scenario does, in one text: the file, the changes, and a hash
    /// of the traces and logs that it names.
    #[must_use]
    pub fn whole_text(&self) -> String {
        let text = self.texts.iter().map(|(_, text, _)| text.as_str()).collect::<Vec<_>>().join("\n");
        match self.traces() {
            None => text,
            Some(hash) => format!("{text}\ntraces {hash:016x}"),
        }
    }

    /// A hash of the traces that links follow, in the order of points and links, and of the logs
    /// that the scenario names; `None` if there is none.
    #[must_use]
    pub fn traces(&self) -> Option<u64> {
        // Reading the plan takes time, and few scenarios name files.
        let names_files = |text: &str| ["trace", "log", "file"].iter().any(|word| text.contains(word));
        if !self.texts.iter().any(|(_, text, _)| names_files(text)) {
            return None;
        }
        let mut files = Traces::beside(&self.folder);
        let (tree, _) = self.tree().ok()?;
        // The simulator follows a log to the end of the run, a relay for a day.
        let worlds = [World::Simulated, World::Links];
        let (points, _) =
            worlds.into_iter().find_map(|world| Self::read(tree.clone(), world, &mut files).ok())?;
        let links = points.iter().flat_map(|point| point.scenario.network.links());
        let traces = links.filter_map(|(_, link)| link.trace.as_ref());
        let hashes: Vec<u8> = traces
            .map(|trace| trace.fingerprint())
            .chain(files.log_fingerprints())
            .flat_map(u64::to_le_bytes)
            .collect();
        (!hashes.is_empty()).then(|| fnv1a(&hashes))
    }

    /// The points of a tree, and the number of their runs.
    fn read(tree: Tree<'_>, world: World, traces: &mut Traces) -> Checked<(Vec<Point>, u32)> {
        let raw = reader::read::<syntax::Scenario>(tree.clone())?;
        let axes = axes(&tree, &raw.sweep)?;
        let mut points = Vec::new();
        let total = axes.iter().map(|axis| axis.values.len()).fold(1, usize::saturating_mul);
        if total > MOST_POINTS {
            let place = raw.sweep.first().map_or(0..0, |sweep| sweep.values.span());
            return Err(Mistake::new(Fault::Range, place, "too many points", "with all other sweeps")
                .hint(format!("at most {MOST_POINTS}")));
        }
        for number in 0..total {
            let mut tree = tree.clone();
            let mut at = Vec::new();
            let mut rest = number;
            // The last axis changes fastest.
            let mut chosen = Vec::new();
            for axis in axes.iter().rev() {
                chosen.push((axis, &axis.values[rest % axis.values.len()]));
                rest /= axis.values.len();
            }
            for (axis, (label, values)) in chosen.into_iter().rev() {
                for (path, value) in axis.paths.iter().zip(values) {
                    put(tree.get_mut(), path, value.clone())?;
                }
                at.push((axis.name.clone(), label.clone()));
            }
            let scenario = if axes.is_empty() {
                check::check(&raw, world, traces)?
            } else {
                check::check(&reader::read::<syntax::Scenario>(tree)?, world, traces)?
            };
            points.push(Point { at, scenario });
        }
        Ok((points, check::runs(&raw)?))
    }

    fn tree(&self) -> Checked<(Tree<'_>, Vec<Provenance>)> {
        let tree = self.changed()?;
        let mut provenance = Vec::new();
        let place = tree.span();
        let stripped = strip_table(tree.into_inner(), "", &mut provenance)?;
        Ok((Spanned::new(place, stripped), provenance))
    }

    /// The file's tree with all changes made; values still have their sources.
    fn changed(&self) -> Checked<Tree<'_>> {
        let mut texts = self.texts.iter();
        let Some((_, file, _)) = texts.next() else {
            return Err(Mistake::new(Fault::Syntax, 0..0, "no text", "here"));
        };
        let mut tree = reader::parse(file)?;
        for (_, assignment, start) in texts {
            let (path, value) = assigned(assignment, *start)?;
            put(tree.get_mut(), &path, value)?;
        }
        Ok(tree)
    }

    /// The scenario with its changes made, as lines of TOML without the file's comments. Next to
    /// each line is the number, from 0, of the last change that put a value there; `None` for
    /// lines of the file alone.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] with the first mistake of the syntax or of a path.
    pub fn whole(&self) -> Result<Vec<(String, Option<usize>)>, ScenarioError> {
        let tree = self.changed().map_err(|mistake| mistake.in_texts(Vec::new(), &self.texts))?;
        let changes = self.texts.iter().skip(1).map(|(_, _, start)| *start).collect();
        Ok(whole::lines(tree.get_ref(), changes))
    }
}

/// Points of all sweeps together.
const MOST_POINTS: usize = 10_000;
/// Parts of a path.
const MOST_SEGMENTS: usize = 32;

/// One axis of a sweep: what is set to what.
struct Axis<'t> {
    name: String,
    paths: Vec<Vec<Segment>>,
    /// Each with how it is written.
    values: Vec<(String, Vec<Value<'t>>)>,
}

fn axes<'t>(tree: &Tree<'t>, sweeps: &[syntax::Sweep]) -> Checked<Vec<Axis<'t>>> {
    let written = tree.get_ref().get("sweep").and_then(|list| list.get_ref().as_array());
    let mut axes = Vec::new();
    for (sweep, entry) in sweeps.iter().zip(written.into_iter().flatten()) {
        let paths: Vec<Vec<Segment>> =
            sweep.set.names().map(|(path, place)| segments(path, place.start + 1)).collect::<Checked<_>>()?;
        let list =
            entry.get_ref().as_table().and_then(|t| t.get("values")).and_then(|v| v.get_ref().as_array());
        let values: Vec<_> = list
            .into_iter()
            .flatten()
            .map(|value| {
                let each = match value.get_ref().as_array() {
                    Some(several) if paths.len() > 1 => {
                        if several.len() != paths.len() {
                            let what = format!("{} values for {} keys", several.len(), paths.len());
                            return Err(Mistake::new(
                                Fault::Conflict,
                                value.span(),
                                what,
                                "one for each key of `set`",
                            ));
                        }
                        several.iter().cloned().collect()
                    }
                    _ => vec![value.clone(); paths.len()],
                };
                Ok((written_as(value.get_ref()), each))
            })
            .collect::<Checked<_>>()?;
        if values.is_empty() {
            return Err(Mistake::new(Fault::Range, sweep.values.span(), "a sweep over nothing", "no values")
                .hint("for example values = [\"1Mbit/s\", \"2Mbit/s\"]"));
        }
        let names: Vec<&str> = sweep.set.names().map(|(path, _)| path).collect();
        axes.push(Axis { name: names.join(","), paths, values });
    }
    Ok(axes)
}

/// A value as text.
pub(super) fn written_as(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(word) => word.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(list) => {
            list.iter().map(|value| written_as(value.get_ref())).collect::<Vec<_>>().join(",")
        }
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| format!("{}={}", key.get_ref(), written_as(value.get_ref())))
            .collect::<Vec<_>>()
            .join(","),
    }
}

/// A change: its path and its value, with their places.
fn assigned(assignment: &str, start: usize) -> Checked<(Vec<Segment>, Value<'_>)> {
    let Some((path, written)) = assignment.split_once('=') else {
        let place = start..start + assignment.len();
        return Err(Mistake::new(Fault::Path, place, "a change needs a value", "no `=` in it")
            .hint("for example --set link.bottleneck.rate=2Mbit/s"));
    };
    let path_segments = segments(path, start)?;
    let offset = start + path.len() + 1;
    let trimmed = written.trim();
    let offset = offset + (written.len() - written.trim_start().len());
    let value = match DeValue::parse(trimmed) {
        Ok(value) => shifted(value, offset),
        Err(error) if trimmed.starts_with(['"', '\'', '[', '{']) => {
            let mistake = reader::syntax(&error);
            return Err(Mistake {
                place: mistake.place.map(|p| p.start + offset..p.end + offset),
                ..mistake
            });
        }
        Err(_) => Spanned::new(offset..offset + trimmed.len(), DeValue::String(Cow::Borrowed(trimmed))),
    };
    Ok((path_segments, value))
}

/// The parts of a path; one with dots in it stands in quotes.
fn segments(path: &str, start: usize) -> Checked<Vec<Segment>> {
    let mut list = Vec::new();
    let (mut from, mut quote) = (0, None);
    let ends = path.char_indices().chain([(path.len(), '.')]);
    for (at, c) in ends {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => {
                let part = path[from..at].trim();
                let name = part.trim_matches(['"', '\'']);
                let place = start + from..start + at;
                if name.is_empty() {
                    return Err(Mistake::new(
                        Fault::Path,
                        place,
                        "a path with nothing between its dots",
                        "here",
                    )
                    .hint("for example link.bottleneck.rate"));
                }
                list.push(Segment { name: name.to_owned(), place });
                from = at + 1;
            }
            _ => {}
        }
    }
    if list.len() > MOST_SEGMENTS {
        let place = start..start + path.len();
        return Err(Mistake::new(Fault::Path, place, "a path of too many parts", "here")
            .hint("for example link.bottleneck.rate"));
    }
    Ok(list)
}

/// Puts `value` at `path`. Tables on the way come into being; entries of lists do not.
fn put<'t>(here: &mut DeTable<'t>, path: &[Segment], value: Value<'t>) -> Checked<()> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    let name = first.name.as_str();
    if rest.is_empty() {
        // A key that was there keeps its place in the file.
        let (key, value) = match here.remove_entry(name) {
            Some((key, before)) => (key, as_before(before.get_ref(), value)),
            None => (Spanned::new(first.place.clone(), Cow::Owned(first.name.clone())), value),
        };
        here.insert(key, value);
        return Ok(());
    }
    if here.get(name).is_none() {
        if matches!(name, "link" | "flow" | "sweep") {
            return Err(Mistake::new(
                Fault::Path,
                first.place.clone(),
                format!("there is no `[[{name}]]`"),
                "here",
            ));
        }
        let key = Spanned::new(first.place.clone(), Cow::Owned(first.name.clone()));
        here.insert(key, Spanned::new(first.place.clone(), DeValue::Table(DeTable::new())));
    }
    let Some(inner) = here.get_mut(name) else { return Ok(()) };
    match inner.get_mut() {
        DeValue::Table(table) => put(table, rest, value),
        DeValue::Array(list) => {
            let Some((entry, rest)) = rest.split_first() else { return Ok(()) };
            let names: Vec<String> =
                list.iter().enumerate().map(|(i, one)| name_of(name, i, one.get_ref())).collect();
            let found: Vec<usize> = match entry.name.strip_suffix('*') {
                Some(prefix) => (0..names.len()).filter(|i| names[*i].starts_with(prefix)).collect(),
                None => {
                    let by_name = names.iter().position(|known| *known == entry.name);
                    let by_number = || entry.name.parse().ok().filter(|i| *i < names.len());
                    let Some(one) = by_name.or_else(by_number) else {
                        let known: Vec<&str> = names.iter().map(String::as_str).collect();
                        let what = format!("there is no `{}` in `{name}`", entry.name);
                        let place = entry.place.clone();
                        let label = "neither a name nor a number of an entry";
                        return Err(Mistake::new(Fault::Path, place, what, label)
                            .hint(suggest::hint(&entry.name, &known)));
                    };
                    vec![one]
                }
            };
            for element in found {
                let Some(element) = list.get_mut(element) else { return Ok(()) };
                match element.get_mut() {
                    _ if rest.is_empty() => *element = value.clone(),
                    DeValue::Table(table) => put(table, rest, value.clone())?,
                    _ => return Err(not_a_table(entry)),
                }
            }
            Ok(())
        }
        _ => Err(not_a_table(first)),
    }
}

/// A number in place of a text is meant as a text: a node may be called `5`.
fn as_before<'t>(before: &DeValue<'_>, value: Value<'t>) -> Value<'t> {
    let was_text = match before {
        DeValue::Table(table) => table.get("value").is_some_and(|inner| inner.get_ref().is_str()),
        other => other.is_str(),
    };
    match value.get_ref() {
        DeValue::Integer(_) if was_text => {
            let written = written_as(value.get_ref());
            Spanned::new(value.span(), DeValue::String(Cow::Owned(written)))
        }
        _ => value,
    }
}

fn not_a_table(segment: &Segment) -> Mistake {
    let what = format!("`{}` is no table", segment.name);
    Mistake::new(Fault::Path, segment.place.clone(), what, "nothing can be set inside it")
        .hint(format!("set `{}` as a whole", segment.name))
}

/// Returns the name of an entry of the list `list`: its own, else an implied one, else its number.
fn name_of(list: &str, number: usize, entry: &DeValue<'_>) -> String {
    let text = |key: &str| entry.as_table().and_then(|t| t.get(key)).and_then(|v| v.get_ref().as_str());
    let implied = || match list {
        "link" => Some(format!("{}-{}", text("from")?, text("to")?)),
        "flow" => Some(format!("{}-{}", text("kind")?, number + 1)),
        _ => None,
    };
    text("name").map(str::to_owned).or_else(implied).unwrap_or_else(|| number.to_string())
}

fn shifted(value: Value<'_>, by: usize) -> Value<'_> {
    let moved = |place: Range<usize>| place.start + by..place.end + by;
    let place = moved(value.span());
    let inner = match value.into_inner() {
        DeValue::Array(list) => DeValue::Array(list.into_iter().map(|v| shifted(v, by)).collect()),
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, v)| (Spanned::new(moved(key.span()), key.into_inner()), shifted(v, by)))
                .collect(),
        ),
        other => other,
    };
    Spanned::new(place, inner)
}

/// Puts the value in place of each table `{ value = …, source = "…" }`.
fn strip<'t>(value: Value<'t>, path: &str, found: &mut Vec<Provenance>) -> Checked<Value<'t>> {
    let place = value.span();
    let inner = match value.into_inner() {
        DeValue::Array(list) => DeValue::Array(
            list.into_iter()
                .enumerate()
                .map(|(i, v)| strip(v, &format!("{path}.{i}"), found))
                .collect::<Checked<_>>()?,
        ),
        DeValue::Table(mut table) => {
            if let Some(inner) = table.remove("value") {
                found.push(Provenance { path: path.to_owned(), origin: origin(&table, place)? });
                return strip(inner, path, found);
            }
            DeValue::Table(strip_table(table, path, found)?)
        }
        other => other,
    };
    Ok(Spanned::new(place, inner))
}

fn strip_table<'t>(table: DeTable<'t>, path: &str, found: &mut Vec<Provenance>) -> Checked<DeTable<'t>> {
    table
        .into_iter()
        .map(|(key, value)| {
            let path =
                if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
            Ok((key, strip(value, &path, found)?))
        })
        .collect()
}

/// Reads the origin that stands next to `value`.
fn origin(beside: &DeTable<'_>, place: Range<usize>) -> Checked<Origin> {
    let mut entries = beside.iter();
    let said = entries.next().and_then(|(key, said)| {
        let text = said.get_ref().as_str()?.to_owned();
        match key.get_ref().as_ref() {
            "source" => Some(Origin::Source(text)),
            "assumed" => Some(Origin::Assumed(text)),
            _ => None,
        }
    });
    match (said, entries.next()) {
        (Some(origin), None) => Ok(origin),
        _ => Err(Mistake::new(Fault::Source, place, "a value and not where it comes from", "this table")
            .hint("{ value = …, source = \"the paper, §4.1\" }, or assumed = \"why this value\"")),
    }
}
