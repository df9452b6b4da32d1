//! Whole experiments of a few simulated seconds, and experiments with mistakes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::judge::{Cap, Measured, Sample, judge};
use super::*;
use tfrc_lab::batch::Shard;
use tfrc_lab::cache::Cache;

const SCENARIO: &str = "duration = '4s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
    [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\nloss = '1%'\n\
    [[flow]]\nname = 'one'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\nstart = 'uniform 0s 1s'\n";

const EXPERIMENT: &str = "title = 'T'\nsource = 'S'\nruns = 10\nkeys = { loss = ['link.path.loss'] }\n\
    quick = { runs = 2, rows = ['1%'] }\n\
    [profile.rfc]\nruns = 2\n\
    [run.one]\nset = ['link.path.rate=2Mbit/s']\n\
    [[cells]]\ncolumn = 'kbps'\nvalue = \"flow('one', 'send_rate_bps') / 1000\"\n\
    [[cells]]\ncolumn = 'probe'\nvalue = \"link('path', 'drop_rate') + 0 * row('loss')\"\nband = 'drop'\n\
    [[claim]]\ntext = 'falls'\nvalue = \"cell('5%','kbps') / cell('1%','kbps')\"\nbetween = [0.1, 0.9]\n\
    [[variant]]\nname = 'slow'\nabout = 'assumed: link.path.rate'\nset = ['link.path.rate=200kbit/s']\nrows = ['1%']\n";

const PUBLISHED: &str = "# made up\nloss,kbps\n1%,900\n5%,300\n";

/// A directory of experiments with one, `p/x`, of these files.
fn directory(experiment: &str, scenario: &str, published: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("p/x");
    std::fs::create_dir_all(&at).expect("made");
    for (name, text) in
        [("experiment.toml", experiment), ("scenario.toml", scenario), ("published.csv", published)]
    {
        std::fs::write(at.join(name), text).expect("written");
    }
    dir
}

fn load(root: &Path) -> Result<Vec<Experiment>, ExperimentError> {
    library::load(root, &["all".to_owned()])
}

fn wanted() -> Wanted {
    Wanted { quick: false, jobs: 1, world: World::Sim, shard: Shard::WHOLE }
}

fn run(root: &Path, wanted: Wanted, cache: Option<&Cache>) -> (Results, usize) {
    let experiments = load(root).expect("right");
    let prepared = Prepared::new(&experiments, wanted).expect("right");
    let count = AtomicUsize::new(0);
    let done = |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let warn = |text: &str| panic!("{text}");
    let added = AtomicUsize::new(0);
    let more = |runs: usize| {
        added.fetch_add(runs, Ordering::Relaxed);
    };
    let hooks = Hooks { done: &done, more: &more, warn: &warn, stop: &|| false, emulated: None };
    let results = prepared.run(cache, &hooks).expect("runs");
    let total = prepared.total() + added.load(Ordering::Relaxed);
    assert!(count.load(Ordering::Relaxed) <= total);
    (results, total)
}

#[test]
fn the_same_whatever_the_threads_shards_and_cache() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let (whole, total) = run(dir.path(), wanted(), None);
    // Two rows of ten runs, and a variant of three. The two runs of the rfc profile, which is alike
    // here, are among the ten.
    assert_eq!(total, 23);
    let text = serde_json::json!(whole).to_string();
    let (threads, _) = run(dir.path(), Wanted { jobs: 3, ..wanted() }, None);
    assert_eq!(serde_json::json!(threads).to_string(), text);

    let at = |name: &str| dir.path().join(name);
    for (index, name) in [(1, "a"), (2, "b")] {
        let shard = Wanted { shard: Shard { index, of: 2 }, ..wanted() };
        let (part, runs) = run(dir.path(), shard, Some(&Cache::new(at(name), Vec::new())));
        assert!((11..=12).contains(&runs));
        let one = &part.experiments[0];
        assert_eq!(one.verdict, ExperimentVerdict::NotRun);
        assert!(one.reason.contains("runs are missing"), "{}", one.reason);
    }
    let joined = Cache::new(at("b"), vec![at("a")]);
    assert_eq!(serde_json::json!(run(dir.path(), wanted(), Some(&joined)).0).to_string(), text);
    let e = &whole.experiments[0];
    assert_eq!(e.cells.iter().filter(|cell| cell.column == "probe" && cell.verdict.is_none()).count(), 2);
    assert!(e.cells.iter().all(|cell| cell.measured.is_some() && cell.rfc_profile.is_some()));
    assert!(e.variants[0].cells.iter().all(|cell| cell.row == "1%"));
    let slow = &e.variants[0].cells[0];
    assert!(slow.to_unchanged.is_some_and(|x| x < 0.5), "{slow:?}");
}

/// Two experiments of one scenario share its runs, also those that only one of them asks for, and
/// each has the results that it has alone.
#[test]
fn experiments_share_runs() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let alone = run(dir.path(), wanted(), None).0.experiments.remove(0);
    let other = dir.path().join("p/y");
    std::fs::create_dir_all(&other).expect("made");
    let files = [
        (
            "experiment.toml",
            &*EXPERIMENT.replace("runs = 10", "runs = 14").replace("'drop_rate'", "'mean_queue_packets'"),
        ),
        ("scenario.toml", SCENARIO),
        ("published.csv", PUBLISHED),
    ];
    for (name, text) in files {
        std::fs::write(other.join(name), text).expect("written");
    }
    let (both, total) = run(dir.path(), wanted(), None);
    assert_eq!(total, 23 + 2 * 4);
    assert_eq!(both.experiments[0], alone);
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    for _ in 0..2 {
        assert_eq!(run(dir.path(), wanted(), Some(&cache)).0, both);
    }
    std::fs::remove_dir_all(dir.path().join("p/x")).expect("removed");
    let (of_other, _) = run(dir.path(), wanted(), Some(&cache));
    assert_eq!(of_other.experiments[0], both.experiments[1]);
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    let experiments = load(dir.path()).expect("right");
    let prepared = Prepared::new(&experiments, wanted()).expect("right");
    let count = AtomicUsize::new(0);
    let done = |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let stop = || count.load(Ordering::Relaxed) >= 5;
    let hooks =
        Hooks { done: &done, more: &|_| (), warn: &|text| panic!("{text}"), stop: &stop, emulated: None };
    let part = prepared.run(Some(&cache), &hooks).expect("runs");
    assert_eq!(part.experiments[0].verdict, ExperimentVerdict::NotRun);
    // Two of the five are runs of the rfc profile as well, which is alike here.
    assert_eq!(part.experiments[0].reason, "interrupted: 20 runs are missing");
    let files = || {
        let shelves = std::fs::read_dir(dir.path().join("cache")).expect("a directory");
        shelves
            .map(|shelf| std::fs::read_dir(shelf.expect("one").path()).expect("files").count())
            .sum::<usize>()
    };
    assert_eq!(files(), 5);
    let whole = run(dir.path(), wanted(), Some(&cache)).0;
    assert_eq!(files(), 23);
    assert_eq!(whole, run(dir.path(), wanted(), None).0);
}

#[test]
fn a_stop_ends_the_run_under_way() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    let experiments = load(dir.path()).expect("right");
    let prepared = Prepared::new(&experiments, wanted()).expect("right");
    // Four simulated seconds are asked some forty times; the tenth answer ends them.
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 10;
    let done = |id: &str| panic!("a run of {id} has come to its end");
    let hooks = Hooks { done: &done, more: &|_| (), warn: &|_| (), stop: &stop, emulated: None };
    let part = prepared.run(Some(&cache), &hooks).expect("runs");
    assert_eq!(part.experiments[0].reason, "interrupted: 27 runs are missing");
    assert!(!dir.path().join("cache").exists(), "half a run is no result");
    let whole = run(dir.path(), wanted(), Some(&cache)).0;
    assert_eq!(whole, run(dir.path(), wanted(), None).0);
}

#[test]
fn nothing_is_computed_after_a_stop() {
    let text = "title = 'T'\nsource = 'S'\nkeys = { p = [] }\ncode = 'rfc4828::table_01'\n\
        [[cells]]\ncolumn = 'tcp_1460B'\n";
    let dir = directory(text, SCENARIO, "p,tcp_1460B\n0.01,168.61\n");
    let experiments = load(dir.path()).expect("right");
    let prepared = Prepared::new(&experiments, wanted()).expect("right");
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &|_| (), stop: &|| true, emulated: None };
    let part = prepared.run(None, &hooks).expect("runs");
    assert_eq!(part.experiments[0].verdict, ExperimentVerdict::NotRun);
    assert_eq!(part.experiments[0].reason, "interrupted: nothing was computed");
}

#[test]
fn a_damaged_entry_is_measured_again_with_a_warning() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let cache = Cache::new(dir.path().join("cache"), Vec::new());
    let right = run(dir.path(), wanted(), Some(&cache)).0;
    let shelf =
        std::fs::read_dir(dir.path().join("cache")).expect("a directory").next().expect("one").expect("one");
    let file = std::fs::read_dir(shelf.path()).expect("files").next().expect("one").expect("one").path();
    std::fs::write(file, "{").expect("written");
    let experiments = load(dir.path()).expect("right");
    let prepared = Prepared::new(&experiments, wanted()).expect("right");
    let warnings = Mutex::new(Vec::new());
    let warn = |text: &str| warnings.lock().expect("no panic").push(text.to_owned());
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &warn, stop: &|| false, emulated: None };
    assert_eq!(prepared.run(Some(&cache), &hooks).expect("runs"), right);
    let warnings = warnings.into_inner().expect("no panic");
    assert!(warnings.len() == 1 && warnings[0].contains("damaged"), "{warnings:?}");
}

#[test]
fn the_quick_form_is_undetermined() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let (results, total) = run(dir.path(), Wanted { quick: true, ..wanted() }, None);
    assert_eq!(total, 2);
    let e = &results.experiments[0];
    assert_eq!((e.verdict, e.cells.len()), (ExperimentVerdict::Undetermined, 2));
    assert!(e.reason.contains("fewer than 10 seeds"), "{}", e.reason);
}

#[test]
fn seeds_must_not_matter_where_they_are_said_not_to() {
    let text = EXPERIMENT.replace("runs = 10", "deterministic = true");
    let dir = directory(&text, SCENARIO, PUBLISHED);
    let cell = |scenario: &str| {
        std::fs::write(dir.path().join("p/x/scenario.toml"), scenario).expect("written");
        run(dir.path(), wanted(), None).0.experiments[0].cells[0].clone()
    };
    assert_eq!(cell(SCENARIO).verdict, Some(CellVerdict::Undetermined));
    let fixed =
        SCENARIO.replace("'uniform 0s 1s'", "'0s'").replace("loss = '1%'", "loss = { bernoulli = '0%' }");
    let text = text.replace("['link.path.loss']", "[]");
    std::fs::write(dir.path().join("p/x/experiment.toml"), &text).expect("written");
    assert_ne!(cell(&fixed).verdict, Some(CellVerdict::Undetermined));
}

#[test]
fn an_emulated_experiment_waits_for_its_world() {
    let dir = directory(&format!("world = 'emu'\n{EXPERIMENT}"), SCENARIO, PUBLISHED);
    let (results, total) = run(dir.path(), wanted(), None);
    assert_eq!(total, 0);
    let e = &results.experiments[0];
    assert_eq!(
        (e.verdict, e.reason.as_str()),
        (ExperimentVerdict::NotRun, "nothing is recorded: needs --world emu")
    );
    let (results, total) = run(dir.path(), Wanted { world: World::Emu, ..wanted() }, None);
    let e = &results.experiments[0];
    assert_eq!((total, e.verdict), (20, ExperimentVerdict::Undetermined), "no program here emulates");
    let note = e.cells[0].emulated_note.as_deref();
    assert_eq!(note, Some("10 of 10 runs failed: this program cannot emulate"));
}

/// The verdict of `p/x` on made-up cells: `values` for rows 1 % and 5 % of `kbps`.
fn judged(experiment: &str, published: &str, ns2: Option<&str>, values: [f64; 2]) -> ExperimentResult {
    let dir = directory(experiment, SCENARIO, published);
    if let Some(ns2) = ns2 {
        std::fs::write(dir.path().join("p/x/ns2.csv"), ns2).expect("written");
    }
    let experiments = load(dir.path()).expect("right");
    let mut measured = Measured::default();
    let samples = measured.profiles.entry(Profile::AsPublished).or_default();
    for (row, mean) in values.into_iter().enumerate() {
        let sample = |mean: f64| Sample {
            values: (0..10).map(|i| mean + f64::from(i % 2) * 1e-6).collect(),
            runs: 10,
            fixed: false,
            cap: None,
        };
        samples.insert((row, 0), sample(mean));
        samples.insert((row, 1), sample(0.02));
    }
    judge(&experiments[0], &measured, 10)
}

#[test]
fn verdicts_of_an_experiment() {
    use ExperimentVerdict::{AgreesWithPrint, Disagrees, Undetermined};
    let of = |values| judged(EXPERIMENT, PUBLISHED, None, values).verdict;
    assert_eq!(of([900.0, 300.0]), AgreesWithPrint);
    assert_eq!(of([1200.0, 300.0]), Disagrees);
    // A claim that holds in the source must hold.
    assert_eq!(of([1000.0, 250.0]), AgreesWithPrint);
    let strict = EXPERIMENT.replace("[0.1, 0.9]", "[0.3, 0.4]");
    assert_eq!(judged(&strict, PUBLISHED, None, [1000.0, 250.0]).verdict, Disagrees);
    // One that fails in the source's own table need not.
    let wrong = EXPERIMENT.replace("[0.1, 0.9]", "[0.5, 0.6]");
    let result = judged(&wrong, PUBLISHED, None, [1000.0, 250.0]);
    assert_eq!((result.verdict, result.claims[0].is_of_print()), (AgreesWithPrint, false));
    // On the edge of the band neither can be said.
    assert_eq!(of([900.5 * 1.25 - 0.5e-6, 300.0]), Undetermined);
}

#[test]
fn a_plateau_says_nothing_and_a_missing_reference_neither() {
    let rule = "uninformative = 'measured > 0.97 * 1000'\nuninformative_reason = 'the limit'\n[[cells]]\ncolumn = 'probe'";
    let text = EXPERIMENT.replace("[[cells]]\ncolumn = 'probe'", rule);
    let result = judged(&text, PUBLISHED, None, [1500.0, 300.0]);
    assert_eq!(result.verdict, ExperimentVerdict::AgreesWithPrint);
    assert_eq!((result.tally.print.agree, result.tally.uninformative), (1, 1));
    assert_eq!(result.cells[0].note.as_deref(), Some("the limit"));
    assert_eq!(result.cells[0].verdict_print, Some(Verdict::Uninformative));

    let result = judged(EXPERIMENT, "loss,kbps\n1%,900\n5%,\n", None, [900.0, 7.0]);
    let verdicts: Vec<_> =
        result.cells.iter().filter(|cell| cell.column == "kbps").map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Some(CellVerdict::AgreesWithPrint), None]);
    // The claim needs the missing cell in the source, so that the source's word stands: it must
    // hold here.
    assert_eq!((result.claims[0].holds_in_source, result.claims[0].holds), (None, Some(false)));
    assert_eq!(result.verdict, ExperimentVerdict::Disagrees);
}

/// A table of ns-2's that differs from the print in the first row.
const NS2: &str = "loss,kbps,kbps_ci95,probe,probe_ci95\n1%,1500,10,0.5,0.01\n5%,300,1,0.5,0.01\n";

/// The experiment with further lines for its first column.
fn with_cell_keys(lines: &str) -> String {
    EXPERIMENT.replace("[[cells]]\ncolumn = 'probe'", &format!("{lines}\n[[cells]]\ncolumn = 'probe'"))
}

#[test]
fn print_and_ns2_are_judged_apart() {
    use CellVerdict::{AgreesWithNs2, AgreesWithPrint, Disagrees};
    let of = |text: &str, values| judged(text, PUBLISHED, Some(NS2), values);
    let told = |r: &ExperimentResult| (r.verdict_print, r.verdict_ns2, r.verdict);
    let as_ns2 = of(EXPERIMENT, [1500.0, 300.0]);
    assert_eq!(
        told(&as_ns2),
        (Some(Verdict::Disagrees), Some(Verdict::Agrees), ExperimentVerdict::AgreesWithNs2)
    );
    let first = &as_ns2.cells[0];
    assert_eq!(
        (first.verdict_print, first.verdict_ns2, first.verdict),
        (Some(Verdict::Disagrees), Some(Verdict::Agrees), Some(AgreesWithNs2))
    );
    assert_eq!((first.ratio, first.ratio_over), (first.measured.map(|x| x / 900.0), Some(Over::Print)));
    assert_eq!(as_ns2.tally.print, Count { agree: 1, disagree: 1, undetermined: 0 });
    assert_eq!(as_ns2.tally.ns2, Count { agree: 2, disagree: 0, undetermined: 0 });
    assert!(as_ns2.reason.contains("print: 1 of 2 cells agree"), "{}", as_ns2.reason);
    let as_print = of(EXPERIMENT, [900.0, 300.0]);
    assert_eq!(
        told(&as_print),
        (Some(Verdict::Agrees), Some(Verdict::Disagrees), ExperimentVerdict::AgreesWithPrint)
    );
    assert_eq!(as_print.cells[0].verdict, Some(AgreesWithPrint));
    assert_eq!(of(EXPERIMENT, [3000.0, 300.0]).verdict, ExperimentVerdict::Disagrees);
    // A row known only from ns-2: its ratio is over ns-2, and it lowers the verdict of the print.
    let only = of(&with_cell_keys("ns2_only_rows = ['1%']"), [900.0, 300.0]);
    assert_eq!((only.cells[0].verdict_print, only.cells[0].verdict), (None, Some(Disagrees)));
    assert_eq!(only.cells[0].ratio_over, Some(Over::Ns2));
    assert_eq!((only.verdict_print, only.verdict), (Some(Verdict::Agrees), ExperimentVerdict::Disagrees));
    let printed = of(&with_cell_keys("against = 'published'"), [1500.0, 300.0]);
    assert_eq!((printed.cells[0].verdict_ns2, printed.cells[0].verdict), (None, Some(Disagrees)));
    // A probe is not judged.
    assert!(as_print.cells.iter().all(|c| c.column == "kbps" || c.verdict.is_none()));
}

#[test]
fn ns2_without_an_interval_is_vague_unless_it_is_exact() {
    let ns2 = "loss,kbps\n1%,1500\n5%,300\n";
    let of = |text: &str| judged(text, PUBLISHED, Some(ns2), [1500.0, 300.0]);
    let vague = of(EXPERIMENT);
    assert_eq!(vague.cells[0].verdict_ns2, Some(Verdict::Undetermined));
    assert_eq!(
        (vague.verdict_ns2, vague.verdict),
        (Some(Verdict::Undetermined), ExperimentVerdict::Undetermined)
    );
    let exact = of(&with_cell_keys("ns2_exact = true\nns2_exact_reason = 'the losses are scripted'"));
    assert_eq!((exact.verdict_ns2, exact.verdict), (Some(Verdict::Agrees), ExperimentVerdict::AgreesWithNs2));
}

/// A rule of seeds whose cap on hops is never met.
const RULE: &str = "[seeds]\nleast = 10\nmost = 35\nhops = 1_000_000_000\npart = 3\n";

#[test]
fn seeds_go_on_until_the_interval_is_narrow() {
    let text = EXPERIMENT.replace("runs = 10\n", "");
    let dir = directory(&text, SCENARIO, "loss,kbps\n1%,900\n5%,\n");
    let paper = |rule: &str| std::fs::write(dir.path().join("p/paper.toml"), rule).expect("written");
    let seeds = |rule: &str| {
        paper(rule);
        let (results, total) = run(dir.path(), wanted(), None);
        let runs = results.experiments[0].cells.iter().map(|cell| cell.runs).collect::<Vec<_>>();
        (results.experiments[0].clone(), runs, total)
    };
    // One point is measured for `kbps`, two for the probe; only the first is judged.
    let (wide, runs, total) = seeds(RULE);
    assert_eq!(runs[0], 35, "random losses in four seconds leave a wide interval");
    assert_eq!(runs.last(), Some(&10), "a row that nothing is compared in stops at the first step");
    assert_eq!((wide.runs, total), (35, 35 + 10 + 3));
    assert!(wide.packet_hops > 1000);
    let capped = RULE.replace("1_000_000_000", "1");
    let (few, runs, _) = seeds(&capped);
    assert_eq!((runs[0], few.runs), (10, 10));
    let note = few.cells[0].note.as_deref();
    assert!(
        few.cells[0].verdict != Some(CellVerdict::Undetermined)
            || note.is_some_and(|note| note.contains("cap on packet hops")),
        "{note:?}"
    );
    assert_eq!(seeds(&RULE.replace("part = 3", "part = 1")).1[0], 20, "a wider interval is asked for");
    // Shards do their share of the first step; whoever has all caches goes on.
    paper(RULE);
    let at = |name: &str| dir.path().join(name);
    for (index, name) in [(1, "a"), (2, "b")] {
        let shard = Wanted { shard: Shard { index, of: 2 }, ..wanted() };
        run(dir.path(), shard, Some(&Cache::new(at(name), Vec::new())));
    }
    let joined = run(dir.path(), wanted(), Some(&Cache::new(at("c"), vec![at("a"), at("b")]))).0;
    assert_eq!(joined.experiments[0], wide);
}

#[test]
fn the_cap_is_told() {
    let text = EXPERIMENT.replace("runs = 10\n", "");
    let dir = directory(&text, SCENARIO, PUBLISHED);
    std::fs::write(dir.path().join("p/paper.toml"), RULE).expect("written");
    let experiments = load(dir.path()).expect("right");
    let sample = |cap| Sample { values: vec![1100.0, 1150.0], runs: 2, fixed: false, cap };
    let mut measured = Measured::default();
    let wide = Sample {
        values: (0..20).map(|i| f64::from(i % 2) * 900.0 + 450.0).collect(),
        runs: 20,
        ..sample(Some(Cap::Seeds))
    };
    measured.profiles.entry(Profile::AsPublished).or_default().insert((0, 0), wide);
    let result = judge(&experiments[0], &measured, 20);
    assert_eq!(result.cells[0].verdict, Some(CellVerdict::Undetermined));
    let note = result.cells[0].note.as_deref().expect("a note");
    assert!(note.contains("at the cap of 20 seeds"), "{note}");
}

#[test]
fn a_paper_fixes_seeds_and_revision() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    let paper = |text: &str| std::fs::write(dir.path().join("p/paper.toml"), text).expect("written");
    let told = |error: ExperimentError| format!("{:?}", miette::Report::new(error));
    paper(RULE);
    let shown = told(load(dir.path()).expect_err("a number beside the rule"));
    assert!(shown.contains("beside the paper's rule") && shown.contains("runs_reason"), "{shown}");
    let with_reason = EXPERIMENT.replace("runs = 10\n", "runs = 10\nruns_reason = 'an hour each'\n");
    std::fs::write(dir.path().join("p/x/experiment.toml"), with_reason).expect("written");
    assert_eq!(run(dir.path(), wanted(), None).1, 23);
    paper("[profile.as-published]\nrevision = 'sigcomm2000'\n");
    let experiments = load(dir.path()).expect("right");
    let shown = told(Prepared::new(&experiments, wanted()).expect_err("the default is another"));
    for part in ["scenario.toml", "`one` runs revision `rfc5348`", "fixes `sigcomm2000`", "row 1%"] {
        assert!(shown.replace("\n  │ ", " ").contains(part), "no {part:?} in\n{shown}");
    }
    let right = EXPERIMENT.replace(
        "[run.one]\n",
        "[profile.as-published]\nset = ['flow.one.tfrc.revision=sigcomm2000']\n[run.one]\n",
    );
    std::fs::write(dir.path().join("p/x/experiment.toml"), right).expect("written");
    let experiments = load(dir.path()).expect("right");
    Prepared::new(&experiments, wanted()).expect("the rfc profile is free");
}

/// A claim between 800 and 1000 kbit/s that the slow variant is outside of.
const UNDECIDED: &str = "[[claim]]\ntext = 'fast'\nvalue = \"cell('1%','kbps')\"\nbetween = [500, 3000]\n\
    [[undecided]]\ntext = 'The source names no rate.'\nvariant = 'slow'\nclaims = ['fast']\n";

#[test]
fn two_set_ups_on_different_sides_are_undecidable() {
    let published = "loss,kbps\n1%,1000\n5%,\n";
    let of = |more: &str| {
        let text = format!("{EXPERIMENT}{more}");
        let dir = directory(&text, SCENARIO, published);
        run(dir.path(), wanted(), None).0.experiments.remove(0)
    };
    let plain = of("");
    assert!(plain.undecided.is_empty() && plain.variants[0].cells[0].ci95.is_some());
    let result = of(UNDECIDED);
    let part = &result.undecided[0];
    assert!(part.is_earned(), "{part:?}");
    assert_eq!(part.as_published.verdict, Some(Verdict::Agrees));
    assert_eq!(part.otherwise.verdict, Some(Verdict::Disagrees));
    assert_eq!(part.otherwise.claims[0].holds, Some(false));
    assert!(part.otherwise.claims[0].value.is_some_and(|kbps| kbps < 200.0));
    assert!(result.unearned().is_empty());
    // Parts that are not undecided may disagree all the same, and then the experiment does.
    let expected = match plain.verdict {
        ExperimentVerdict::Disagrees => ExperimentVerdict::Disagrees,
        _ => ExperimentVerdict::Undecidable,
    };
    assert_eq!(result.verdict, expected);
    // Both set-ups hold: the word is not earned.
    let wide = of(&UNDECIDED.replace("[500, 3000]", "[1, 3000]"));
    assert_eq!((wide.unearned().len(), wide.verdict), (1, plain.verdict));
}

#[test]
fn undecided_parts_are_taken_out_before_the_rest_is_judged() {
    let published = "loss,kbps\n1%,900\n5%,300\n";
    let text = format!(
        "{EXPERIMENT}[[undecided]]\ntext = 'T'\nvariant = 'slow'\ncolumns = ['kbps']\nrows = ['1%']\n"
    );
    let dir = directory(&text, SCENARIO, published);
    let experiments = load(dir.path()).expect("right");
    let of = |first: f64, second: f64, other: f64| {
        let sample = |mean: f64| Sample {
            values: (0..10).map(|i| mean + f64::from(i % 2) * 1e-6).collect(),
            runs: 10,
            fixed: false,
            cap: None,
        };
        let mut measured = Measured::default();
        measured.profiles.insert(
            Profile::AsPublished,
            [((0, 0), sample(first)), ((1, 0), sample(second))].into_iter().collect(),
        );
        measured.variants.push([((0, 0), sample(other))].into_iter().collect());
        judge(&experiments[0], &measured, 10)
    };
    let verdict = |first, second, other| of(first, second, other).verdict;
    assert_eq!(verdict(900.0, 300.0, 100.0), ExperimentVerdict::Undecidable);
    assert_eq!(verdict(2000.0, 300.0, 900.0), ExperimentVerdict::Undecidable);
    assert_eq!(verdict(900.0, 300.0, 880.0), ExperimentVerdict::AgreesWithPrint);
    assert_eq!(verdict(2000.0, 30.0, 900.0), ExperimentVerdict::Disagrees, "the other row disagrees");
    assert_eq!(of(900.0, 300.0, 100.0).verdict_print, Some(Verdict::Agrees));
    let json = serde_json::json!(of(900.0, 300.0, 100.0));
    assert_eq!(json["verdict"], "undecidable");
    assert_eq!(json["undecided"][0]["otherwise"]["cells"]["disagree"], 1);
}

#[test]
fn mutations_turn_an_experiment_red() {
    let text = format!(
        "must_agree = true\n{EXPERIMENT}[[mutation]]\nname = 'slow line'\nset = ['link.path.rate=20kbit/s']\nrows = ['1%']\nonly = ['one']\n\
         [[mutation]]\nname = 'none'\nset = ['link.path.rate=2Mbit/s']\n"
    );
    let dir = directory(&text, SCENARIO, "loss,kbps\n1%,900\n5%,300\n");
    let experiments = load(dir.path()).expect("right");
    let mutants = Mutants::of(&experiments);
    assert_eq!(mutants.experiments().len(), 3);
    let claims: Vec<usize> = mutants.experiments().iter().map(|one| one.claims.len()).collect();
    assert_eq!(claims, [1, 0, 1], "a claim about a row that is not run is left out");
    let prepared = Prepared::new(mutants.experiments(), wanted()).expect("right");
    // Ten seeds in two rows and in one; neither variants nor the rfc profile. The change that
    // changes nothing needs no runs.
    assert_eq!(prepared.total(), 30);
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &|_| (), stop: &|| false, emulated: None };
    let results = mutants.results(prepared.run(None, &hooks).expect("runs"));
    let [one] = results.experiments.as_slice() else { panic!("one experiment") };
    assert_eq!(one.mutations[0].outcome.verdict, ExperimentVerdict::Disagrees);
    assert_eq!(one.mutations[1].outcome, one.unchanged, "a change that changes nothing");
    assert_eq!(results.blind().is_empty(), one.unchanged.verdict.is_agreement());
    let page = results.markdown();
    assert!(page.contains("| p/x * |  |  | "), "{page}");
    assert!(
        page.contains("|  | slow line | `link.path.rate=20kbit/s` | disagrees | - | disagrees |"),
        "{page}"
    );
}

#[test]
fn code_takes_settings_or_says_why_not() {
    let coded = |more: &str| {
        format!(
            "title = 'T'\nsource = 'S'\nkeys = {{ p = [] }}\ncode = 'rfc4828::table_01'\n{more}\n\
             [[cells]]\ncolumn = 'tcp_1460B'\n"
        )
    };
    let of = |more: &str| {
        let dir = directory(&coded(more), SCENARIO, "p,tcp_1460B\n0.01,168.61\n");
        load(dir.path()).map(|_| run(dir.path(), wanted(), None).0.experiments.remove(0))
    };
    assert_eq!(of("").expect("right").verdict, ExperimentVerdict::AgreesWithPrint);
    let broken = of("[profile.as-published]\nset = ['equation.root=0.9']").expect("a constant");
    assert_eq!(broken.verdict, ExperimentVerdict::Disagrees);
    let told = |more: &str| of(more).expect_err("refused").to_string();
    assert!(told("[profile.as-published]\nset = ['flow.x.rate=1']").contains("has no `flow.x.rate`"));
    assert!(told("[profile.as-published]\nset = ['header=many']").contains("`header` takes a number"));
    let none = coded("[profile.rfc]\nset = ['x=1']").replace("rfc4828::table_01", "rhee_xu::figure_13");
    let dir = directory(&none, SCENARIO, "p,tcp_1460B\n0.01,168.61\n");
    assert!(load(dir.path()).expect_err("refused").to_string().contains("nothing can be set"));
    let scenario = coded("[profile.as-published]\nset = ['flow.nobody.count=2']")
        .replace("rfc4828::table_01", "sigcomm2000::fig_28");
    let dir = directory(&scenario, SCENARIO, "p,tcp_1460B\n0.01,168.61\n");
    assert!(load(dir.path()).expect_err("refused").to_string().contains("nobody"));
}

#[test]
fn mistakes_are_shown_at_their_place() {
    let told = |experiment: &str, published: &str| {
        let dir = directory(experiment, SCENARIO, published);
        let experiments = match load(dir.path()) {
            Err(error) => return format!("{:?}", miette::Report::new(error)),
            Ok(experiments) => experiments,
        };
        let error = Prepared::new(&experiments, wanted()).expect_err("a mistake");
        format!("{:?}", miette::Report::new(error))
    };
    let with = |from: &str, to: &str| {
        assert!(EXPERIMENT.contains(from), "{from}");
        told(&EXPERIMENT.replacen(from, to, 1), PUBLISHED)
    };
    for (shown, parts) in [
        (with("runs = 10", "rnus = 10"), ["unknown key `rnus`", "did you mean `runs`?"]),
        (with("title = 'T'\n", ""), ["`title` is missing", "add `title"]),
        (with("'send_rate_bps'", "'send_rate'"), ["`send_rate` is not a key of flows", "send_rate_bps"]),
        (with("flow('one'", "flow('two'"), ["`two` is not a flow or group", "`one`"]),
        (with("/ 1000", "/ "), ["the end cannot stand here", "a number"]),
        (with("cell('5%'", "cell('6%'"), ["`6%` is no row", "did you mean `1%`?"]),
        (with("'5%','kbps'", "'5%','kbsp'"), ["`kbsp` is no column", "did you mean `kbps`?"]),
        (with("rows = ['1%'] }", "rows = ['2%'] }"), ["there is no row `2%`", "1%"]),
        (with("[0.1, 0.9]", "[0.9, 0.1]"), ["no band", "the smaller first"]),
        (with("about = 'assumed: ", "about = 'supposed: "), ["what for?", "assumed: link.path.delay"]),
        (
            with("column = 'kbps'", "column = 'kbsp'"),
            ["`kbps` of published.csv is compared with nothing", "[ignored]"],
        ),
        (
            with("['link.path.loss']", "['link.pth.loss']"),
            ["run `one`, row 1%, profile as-published", "path"],
        ),
        (with("loss = ['link", "lost = ['link"), ["key columns", "`lost`"]),
        (told(EXPERIMENT, "loss,kbps\n1%,9x0\n"), ["`9x0` is no number", "published.csv"]),
    ] {
        for part in parts {
            assert!(shown.contains(part), "no {part:?} in\n{shown}");
        }
    }
    let claims_only = "title = 'T'\nsource = 'S'\nkeys = { loss = [] }\n[run.one]\n[[cells]]\ncolumn = 'x'\n\
        value = \"flow('one','cov')\"\n[[claim]]\ntext = 'c'\nvalue = \"max('x')\"\nbetween = [0, 1]\n";
    assert!(told(claims_only, "loss\n1%\n").contains("fewer than two claims"));
}

#[test]
fn without_published_values_nothing_runs() {
    let dir = directory(EXPERIMENT, SCENARIO, PUBLISHED);
    std::fs::remove_file(dir.path().join("p/x/published.csv")).expect("was there");
    let error = load(dir.path()).expect_err("no values");
    assert!(error.to_string().contains("published.csv"), "{error}");
    let error = library::load(dir.path(), &["q".to_owned()]).expect_err("no such id");
    assert!(error.to_string().contains("`q`"), "{error}");
}
