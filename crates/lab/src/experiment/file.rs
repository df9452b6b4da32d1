//! An experiment as its directory says it: `experiment.toml`, the tables, the scenario, checked against each other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use super::computed::{self, Computed};
use super::error::{ExperimentError, Source};
use super::expression::{Expression, Wrong};
use super::mutation::Mutation;
use super::paper::{Paper, SeedRule};
use super::raw::{self, Against, Profile, World};
use super::table::Table;
use super::undecided::Undecided;
use super::verdict::Band;
use super::{claims, formulas};
use crate::scenario::{Document, Provenance, Scenario, explain, hint};

/// An experiment that has passed all checks which need no scenario.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// `<paper>/<name>`.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) world: World,
    pub(crate) must_agree: bool,
    /// Seeds for each point; of the first step if there is a rule.
    pub(crate) runs: u32,
    /// The paper's rule for more seeds, unless this experiment has a number of its own.
    pub(crate) rule: Option<SeedRule>,
    pub(crate) paper: Paper,
    pub(crate) deterministic: bool,
    pub(crate) quick: raw::Quick,
    pub(crate) profiles: BTreeMap<Profile, raw::ProfileTable>,
    pub(crate) sims: Vec<Sim>,
    pub(crate) computed: Option<&'static Computed>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) undecided: Vec<Undecided>,
    pub(crate) mutations: Vec<Mutation>,
    /// The mutation that is in force, if one is.
    pub(crate) mutated: Option<Mutation>,
    /// The profiles that are run.
    pub(crate) run_profiles: &'static [Profile],
    pub(crate) published: Table,
    pub(crate) ns2: Option<Table>,
    pub(crate) readme: String,
    pub(crate) file: Source,
}

/// One simulation for each row.
#[derive(Debug, Clone)]
pub(crate) struct Sim {
    pub(crate) name: String,
    pub(crate) document: Document,
    pub(crate) set: Vec<String>,
    pub(crate) profile_set: BTreeMap<Profile, Vec<String>>,
    /// The paths that the text of each key is assigned to, in the order of the table's keys.
    pub(crate) keys: Vec<Vec<String>>,
    pub(crate) rows: Option<Vec<String>>,
    /// Seeds for each point as published, in place of the experiment's.
    pub(crate) runs: Option<u32>,
    pub(crate) scenario_name: String,
    pub(crate) scenario_text: String,
}

/// A column and how it is measured.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) column: String,
    /// Which simulation; meaningless for computed columns.
    pub(crate) sim: usize,
    /// `None` for computed columns.
    pub(crate) value: Option<(Expression, Range<usize>)>,
    pub(crate) band: Band,
    pub(crate) against: Against,
    pub(crate) read_off: f64,
    /// Why ns-2's value needs no interval, if it needs none.
    pub(crate) ns2_exact: Option<String>,
    pub(crate) rows: Option<Vec<String>>,
    pub(crate) ns2_only_rows: Vec<String>,
    pub(crate) uninformative: Option<(Expression, String)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) text: String,
    pub(crate) value: Expression,
    pub(crate) between: [f64; 2],
    pub(crate) profile: Profile,
    pub(crate) evidence: Option<String>,
}

/// The experiment once more with other settings.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) set: Vec<String>,
    pub(crate) rows: Option<Vec<String>>,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) runs: u32,
    pub(crate) profile: Profile,
}

/// Seeds for each point unless the file says otherwise.
const RUNS: u32 = 10;
/// Seeds in the profile that is printed beside.
const RFC_RUNS: u32 = 5;
/// Seeds for each point of a variant.
const VARIANT_RUNS: u32 = 3;
/// Seeds where all must give the same.
const DETERMINISTIC_RUNS: u32 = 2;

const TABLE_NEEDED: &str = "every experiment has the values it is compared with in published.csv";

impl Experiment {
    /// Reads the experiment in a directory.
    pub(crate) fn load(id: &str, directory: &Path, paper: &Paper) -> Result<Self, ExperimentError> {
        let path = directory.join("experiment.toml");
        let text = read(&path, "a directory of experiments has <paper>/<name>/experiment.toml")?;
        let file = Source { name: path.display().to_string(), text };
        let raw: raw::Experiment =
            toml::from_str(&file.text).map_err(|error| file.mistaken(explain(&error)))?;
        let place_of_keys = raw.keys.values().map(|paths| paths.span().start).min().unwrap_or_default();
        if raw.keys.is_empty() {
            return Err(file.invalid(
                place_of_keys..place_of_keys,
                "`keys` is empty",
                "here",
                "a row needs a name: keys = { case = [] }",
            ));
        }
        let keys: Vec<&str> = raw.keys.keys().map(String::as_str).collect();
        let mut published = Table::load(&directory.join("published.csv"), &keys, TABLE_NEEDED)?;
        let beside = directory.join("ns2.csv");
        let mut ns2 = beside.exists().then(|| Table::load(&beside, &keys, TABLE_NEEDED)).transpose()?;
        for cell in &raw.cells {
            let Some(less) = &cell.less else { continue };
            for table in std::iter::once(&mut published).chain(&mut ns2) {
                table.subtract(cell.column.get_ref(), *less.get_ref());
            }
        }
        let reading = Reading { file: &file, raw: &raw, published: &published, directory };
        let sims = reading.sims()?;
        let computed = reading.computed(&sims)?;
        let cells = reading.cells(&sims, computed.is_some())?;
        let claims = reading.claims(&cells)?;
        let variants = reading.variants(&sims)?;
        let undecided = reading.undecided(&cells, &claims, &variants)?;
        let names: Vec<&str> = sims.iter().map(|sim| sim.name.as_str()).collect();
        let mutations = reading.mutations(&names)?;
        let rule = reading.rule(paper)?;
        if let Some(computed) = computed {
            reading.settings(computed, paper)?;
        }
        reading.rows(raw.quick.rows.as_deref())?;
        if cells.iter().all(|cell| !published.columns.contains(&cell.column)) && claims.len() < 2 {
            return Err(file.invalid(
                0..0,
                "nothing is compared and there are fewer than two claims",
                "in this file",
                "give columns of published.csv as [[cells]], or at least two [[claim]]",
            ));
        }
        let profiles = [
            (Profile::AsPublished, raw.profile.as_published.clone()),
            (Profile::Rfc, raw.profile.rfc.clone()),
        ];
        Ok(Self {
            id: id.to_owned(),
            title: raw.title,
            source: raw.source,
            world: raw.world,
            must_agree: raw.must_agree,
            runs: match (&raw.runs, rule) {
                (Some(runs), _) => (*runs.get_ref()).max(1),
                (None, Some(rule)) => rule.least,
                (None, None) if raw.deterministic => DETERMINISTIC_RUNS,
                (None, None) => RUNS,
            },
            rule,
            paper: paper.clone(),
            deterministic: raw.deterministic,
            quick: raw.quick,
            profiles: profiles.into(),
            sims,
            computed,
            cells,
            claims,
            variants,
            undecided,
            mutations,
            mutated: None,
            run_profiles: &[Profile::AsPublished, Profile::Rfc],
            published,
            ns2,
            readme: std::fs::read_to_string(directory.join("README.md")).unwrap_or_default(),
            file,
        })
    }

    /// Its id: `<paper>/<name>`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it shows.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where the published values are.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it happens.
    #[must_use]
    pub fn world(&self) -> World {
        self.world
    }

    /// Whether it belongs to those that must agree.
    #[must_use]
    pub fn must_agree(&self) -> bool {
        self.must_agree
    }

    /// Where the values of the tables are from, as their `#` lines say.
    pub(crate) fn origins(&self) -> Vec<&str> {
        let tables = std::iter::once(&self.published).chain(&self.ns2);
        tables.flat_map(|table| table.notes.iter().map(String::as_str)).collect()
    }

    /// The files that say what is run, with their names.
    pub(crate) fn texts(&self) -> Vec<(String, &str)> {
        let mut list = vec![("experiment.toml".to_owned(), self.file.text.as_str())];
        for sim in &self.sims {
            if !list.iter().any(|(_, text)| *text == sim.scenario_text) {
                list.push((sim.scenario_name.clone(), &sim.scenario_text));
            }
        }
        list
    }

    /// Seeds for each point of a profile.
    pub(crate) fn runs_of(&self, profile: Profile) -> u32 {
        let asked = self.profiles.get(&profile).and_then(|table| table.runs.as_ref());
        let asked = asked.map(|runs| *runs.get_ref());
        match profile {
            Profile::AsPublished => asked.unwrap_or(self.runs),
            Profile::Rfc => asked.unwrap_or(self.runs.min(RFC_RUNS)),
        }
        .max(1)
    }

    /// The scenario of one point, with what its file says of where values come from. `--quick` may change it.
    pub(crate) fn scenario(
        &self,
        sim: &Sim,
        profile: Profile,
        row: &super::table::Row,
        more: &[String],
    ) -> Result<(Document, Scenario, Vec<Provenance>), ExperimentError> {
        let mut document = sim.document.clone();
        let of_profile = self.profiles.get(&profile).map(|table| table.set.as_slice()).unwrap_or_default();
        let of_both = sim.profile_set.get(&profile).map(Vec::as_slice).unwrap_or_default();
        for set in of_profile.iter().chain(&sim.set).chain(of_both) {
            document.set(set.as_str());
        }
        for (paths, text) in sim.keys.iter().zip(&row.keys) {
            for path in paths {
                document.set(format!("{path}={text}"));
            }
        }
        let mutation = self.mutated.iter().filter(|mutation| mutation.breaks(&sim.name));
        for set in more.iter().chain(mutation.flat_map(|mutation| &mutation.set)) {
            document.set(set.as_str());
        }
        let about = || format!("run `{}`, row {}, profile {}", sim.name, row.name, name(profile));
        let wrong = |error| ExperimentError::Scenario {
            experiment: self.id.clone(),
            about: about(),
            error: Box::new(error),
        };
        let plan = document.plan().map_err(wrong)?;
        let provenance = plan.provenance;
        let Some(point) = plan.points.into_iter().next() else {
            unreachable!("a plan has a point");
        };
        Ok((document, point.scenario, provenance))
    }

    /// Whether a variant is the other set-up of something undecided.
    pub(crate) fn is_undecided(&self, variant: usize) -> bool {
        self.undecided.iter().any(|one| one.variant == variant)
    }

    /// Whether the TFRC flows of a scenario as published run the paper's revision.
    pub(crate) fn check_revision(
        &self,
        sim: &Sim,
        row: &str,
        scenario: &Scenario,
    ) -> Result<(), ExperimentError> {
        let Some(other) = self.paper.other_revision(scenario) else { return Ok(()) };
        let file = format!("{}: {}", self.file.name, sim.scenario_name);
        Err(other.in_file(file, &format!("run `{}`, row {row}", sim.name)))
    }

    /// Whether every name in the formulas of a simulation's cells is in its scenario.
    pub(crate) fn check_names(&self, sim: usize, scenario: &Scenario) -> Result<(), ExperimentError> {
        for cell in self.cells.iter().filter(|cell| cell.sim == sim) {
            if let Some((value, place)) = &cell.value {
                formulas::check(value, scenario, &self.published.keys)
                    .map_err(|wrong| at(&self.file, place, wrong))?;
            }
        }
        Ok(())
    }
}

/// The name of a profile.
pub(crate) fn name(profile: Profile) -> &'static str {
    match profile {
        Profile::AsPublished => "as-published",
        Profile::Rfc => "rfc",
    }
}

fn read(path: &Path, hint: &'static str) -> Result<String, ExperimentError> {
    std::fs::read_to_string(path).map_err(|source| ExperimentError::Read {
        name: path.display().to_string(),
        hint,
        source,
    })
}

/// A mistake in an expression, at its place in the file: the text begins after the opening quote.
pub(super) fn at(file: &Source, place: &Range<usize>, wrong: Wrong) -> ExperimentError {
    let quotes = if file.text[place.clone()].starts_with("\"\"\"") { 3 } else { 1 };
    let start = place.start + quotes;
    let moved = start + wrong.place.start..(start + wrong.place.end).min(place.end);
    file.invalid(moved, wrong.message, "here", wrong.hint)
}

/// What all parts are checked against.
pub(super) struct Reading<'a> {
    pub(super) file: &'a Source,
    pub(super) raw: &'a raw::Experiment,
    published: &'a Table,
    directory: &'a Path,
}

impl Reading<'_> {
    /// The paper's rule of seeds where it applies: seeds matter, and no number is given with its reason.
    fn rule(&self, paper: &Paper) -> Result<Option<SeedRule>, ExperimentError> {
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

    fn sims(&self) -> Result<Vec<Sim>, ExperimentError> {
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
                document: Document::new(path.display().to_string(), text.clone()),
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

    /// Whether the code takes what is set for it, and runs the paper's revision.
    fn settings(&self, computed: &Computed, paper: &Paper) -> Result<(), ExperimentError> {
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
        let points = document.plan().map(|plan| plan.points).unwrap_or_default();
        match points.iter().find_map(|point| paper.other_revision(&point.scenario)) {
            None => Ok(()),
            Some(other) => Err(other.in_file(format!("{}: scenario.toml", self.file.name), computed.name)),
        }
    }

    fn computed(&self, sims: &[Sim]) -> Result<Option<&'static Computed>, ExperimentError> {
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

    fn cells(&self, sims: &[Sim], computed: bool) -> Result<Vec<Cell>, ExperimentError> {
        let mut cells: Vec<Cell> = Vec::new();
        for raw in &self.raw.cells {
            let column = raw.column.get_ref().clone();
            if cells.iter().any(|cell| cell.column == column) {
                let place = raw.column.span();
                return Err(self.file.invalid(place, format!("`{column}` is there twice"), "again", ""));
            }
            let value = match (&raw.value, computed) {
                (Some(value), false) => {
                    let parsed = Expression::parse(value.get_ref(), &formulas::FUNCTIONS, &[]);
                    Some((parsed.map_err(|wrong| at(self.file, &value.span(), wrong))?, value.span()))
                }
                (None, true) => None,
                (None, false) => {
                    return Err(self.file.invalid(
                        raw.column.span(),
                        "`value` is missing",
                        "of this column",
                        "for example value = \"flow('tfrc', 'send_rate_bps') / 1000\"",
                    ));
                }
                (Some(value), true) => {
                    let hint = "`code` gives the values of all columns";
                    return Err(self.file.invalid(
                        value.span(),
                        "a formula for a computed column",
                        "here",
                        hint,
                    ));
                }
            };
            let uninformative = match &raw.uninformative {
                None => None,
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
                    Some((parsed, reason.clone()))
                }
            };
            if let Some(less) = &raw.less
                && !less.get_ref().is_finite()
            {
                return Err(self.file.invalid(
                    less.span(),
                    "no finite number",
                    "here",
                    "for example less = 11.3",
                ));
            }
            let ns2_exact = match (raw.ns2_exact, &raw.ns2_exact_reason) {
                (false, _) => None,
                (true, Some(reason)) => Some(reason.clone()),
                (true, None) => {
                    return Err(self.file.invalid(
                        raw.column.span(),
                        "no reason why ns-2's values need no interval",
                        "of this column",
                        "give ns2_exact_reason = \"…\"",
                    ));
                }
            };
            cells.push(Cell {
                sim: self.sim_of(raw, sims)?,
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

    fn sim_of(&self, raw: &raw::Cell, sims: &[Sim]) -> Result<usize, ExperimentError> {
        let Some(run) = &raw.run else {
            return match sims.len() {
                0 | 1 => Ok(0),
                _ => Err(self.file.invalid(
                    raw.column.span(),
                    "`run` is missing: there are several",
                    "of this column",
                    "give run = \"NAME\" of a [run.NAME]",
                )),
            };
        };
        sims.iter().position(|sim| sim.name == *run.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = sims.iter().map(|sim| sim.name.as_str()).collect();
            let message = format!("there is no run `{}`", run.get_ref());
            self.file.invalid(run.span(), message, "here", hint(run.get_ref(), &known))
        })
    }

    fn claims(&self, cells: &[Cell]) -> Result<Vec<Claim>, ExperimentError> {
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
                evidence: raw.evidence.clone(),
            });
        }
        Ok(list)
    }

    fn variants(&self, sims: &[Sim]) -> Result<Vec<Variant>, ExperimentError> {
        let mut list: Vec<Variant> = Vec::new();
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
            let names: Vec<&str> = sims.iter().map(|sim| sim.name.as_str()).collect();
            if let Some(unknown) =
                raw.only.iter().flatten().find(|run| !names.contains(&run.get_ref().as_str()))
            {
                let message = format!("there is no run `{}`", unknown.get_ref());
                return Err(self.file.invalid(
                    unknown.span(),
                    message,
                    "here",
                    hint(unknown.get_ref(), &names),
                ));
            }
            list.push(Variant {
                name: name.clone(),
                about: about.clone(),
                set: raw.set.clone(),
                rows: self.rows(raw.rows.as_deref())?,
                only: raw.only.as_ref().map(|list| list.iter().map(|run| run.get_ref().clone()).collect()),
                runs: raw.runs.unwrap_or(VARIANT_RUNS).max(1),
                profile: raw.profile,
            });
        }
        Ok(list)
    }

    /// Names of rows, all of which are there.
    pub(super) fn rows(
        &self,
        names: Option<&[Spanned<String>]>,
    ) -> Result<Option<Vec<String>>, ExperimentError> {
        let Some(names) = names else { return Ok(None) };
        let known: Vec<&str> = self.published.rows.iter().map(|row| row.name.as_str()).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&name.get_ref().as_str())) {
            let message = format!("there is no row `{}`", unknown.get_ref());
            let hint = hint(unknown.get_ref(), &known);
            return Err(self.file.invalid(unknown.span(), message, "not in published.csv", hint));
        }
        Ok(Some(names.iter().map(|name| name.get_ref().clone()).collect()))
    }
}
