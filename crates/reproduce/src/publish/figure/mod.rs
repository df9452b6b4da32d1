//! The figure of an experiment: panels of published, ns-2's and measured values, in the form of the
//! paper where `figure.toml` gives it.

mod layout;
mod trace;
mod words;

use std::io;

use layout::{Layout, PanelLayout};

use crate::file::Experiment;
use crate::results::{CellResult, ExperimentResult};
use crate::syntax::World;
use crate::table::Row;
use tfrc_lab::formula::number;
use tfrc_lab::plot::{self, Axis, Curve, Line, MARKS, Mark, Panel, Point, Scale};

/// The most panels of a figure; more are in the table.
const MOST_PANELS: usize = 12;

/// A source of values: its name, colour, line, mark and value.
type Source = (&'static str, &'static str, Line, Mark, fn(&CellResult) -> Option<f64>);

/// The values of this laboratory, with intervals.
const MEASURED: &str = "measured, 95 %";
const EMULATED: &str = "emulated, 95 %";

/// Sources differ in dash and mark too: they must be distinguishable on paper.
const SOURCES: [Source; 5] = [
    ("published", "published", Line::Dashed("6 4"), Mark::Square, |c| c.published),
    ("ns-2", "ns2", Line::Dashed("2 3"), Mark::Triangle, |c| c.ns2),
    ("RFC profile", "rfc", Line::Dashed("10 4 2 4"), Mark::Cross, |c| c.rfc_profile),
    (EMULATED, "emulated", Line::Dashed("1 2"), Mark::Diamond, |c| c.emulated),
    (MEASURED, "measured", Line::Solid, Mark::Circle, |c| c.measured),
];

/// Sources that only panels of one column show: more than three lines of a colour are too many.
const ASIDE: [&str; 2] = ["RFC profile", EMULATED];

/// The figure of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    title: String,
    panels: Vec<Panel>,
    /// Traces among the panels, which come first; a paper shows these alone.
    traces: usize,
}

impl Figure {
    /// Draws an experiment; runs a scenario where the paper shows a run.
    ///
    /// # Errors
    /// A mistake in `figure.toml`, with its place.
    pub(super) fn new(experiment: &Experiment, result: &ExperimentResult) -> io::Result<Self> {
        let layout = Layout::load(experiment)?;
        let mut panels = Vec::new();
        for one in &layout.trace {
            panels
                .extend(trace::panel(experiment, one).map_err(|error| io::Error::other(error.to_string()))?);
        }
        let traces = panels.len();
        let table = Table { experiment, result, layout: &layout };
        panels.extend(table.panels());
        panels.truncate(MOST_PANELS);
        Ok(Self { title: experiment.title.clone(), panels, traces })
    }

    /// Panels for a page, each an element of its own: colours come from the page.
    pub(super) fn for_page(&self) -> Vec<String> {
        self.panels.iter().map(|panel| panel.element(&self.title)).collect()
    }

    /// The whole figure as a file; `None` if there is nothing to draw.
    pub(super) fn svg(&self) -> Option<String> {
        let panels = match self.traces {
            0 => &self.panels[..],
            traces => &self.panels[..traces.min(self.panels.len())],
        };
        plot::file(&self.title, panels)
    }
}

/// Reads the layout of an experiment: true if it has one.
#[cfg(test)]
pub(super) fn is_laid_out(experiment: &Experiment) -> io::Result<bool> {
    let layout = Layout::load(experiment)?;
    Ok(!layout.panel.is_empty() || !layout.trace.is_empty())
}

/// The table of an experiment, to be drawn.
struct Table<'a> {
    experiment: &'a Experiment,
    result: &'a ExperimentResult,
    layout: &'a Layout,
}

impl<'a> Table<'a> {
    fn cell(&self, row: &str, column: &str) -> Option<&'a CellResult> {
        self.result.cells.iter().find(|cell| cell.row == row && cell.column == column)
    }

    fn panels(&self) -> Vec<Panel> {
        let shown = |row: &&Row| self.result.cells.iter().any(|cell| cell.row == row.name);
        let rows: Vec<&Row> = self.experiment.published.rows.iter().filter(shown).collect();
        let by: Vec<usize> = self.layout.by.iter().filter_map(|key| self.key(key)).collect();
        let group = |row: &Row| by.iter().map(|key| row.keys[*key].as_str()).collect::<Vec<_>>().join(", ");
        let of = |value: &String| -> Vec<&Row> {
            rows.iter().copied().filter(|row| group(row) == *value).collect()
        };
        let values = distinct(rows.iter().map(|row| group(row)));
        values.iter().flat_map(|value| self.of_rows(&of(value), value)).collect()
    }

    fn key(&self, name: &str) -> Option<usize> {
        self.experiment.published.keys.iter().position(|key| key == name)
    }

    fn of_rows(&self, rows: &[&Row], group: &str) -> Vec<Panel> {
        if !self.layout.panel.is_empty() {
            return self.layout.panel.iter().filter_map(|one| self.composed(one, rows, group)).collect();
        }
        if rows.len() == 1 {
            return self.single(rows[0]);
        }
        let (x, places) = self.across(rows);
        let columns = self.experiment.cells.iter().filter(|cell| {
            let found = rows.iter().filter_map(|row| {
                let cell = self.cell(&row.name, &cell.column)?;
                cell.measured.or(cell.emulated)
            });
            found.count() > 1
        });
        let panel = |cell: &crate::file::Cell| {
            let curves: Vec<Curve> = SOURCES
                .iter()
                .map(|source| {
                    let cells =
                        places.iter().filter_map(|(at, row)| Some((*at, self.cell(row, &cell.column)?)));
                    from(source, cells, x.labels.is_some())
                })
                .filter(|curve| !curve.points.is_empty())
                .collect();
            let (words, unit) = words::of(&cell.column);
            let title = if group.is_empty() { words.clone() } else { format!("{group}: {words}") };
            let scale = Scale::fitting(curves.iter().flat_map(|curve| &curve.points).map(|point| point.y));
            let y = Axis::new(unit.map_or(words, str::to_owned), scale);
            Panel { title, x: x.clone(), y, curves }
        };
        columns.map(panel).collect()
    }

    /// The axis of rows, and their places: by a numeric key that distinguishes the rows; otherwise
    /// one after another.
    fn across<'r>(&self, rows: &[&'r Row]) -> (Axis, Vec<(f64, &'r str)>) {
        let keys = &self.experiment.published.keys;
        let wanted = self.layout.x.as_ref().and_then(|key| self.key(key));
        let of_key = |key: usize| -> Option<Vec<(f64, &'r str)>> {
            let places = rows.iter().map(|row| Some((number(&row.keys[key])?, row.name.as_str())));
            let mut places = places.collect::<Option<Vec<(f64, &str)>>>()?;
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            let is_alone = || places.windows(2).all(|pair| pair[0].0 < pair[1].0);
            (wanted.is_some() || is_alone()).then_some(places)
        };
        let candidates = wanted.map_or(0..keys.len(), |key| key..key + 1);
        let found = candidates.into_iter().find_map(|key| Some((key, of_key(key)?)));
        let title = |name: &str| self.layout.x_title.clone().unwrap_or_else(|| words::axis(name));
        match found {
            Some((key, places)) => {
                let scale =
                    self.layout.x_scale.unwrap_or_else(|| Scale::fitting(places.iter().map(|(x, _)| *x)));
                (Axis::new(title(&keys[key]), scale), places)
            }
            None if wanted.is_some() => {
                let of = |row: &Row| wanted.map_or_else(String::new, |key| row.keys[key].clone());
                let mut names = distinct(rows.iter().map(|row| of(row)));
                names.sort();
                let place = |row: &&'r Row| {
                    let at = names.iter().position(|name| *name == of(row))?;
                    Some((at as f64, row.name.as_str()))
                };
                let places = rows.iter().filter_map(place).collect();
                let key = self.layout.x.as_deref().unwrap_or_default();
                (Axis::of_names(title(key), names), places)
            }
            None => {
                let names = rows.iter().map(|row| row.name.clone());
                let joined = keys.iter().map(|key| words::axis(key)).collect::<Vec<_>>().join(" / ");
                let title = self.layout.x_title.clone().unwrap_or(joined);
                let places = rows.iter().enumerate().map(|(n, row)| (n as f64, row.name.as_str())).collect();
                (Axis::of_names(title, names), places)
            }
        }
    }

    /// Panels of the only row: its columns along the axis, those of one unit together.
    fn single(&self, row: &Row) -> Vec<Panel> {
        let mut units: Vec<(Option<&str>, Vec<&CellResult>)> = Vec::new();
        for cell in self.result.cells.iter().filter(|cell| cell.row == row.name) {
            let unit = words::of(&cell.column).1;
            match units.iter_mut().find(|(one, _)| *one == unit) {
                Some((_, cells)) => cells.push(cell),
                None => units.push((unit, vec![cell])),
            }
        }
        let panel = |(unit, cells): &(Option<&str>, Vec<&CellResult>)| {
            let places = || cells.iter().enumerate().map(|(n, cell)| (n as f64, *cell));
            let curves: Vec<Curve> = SOURCES
                .iter()
                .map(|source| from(source, places(), true))
                .filter(|curve| !curve.points.is_empty())
                .collect();
            let names = cells.iter().map(|cell| words::of(&cell.column).0);
            let scale = Scale::fitting(curves.iter().flat_map(|curve| &curve.points).map(|point| point.y));
            let x = Axis::of_names(String::new(), names);
            let y = Axis::new(unit.unwrap_or("value").to_owned(), scale);
            Panel { title: row.name.clone(), x, y, curves }
        };
        units.iter().map(panel).filter(|panel| !panel.curves.is_empty()).collect()
    }

    /// A panel of several columns, or of columns along the axis.
    fn composed(&self, layout: &PanelLayout, rows: &[&Row], group: &str) -> Option<Panel> {
        // Each series: its name, and its cells with their places.
        let mut series: Vec<(String, Vec<(f64, &CellResult)>)> = Vec::new();
        let x = match &layout.across {
            None => {
                let (x, places) = self.across(rows);
                let curves = layout.curves.as_ref().and_then(|key| self.key(key));
                let of = |name: &str, value: &str| {
                    curves.is_none_or(|key| rows.iter().any(|r| r.name == name && r.keys[key] == value))
                };
                let values = match curves {
                    Some(key) => distinct(rows.iter().map(|row| row.keys[key].clone())),
                    None => vec![String::new()],
                };
                for (column, value) in layout.columns.iter().flat_map(|c| values.iter().map(move |v| (c, v)))
                {
                    let cells = places.iter().filter(|(_, row)| of(row, value));
                    let cells = cells.filter_map(|(at, row)| Some((*at, self.cell(row, column)?)));
                    let name = if value.is_empty() { words::of(column).0 } else { words::of(value).0 };
                    series.push((name, cells.collect()));
                }
                x
            }
            Some(start) => {
                for row in rows {
                    let place = |cell: &CellResult| number(cell.column.strip_prefix(start.as_str())?);
                    let of_row = self.result.cells.iter().filter(|cell| cell.row == row.name);
                    let mut cells: Vec<_> = of_row.filter_map(|cell| Some((place(cell)?, cell))).collect();
                    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
                    series.push((row.keys.first().cloned().unwrap_or_default(), cells));
                }
                let title = self.layout.x_title.clone().unwrap_or_default();
                let all = series.iter().flat_map(|(_, cells)| cells).map(|(x, _)| *x);
                let scale = self.layout.x_scale.unwrap_or_else(|| Scale::fitting(all));
                Axis::new(title, scale)
            }
        };
        let has_names = x.labels.is_some();
        let mut curves: Vec<Curve> = Vec::new();
        let has = |value: fn(&CellResult) -> Option<f64>| {
            series.iter().flat_map(|(_, cells)| cells).any(|(_, cell)| value(cell).is_some())
        };
        let is_measured = self.layout.world == World::Sim && has(|cell| cell.measured);
        let ours = if is_measured { MEASURED } else { EMULATED };
        let is_shown = |name: &str| !ASIDE.contains(&name) || name == ours;
        let inks = inks(&series.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
        for (n, (((name, cells), ink), series_mark)) in
            series.iter().zip(inks).zip(MARKS.into_iter().cycle()).enumerate()
        {
            // Next to each other where names share a place.
            let aside = match has_names {
                true => (n as f64 - (series.len() as f64 - 1.0) / 2.0) * 0.16,
                false => 0.0,
            };
            for (source, _, line, mark, value) in SOURCES.iter().filter(|(name, ..)| is_shown(name)) {
                let is_ours = *source == ours;
                let cells = cells.iter().map(|(at, cell)| (at + aside, *cell));
                let curve = from(&(*source, ink, *line, series_mark, *value), cells, has_names);
                let is_joined = curve.points.len() > 1 && !has_names;
                let mark = match (is_ours, is_joined) {
                    (true, _) => series_mark,
                    (false, true) => Mark::None,
                    (false, false) => *mark,
                };
                let label = if is_ours { name.clone() } else { String::new() };
                curves.push(Curve { label, mark, ..curve });
            }
        }
        curves.retain(|curve| !curve.points.is_empty());
        // The dashes of other sources are named once, in no series' colour.
        for (source, _, line, mark, value) in SOURCES {
            if source != ours && is_shown(source) && has(value) {
                let (line, mark) = if has_names { (Line::None, mark) } else { (line, Mark::None) };
                let (label, points) = (source.to_owned(), Vec::new());
                curves.push(Curve { label, ink: "ink", line, mark, width: 1.3, points });
            }
        }
        let title = [group, &layout.title].into_iter().filter(|part| !part.is_empty());
        let (title_of_y, scale) = (layout.y_title.clone(), layout.y_scale.unwrap_or(Scale::Linear));
        let y = Axis { range: layout.y, ..Axis::new(title_of_y.unwrap_or_default(), scale) };
        let mut title = title.collect::<Vec<_>>().join(": ");
        if !is_measured && has(|cell| cell.emulated) {
            title = if title.is_empty() { "Emulated".to_owned() } else { format!("{title} (emulated)") };
        }
        (!curves.is_empty()).then_some(Panel { title, x, y, curves })
    }
}

/// Each of the texts once, in their order.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The inks of series, by their names: the colour of the kind of flow that a name speaks of, as far
/// as no other series has it.
fn inks(names: &[&str]) -> Vec<&'static str> {
    let mut free = vec!["s0", "s1", "s2", "s3", "s4"];
    let mut inks: Vec<Option<&'static str>> = names
        .iter()
        .map(|name| {
            let name = name.to_lowercase();
            let has = |kinds: &[&str]| kinds.iter().any(|kind| name.contains(kind));
            let ink = match (has(&["tfrc"]), has(&["tcp", "reno", "sack", "tahoe", "cubic", "bbr"])) {
                (true, false) => "s0",
                (false, true) => "s1",
                _ => return None,
            };
            let place = free.iter().position(|one| *one == ink)?;
            Some(free.remove(place))
        })
        .collect();
    // A kind's colour is the last that a series of no kind takes.
    free.sort_by_key(|ink| ["s0", "s1"].contains(ink));
    let mut free = free.into_iter().cycle();
    inks.iter_mut().for_each(|ink| *ink = ink.or_else(|| free.next()));
    inks.into_iter().map(|ink| ink.unwrap_or("ink")).collect()
}

/// A curve of one source; names along the axis are not joined by a line.
fn from<'a>(source: &Source, cells: impl Iterator<Item = (f64, &'a CellResult)>, has_names: bool) -> Curve {
    let (label, ink, line, mark, value) = *source;
    let point = |(x, cell): (f64, &CellResult)| {
        let half = match label {
            MEASURED => cell.ci95,
            EMULATED => cell.emulated_ci95,
            _ => None,
        };
        Some(Point { x, y: value(cell).filter(|y| y.is_finite())?, half })
    };
    let width = if label == MEASURED { 1.8 } else { 1.3 };
    let line = if has_names { Line::None } else { line };
    Curve { label: label.to_owned(), ink, line, mark, width, points: cells.filter_map(point).collect() }
}
