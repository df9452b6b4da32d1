//! `tfrc reproduce`: the experiments of the literature, compared with the published values.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::Command;
use tfrc_units::saturating;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tfrc_lab::batch::Shard;
use tfrc_lab::cache::{self, Cache};
use tfrc_lab::emulated::EmulatedWorld;
use tfrc_reproduce::{
    Experiment, ExperimentError, ExperimentList, ExperimentVerdict, Experiments, Hooks, Mutants, Prepared,
    Publication, Results, Wanted, World, human, library,
};

use super::{emulator, print};
use crate::args::{Format, ReproduceArgs, WorldArg};
use crate::figure::FigureFile;
use crate::interrupt::Interrupt;
use crate::visible::{to_stderr, visible};
use crate::{Failure, document};

/// Runs `tfrc reproduce`.
///
/// # Errors
/// [`Failure::Scenario`] for a file that is not right, [`Failure::Run`] if runs are missing at the
/// end, [`Failure::Check`] if an experiment that must agree does not.
pub fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    let library = Experiments::find(args.experiments.as_deref())
        .map_err(|error| Failure::io(&"temporary folder", &error))?;
    if args.wanted.iter().any(|wanted| wanted == "list") {
        return list(args, &library);
    }
    let mut experiments = library::load(library.root(), &args.wanted).map_err(told)?;
    if args.wanted == ["all"] && !args.quick {
        let left_out = experiments.extract_if(.., |one| one.is_long());
        let ids: Vec<String> = left_out.map(|one| one.id().to_owned()).collect();
        if !ids.is_empty() {
            note(&format!("left out, as they take hours: {}; name them to run them", ids.join(", ")));
        }
    }
    if args.record && experiments.iter().any(|one| library.has_unpacked(one)) {
        return Err(Failure::usage(
            "--record writes next to the experiments, and the built-in ones are not files",
            "give --experiments DIR",
        ));
    }
    let figure = args.figure.as_deref().map(|path| FigureFile::new(path, &experiments)).transpose()?;
    let wanted = Wanted {
        quick: args.quick,
        jobs: args.jobs,
        world: match args.world {
            WorldArg::Emu => World::Emu,
            WorldArg::Sim => World::Sim,
        },
        shard: args.shard.unwrap_or(Shard::WHOLE),
    };
    if args.mutations {
        return mutations(args, &library, &experiments, wanted);
    }
    let results = results(args, &library, &experiments, wanted)?;
    if args.record {
        let written = results.record(&experiments);
        for file in written.map_err(|error| Failure::Run(error.to_string()))? {
            note(&format!("recorded in {}", file.display()));
        }
    }
    let commit = commit(&library);
    let publication = Publication { experiments: &experiments, results: &results, commit: commit.as_deref() };
    if let Some(file) = &figure {
        file.write(&publication)?;
    }
    if let Some(directory) = &args.out {
        publication.write(directory).map_err(|error| Failure::io(&directory.display(), &error))?;
        note(&format!("report written to {}", directory.join("index.html").display()));
    }
    let printed = match args.output.format() {
        Format::Human => print(&visible(&human::results(&results))),
        _ => print(&format!("{}\n", document::text(&results))),
    };
    // The results decide, not whether somebody reads them.
    let judged = match wanted.shard {
        Shard::WHOLE => judged(&results, wanted.world),
        _ => Ok(()),
    };
    judged.and(printed)
}

fn results(
    args: &ReproduceArgs,
    library: &Experiments,
    experiments: &[Experiment],
    wanted: Wanted,
) -> Result<Results, Failure> {
    let prepared = Prepared::new(experiments, wanted).map_err(told)?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    let progress = RunBar::new(prepared.total());
    let world = EmulatedWorld {
        emulator: &|job| emulator::emulate(job, &interrupt),
        release: emulator::kernel_release(),
        revision: commit(library),
    };
    let hooks = Hooks {
        done: &|id| progress.done(id),
        more: &|runs| progress.more(runs),
        warn: &|text| progress.warn(text),
        stop: &|| interrupt.is_wished(),
        emulated: Some(&world),
    };
    let results = prepared.run(cache(args, library).as_ref(), &hooks).map_err(told)?;
    progress.clear();
    if interrupt.is_wished() {
        note("stopped; the same command goes on from here");
    }
    Ok(results)
}

/// Runs the mutations of experiments, and writes `mutations.md` where the report would be.
fn mutations(
    args: &ReproduceArgs,
    library: &Experiments,
    experiments: &[Experiment],
    wanted: Wanted,
) -> Result<(), Failure> {
    let mutants = Mutants::of(experiments);
    let results = mutants.results(results(args, library, mutants.experiments(), wanted)?);
    if let Some(directory) = &args.out {
        let file = directory.join("mutations.md");
        let written =
            std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&file, results.markdown()));
        written.map_err(|error| Failure::io(&file.display(), &error))?;
    }
    let printed = match args.output.format() {
        Format::Human => print(&visible(&results.markdown())),
        _ => print(&format!("{}\n", document::text(&results))),
    };
    let all = || {
        results.experiments.iter().flat_map(|one| {
            std::iter::once(&one.unchanged).chain(one.mutations.iter().map(|mutation| &mutation.outcome))
        })
    };
    if all().any(|outcome| outcome.verdict == ExperimentVerdict::NotRun) {
        return Err(Failure::Run("not all mutations were run to the end".to_owned()));
    }
    match results.blind().as_slice() {
        [] => printed,
        blind => Err(Failure::Check(format!(
            "must agree unchanged and disagree for a mutation, and do not: {}",
            blind.join(", ")
        ))),
    }
}

/// Writes a line to standard error.
fn note(text: &str) {
    to_stderr(&visible(text));
}

/// The cache that is named; otherwise the folder's, and for built-in experiments the user's, whose
/// place is printed.
fn cache(args: &ReproduceArgs, library: &Experiments) -> Option<Cache> {
    if args.no_cache {
        return None;
    }
    if let Some((own, others)) = args.cache.split_first() {
        return Some(Cache::new(own.clone(), others.to_vec()));
    }
    let of_user = || {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        cache::of_user(variable("XDG_CACHE_HOME"), variable("HOME"))
    };
    match (library, of_user()) {
        (Experiments::Folder(_), _) => Some(Cache::new(PathBuf::from(".tfrc-cache"), Vec::new())),
        (Experiments::Unpacked(_), Some(folder)) => {
            note(&format!("experiments of the program; results of runs are kept in {}", folder.display()));
            Some(Cache::new(folder, Vec::new()))
        }
        (Experiments::Unpacked(_), None) => {
            note("experiments of the program; no results are kept: neither XDG_CACHE_HOME nor HOME is set");
            None
        }
    }
}

/// The commit of the experiments, and whether they differ from it; nothing outside of a repository
/// or without git.
fn commit(library: &Experiments) -> Option<String> {
    let Experiments::Folder(experiments) = library else { return None };
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(experiments).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", "."])?;
    Some(if changed.is_empty() { head } else { format!("{head}, with changes") })
}

/// Runs done of all runs, on standard error if it is a terminal.
struct RunBar(Option<ProgressBar>);

impl RunBar {
    fn new(runs: usize) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new(saturating::<u64>(runs));
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        if let Ok(style) =
            ProgressStyle::with_template("{elapsed:>4} {bar:24} {pos}/{len} runs, {eta} left  {msg}")
        {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    fn done(&self, id: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(id.to_owned());
            bar.inc(1);
        }
    }

    fn more(&self, runs: usize) {
        if let Some(bar) = &self.0 {
            bar.inc_length(saturating::<u64>(runs));
        }
    }

    fn warn(&self, text: &str) {
        match &self.0 {
            Some(bar) => bar.println(visible(&format!("warning: {text}"))),
            None => note(&format!("warning: {text}")),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Judges the results for the exit status.
fn judged(results: &Results, world: World) -> Result<(), Failure> {
    if world == World::Emu {
        return emulated(results);
    }
    let of = |verdict| results.experiments.iter().filter(move |e| e.verdict == verdict);
    let unfinished = of(ExperimentVerdict::NotRun).filter(|e| e.world == World::Sim).count();
    if unfinished > 0 {
        return Err(Failure::Run(format!("{unfinished} experiments were not run to the end")));
    }
    let unearned: Vec<String> = results
        .experiments
        .iter()
        .flat_map(|e| e.unearned().into_iter().map(move |one| format!("{} ({})", e.id, one.variant)))
        .collect();
    if !unearned.is_empty() {
        return Err(Failure::Run(format!(
            "called undecided, and the two set-ups do not fall on different sides of the print: {}",
            unearned.join(", ")
        )));
    }
    // The print or ns-2 is enough for a star; the quick form has too few runs for verdicts.
    let enough = |verdict: ExperimentVerdict| {
        verdict.is_agreement()
            || verdict == ExperimentVerdict::NotRun
            || (verdict == ExperimentVerdict::Undetermined && results.quick)
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
        Err(Failure::Check(format!(
            "must agree with the print or with ns-2 and do not: {}",
            failed.join(", ")
        )))
    }
}

/// Judges emulated runs for the exit status: each cell needs a valid run.
fn emulated(results: &Results) -> Result<(), Failure> {
    let cells = results.experiments.iter().flat_map(|e| e.cells.iter().map(move |cell| (e, cell)));
    let mut empty = cells.filter(|(_, cell)| cell.emulated_runs == Some(0));
    let Some((first, cell)) = empty.next() else { return Ok(()) };
    let why = cell.emulated_note.as_deref().unwrap_or("a formula has no value");
    let count = empty.count() + 1;
    Err(Failure::Run(format!("{count} cells have no value; the first is {} {}: {why}", first.id, cell.row)))
}

fn list(args: &ReproduceArgs, library: &Experiments) -> Result<(), Failure> {
    let prefixes: Vec<String> = args.wanted.iter().filter(|wanted| *wanted != "list").cloned().collect();
    let wanted = if prefixes.is_empty() { vec!["all".to_owned()] } else { prefixes };
    let experiments = library::load(library.root(), &wanted).map_err(told)?;
    if args.output.json {
        let list = ExperimentList::of(&experiments);
        return print(&format!("{}\n", document::text(&list)));
    }
    let width = experiments.iter().map(|e| e.id().len()).max().unwrap_or(0);
    let mut text = String::new();
    for e in &experiments {
        let world = match (e.world(), e.has_emulated_side()) {
            (World::Emu, _) => " (emulated)",
            (_, true) => " (also emulated)",
            _ => "",
        };
        let must = if e.must_agree() { " *" } else { "" };
        let alias = e.conference().map_or_else(String::new, |alias| format!(" = {alias}"));
        let _ = writeln!(text, "{:<width$}  {}: {}{alias}{world}{must}", e.id(), e.source(), e.title());
    }
    text += "* must agree\n";
    print(&visible(&text))
}

/// A mistake in an experiment's files, as it is shown.
fn told(error: ExperimentError) -> Failure {
    Failure::Scenario(format!("{:?}", miette::Report::new(error)))
}
