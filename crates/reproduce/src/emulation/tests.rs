//! Emulated runs with a made-up emulator: valid, invalid, missing and resumed ones, and the record
//! of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{ExperimentVerdict, Hooks, Prepared, Results, Wanted, World, library};
use tfrc_lab::batch::Shard;
use tfrc_lab::cache::Cache;
use tfrc_lab::emulated::{EmulatedRun, EmulatedWorld, EmulationJob, Fidelity, KernelNotes};
use tfrc_lab::record_until;
use tfrc_lab::recording::Keep;
use tfrc_scenario::Document;

const SCENARIO: &str = "duration = '3s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
    [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n\
    [[flow]]\nname = 'one'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n";

const EXPERIMENT: &str = "title = 'T'\nsource = 'S'\nkeys = { rate = ['link.path.rate'] }\n\
    [run.one]\n\
    [[cells]]\ncolumn = 'kbps'\nvalue = \"flow('one', 'send_rate_bps') / 1000\"\n\
    [[cells]]\ncolumn = 'teeth'\nvalue = \"row('rate') / 1e5\"\n\
    [[claim]]\ntext = 'rises'\nvalue = \"cell('2M','kbps') / cell('1M','kbps')\"\nbetween = [1.5, 2.5]\n\
    [[claim]]\ntext = 'unknown here'\nvalue = \"cell('2M','kbps')\"\nbetween = [0, 1]\n\
    undecidable = 'the other kernel is not at hand'\n";

const EMULATION: &str = "[emulation]\nruns = 2\nset = ['flow.one.start=100ms']\n";

/// A directory with the experiment `p/x`.
fn directory(head: &str, experiment: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("p/x");
    std::fs::create_dir_all(&at).expect("made");
    for (name, text) in [
        ("experiment.toml", format!("{head}{experiment}")),
        ("scenario.toml", SCENARIO.to_owned()),
        ("published.csv", "rate\n1M\n2M\n".to_owned()),
    ] {
        std::fs::write(at.join(name), text).expect("written");
    }
    dir
}

/// A run that virtual time makes up.
fn made_up(job: &EmulationJob) -> EmulatedRun {
    let mut document = Document::new(job.name.as_str(), job.text.as_str()).in_folder(&job.folder);
    job.set.iter().for_each(|set| document.set(set.as_str()));
    let mut scenario =
        document.plan_for(tfrc_scenario::World::Emulated).expect("right").points.remove(0).scenario;
    scenario.seed = tfrc_sim::Seed(job.seed);
    let keep = Keep { looks: job.looks, link_flows: job.link_flows, ..Keep::NOTHING };
    let notes = BTreeMap::from([("HyStart".to_owned(), "on: train and delay".to_owned())]);
    EmulatedRun {
        recording: record_until(&scenario, keep, &|| false).expect("nothing stops it"),
        fidelity: Fidelity { rate_error: Some(0.001), ..Fidelity::default() },
        kernel: KernelNotes { release: "6.1.0-test".to_owned(), notes },
        threads: Vec::new(),
    }
}

/// The results of the emulated world with this emulator, and the times that it was asked.
fn run(
    root: &Path,
    cache: Option<&Cache>,
    emulator: &(dyn Fn(&EmulationJob, usize) -> Result<EmulatedRun, String> + Sync),
    stop_after: usize,
) -> (Results, usize) {
    let experiments = library::load(root, &["all".to_owned()]).expect("right");
    let wanted = Wanted { quick: false, jobs: 1, world: World::Emu, shard: Shard::WHOLE };
    let prepared = Prepared::new(&experiments, wanted).expect("right");
    let (asked, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let world = EmulatedWorld {
        emulator: &|job| emulator(job, asked.fetch_add(1, Ordering::Relaxed)),
        release: "6.1.0-test".to_owned(),
        revision: Some("abc".to_owned()),
    };
    let count = |_: &str| {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let stop = || done.load(Ordering::Relaxed) >= stop_after;
    let hooks = Hooks {
        done: &count,
        more: &|_| (),
        warn: &|text| panic!("{text}"),
        stop: &stop,
        emulated: Some(&world),
    };
    let results = prepared.run(cache, &hooks).expect("runs");
    (results, asked.into_inner())
}

fn always(job: &EmulationJob, _: usize) -> Result<EmulatedRun, String> {
    Ok(made_up(job))
}

#[test]
fn the_emulated_world_judges_by_claims_and_records() {
    let dir = directory("world = 'emu'\n", &format!("{EXPERIMENT}{EMULATION}"));
    let jobs = Mutex::new(Vec::new());
    let noted = |job: &EmulationJob, _: usize| {
        jobs.lock().expect("no panic").push(job.clone());
        Ok(made_up(job))
    };
    let (results, asked) = run(dir.path(), None, &noted, usize::MAX);
    assert_eq!(asked, 4);
    let jobs = jobs.into_inner().expect("no panic");
    assert_eq!(jobs[0].set, ["link.path.rate=1M", "flow.one.start=100ms"]);
    assert!(jobs[0].seed != jobs[1].seed && jobs[2].set[0] == "link.path.rate=2M");
    let e = &results.experiments[0];
    assert_eq!(e.verdict, ExperimentVerdict::AgreesWithPrint, "{e:?}");
    assert!(
        e.reason.starts_with("print: 1 of 1 claims hold; recorded on Linux 6.1.0-test, 20"),
        "{}",
        e.reason
    );
    assert_eq!((e.claims[1].holds, e.tally.claims), (None, 1));
    let cell = &e.cells[0];
    assert_eq!((cell.measured, cell.verdict, cell.emulated_runs), (None, None, Some(2)));
    assert!(cell.emulated.is_some_and(|kbps| (500.0..1000.0).contains(&kbps)), "{cell:?}");

    let experiments = library::load(dir.path(), &["all".to_owned()]).expect("right");
    assert_eq!(results.record(&experiments).expect("written").len(), 1);
    let read = library::load(dir.path(), &["all".to_owned()]).expect("right");
    assert_eq!(read[0].emulated.as_ref(), results.emulated[0].as_ref());
    let prepared =
        Prepared::new(&read, Wanted { quick: false, jobs: 1, world: World::Sim, shard: Shard::WHOLE });
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &|_| (), stop: &|| false, emulated: None };
    let recorded = prepared.expect("right").run(None, &hooks).expect("runs");
    assert_eq!(recorded.experiments, results.experiments, "the record gives the verdict again");
}

#[test]
fn an_invalid_run_is_repeated_once_and_is_never_a_value() {
    let dir = directory("world = 'emu'\n", &format!("{EXPERIMENT}{EMULATION}"));
    let bad = |job: &EmulationJob| EmulatedRun {
        fidelity: Fidelity { rate_error: Some(0.02), ..Fidelity::default() },
        ..made_up(job)
    };
    // The first try of the first run is bad.
    let (results, asked) =
        run(dir.path(), None, &|job, n| Ok(if n == 0 { bad(job) } else { made_up(job) }), usize::MAX);
    assert_eq!((asked, results.experiments[0].cells[0].emulated_runs), (5, Some(2)));
    // All tries at 2 Mbit/s are.
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    let at_two =
        |job: &EmulationJob, _: usize| Ok(if job.set[0].ends_with("2M") { bad(job) } else { made_up(job) });
    let (results, asked) = run(dir.path(), Some(&cache), &at_two, usize::MAX);
    assert_eq!(asked, 6);
    let e = &results.experiments[0];
    let cell = e.cells.iter().find(|cell| cell.row == "2M" && cell.column == "kbps").expect("there");
    assert_eq!((cell.emulated, cell.emulated_runs), (None, Some(0)));
    let note = cell.emulated_note.as_deref().expect("a reason");
    assert_eq!(note, "2 of 2 runs invalid: rate off by 2.00 % of 1 %");
    assert_eq!(e.verdict, ExperimentVerdict::Undetermined, "{}", e.reason);
    assert!(e.reason.contains("for want of valid runs"), "{}", e.reason);
    // They are tried again, and the valid ones are not.
    let (again, asked) = run(dir.path(), Some(&cache), &always, usize::MAX);
    assert_eq!((asked, again.experiments[0].verdict), (2, ExperimentVerdict::AgreesWithPrint));
}

#[test]
fn a_failed_run_says_why() {
    let dir = directory("world = 'emu'\n", EXPERIMENT);
    let (results, asked) = run(dir.path(), None, &|_, _| Err("no namespaces".to_owned()), usize::MAX);
    let cell = &results.experiments[0].cells[0];
    assert_eq!(asked, 2, "a refusal is not repeated");
    assert_eq!(cell.emulated_note.as_deref(), Some("1 of 1 runs failed: no namespaces"));
    assert!(results.record(&[]).expect("nothing to do").is_empty());
}

#[test]
fn a_stopped_command_goes_on() {
    let dir = directory("", &format!("{EXPERIMENT}{EMULATION}alone = ['2*']\n"));
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    let (part, asked) = run(dir.path(), Some(&cache), &always, 3);
    assert_eq!(asked, 3);
    let of = |results: &Results, row: &str| {
        let cells = results.experiments[0].cells.clone();
        cells.into_iter().find(|cell| cell.row == row && cell.column == "kbps").expect("there")
    };
    assert_eq!((of(&part, "1M").emulated_note, of(&part, "1M").emulated_runs), (None, Some(2)));
    assert_eq!(of(&part, "2M").emulated_note.as_deref(), Some("1 of 2 runs missing"));
    let (whole, asked) = run(dir.path(), Some(&cache), &always, usize::MAX);
    assert_eq!((asked, of(&whole, "2M").emulated_note), (1, None));
    let e = &whole.experiments[0];
    assert_eq!(e.verdict, ExperimentVerdict::NotRun);
    assert!(e.reason.starts_with("the emulated side alone, on Linux 6.1.0-test"), "{}", e.reason);
}

#[test]
fn simulation_print_and_emulation_stand_side_by_side() {
    let dir = directory("", &format!("{EXPERIMENT}{EMULATION}alone = ['2M']\n"));
    let (emulated, _) = run(dir.path(), None, &always, usize::MAX);
    let experiments = library::load(dir.path(), &["all".to_owned()]).expect("right");
    emulated.record(&experiments).expect("written");
    let experiments = library::load(dir.path(), &["all".to_owned()]).expect("right");
    let wanted = Wanted { quick: true, jobs: 1, world: World::Sim, shard: Shard::WHOLE };
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &|_| (), stop: &|| false, emulated: None };
    let results = Prepared::new(&experiments, wanted).expect("right").run(None, &hooks).expect("runs");
    let cells = &results.experiments[0].cells;
    let of = |row: &str| cells.iter().find(|cell| cell.row == row && cell.column == "kbps").expect("there");
    assert!(of("1M").measured.is_some() && of("1M").emulated.is_some());
    assert_eq!(of("2M").measured, None, "a row without a simulated side");
    let rises = &results.experiments[0].claims[0];
    assert!(rises.value.is_none() && rises.value_in_emulation.is_some(), "{rises:?}");
}

#[test]
fn a_damaged_record_is_shown_at_its_place() {
    let dir = directory("", &format!("{EXPERIMENT}{EMULATION}"));
    for (text, says) in [
        ("row,column\n", "the columns are not row,run,column"),
        ("row,run,column,mean,ci95,runs,note\n1M,one,kbps,x,,1,\n", "`x` cannot stand here"),
        ("row,run,column,mean,ci95,runs,note\n1M,one,fidelity.what,1,,0,\n", "`fidelity.what` cannot"),
        ("row,run,column,mean,ci95,runs,note\n1M,one\n", "`1M,one` cannot"),
    ] {
        std::fs::write(dir.path().join("p/x/emulated.csv"), text).expect("written");
        let wrong = library::load(dir.path(), &["all".to_owned()]).expect_err(text);
        assert!(wrong.to_string().contains(says), "{wrong}");
    }
}
