//! `tfrc sim`: a scenario in virtual time.

mod bar;
mod course;
pub(super) mod tables;
mod timing;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tfrc_net::pcap;
use tfrc_report::capture::{self, Captured};
use tfrc_report::document::{Several, Single};
use tfrc_report::packets::PacketEvents;
use tfrc_report::pages::{RunRecords, sweep_page};
use tfrc_report::record::{Role, Start};
use tfrc_scenario::library::Opened;
use tfrc_scenario::{Plan, Scenario, World, schema};
use tfrc_sim::Seed;
use tfrc_units::{Instant, saturating};
use tfrc_world::batch::{self, Order, PlannedRun, Results, Shard};
use tfrc_world::cache::Cache;
use tfrc_world::note::Note;

use crate::args::{Format, SimArgs};
use crate::reporter::{ExistingPage, Page, ReporterConfig};
use crate::run::{self, Wish};
use crate::visible::visible;
use crate::{Failure, document, page, session};
use bar::{RunsBar, Stderr};
use course::{Kept, SeriesFile};
use timing::Stopwatch;

/// Runs `tfrc sim`.
///
/// # Errors
/// [`Failure::Scenario`] for a scenario that is not right; [`Failure::Run`] when the result cannot
/// be written.
pub(crate) fn run(args: &SimArgs) -> Result<(), Failure> {
    if args.schema {
        return say(&format!("{:#}", schema()));
    }
    let format = args.output.format();
    let Some(path) = &args.scenario else {
        page::check_all(&[("--report", &args.report)])?;
        let shards = args.merge.iter().map(|path| ("--merge", Some(path.as_path())));
        let report = [("--report", args.report.as_deref())];
        let named: Vec<_> = shards.chain(report).filter_map(|(option, path)| Some((option, path?))).collect();
        session::files::all_different(&named)?;
        let results = merged(&args.merge)?;
        write_means(args, &results, None)?;
        return print(Several { results, timing: None }, format);
    };
    let mut opened = run::open(path, &outputs(args))?;
    run::set(&mut opened.document, &args.set);
    let plan = run::plan(&opened.document, World::Simulated)?;
    let runs = args.runs.unwrap_or(plan.runs);
    if plan.points.len() == 1 && runs == 1 && args.shard.is_none() {
        return single(args, &plan);
    }
    for (is_wanted, what) in
        [(args.pcap.is_some() || args.packets.is_some(), "a capture"), (args.live.tui, "a live view")]
    {
        if is_wanted {
            return Err(Failure::usage(
                format!("{what} is of one run, and this scenario has several"),
                "give --runs 1, and a --set in place of a [[sweep]]",
            ));
        }
    }
    several(args, &opened, &plan)
}

fn several(args: &SimArgs, opened: &Opened, plan: &Plan) -> Result<(), Failure> {
    let format = args.output.format();
    let order = Order {
        seed: args.seed,
        runs: args.runs,
        jobs: args.jobs,
        shard: args.shard.unwrap_or(Shard::WHOLE),
    };
    let interrupt = run::interrupt()?;
    let is_ended = || interrupt.is_wished();
    let bar = RunsBar::new(order.virtual_time(plan), format, Stderr::of_process());
    let mut file = SeriesFile::create(args, plan)?;
    let watch = args.timing.then(Stopwatch::start);
    let cache = cache(args);
    let one = |run: PlannedRun<'_>, scenario: &Scenario| {
        course::one_of_several(args, &bar, cache.as_ref(), run, scenario, &is_ended)
    };
    let mut first = None;
    let results = batch::run_plan_with(&opened.document, plan, order, one, |_, mut spools| {
        first = first.take().or(spools.run.take());
        file.add(spools)
    });
    bar.clear();
    // The runs that have ended are whole.
    let written = file.end();
    let results = results?;
    written?;
    let hops = results.points.iter().flat_map(|p| &p.runs).map(|run| run.outcome.packet_hops).sum();
    let timing = watch.map(|watch| watch.stop(hops));
    write_means(args, &results, first.as_ref())?;
    match format {
        // Every run has had its end.
        Format::JsonStream => Ok(()),
        _ => print(Several { results, timing }, format),
    }
}

/// The cache that is named, if one is.
fn cache(args: &SimArgs) -> Option<Cache> {
    args.cache.clone().map(|folder| Cache::new(folder, Vec::new()))
}

/// Writes the page of the means of several runs, if it is wanted.
fn write_means(args: &SimArgs, results: &Results, first: Option<&RunRecords>) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    let start = Start::new(Role::Sim, session::version(), session::command_line());
    page::write_text(path, &sweep_page(&start, results, first))
}

/// The files that a command writes.
fn outputs(args: &SimArgs) -> [(&'static str, &Option<std::path::PathBuf>); 4] {
    [
        ("--report", &args.report),
        ("--series", &args.series),
        ("--pcap", &args.pcap),
        ("--packets", &args.packets),
    ]
}

/// The fault of a run that was ended.
fn ended() -> Failure {
    Failure::Run("ended before the scenario's duration: no result".to_owned())
}

/// One run of one scenario.
fn single(args: &SimArgs, plan: &Plan) -> Result<(), Failure> {
    let Some(point) = plan.points.first() else { return Ok(()) };
    let mut scenario = point.scenario.clone();
    if let Some(seed) = args.seed {
        scenario.seed = Seed(seed);
    }
    let format = args.output.format();
    let run = PlannedRun { number: 1, point, run: 1 };
    let page = args.report.clone().map(|path| Page { path, existing: ExistingPage::Replace });
    let config = ReporterConfig { report: page, ..course::config(args, run) };
    let (reporter, keys) = run::reporter(config, args.live, "tfrc sim", Some(scenario.duration));
    let mut reporter = reporter.with_series(args.series.as_deref(), &point.at)?;
    let stderr = if keys.is_some() { Stderr::Elsewhere } else { Stderr::of_process() };
    let bar = RunsBar::new(scenario.duration, format, stderr);
    let interrupt = run::interrupt()?;
    let wish = Wish::new(&interrupt, keys);
    let is_ended = || wish.is_given();
    let stopwatch = args.timing.then(Stopwatch::start);
    let cache = cache(args);
    let kept = Kept::new(cache.as_ref(), &scenario);
    // A page has the course of the run too.
    let known = kept.outcome().filter(|_| args.report.is_none()).map(Ok);
    let outcome = known.unwrap_or_else(|| {
        course::watched(args, &bar, run, &scenario, &mut reporter, |run| {
            let failed = |path: &Option<PathBuf>, error: &io::Error| {
                Failure::io(&path.as_deref().unwrap_or(Path::new("")).display(), error)
            };
            let packets = args.packets.as_deref().map(page::create).transpose()?;
            let mut packets = packets.map(BufWriter::new);
            let file = args.pcap.as_deref().map(Capture::create).transpose();
            let mut file = file.map_err(|error| failed(&args.pcap, &error))?;
            let mut events = packets.as_mut().map(|file| PacketEvents::new(&scenario, file));
            let mut run = run;
            if let Some(events) = &mut events {
                run = run.trace(|record| events.add(record));
            }
            if let Some(file) = &mut file {
                let mut capture = capture::Capture::new(&scenario, |packet: Captured| file.add(&packet));
                run = run.copy(move |copy| capture.add(copy));
            }
            let outcome = run.until(&is_ended).outcome();
            let written = events.map_or(Ok(()), PacketEvents::end);
            let written = written.and_then(|()| packets.map_or(Ok(()), |mut file| file.flush()));
            written.map_err(|error| failed(&args.packets, &error))?;
            let closed = file.map_or(Ok(()), Capture::end);
            closed.map_err(|error| failed(&args.pcap, &error))?;
            outcome.ok_or_else(ended)
        })
    });
    bar.clear();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // What was seen until then stands in the files.
        Err(failure) => return reporter.break_off().and(Err(failure)),
    };
    kept.put(&outcome)?;
    let timing = stopwatch.map(|watch| watch.stop(outcome.packet_hops));
    let notes = Note::of_run(&scenario, &outcome);
    let figures = course::summary(&outcome, notes.clone());
    reporter.finish(figures, |format| match format {
        Format::Json => format!("{}\n", document::text(&Single { outcome, notes, timing })),
        _ => {
            let timing = timing.map_or(String::new(), |timing| format!("{}\n", tables::timing(&timing)));
            format!("{}\n{timing}", visible(&tables::single(&outcome, &notes)))
        }
    })
}

fn print(several: Several, format: Format) -> Result<(), Failure> {
    match format {
        Format::Human => {
            say(&visible(&tables::several(&several.results)))?;
            several.timing.map_or(Ok(()), |timing| say(&tables::timing(&timing)))
        }
        Format::Json | Format::JsonStream => say(&document::text(&several)),
    }
}

fn merged(files: &[std::path::PathBuf]) -> Result<Results, Failure> {
    let read = |path: &std::path::PathBuf| {
        let text = tfrc_scenario::files::read_results(path).map_err(|error| {
            Failure::usage(format!("cannot read {}: {error}", path.display()), "give the files of all shards")
        })?;
        serde_json::from_str::<Results>(&text).map_err(|error| {
            Failure::usage(
                format!("{} is not the result of a shard: {error}", path.display()),
                "give what `tfrc sim --shard I/N --json` printed",
            )
        })
    };
    let shards = files.iter().map(read).collect::<Result<_, _>>()?;
    batch::merge(shards).map_err(|error| Failure::usage(error.to_string(), "see docs/scenarios.md, `shards`"))
}

/// A capture file that is being written; virtual time zero is 1970. Its link headers are cooked
/// ones, which tell the packets of the senders from those that come to them.
struct Capture {
    file: pcap::Writer<BufWriter<File>>,
    failure: Option<io::Error>,
}

impl Capture {
    fn create(path: &Path) -> io::Result<Self> {
        let file = pcap::Writer::new(BufWriter::new(File::create(path)?), pcap::LinkType::Cooked)?;
        Ok(Self { file, failure: None })
    }

    fn add(&mut self, packet: &Captured) {
        if self.failure.is_none() {
            let at = packet.at.saturating_since(Instant::ZERO).into();
            let link = pcap::cooked(packet.outgoing);
            let frame = [&link[..], &packet.bytes].concat();
            let length = packet.length + saturating::<u32>(link.len());
            self.failure = self.file.beginning(at, &frame, length).err();
        }
    }

    /// The first error of writing.
    fn end(mut self) -> io::Result<()> {
        self.failure.map_or_else(|| self.file.flush(), Err)
    }
}

fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|error| Failure::standard_output(&error))
}
