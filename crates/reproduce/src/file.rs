//! An experiment as its directory says it: `experiment.toml`, the tables, the scenario, checked
//! against each other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::computed::Computed;
use super::emulation::{EmulatedTable, Emulation};
use super::error::{ExperimentError, NamedText};
use super::mutation::Mutation;
use super::paper::{Paper, SeedRule};
use super::reading::Reading;
use super::syntax::{self, Against, Profile, VerdictRule, World};
use super::table::{self, SEED, SeedValues, Table};
use super::undecided::Undecided;
use super::verdict::Band;
use tfrc_lab::formula::{self, Expression, Wrong};
use tfrc_scenario::{Document, Provenance, Scenario, read_text};

/// An experiment that has passed all checks which need no scenario.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// `<paper>/<name>`.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) world: World,
    pub(crate) must_agree: bool,
    /// It takes hours.
    pub(crate) long: bool,
    /// Seeds for each point; of the first step if there is a rule.
    pub(crate) runs: u32,
    /// The paper's rule for more seeds, unless this experiment has a number of its own.
    pub(crate) rule: Option<SeedRule>,
    pub(crate) paper: Paper,
    pub(crate) deterministic: bool,
    pub(crate) verdicts: VerdictRule,
    pub(crate) quick: syntax::Quick,
    pub(crate) profiles: BTreeMap<Profile, syntax::ProfileTable>,
    pub(crate) sims: Vec<Sim>,
    pub(crate) computed: Option<&'static Computed>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) variants: Vec<VariantRun>,
    pub(crate) undecided: Vec<Undecided>,
    pub(crate) mutations: Vec<Mutation>,
    /// The emulated side, if there is one.
    pub(crate) emulation: Option<Emulation>,
    /// Values of the emulated side, as recorded.
    pub(crate) emulated: Option<EmulatedTable>,
    /// The mutation that is in force, if one is.
    pub(crate) mutated: Option<Mutation>,
    /// The profiles that are run.
    pub(crate) run_profiles: &'static [Profile],
    pub(crate) published: Table,
    /// Values of ns-2: means, if `ns2_runs` has the runs.
    pub(crate) ns2: Option<Table>,
    /// The runs of ns-2, if verdicts need them.
    pub(crate) ns2_runs: SeedValues,
    pub(crate) readme: String,
    /// The folder of its files.
    pub(crate) folder: PathBuf,
    pub(crate) file: NamedText,
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
    /// The simulations that measure it, each in its own rows; meaningless for computed columns.
    pub(crate) sims: Range<usize>,
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
    /// Where it is judged.
    pub(crate) world: World,
    /// Reason why it can be neither shown nor refuted here, if it cannot.
    pub(crate) undecidable: Option<String>,
    pub(crate) evidence: Option<String>,
}

/// The experiment once more with other settings.
#[derive(Debug, Clone)]
pub(crate) struct VariantRun {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) set: Vec<String>,
    pub(crate) rows: Option<Vec<String>>,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) runs: u32,
    pub(crate) profile: Profile,
}

/// The file of recorded values of the emulated side.
pub(crate) const EMULATED: &str = "emulated.csv";

/// Seeds for each point unless the file says otherwise.
const RUNS: u32 = 10;
/// Seeds in the profile that is printed for comparison.
const RFC_RUNS: u32 = 5;
/// Seeds where all must give the same.
const DETERMINISTIC_RUNS: u32 = 2;

const RUNS_NEEDED: &str = "Welch's test takes the values of each seed of ns-2, in ns2.csv";
const TABLE_NEEDED: &str = "every experiment has the values it is compared with in published.csv";

/// Values of ns-2 and, where verdicts need them, its runs; nothing without the file.
fn ns2(
    path: &Path,
    keys: &[&str],
    verdicts: VerdictRule,
) -> Result<(Option<Table>, SeedValues), ExperimentError> {
    if verdicts == VerdictRule::Welch || table::has_seeds(path) {
        let with_seed: Vec<&str> = keys.iter().copied().chain([SEED]).collect();
        let (means, runs) = Table::load(path, &with_seed, RUNS_NEEDED)?.over_seeds();
        return Ok((Some(means), runs));
    }
    let table = path.exists().then(|| Table::load(path, keys, TABLE_NEEDED)).transpose()?;
    Ok((table, SeedValues::new()))
}

impl Experiment {
    /// Reads the experiment in a directory.
    pub(crate) fn load(id: &str, directory: &Path, paper: &Paper) -> Result<Self, ExperimentError> {
        let path = directory.join("experiment.toml");
        let text = read(&path, "a directory of experiments has <paper>/<name>/experiment.toml")?;
        let file = NamedText { name: path.display().to_string(), text };
        let raw: syntax::Experiment = read_text(&file.text).map_err(|mistake| file.mistaken(mistake))?;
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
        let published = Table::load(&directory.join("published.csv"), &keys, TABLE_NEEDED)?;
        let (ns2, ns2_runs) = ns2(&directory.join("ns2.csv"), &keys, raw.verdicts)?;
        let reading = Reading { file: &file, raw: &raw, published: &published, directory };
        let sims = reading.sims()?;
        let computed = reading.computed(&sims)?;
        let cells = reading.cells(&sims, computed.is_some())?;
        let claims = reading.claims(&cells)?;
        let variants = reading.variants(&sims)?;
        let undecided = reading.undecided(&cells, &claims, &variants)?;
        let mutations = reading.mutations(&sims)?;
        let emulation = reading.emulation(&sims)?;
        let rule = reading.rule(paper)?;
        if let Some(computed) = computed {
            reading.settings(computed, paper)?;
        }
        reading.rows(raw.quick.rows.as_deref())?;
        let is_compared = |cell: &Cell| {
            let has = |table: &Table| table.columns.contains(&cell.column);
            has(&published) || (cell.against == Against::Ns2 && ns2.as_ref().is_some_and(has))
        };
        if !cells.iter().any(is_compared) && claims.len() < 2 {
            return Err(file.invalid(
                0..0,
                "nothing is compared and there are fewer than two claims",
                "in this file",
                "give columns of published.csv or of ns2.csv as [[cells]], or at least two [[claim]]",
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
            long: raw.long,
            runs: match (&raw.runs, rule) {
                (Some(runs), _) => (*runs.get_ref()).max(1),
                (None, Some(rule)) => rule.least,
                (None, None) if raw.deterministic => DETERMINISTIC_RUNS,
                (None, None) => RUNS,
            },
            rule,
            paper: paper.clone(),
            deterministic: raw.deterministic,
            verdicts: raw.verdicts,
            quick: raw.quick,
            profiles: profiles.into(),
            sims,
            computed,
            cells,
            claims,
            variants,
            undecided,
            mutations,
            emulation,
            emulated: EmulatedTable::load(&directory.join(EMULATED))?,
            mutated: None,
            run_profiles: match raw.verdicts {
                VerdictRule::Bands => &[Profile::AsPublished, Profile::Rfc],
                VerdictRule::Welch => &[Profile::AsPublished],
            },
            published,
            ns2,
            ns2_runs,
            readme: tfrc_scenario::files::read_file(directory.join("README.md")).unwrap_or_default(),
            folder: directory.to_owned(),
            file,
        })
    }

    /// Its id: `<paper>/<name>`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The title: a phrase that says what the experiment shows.
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

    /// Returns true if `--world emu` runs it.
    #[must_use]
    pub fn has_emulated_side(&self) -> bool {
        self.emulation.is_some()
    }

    /// Returns true if it takes hours: `all` leaves it out but for `--quick`.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// Returns true if the experiment must agree.
    #[must_use]
    pub fn must_agree(&self) -> bool {
        self.must_agree
    }

    /// Returns true if runs of ns-2 are all that it is compared with: nothing is published.
    pub(crate) fn is_beside_ns2(&self) -> bool {
        self.published.columns.is_empty() && self.claims.is_empty()
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

    /// The changes to the scenario of one point, in their order.
    pub(crate) fn assignments(
        &self,
        sim: &Sim,
        profile: Profile,
        row: &super::table::Row,
        more: &[String],
    ) -> Vec<String> {
        let of_profile = self.profiles.get(&profile).map(|table| table.set.as_slice()).unwrap_or_default();
        let of_both = sim.profile_set.get(&profile).map(Vec::as_slice).unwrap_or_default();
        let mut list: Vec<String> = of_profile.iter().chain(&sim.set).chain(of_both).cloned().collect();
        for (paths, text) in sim.keys.iter().zip(&row.keys) {
            list.extend(paths.iter().map(|path| format!("{path}={text}")));
        }
        list.extend(more.iter().chain(self.mutated.iter().flat_map(|mutation| &mutation.set)).cloned());
        list
    }

    /// Returns true if a column is measured in a row: in those it is given, else in those with
    /// something to compare with; a column that has nothing anywhere is a probe, and measured in
    /// all.
    pub(crate) fn measures(&self, cell: &Cell, row: &str) -> bool {
        if let Some(rows) = &cell.rows {
            return rows.iter().any(|one| one == row);
        }
        let column = cell.column.as_str();
        let is_probe = !self.published.columns.contains(&cell.column);
        is_probe
            || self.published.get(row, column).is_some()
            || self.ns2.as_ref().is_some_and(|table| table.get(row, column).is_some())
    }

    /// The scenario of one point in a world, with what its file says of where values come from.
    /// `--quick` may change it.
    pub(crate) fn scenario(
        &self,
        world: World,
        sim: &Sim,
        profile: Profile,
        row: &super::table::Row,
        more: &[String],
    ) -> Result<(Document, Scenario, Vec<Provenance>), ExperimentError> {
        let mut document = sim.document.clone();
        self.assignments(sim, profile, row, more).into_iter().for_each(|set| document.set(set));
        let about = || format!("run `{}`, row {}, profile {}", sim.name, row.name, name(profile));
        let wrong = |error| ExperimentError::Scenario {
            experiment: self.id.clone(),
            about: about(),
            error: Box::new(error),
        };
        let world = match world {
            World::Emu => tfrc_scenario::World::Emulated,
            World::Sim => tfrc_scenario::World::Simulated,
        };
        let plan = document.plan_for(world).map_err(wrong)?;
        let provenance = plan.provenance;
        let Some(point) = plan.points.into_iter().next() else {
            unreachable!("a plan has a point");
        };
        Ok((document, point.scenario, provenance))
    }

    /// Returns true if a variant is the other set-up of something undecided.
    pub(crate) fn is_undecided(&self, variant: usize) -> bool {
        self.undecided.iter().any(|one| one.variant == variant)
    }

    /// Checks that the TFRC flows of a scenario as published run the paper's revision.
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

    /// Checks that every name in the formulas of a simulation's cells is in its scenario.
    pub(crate) fn check_names(&self, sim: usize, scenario: &Scenario) -> Result<(), ExperimentError> {
        for cell in self.cells.iter().filter(|cell| cell.sims.contains(&sim)) {
            if let Some((value, place)) = &cell.value {
                formula::check(value, scenario, &self.published.keys)
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

pub(super) fn read(path: &Path, hint: &'static str) -> Result<String, ExperimentError> {
    tfrc_scenario::files::read_file(path).map_err(|source| ExperimentError::Read {
        name: path.display().to_string(),
        hint,
        source,
    })
}

/// A mistake in an expression, at its place in the file: the text begins after the opening quote.
pub(super) fn at(file: &NamedText, place: &Range<usize>, wrong: Wrong) -> ExperimentError {
    let quotes = if file.text[place.clone()].starts_with("\"\"\"") { 3 } else { 1 };
    let start = place.start + quotes;
    let moved = start + wrong.place.start..(start + wrong.place.end).min(place.end);
    file.invalid(moved, wrong.message, "here", wrong.hint)
}
