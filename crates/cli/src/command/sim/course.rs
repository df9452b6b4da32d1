//! The course of runs while they go on: lines of JSON, time series, the page, and a progress bar.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use schemars::JsonSchema;
use serde::Serialize;
use tempfile::SpooledTempFile;
use tfrc_lab::batch::PlannedRun;
use tfrc_lab::note::Note;
use tfrc_lab::record::{Interval, Record, Role, Start, Summary};
use tfrc_lab::report::RunRecords;
use tfrc_lab::series::{self, SeriesRun};
use tfrc_lab::watch::{Look, Watch};
use tfrc_lab::{Outcome, run_watched};
use tfrc_scenario::{Plan, Scenario};
use tfrc_units::{Duration, f64_from_u64, saturating};

use super::bar::RunsBar;
use crate::args::{Format, SimArgs};
use crate::{Failure, page, session};

/// Memory for what a run writes before its turn comes, bytes; more goes to a temporary file.
const SPOOL: usize = 1 << 20;

/// Points of a curve in a page, at most.
const MOST_POINTS: u64 = 600;

/// Intervals of all flows and links together that a page is made of, about.
const MOST_INTERVALS: u64 = 200_000;

/// Shortest interval of a page: rates of less hold too few packets.
const SHORTEST: Duration = Duration::from_millis(100);

/// Something that is written while a run goes on: by a run alone at once, by one of several when
/// its turn comes.
type Part<'w> = Option<&'w mut dyn Write>;

/// Wanted outputs of runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course<'a> {
    args: &'a SimArgs,
    bar: &'a RunsBar,
}

/// Text that one of several runs has made.
#[derive(Debug, Default)]
pub(super) struct Spools {
    stream: Option<SpooledTempFile>,
    series: Option<SpooledTempFile>,
}

/// The file of the time series.
pub(super) struct SeriesFile(Option<BufWriter<File>>);

impl SeriesFile {
    /// Makes the file, if one is wanted, and writes its heads.
    pub(super) fn create(args: &SimArgs, plan: &Plan) -> Result<Self, Failure> {
        let Some(path) = &args.series else { return Ok(Self(None)) };
        let mut file = BufWriter::new(page::create(path)?);
        let at = plan.points.first().map_or(&[][..], |point| point.at.as_slice());
        series::heads(at.iter().map(|(name, _)| name.as_str()), &mut file)
            .map_err(|error| Failure::io(&path.display(), &error))?;
        Ok(Self(Some(file)))
    }

    /// Adds the text of a run, and that of its stream to standard output.
    pub(super) fn add(&mut self, spools: Spools) -> Result<(), Failure> {
        let copy = |mut from: SpooledTempFile, to: &mut dyn Write| {
            from.rewind()?;
            io::copy(&mut from, to)
        };
        if let Some(stream) = spools.stream {
            copy(stream, &mut io::stdout().lock())
                .map_err(|error| Failure::io(&"standard output", &error))?;
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

impl<'a> Course<'a> {
    pub(super) const fn new(args: &'a SimArgs, bar: &'a RunsBar) -> Self {
        Self { args, bar }
    }

    /// Runs one of several; its text is kept until its turn comes.
    pub(super) fn one_of_several(
        &self,
        run: PlannedRun<'_>,
        scenario: &Scenario,
    ) -> Result<(Outcome, Spools), Failure> {
        let new = || tempfile::spooled_tempfile(SPOOL);
        let mut spools = Spools {
            stream: (self.args.output.format() == Format::JsonStream).then(new),
            series: self.args.series.as_ref().map(|_| new()),
        };
        let stream: Part<'_> = spools.stream.as_mut().map(|spool| spool as &mut dyn Write);
        let series: Part<'_> = spools.series.as_mut().map(|spool| spool as &mut dyn Write);
        let outcome =
            self.run(run, scenario, stream, series, None, |watches| Ok(run_watched(scenario, watches)))?;
        Ok((outcome, spools))
    }

    /// Runs one alone; its text is written at once. `page` keeps what a page shows.
    pub(super) fn alone(
        &self,
        run: PlannedRun<'_>,
        scenario: &Scenario,
        file: &mut SeriesFile,
        page: Option<&mut RunRecords>,
        execute: impl FnOnce(&mut [Watch<'_>]) -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        let mut out = io::stdout();
        let stream: Part<'_> =
            (self.args.output.format() == Format::JsonStream).then_some(&mut out as &mut dyn Write);
        let series: Part<'_> = file.0.as_mut().map(|file| file as &mut dyn Write);
        self.run(run, scenario, stream, series, page, execute)
    }

    fn run<'w>(
        &self,
        run: PlannedRun<'_>,
        scenario: &Scenario,
        stream: Part<'w>,
        series: Part<'w>,
        page: Option<&mut RunRecords>,
        execute: impl FnOnce(&mut [Watch<'_>]) -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        let mut text = Text { run, stream, series, broken: None };
        text.record(Record::Start(start(run, scenario)));
        let outcome = {
            let mut watches = vec![self.bar.watch(scenario.duration)];
            if text.stream.is_some() || text.series.is_some() {
                watches.push(Watch::all(self.args.interval, |look| text.look(look)));
            }
            if let Some(page) = page {
                watches.push(Watch::all(page_interval(scenario), |look| page.look(look)));
            }
            execute(&mut watches)?
        };
        text.record(Record::End(Box::new(summary(&outcome, Note::of_run(scenario, &outcome)))));
        text.broken.map_or(Ok(outcome), Err)
    }
}

/// A line of a stream of simulations: a record, and the run that it is about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamLine {
    /// Number of the point, from 1.
    point: usize,
    /// Number of the run at its point, from 1.
    run: u32,
    #[serde(flatten)]
    #[schemars(with = "Record")]
    record: serde_json::Value,
}

/// Writers of the text of one run.
struct Text<'p, 'w> {
    run: PlannedRun<'p>,
    stream: Part<'w>,
    series: Part<'w>,
    /// The first fault; nothing more is written after it.
    broken: Option<Failure>,
}

impl Text<'_, '_> {
    fn record(&mut self, record: Record) {
        self.line(serde_json::json!(record));
    }

    fn line(&mut self, record: serde_json::Value) {
        let (Some(out), None) = (&mut self.stream, &self.broken) else { return };
        let line = serde_json::json!(StreamLine { point: self.run.number, run: self.run.run, record });
        self.broken = writeln!(out, "{line}").err().map(|error| Failure::io(&"standard output", &error));
    }

    fn look(&mut self, look: Look) {
        if let (Some(out), None) = (&mut self.series, &self.broken) {
            let run = SeriesRun { run: self.run.run, point: self.run.number, at: &self.run.point.at };
            self.broken = series::lines(&run, &look, out).err().map(|e| Failure::io(&"--series", &e));
        }
        if self.stream.is_some() {
            look.flows
                .into_iter()
                .chain(look.links)
                .map(Interval::simulated)
                .for_each(|line| self.line(line));
        }
    }
}

/// The start of a run: its seed, and the settings of its point.
pub(super) fn start(run: PlannedRun<'_>, scenario: &Scenario) -> Start {
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
