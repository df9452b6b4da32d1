//! Simulations: their runs, the document of their results, and its tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc_report::document::{self, Several, Single};
use tfrc_report::series;
use tfrc_scenario::library::{BuiltIn, LibraryError, Opened};
use tfrc_scenario::{Plan, Point, Scenario, ScenarioError, World};
use tfrc_sim::Seed;
use tfrc_units::{Duration, saturating};
use tfrc_world::batch::{self, Order, PlannedRun, Results, RunOutcome, Shard, seed_of};
use tfrc_world::cache::{self, Cache};
use tfrc_world::printed::{self, Unit};
use tfrc_world::results::Interval;
use tfrc_world::statistics;
use tfrc_world::watch::{Look, Watch};
use tfrc_world::{Outcome, Run, quantities as lab};

use crate::custom::{Code, Custom};
use crate::failure::{self, raised};
use crate::quantities::duration;
use crate::table::{Axis, Rows, Table};
use crate::waiting::while_waiting;

/// Steps of the progress in each run.
const STEPS: f64 = 200.0;

/// Results of a simulation.
#[pyclass(frozen, get_all, name = "NativeSimulation", module = "tfrc._native")]
#[derive(Debug)]
pub(crate) struct NativeSimulation {
    /// The document that `tfrc sim --json` prints, a line of JSON.
    text: String,
    /// Figures of each flow in each run.
    flows: Table,
    /// Figures of each link in each run.
    links: Table,
    /// Figures of each flow and link in each interval of each run; `None` if they were not asked
    /// for.
    series: Option<Table>,
    /// The sweeps of the scenario: the path of each, and the unit of its column in the tables
    /// (`""` for plain numbers); `None` for words.
    axes: Vec<(String, Option<&'static str>)>,
}

/// The scenarios of the program: of each its name, a sentence about it, and its text.
#[pyfunction]
pub(crate) fn scenarios() -> Vec<(&'static str, String, &'static str)> {
    BuiltIn::all().map(|one| (one.name, one.about(), one.text)).collect()
}

/// Runs a scenario. `kind` says what `written` is: `"name"` (a file, or a scenario of the program),
/// `"text"` (TOML) or `"json"` (a table of TOML as JSON). `changes` are assignments `key=value`.
/// `jobs` is the number of threads, 0 for one on each processor. `interval_s` asks for time series.
/// `progress` is called with the virtual time done and that of all runs, in seconds. `code` makes
/// controllers and queues, by their names in the scenario.
#[pyfunction]
#[pyo3(signature = (
    kind, written, changes, seed, runs, jobs, interval_s, progress, code=(Vec::new(), Vec::new()),
))]
#[expect(clippy::too_many_arguments, reason = "Python's half has the defaults")]
pub(crate) fn simulate(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    seed: Option<u64>,
    runs: Option<u32>,
    jobs: usize,
    interval_s: Option<f64>,
    progress: Option<Bound<'_, PyAny>>,
    code: Code,
) -> PyResult<NativeSimulation> {
    let custom = Custom::new(code);
    let (opened, plan) = planned(py, kind, written, changes, custom.as_ref())?;
    let interval = interval_of(interval_s)?;
    // Python has one lock: several threads would wait for it.
    let jobs = if custom.is_some() { 1 } else { jobs };
    let order = Order { seed, runs, jobs, shard: Shard::WHOLE };
    let (results, parts) = run(py, &opened, &plan, order, interval, progress.as_ref(), custom.as_ref())?;
    let flows = flow_table(&plan, &results).into();
    let links = link_table(&plan, &results).into();
    let text = text(&plan, order, results);
    Ok(NativeSimulation { text, flows, links, series: Table::of_parts(parts), axes: named(&axes(&plan)) })
}

/// An interval of a time series, which is above zero.
fn interval_of(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds.map(duration).transpose()? {
        Some(Duration::ZERO) => Err(PyValueError::new_err("an interval is above 0")),
        other => Ok(other),
    }
}

/// Opens a scenario, changes it and plans its runs, which may have code of Python's.
fn planned(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    custom: Option<&Custom>,
) -> PyResult<(Opened, Plan)> {
    let (opened, plan) = planned_for(py, kind, written, changes, Custom::world(custom))?;
    custom.map_or(Ok(()), |custom| custom.check(&plan))?;
    Ok((opened, plan))
}

/// Opens a scenario and plans its runs for a world.
pub(crate) fn planned_for(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    world: World,
) -> PyResult<(Opened, Plan)> {
    let refused = |error: LibraryError| raised::<failure::ScenarioError>(py, &error);
    let mut opened = match kind {
        "name" => Opened::new(Path::new(written)).map_err(refused)?,
        "text" => Opened::from_text("scenario", written),
        "json" => Opened::from_text("scenario", &toml(written)?),
        other => return Err(PyValueError::new_err(format!("kind {other:?}"))),
    };
    for assignment in changes {
        opened.document.set(assignment);
    }
    let plan = opened.document.plan_for(world).map_err(|mut error| {
        if let ScenarioError::Invalid(wrong) = &mut error
            && world == World::Simulated
            && opened.document.plan_for(World::Extended).is_ok()
        {
            wrong.hint = Some(CODE_HINT.to_owned());
        }
        refused(error.into())
    })?;
    Ok((opened, plan))
}

/// Advice for a scenario that is right but for code of Python's that was not given.
const CODE_HINT: &str = "name its classes: agents={\"NAME\": CLASS} or queues={\"NAME\": CLASS} of simulate or sweep \
                         (docs/guides/custom-algorithms.md)";

/// The keys of the quantities in tables of flows and of links.
#[pyfunction]
pub(crate) fn quantities() -> BTreeMap<&'static str, Vec<&'static str>> {
    let flows = lab::FLOW.iter().map(|one| one.key).collect();
    let links = lab::LINK.iter().map(|one| one.key).collect();
    BTreeMap::from([("flows", flows), ("links", links)])
}

/// A point: the name of each sweep, and the label of its value there.
type Labels = Vec<(String, String)>;

/// The points of a scenario, and at each the entry of the scenario that each flow belongs to.
#[pyfunction]
pub(crate) fn points(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    code: Code,
) -> PyResult<(Vec<Labels>, Vec<Vec<String>>)> {
    let (_, plan) = planned(py, kind, written, changes, Custom::new(code).as_ref())?;
    let entries = plan.points.iter().map(|point| groups(point).map(str::to_owned).collect()).collect();
    Ok((plan.points.into_iter().map(|point| point.at).collect(), entries))
}

/// The keys of the first `runs` runs of a scenario without sweeps, by all that determines what each
/// does, but for code of Python's: the program keeps it under the same.
#[pyfunction]
pub(crate) fn keys(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    seed: Option<u64>,
    runs: u32,
    code: Code,
) -> PyResult<Vec<String>> {
    let (_, plan) = planned(py, kind, written, changes, Custom::new(code).as_ref())?;
    let Some(point) = plan.points.first() else { return Ok(Vec::new()) };
    let (identity, seed) = (cache::identity(&point.scenario), seed.unwrap_or(point.scenario.seed.0));
    Ok((1..=runs).map(|run| cache::key(&identity, Seed(seed_of(seed, run)))).collect())
}

/// Outcomes of runs that were done, in the folder of a cache.
#[pyclass]
pub(crate) struct RunCache(Cache);

#[pymethods]
impl RunCache {
    #[new]
    fn new(folder: PathBuf) -> Self {
        Self(Cache::new(folder, Vec::new()))
    }

    /// The outcome kept for a key, as `run_one` returns it for the run of this number; `None` if
    /// there is none.
    fn find(&self, key: &str, run: u32) -> Option<String> {
        let outcome = self.0.outcome(key)?;
        Some(serde_json::json!(RunOutcome { run, outcome }).to_string())
    }

    /// Keeps what `run_one` returned.
    fn put(&self, key: &str, outcome: &str) -> PyResult<()> {
        let run = serde_json::from_str::<RunOutcome>(outcome);
        let run = run.map_err(|error| PyValueError::new_err(format!("not a run: {error}")))?;
        Ok(self.0.put_outcome(key, &run.outcome)?)
    }
}

/// Does one run of a scenario without sweeps: the `run`-th, counted from 1, of the runs that begin
/// with `seed`, or with the scenario's own. Returns it as it stands in the document of several
/// runs; with `interval_s` a second line has its time series.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a task of Python's half has them in one")]
pub(crate) fn run_one(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    seed: Option<u64>,
    run: u32,
    interval_s: Option<f64>,
    code: Code,
) -> PyResult<String> {
    let custom = Custom::new(code);
    let (_, plan) = planned(py, kind, written, changes, custom.as_ref())?;
    let [point] = plan.points.as_slice() else {
        return Err(PyValueError::new_err("a run is of one point, and this scenario has sweeps"));
    };
    let mut scenario = point.scenario.clone();
    scenario.seed = Seed(seed_of(seed.unwrap_or(scenario.seed.0), run));
    let interval = interval_of(interval_s)?;
    let mut series: Vec<Interval> = Vec::new();
    let outcome = py.detach(|| {
        let stops = || custom.as_ref().is_some_and(Custom::has_raised);
        let mut go = with_code(Run::of(&scenario).until(&stops), custom.as_ref());
        if let Some(interval) = interval {
            let look = |look: Look| series.extend(look.flows.into_iter().chain(look.links));
            go = go.watch(Watch::all(interval, look));
        }
        go.outcome()
    });
    custom.as_ref().map_or(Ok(()), Custom::raise)?;
    let outcome = outcome.unwrap_or_else(|| unreachable!("nobody stops it"));
    let outcome = serde_json::json!(RunOutcome { run, outcome });
    Ok(match interval {
        None => outcome.to_string(),
        Some(_) => format!("{outcome}\n{}", serde_json::json!(series)),
    })
}

/// A run with the code of Python's, against which its plan was checked.
fn with_code<'r>(run: Run<'r>, custom: Option<&'r Custom>) -> Run<'r> {
    match custom {
        None => run,
        Some(custom) => {
            run.own(&custom.registry).unwrap_or_else(|error| unreachable!("checked before: {error}"))
        }
    }
}

/// Puts runs together that were done one by one: the results of `simulate` for a scenario with
/// sweeps. `done` has the runs of each point in turn, as `run_one` returns them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's half has the defaults")]
pub(crate) fn assemble(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    seed: Option<u64>,
    runs: u32,
    done: Vec<String>,
    code: Code,
) -> PyResult<NativeSimulation> {
    let (opened, plan) = planned(py, kind, written, changes, Custom::new(code).as_ref())?;
    let total = saturating::<u32>(plan.points.len()).saturating_mul(runs);
    // A shard behind the last run: the frame of the document, without any run.
    let none = Shard { index: total.saturating_add(1), of: total.saturating_add(1) };
    let order = Order { seed, runs: Some(runs), jobs: 1, shard: none };
    let mut results = batch::run_plan(&opened.document, &plan, order);
    let mut done = done.iter();
    let mut parts = Vec::new();
    let wrong = |error: serde_json::Error| PyValueError::new_err(format!("not a run: {error}"));
    let axes_of_plan = axes(&plan);
    for ((number, planned), point) in (1..).zip(&plan.points).zip(&mut results.points) {
        for text in done.by_ref().take(saturating::<usize>(runs)) {
            let (outcome, series) =
                text.split_once('\n').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
            let outcome: RunOutcome = serde_json::from_str(outcome).map_err(wrong)?;
            if let Some(series) = series {
                let run = PlannedRun { number, point: planned, run: outcome.run };
                let series: Vec<Interval> = serde_json::from_str(series).map_err(wrong)?;
                let mut rows = series_rows(&axes_of_plan);
                series.iter().for_each(|one| add_interval(&mut rows, run, one));
                parts.push(rows.finish());
            }
            point.runs.push(outcome);
        }
    }
    let results = batch::merge(vec![results]).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let flows = flow_table(&plan, &results).into();
    let links = link_table(&plan, &results).into();
    let text = text(&plan, Order { shard: Shard::WHOLE, ..order }, results);
    Ok(NativeSimulation { text, flows, links, series: Table::of_parts(parts), axes: named(&axes(&plan)) })
}

/// A text of TOML as JSON.
#[pyfunction]
pub(crate) fn toml_as_json(text: &str) -> PyResult<String> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The scenario in a file with changes made, checked, as lines of TOML. Next to each line is the
/// number, from 0, of the last change that put a value there; None for lines of the file alone.
#[pyfunction]
pub(crate) fn whole(
    py: Python<'_>,
    written: &str,
    changes: Vec<String>,
) -> PyResult<Vec<(String, Option<usize>)>> {
    let (opened, _) = planned_for(py, "name", written, changes, World::Simulated)?;
    opened.document.whole().map_err(|error| raised::<failure::ScenarioError>(py, &LibraryError::from(error)))
}

/// A scenario of Python's dictionaries as TOML.
fn toml(json: &str) -> PyResult<String> {
    let wrong = |error: &dyn std::fmt::Display| {
        PyValueError::new_err(format!("the dictionary has no form in TOML: {error}"))
    };
    let table: toml::Table = serde_json::from_str(json).map_err(|error| wrong(&error))?;
    toml::to_string(&table).map_err(|error| wrong(&error))
}

/// A run was stopped.
struct Stopped;

/// Runs a plan; results, and the time series of each run in turn.
fn run(
    py: Python<'_>,
    opened: &Opened,
    plan: &Plan,
    order: Order,
    interval: Option<Duration>,
    progress: Option<&Bound<'_, PyAny>>,
    custom: Option<&Custom>,
) -> PyResult<(Results, Vec<RecordBatch>)> {
    let done = AtomicU64::new(0);
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
    let total = order.virtual_time(plan).as_secs_f64();
    let axes = axes(plan);
    let tell = |_: Python<'_>| match progress {
        Some(progress) => progress.call1((seconds(done.load(Ordering::Relaxed)), total)).map(drop),
        None => Ok(()),
    };
    let outcome = while_waiting(py, tell, |stop| {
        let one = |run: PlannedRun<'_>, scenario: &Scenario| {
            let mut rows = series_rows(&axes);
            let step = scenario.duration.mul_f64(1.0 / STEPS);
            let passed = |time: Duration| {
                done.fetch_add(time.as_nanos(), Ordering::Relaxed);
            };
            let mut go = || {
                let stops = || stop.load(Ordering::Relaxed) || custom.is_some_and(Custom::has_raised);
                let mut go = Run::of(scenario).watch(Watch::time(step, passed)).until(&stops);
                go = with_code(go, custom);
                if let Some(interval) = interval {
                    go = go.watch(Watch::all(interval, |look| {
                        look.flows
                            .iter()
                            .chain(&look.links)
                            .for_each(|one| add_interval(&mut rows, run, one));
                    }));
                }
                go.outcome()
            };
            let outcome = match custom {
                None => go(),
                // The thread keeps its state of Python's from call to call.
                Some(_) => Python::attach(|py| py.detach(go)),
            };
            let outcome = outcome.ok_or(Stopped)?;
            Ok((outcome, interval.map(|_| rows.finish())))
        };
        let mut parts = Vec::new();
        let next = |_: PlannedRun<'_>, part: Option<RecordBatch>| {
            parts.extend(part);
            Ok(())
        };
        batch::run_plan_with(&opened.document, plan, order, one, next).map(|results| (results, parts))
    })?;
    custom.map_or(Ok(()), Custom::raise)?;
    outcome.map_err(|Stopped| PyValueError::new_err("the run was stopped"))
}

/// The document that the program prints: of a run alone, or of several.
fn text(plan: &Plan, order: Order, results: Results) -> String {
    let is_single = plan.points.len() == 1 && order.runs.unwrap_or(plan.runs) == 1;
    if is_single {
        let run =
            results.points.into_iter().find_map(|point| Some((point.runs.into_iter().next()?, point.notes)));
        let Some((run, notes)) = run else { unreachable!("a plan has a run") };
        return document::text(&Single { outcome: run.outcome, notes, timing: None });
    }
    document::text(&Several { results, timing: None })
}

/// The sweeps of a plan.
fn axes(plan: &Plan) -> Vec<Axis<'_>> {
    axes_of(plan.points.iter().map(|point| point.at.as_slice()))
}

/// The axes of points.
fn axes_of<'p>(points: impl Iterator<Item = &'p [(String, String)]> + Clone) -> Vec<Axis<'p>> {
    let names = points.clone().next().unwrap_or_default().iter().map(|(name, _)| name.as_str());
    let axis = |(place, name): (usize, &'p str)| {
        let values = points.clone().filter_map(|at| Some(at.get(place)?.1.as_str()));
        Axis { name, unit: printed::unit_of(values) }
    };
    names.enumerate().map(axis).collect()
}

/// Axes with the symbols of their units.
fn named(axes: &[Axis<'_>]) -> Vec<(String, Option<&'static str>)> {
    axes.iter().map(|axis| (axis.name.to_owned(), axis.unit.map(Unit::symbol))).collect()
}

/// The axes of points: the path of each, and the unit of its values, `None` for words.
#[pyfunction]
pub(crate) fn axes_of_points(points: Vec<Labels>) -> Vec<(String, Option<&'static str>)> {
    named(&axes_of(points.iter().map(Vec::as_slice)))
}

/// The colour of a kind of flow, on white: the one that it has on the program's pages.
#[pyfunction]
pub(crate) fn colour_of(kind: &str) -> &'static str {
    tfrc_report::plot::colour_of(kind)
}

/// A written quantity as a number of its SI unit; `None` for any other text.
#[pyfunction]
pub(crate) fn quantity(written: &str) -> Option<f64> {
    printed::number(written)
}

/// The mean of a sample and half the width of its 95 % interval, by Student's t; `None` where a
/// sample is too small.
#[pyfunction]
pub(crate) fn estimate(values: Vec<f64>) -> (Option<f64>, Option<f64>) {
    let estimate = statistics::estimate(&values);
    (estimate.mean, estimate.ci95)
}

/// Each run of a plan with its point and the results.
fn outcomes<'r>(plan: &'r Plan, results: &'r Results) -> impl Iterator<Item = (PlannedRun<'r>, &'r Outcome)> {
    let points = (1..).zip(plan.points.iter().zip(&results.points));
    points.flat_map(|(number, (point, result))| {
        let runs = result.runs.iter();
        runs.map(move |run| (PlannedRun { number, point, run: run.run }, &run.outcome))
    })
}

fn flow_table(plan: &Plan, results: &Results) -> RecordBatch {
    let heads = ["run", "point", "seed"];
    let mut rows =
        Rows::new(&heads, &axes(plan), ["id", "kind", "group"], lab::FLOW.iter().map(|one| one.key));
    for (run, outcome) in outcomes(plan, results) {
        for (flow, group) in outcome.flows.iter().zip(groups(run.point)) {
            let row = rows.row().count(run.run.into()).count(run.number as u64).count(outcome.seed);
            let row = run.point.at.iter().fold(row, |row, (_, value)| row.axis(value));
            let row = row.word(Some(&flow.id)).word(Some(&flow.kind)).word(Some(group));
            lab::FLOW.iter().fold(row, |row, one| row.number((one.of)(flow)));
        }
    }
    rows.finish()
}

/// The name of the entry of the scenario that each flow belongs to.
fn groups(point: &Point) -> impl Iterator<Item = &str> {
    point.scenario.flows.iter().flat_map(|flow| flow.group.ids().map(|_| flow.group.name.as_str()))
}

fn link_table(plan: &Plan, results: &Results) -> RecordBatch {
    let heads = ["run", "point", "seed"];
    let mut rows = Rows::new(&heads, &axes(plan), ["id"], lab::LINK.iter().map(|one| one.key));
    for (run, outcome) in outcomes(plan, results) {
        for link in &outcome.links {
            let row = rows.row().count(run.run.into()).count(run.number as u64).count(outcome.seed);
            let row = run.point.at.iter().fold(row, |row, (_, value)| row.axis(value));
            lab::LINK.iter().fold(row.word(Some(&link.id)), |row, one| row.number((one.of)(link)));
        }
    }
    rows.finish()
}

/// No rows of a time series yet.
fn series_rows(axes: &[Axis<'_>]) -> Rows {
    Rows::new(&["run", "point"], axes, ["flow", "link"], series::COLUMNS.iter().map(|(key, ..)| *key))
        .with_word("stopped")
        .with_word("limit")
}

fn add_interval(rows: &mut Rows, run: PlannedRun<'_>, interval: &tfrc_world::results::Interval) {
    let row = rows.row().count(run.run.into()).count(run.number as u64);
    let row = run.point.at.iter().fold(row, |row, (_, value)| row.axis(value));
    let row = row.word(interval.flow.as_deref()).word(interval.link.as_deref());
    let row = series::COLUMNS.iter().fold(row, |row, (_, value, _)| row.number(value(interval)));
    let _ = series::words(interval).iter().fold(row, |row, word| row.word(word.as_deref()));
}
