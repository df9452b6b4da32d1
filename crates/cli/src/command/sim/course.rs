//! The course of runs while they go on, for one alone and for several side by side.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use tempfile::SpooledTempFile;
use tfrc_report::pages::RunRecords;
use tfrc_report::record::{Record, Role, Start, Summary};
use tfrc_scenario::{Plan, Scenario};
use tfrc_units::{Duration, f64_from_u64, saturating};
use tfrc_world::batch::PlannedRun;
use tfrc_world::cache::{self, Cache};
use tfrc_world::note::Note;
use tfrc_world::watch::Watch;
use tfrc_world::{Outcome, Run};

use super::bar::RunsBar;
use crate::args::SimArgs;
use crate::reporter::{Reporter, ReporterConfig, Series};
use crate::{Failure, session};

/// Memory for what a run writes before its turn comes, bytes; more goes to a temporary file.
const SPOOL: usize = 1 << 20;

/// Points of a curve in a page, at most.
const MOST_POINTS: u64 = 600;

/// Intervals of all flows and links together that a page is made of, about.
const MOST_INTERVALS: u64 = 200_000;

/// Shortest interval of a page, and that of a live view: rates of less hold too few packets.
const SHORTEST: Duration = Duration::from_millis(100);

/// Text that one of several runs has made: its stream and its time series.
#[derive(Debug, Default)]
pub(super) struct Spools {
    stream: Option<SpooledTempFile>,
    series: Option<SpooledTempFile>,
    /// The run itself, if the page shows it.
    pub(super) run: Option<RunRecords>,
}

/// The file of the time series of several runs.
pub(super) struct SeriesFile(Option<BufWriter<File>>);

impl SeriesFile {
    /// Makes the file, if one is wanted, and writes its heads.
    pub(super) fn create(args: &SimArgs, plan: &Plan) -> Result<Self, Failure> {
        let at = plan.points.first().map_or(&[][..], |point| point.at.as_slice());
        let file = args.series.as_ref().map(|path| Series::create(path, at)).transpose()?;
        Ok(Self(file.map(Series::into_inner)))
    }

    /// Adds the text of a run, and that of its stream to standard output.
    pub(super) fn add(&mut self, spools: Spools) -> Result<(), Failure> {
        let copy = |mut from: SpooledTempFile, to: &mut dyn Write| {
            from.rewind()?;
            io::copy(&mut from, to)
        };
        if let Some(stream) = spools.stream {
            copy(stream, &mut io::stdout().lock()).map_err(|error| Failure::standard_output(&error))?;
        }
        if let (Some(text), Some(file)) = (spools.series, &mut self.0) {
            copy(text, file).map_err(|error| Failure::io(&"--series", &error))?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |mut file| file.flush()).map_err(|error| Failure::io(&"--series", &error))
    }
}

/// Runs one of several, unless the cache has its outcome; its text is kept until its turn comes.
pub(super) fn one_of_several(
    args: &SimArgs,
    bar: &RunsBar,
    cache: Option<&Cache>,
    run: PlannedRun<'_>,
    scenario: &Scenario,
    is_ended: &dyn Fn() -> bool,
) -> Result<(Outcome, Spools), Failure> {
    let kept = Kept::new(cache, scenario);
    // The page of a single point shows its first run.
    let keeps_run = args.report.is_some() && run.run == 1 && run.point.at.is_empty();
    if let Some(outcome) = kept.outcome().filter(|_| !keeps_run) {
        bar.add(scenario.duration);
        return Ok((outcome, Spools::default()));
    }
    let spool = || tempfile::spooled_tempfile(SPOOL);
    let series = args.series.as_ref().map(|_| Series::new(spool(), &run.point.at));
    let config = ReporterConfig { keeps_run, ..config(args, run) };
    let mut reporter = Reporter::with(config, spool(), io::sink(), series);
    let outcome = watched(args, bar, run, scenario, &mut reporter, |run| {
        run.until(is_ended).outcome().ok_or_else(super::ended)
    })?;
    kept.put(&outcome)?;
    reporter.finish(summary(&outcome, Note::of_run(scenario, &outcome)), |_| String::new())?;
    let (stream, series, run) = reporter.into_parts();
    Ok((outcome, Spools { stream: Some(stream), series, run }))
}

/// Place of a run's outcome in the cache, if there is one.
pub(super) struct Kept<'c>(Option<(&'c Cache, String)>);

impl<'c> Kept<'c> {
    pub(super) fn new(cache: Option<&'c Cache>, scenario: &Scenario) -> Self {
        Self(cache.map(|cache| (cache, cache::key(&cache::identity(scenario), scenario.seed))))
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.0.as_ref().and_then(|(cache, key)| cache.outcome(key))
    }

    pub(super) fn put(&self, outcome: &Outcome) -> Result<(), Failure> {
        let Some((cache, key)) = &self.0 else { return Ok(()) };
        cache.put_outcome(key, outcome).map_err(|error| Failure::io(&"--cache", &error))
    }
}

/// The settings of a run's reporter.
pub(super) fn config(args: &SimArgs, run: PlannedRun<'_>) -> ReporterConfig {
    ReporterConfig { run: Some((run.number, run.run)), ..ReporterConfig::new(args.output.format()) }
}

/// Runs a scenario, of whose course the reporter is told.
pub(super) fn watched<O: Write, E: Write, S: Write>(
    args: &SimArgs,
    bar: &RunsBar,
    run: PlannedRun<'_>,
    scenario: &Scenario,
    reporter: &mut Reporter<O, E, S>,
    execute: impl FnOnce(Run<'_>) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    reporter.record(&Record::Start(start(run, scenario)))?;
    let (hears_stretches, draws) = (reporter.hears_stretches(), reporter.draws());
    let is_drawn = reporter.is_drawn();
    let (reporter, mut heard) = (RefCell::new(reporter), Ok(()));
    let outcome = {
        let mut run = Run::of(scenario).watch(bar.watch(scenario.duration));
        if hears_stretches {
            run = run.watch(Watch::all(args.interval, |look| {
                if heard.is_ok() {
                    heard = reporter.borrow_mut().stretch(&look);
                }
            }));
        }
        if draws {
            run = run.watch(Watch::all(page_interval(scenario), |look| reporter.borrow_mut().draw(look)));
        }
        if is_drawn {
            run = run.watch(Watch::all(SHORTEST, |look| reporter.borrow_mut().show(&look)));
        }
        execute(run)?
    };
    heard.map(|()| outcome)
}

/// The start of a run: its seed, and the settings of its point.
fn start(run: PlannedRun<'_>, scenario: &Scenario) -> Start {
    let mut start = Start::new(Role::Sim, session::version(), session::command_line());
    start.parameters.insert("seed".to_owned(), scenario.seed.0.to_string());
    start.parameters.extend(run.point.at.iter().cloned());
    start
}

/// The figures of a run and the notes on it, as a record.
pub(super) fn summary(outcome: &Outcome, notes: Vec<Note>) -> Summary {
    Summary {
        notes,
        duration_s: outcome.measured_s,
        flows: outcome.flows.clone(),
        links: outcome.links.clone(),
        jain_index: outcome.jain_index,
        groups: outcome.groups.clone(),
        ..Summary::default()
    }
}

/// The interval of the page of a run: the more flows and links, the fewer points.
fn page_interval(scenario: &Scenario) -> Duration {
    let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.group.count)).sum();
    let all = flows.saturating_add(saturating::<u64>(scenario.network.links().count()));
    let points = (MOST_INTERVALS / all.max(1)).clamp(2, MOST_POINTS);
    let interval = scenario.duration.mul_f64(1.0 / f64_from_u64(points));
    // Whole tenths of a second: the page's rates are of equal intervals then.
    let tenths = interval.as_nanos().div_ceil(SHORTEST.as_nanos());
    SHORTEST * tenths.max(1)
}
