//! `tfrc reproduce`: the experiments of the literature, the published values beside ours.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tfrc_lab::batch::Shard;
use tfrc_lab::experiment::{
    Experiment, ExperimentError, ExperimentVerdict, Prepared, Results, Wanted, World, human, library,
};

use super::print;
use crate::Failure;
use crate::args::{Format, ReproduceArgs, WorldArg};
use crate::interrupt::Interrupt;

/// Runs `tfrc reproduce`.
///
/// # Errors
/// [`Failure::Scenario`] for a file that is not right, [`Failure::Run`] if runs are missing at the end,
/// [`Failure::Check`] if an experiment that must agree does not.
pub fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.wanted.iter().any(|wanted| wanted == "list") {
        return list(args);
    }
    let experiments = library::load(&args.experiments, &args.wanted).map_err(told)?;
    let wanted = Wanted {
        quick: args.quick,
        jobs: args.jobs,
        world: match args.world {
            WorldArg::Emu => World::Emu,
            WorldArg::Sim => World::Sim,
        },
        shard: args.shard.unwrap_or(Shard::WHOLE),
    };
    let prepared = Prepared::new(&experiments, wanted).map_err(told)?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    let stop = Arc::new(AtomicBool::new(false));
    let done = |_: &str| {
        if interrupt.is_wished() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let results = prepared.run(&done, &stop).map_err(told)?;
    match args.output.format() {
        Format::Human => print(&human::results(&results))?,
        _ => print(&format!("{}\n", serde_json::json!(results)))?,
    }
    judged(&results)
}

/// What the exit status says of the results.
fn judged(results: &Results) -> Result<(), Failure> {
    let of = |verdict| results.experiments.iter().filter(move |e| e.verdict == verdict);
    let unfinished = of(ExperimentVerdict::NotRun).filter(|e| e.world == World::Sim).count();
    if unfinished > 0 {
        return Err(Failure::Run(format!("{unfinished} experiments were not run to the end")));
    }
    let enough = |verdict: ExperimentVerdict| match verdict {
        ExperimentVerdict::Agrees | ExperimentVerdict::NotRun => true,
        // The quick form has too few runs for verdicts.
        ExperimentVerdict::Undetermined => results.quick,
        _ => false,
    };
    let failed: Vec<&str> = results
        .experiments
        .iter()
        .filter(|e| e.must_agree && !enough(e.verdict))
        .map(|e| e.id.as_str())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Check(format!("must agree and do not: {}", failed.join(", "))))
    }
}

fn list(args: &ReproduceArgs) -> Result<(), Failure> {
    let prefixes: Vec<String> = args.wanted.iter().filter(|wanted| *wanted != "list").cloned().collect();
    let wanted = if prefixes.is_empty() { vec!["all".to_owned()] } else { prefixes };
    let experiments = library::load(&args.experiments, &wanted).map_err(told)?;
    if args.output.json {
        let entry = |e: &Experiment| {
            serde_json::json!({
                "id": e.id(), "title": e.title(), "source": e.source(), "world": e.world(), "must_agree": e.must_agree(),
            })
        };
        let list: Vec<_> = experiments.iter().map(entry).collect();
        return print(&format!("{}\n", serde_json::json!({ "experiments": list })));
    }
    let width = experiments.iter().map(|e| e.id().len()).max().unwrap_or(0);
    let mut text = String::new();
    for e in &experiments {
        let world = if e.world() == World::Emu { " (emulated)" } else { "" };
        let must = if e.must_agree() { " *" } else { "" };
        let _ = writeln!(text, "{:<width$}  {}: {}{world}{must}", e.id(), e.source(), e.title());
    }
    text += "* must agree\n";
    print(&text)
}

/// A mistake in an experiment's files, as it is shown.
fn told(error: ExperimentError) -> Failure {
    Failure::Scenario(format!("{:?}", miette::Report::new(error)))
}
