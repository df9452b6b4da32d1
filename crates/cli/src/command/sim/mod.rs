//! `tfrc sim`: a scenario in virtual time.

pub(super) mod tables;
mod timing;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use tfrc_lab::batch::{self, Order, Results, Shard};
use tfrc_lab::capture::Captured;
use tfrc_lab::compare::{Comparison, compare};
use tfrc_lab::record::{Interval, Record, Role, Start, Summary};
use tfrc_lab::scenario::{Document, Plan, schema};
use tfrc_lab::{Outcome, run_captured, run_with};
use tfrc_net::pcap;
use tfrc_sim::Seed;
use tfrc_units::{Duration, Instant};

use super::link::told;
use crate::Failure;
use crate::args::{Format, SimArgs};
use crate::session;
use timing::{Stopwatch, Timing};

/// One run, as it is printed.
#[derive(Serialize)]
struct Single {
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Timing>,
}

/// Several runs, as they are printed.
#[derive(Serialize)]
struct Several {
    #[serde(flatten)]
    results: Results,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compare: Vec<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Timing>,
}

/// Runs `tfrc sim`.
///
/// # Errors
/// [`Failure::Scenario`] for a scenario that is not right; [`Failure::Run`] when the result cannot
/// be written.
pub fn run(args: &SimArgs) -> Result<(), Failure> {
    if args.schema {
        return say(&format!("{:#}", schema()));
    }
    let format = args.output.format();
    let Some(path) = &args.scenario else {
        let results = merged(&args.merge)?;
        return print(Several { results, compare: Vec::new(), timing: None }, format);
    };
    let mut document = Document::load(path).map_err(told)?;
    for assignment in &args.set {
        document.set(assignment.as_str());
    }
    let plan = document.plan().map_err(told)?;
    let runs = args.runs.unwrap_or(plan.runs);
    if plan.points.len() == 1 && runs == 1 && args.shard.is_none() && plan.compare.is_none() {
        return single(args, &plan);
    }
    if args.pcap.is_some() {
        return Err(Failure::usage(
            "a capture is of one run, and this scenario has several",
            "give --runs 1, and a --set in place of a [[sweep]]",
        ));
    }
    let order = Order {
        seed: args.seed,
        runs: args.runs,
        jobs: args.jobs,
        shard: args.shard.unwrap_or(Shard::WHOLE),
    };
    let watch = args.timing.then(Stopwatch::start);
    let results = batch::run_plan(&document, &plan, order);
    let hops = results.points.iter().flat_map(|p| &p.runs).map(|run| run.outcome.packet_hops).sum();
    let timing = watch.map(|watch| watch.stop(hops));
    let compare = match &plan.compare {
        Some(name) if results.shard.is_none() => published(path, name, &results)?,
        _ => Vec::new(),
    };
    print(Several { results, compare, timing }, format)
}

/// One run of one scenario.
fn single(args: &SimArgs, plan: &Plan) -> Result<(), Failure> {
    let Some(point) = plan.points.first() else { return Ok(()) };
    let mut scenario = point.scenario.clone();
    if let Some(seed) = args.seed {
        scenario.seed = Seed(seed);
    }
    let format = args.output.format();
    let stream = format == Format::JsonStream;
    let mut outcome_of_saying = Ok(());
    if stream {
        let start = Record::Start(Start::new(Role::Sim, session::version(), session::command_line()));
        say(&serde_json::json!(start).to_string())?;
    }
    let mut watch = |interval: Interval| {
        if stream && outcome_of_saying.is_ok() {
            outcome_of_saying = say(&interval.simulated().to_string());
        }
    };
    let every = Duration::from_secs(1);
    let stopwatch = args.timing.then(Stopwatch::start);
    let outcome = match &args.pcap {
        None => run_with(&scenario, every, &mut watch),
        Some(path) => {
            let (outcome, packets) = run_captured(&scenario, every, &mut watch)
                .map_err(|error| Failure::usage(error.to_string(), "see `[[flow]]` in docs/scenarios.md"))?;
            write_capture(path, &packets).map_err(|error| Failure::io(&path.display(), &error))?;
            outcome
        }
    };
    let timing = stopwatch.map(|watch| watch.stop(outcome.packet_hops));
    outcome_of_saying?;
    match format {
        Format::Human => {
            say(&tables::single(&outcome))?;
            timing.map_or(Ok(()), |timing| say(&tables::timing(&timing)))
        }
        Format::Json => say(&serde_json::json!(Single { outcome, timing }).to_string()),
        Format::JsonStream => {
            let summary =
                Summary { duration_s: outcome.measured_s, flows: outcome.flows, ..Summary::default() };
            say(&serde_json::json!(Record::End(Box::new(summary))).to_string())
        }
    }
}

fn print(several: Several, format: Format) -> Result<(), Failure> {
    match format {
        Format::Human => {
            say(&tables::several(&several.results, &several.compare))?;
            several.timing.map_or(Ok(()), |timing| say(&tables::timing(&timing)))
        }
        // A stream of several runs is its one document: there is no common time.
        Format::Json | Format::JsonStream => say(&serde_json::json!(several).to_string()),
    }
}

/// The table of published values, beside the scenario.
fn published(scenario: &Path, name: &str, results: &Results) -> Result<Vec<Comparison>, Failure> {
    let path = scenario.parent().unwrap_or(Path::new(".")).join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::usage(
            format!("cannot read {}: {error}", path.display()),
            "`compare` names a CSV file beside the scenario",
        )
    })?;
    compare(&text, results).map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()), "see docs/scenarios.md, `compare`")
    })
}

fn merged(files: &[std::path::PathBuf]) -> Result<Results, Failure> {
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|error| {
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

/// Writes simulated packets as a capture; virtual time zero is 1970.
fn write_capture(path: &Path, packets: &[Captured]) -> io::Result<()> {
    let mut file = pcap::Writer::new(BufWriter::new(File::create(path)?), pcap::LinkType::Raw)?;
    for (at, bytes) in packets {
        file.packet(at.saturating_since(Instant::ZERO).into(), bytes)?;
    }
    file.flush()
}

fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|error| Failure::io(&"standard output", &error))
}
