//! The parts of `experiment.toml`, read and checked against each other. A function reads one kind
//! of table; the first mistake ends the reading, with its place in the file and a way to mend it.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use super::claims;
use super::computed::{self, Computed};
use super::error::{ExperimentError, NamedText};
use super::file::{Cell, Claim, Sim, VariantRun, at, read};
use super::paper::{Paper, SeedRule};
use super::syntax::{self, Profile, World};
use super::table::Table;
use super::verdict::Band;
use tfrc_lab::formula::{self, Expression};
use tfrc_scenario::{Document, hint};

/// Seeds for each point of a variant.
const VARIANT_RUNS: u32 = 3;

/// File that is read, and all that its parts are checked against.
pub(super) struct Reading<'a> {
    pub(super) file: &'a NamedText,
    pub(super) raw: &'a syntax::Experiment,
    pub(super) published: &'a Table,
    pub(super) directory: &'a Path,
}

impl Reading<'_> {
    /// Returns the paper's seed rule unless the runs are deterministic or `runs` overrides it.
    pub(super) fn rule(&self, paper: &Paper) -> Result<Option<SeedRule>, ExperimentError> {
        let Some(rule) = paper.seeds else { return Ok(None) };
        if self.raw.deterministic || self.raw.world == World::Emu {
            return Ok(None);
        }
        let of_runs = self.raw.run.values().find_map(|run| run.runs.as_ref());
        let of_profile = self.raw.profile.as_published.runs.as_ref();
        match (self.raw.runs.as_ref().or(of_profile).or(of_runs), &self.raw.runs_reason) {
            (None, _) => Ok(Some(rule)),
            (Some(_), Some(_)) => Ok(None),
            (Some(runs), None) => Err(self.file.invalid(
                runs.span(),
                "`runs` beside the paper's rule of seeds",
                "paper.toml says how many",
                "leave it out, or say why with runs_reason = \"…\"",
            )),
        }
    }

    pub(super) fn sims(&self) -> Result<Vec<Sim>, ExperimentError> {
        let mut sims = Vec::new();
        for (name, run) in &self.raw.run {
            let file = run.scenario.as_ref().map_or("scenario.toml", |file| file.get_ref().as_str());
            let path = self.directory.join(file);
            let text = read(&path, "`scenario` of a [run.NAME] names a file beside experiment.toml")?;
            let keys = match &run.keys {
                None => &self.raw.keys,
                Some(own) => own,
            };
            if let Some((key, paths)) = keys.iter().find(|(key, _)| !self.published.keys.contains(key)) {
                let known: Vec<&str> = self.published.keys.iter().map(String::as_str).collect();
                return Err(self.file.invalid(
                    paths.span(),
                    format!("`{key}` is no key column"),
                    "its paths",
                    hint(key, &known),
                ));
            }
            let paths = |key: &String| keys.get(key).map(|p| p.get_ref().clone()).unwrap_or_default();
            sims.push(Sim {
                name: name.clone(),
                document: Document::new(path.display().to_string(), text.clone()).in_folder(self.directory),
                set: run.set.clone(),
                profile_set: [
                    (Profile::AsPublished, run.profile.as_published.set.clone()),
                    (Profile::Rfc, run.profile.rfc.set.clone()),
                ]
                .into(),
                keys: self.published.keys.iter().map(paths).collect(),
                rows: self.rows(run.rows.as_deref())?,
                runs: run.runs.as_ref().map(|runs| *runs.get_ref()),
                scenario_name: file.to_owned(),
                scenario_text: text,
            });
        }
        Ok(sims)
    }

    /// Checks that the code takes what is set for it, and runs the paper's revision.
    pub(super) fn settings(&self, computed: &Computed, paper: &Paper) -> Result<(), ExperimentError> {
        let profiles = [&self.raw.profile.as_published, &self.raw.profile.rfc].map(|table| &table.set);
        let variants = self.raw.variant.iter().map(|variant| &variant.set);
        let mutations = self.raw.mutation.iter().map(|mutation| mutation.set.get_ref());
        for set in profiles.into_iter().chain([&self.raw.quick.set]).chain(variants).chain(mutations) {
            if let Some((wrong, why)) = set.iter().find_map(|one| Some((one, computed.check(one).err()?))) {
                let start = self.file.text.find(wrong.as_str()).unwrap_or_default();
                let place = start..(start + wrong.len()).min(self.file.text.len());
                return Err(self.file.invalid(place, why, "the code cannot take this", ""));
            }
        }
        let Some(text) = computed.scenario() else { return Ok(()) };
        let mut document = Document::new("scenario.toml", text);
        self.raw.profile.as_published.set.iter().for_each(|set| document.set(set.as_str()));
        let plan = document.plan().map_err(|error| ExperimentError::Scenario {
            experiment: self.file.name.clone(),
            about: format!("the scenario of `{}`", computed.name),
            error: Box::new(error),
        })?;
        match plan.points.iter().find_map(|point| paper.other_revision(&point.scenario)) {
            None => Ok(()),
            Some(other) => Err(other.in_file(format!("{}: scenario.toml", self.file.name), computed.name)),
        }
    }

    pub(super) fn computed(&self, sims: &[Sim]) -> Result<Option<&'static Computed>, ExperimentError> {
        match (&self.raw.code, sims.is_empty()) {
            (None, false) => Ok(None),
            (None, true) => Err(self.file.invalid(
                0..0,
                "nothing is run",
                "in this file",
                "give a [run.NAME] with a scenario, or code = \"paper::function\"",
            )),
            (Some(code), false) => Err(self.file.invalid(
                code.span(),
                "`code` beside [run.NAME]",
                "one of them",
                "computed values need no simulation",
            )),
            (Some(code), true) => {
                let known: Vec<&str> = computed::ALL.iter().map(|one| one.name).collect();
                let found = computed::ALL.iter().find(|one| one.name == code.get_ref());
                found.map(Some).ok_or_else(|| {
                    let message = format!("there is no code `{}`", code.get_ref());
                    self.file.invalid(code.span(), message, "here", hint(code.get_ref(), &known))
                })
            }
        }
    }

    pub(super) fn cells(&self, sims: &[Sim], computed: bool) -> Result<Vec<Cell>, ExperimentError> {
        let mut cells: Vec<Cell> = Vec::new();
        for raw in &self.raw.cells {
            let column = raw.column.get_ref().clone();
            if cells.iter().any(|cell| cell.column == column) {
                let place = raw.column.span();
                return Err(self.file.invalid(place, format!("`{column}` is there twice"), "again", ""));
            }
            let (value, uninformative) = (self.value_of(raw, computed)?, self.uninformative(raw)?);
            let ns2_exact = self.ns2_exact(raw)?;
            cells.push(Cell {
                sims: self.sims_of(raw, sims)?,
                column,
                value,
                band: raw.band.unwrap_or(if computed { Band::Digits } else { Band::Rate }),
                against: raw.against,
                read_off: raw.read_off,
                ns2_exact,
                rows: self.rows(raw.rows.as_deref())?,
                ns2_only_rows: self.rows(Some(&raw.ns2_only_rows))?.unwrap_or_default(),
                uninformative,
            });
        }
        let compared = |column: &&String| !cells.iter().any(|cell| cell.column == **column);
        let left_out =
            self.published.columns.iter().find(|c| compared(c) && !self.raw.ignored.contains_key(*c));
        if let Some(column) = left_out {
            return Err(self.file.invalid(
                0..0,
                format!("the column `{column}` of published.csv is compared with nothing"),
                "in this file",
                format!("give it [[cells]], or say why not: [ignored] with {column} = \"…\""),
            ));
        }
        Ok(cells)
    }

    /// The formula of a column, with its place; `None` if code gives the values.
    fn value_of(
        &self,
        raw: &syntax::CellEntry,
        computed: bool,
    ) -> Result<Option<(Expression, Range<usize>)>, ExperimentError> {
        match (&raw.value, computed) {
            (Some(value), false) => {
                let parsed = Expression::parse(value.get_ref(), &formula::FUNCTIONS, &[]);
                Ok(Some((parsed.map_err(|wrong| at(self.file, &value.span(), wrong))?, value.span())))
            }
            (None, true) => Ok(None),
            (None, false) => Err(self.file.invalid(
                raw.column.span(),
                "`value` is missing",
                "of this column",
                "for example value = \"flow('tfrc', 'send_rate_bps') / 1000\"",
            )),
            (Some(value), true) => {
                let hint = "`code` gives the values of all columns";
                Err(self.file.invalid(value.span(), "a formula for a computed column", "here", hint))
            }
        }
    }

    /// The rule by which a cell says nothing, and its reason.
    fn uninformative(
        &self,
        raw: &syntax::CellEntry,
    ) -> Result<Option<(Expression, String)>, ExperimentError> {
        match &raw.uninformative {
            None => Ok(None),
            Some(rule) => {
                let parsed = Expression::parse(rule.get_ref(), &[], &["measured", "published", "ns2"])
                    .map_err(|wrong| at(self.file, &rule.span(), wrong))?;
                let Some(reason) = &raw.uninformative_reason else {
                    return Err(self.file.invalid(
                        rule.span(),
                        "no reason why these cells say nothing",
                        "this rule",
                        "give uninformative_reason = \"…\"",
                    ));
                };
                Ok(Some((parsed, reason.clone())))
            }
        }
    }

    /// The reason why ns-2's values need no interval, if they need none.
    fn ns2_exact(&self, raw: &syntax::CellEntry) -> Result<Option<String>, ExperimentError> {
        match (raw.ns2_exact, &raw.ns2_exact_reason) {
            (false, _) => Ok(None),
            (true, Some(reason)) => Ok(Some(reason.clone())),
            (true, None) => Err(self.file.invalid(
                raw.column.span(),
                "no reason why ns-2's values need no interval",
                "of this column",
                "give ns2_exact_reason = \"…\"",
            )),
        }
    }

    /// The simulations that measure a column: the one that it names, the only one, or all if each
    /// row belongs to one of them.
    fn sims_of(&self, raw: &syntax::CellEntry, sims: &[Sim]) -> Result<Range<usize>, ExperimentError> {
        let Some(run) = &raw.run else {
            let has = |sim: &&Sim, row: &String| sim.rows.as_ref().is_none_or(|rows| rows.contains(row));
            let rows = self.published.rows.iter().map(|row| &row.name);
            return match sims.len() {
                0 | 1 => Ok(0..1),
                n if rows.clone().all(|row| sims.iter().filter(|sim| has(sim, row)).count() <= 1) => Ok(0..n),
                _ => Err(self.file.invalid(
                    raw.column.span(),
                    "`run` is missing: there are several",
                    "of this column",
                    "give run = \"NAME\" of a [run.NAME], or give each [run.NAME] rows of its own",
                )),
            };
        };
        let place = sims.iter().position(|sim| sim.name == *run.get_ref());
        place.map(|place| place..place + 1).ok_or_else(|| {
            let known: Vec<&str> = sims.iter().map(|sim| sim.name.as_str()).collect();
            let message = format!("there is no run `{}`", run.get_ref());
            self.file.invalid(run.span(), message, "here", hint(run.get_ref(), &known))
        })
    }

    pub(super) fn claims(&self, cells: &[Cell]) -> Result<Vec<Claim>, ExperimentError> {
        let columns: Vec<&str> = cells.iter().map(|cell| cell.column.as_str()).collect();
        let rows: Vec<&str> = self.published.rows.iter().map(|row| row.name.as_str()).collect();
        let mut list = Vec::new();
        for raw in &self.raw.claim {
            let wrong = |wrong| at(self.file, &raw.value.span(), wrong);
            let value = Expression::parse(raw.value.get_ref(), &claims::FUNCTIONS, &[]).map_err(wrong)?;
            claims::check(&value, &rows, &columns).map_err(wrong)?;
            let between = *raw.between.get_ref();
            if !(between[0] <= between[1] && between.iter().all(|x| x.is_finite())) {
                return Err(self.file.invalid(
                    raw.between.span(),
                    "no band",
                    "here",
                    "two finite numbers, the smaller first",
                ));
            }
            list.push(Claim {
                text: raw.text.clone(),
                value,
                between,
                profile: raw.profile,
                world: raw.world.unwrap_or(self.raw.world),
                undecidable: raw.undecidable.clone(),
                evidence: raw.evidence.clone(),
            });
        }
        Ok(list)
    }

    pub(super) fn variants(&self, sims: &[Sim]) -> Result<Vec<VariantRun>, ExperimentError> {
        let mut list: Vec<VariantRun> = Vec::new();
        for raw in &self.raw.variant {
            let (name, about) = (raw.name.get_ref(), raw.about.get_ref());
            if list.iter().any(|one| one.name == *name) {
                return Err(self.file.invalid(
                    raw.name.span(),
                    format!("`{name}` is there twice"),
                    "again",
                    "",
                ));
            }
            if !about.starts_with("assumed: ") && !about.starts_with("explains: ") {
                let hint = "\"assumed: link.path.delay\" or \"explains: what it shows\"";
                return Err(self.file.invalid(raw.about.span(), "what for?", "here", hint));
            }
            list.push(VariantRun {
                name: name.clone(),
                about: about.clone(),
                set: raw.set.clone(),
                rows: self.rows(raw.rows.as_deref())?,
                only: self.runs(sims, raw.only.as_deref())?,
                runs: raw.runs.unwrap_or(VARIANT_RUNS).max(1),
                profile: raw.profile,
            });
        }
        Ok(list)
    }

    /// Names of runs, all of which are there.
    pub(super) fn runs(
        &self,
        sims: &[Sim],
        names: Option<&[Spanned<String>]>,
    ) -> Result<Option<Vec<String>>, ExperimentError> {
        let Some(names) = names else { return Ok(None) };
        let known: Vec<&str> = sims.iter().map(|sim| sim.name.as_str()).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&name.get_ref().as_str())) {
            let message = format!("there is no run `{}`", unknown.get_ref());
            let hint = hint(unknown.get_ref(), &known);
            return Err(self.file.invalid(unknown.span(), message, "here", hint));
        }
        Ok(Some(names.iter().map(|name| name.get_ref().clone()).collect()))
    }

    /// Names of rows, all of which are there; `*` in a name stands for any text.
    pub(super) fn rows(
        &self,
        names: Option<&[Spanned<String>]>,
    ) -> Result<Option<Vec<String>>, ExperimentError> {
        let Some(names) = names else { return Ok(None) };
        let known: Vec<&str> = self.published.rows.iter().map(|row| row.name.as_str()).collect();
        let mut list = Vec::new();
        for name in names {
            let before = list.len();
            let fitting = known.iter().filter(|row| fits(name.get_ref(), row));
            list.extend(fitting.map(|row| (*row).to_owned()));
            if list.len() == before {
                let message = format!("there is no row `{}`", name.get_ref());
                let hint = hint(name.get_ref(), &known);
                return Err(self.file.invalid(name.span(), message, "not in published.csv", hint));
            }
        }
        Ok(Some(list))
    }
}

/// Returns true if a text fits a pattern, in which `*` stands for any text.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((beginning, rest)) => text.strip_prefix(beginning).is_some_and(|text| {
            (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| fits(rest, text)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_rows() {
        for (pattern, text, wanted) in [
            ("a/b", "a/b", true),
            ("a/b", "a/bc", false),
            ("*", "", true),
            ("bbr/*", "bbr/10M/1", true),
            ("*/10M/*", "bbr/10M/1", true),
            ("*/10M", "bbr/10M/1", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
        ] {
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
