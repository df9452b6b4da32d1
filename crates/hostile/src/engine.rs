//! Cases, the order they run in, and the table of what they saw.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::program::{Program, SOON, Stream};

/// Cases that mostly wait and run side by side.
const SIDE_BY_SIDE: usize = 12;

/// Length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As many packets and as much time as the attack needed when it was found.
    Long,
    /// For CI: fewer packets, shorter waits.
    Short,
}

impl Form {
    /// The value of this form.
    pub(crate) fn choose<T>(self, long: T, short: T) -> T {
        match self {
            Self::Long => long,
            Self::Short => short,
        }
    }
}

/// Where programs and attackers meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// In namespaces that the run made, where it has every right.
    Own,
    /// On this machine's loopback interface: no raw sockets, no mounts.
    Machine,
}

/// The program under test, and where and how long cases run.
pub(crate) struct Bench {
    /// The program under test.
    pub(crate) binary: PathBuf,
    /// Directory for the files of the run.
    pub(crate) directory: PathBuf,
    /// Length of the run.
    pub(crate) form: Form,
    pub(crate) place: Ground,
    /// Time of an honest transfer that nobody disturbs.
    pub(crate) undisturbed: Duration,
    /// Forged ICMP messages of `hostile icmp`, all versions and ends together.
    pub(crate) messages: u64,
    /// Time of `hostile soak`.
    pub(crate) soak: Duration,
    /// Datagrams of `hostile datagrams`.
    pub(crate) datagrams: u64,
    /// The fingerprint of the run's key, where sessions are private (`--quic`).
    pub(crate) key: Option<String>,
}

impl Bench {
    /// Starts the program under test.
    pub(crate) fn start(
        &self,
        directory: &Path,
        label: &str,
        arguments: &[&str],
        input: Stream,
        output: Stream,
    ) -> Result<Program, String> {
        Program::start(&self.binary, directory, label, &self.words(arguments), input, output)
    }

    /// The words of a command of the program under test, with those that make its session private
    /// where the run's are.
    pub(crate) fn words<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let mut words = arguments.to_vec();
        let calls = match words.first() {
            Some(&"send") => !words.contains(&"-R"),
            Some(&"recv") => words.contains(&"--from"),
            _ => return words,
        };
        if let Some(key) = &self.key {
            let known: &[&str] =
                if calls && !words.contains(&"--peer-key") { &["--peer-key", key] } else { &[] };
            words.splice(1..1, [&["--quic"], known].concat());
        }
        words
    }

    /// Starts the program under test without input, with output to a file.
    pub(crate) fn run(&self, directory: &Path, label: &str, arguments: &[&str]) -> Result<Program, String> {
        self.start(directory, label, arguments, Stream::Own, Stream::Own)
    }

    /// True if the program's help of `command` names `flag`.
    pub(crate) fn knows(&self, command: &str, flag: &str) -> bool {
        let label = format!("help-{command}{flag}");
        let Ok(mut program) = self.run(&self.directory, &label, &[command, "--help"]) else { return false };
        program.end(SOON).is(0) && program.output().contains(flag)
    }
}

/// When a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// One after another: it needs the processors.
    Busy,
    /// Together with all others: it mostly waits.
    Waiting,
}

/// One attack or fault.
pub(crate) struct Case {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// When it runs.
    pub(crate) load: Load,
    /// The form from which on it runs: a long case is left out of the short form.
    pub(crate) least: Form,
    /// Runs the case.
    pub(crate) run: fn(&Bench, &Path) -> Result<CaseRow, String>,
}

impl Case {
    /// A case of both forms.
    pub(crate) const fn new(
        name: &'static str,
        load: Load,
        run: fn(&Bench, &Path) -> Result<CaseRow, String>,
    ) -> Self {
        Self { name, load, least: Form::Short, run }
    }

    /// The case in the long form only.
    pub(crate) const fn long(mut self) -> Self {
        self.least = Form::Long;
        self
    }
}

/// The observations of a case, a row of the table.
#[derive(Debug, Default)]
pub(crate) struct CaseRow {
    /// Column: packets sent, or the deed.
    pub(crate) sent: String,
    /// Column: effect on the programs.
    pub(crate) seen: String,
    /// Column: effect on an honest transfer.
    pub(crate) honest: String,
    /// A table of its own, in Markdown.
    pub(crate) details: String,
    failures: Vec<String>,
    skipped: Option<String>,
}

impl CaseRow {
    /// A row for what was sent.
    pub(crate) fn new(sent: impl Into<String>) -> Self {
        Self { sent: sent.into(), honest: "–".to_owned(), ..Self::default() }
    }

    /// A row that says why the case did not run here.
    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Self { skipped: Some(why.into()), ..Self::new("–") }
    }

    /// Adds to what happened.
    pub(crate) fn saw(&mut self, what: impl AsRef<str>) {
        if !self.seen.is_empty() {
            self.seen.push_str("; ");
        }
        self.seen.push_str(what.as_ref());
    }

    /// Notes a failure of the bar `bar` unless `held`.
    pub(crate) fn bar(&mut self, held: bool, bar: impl Into<String>) {
        if !held {
            self.failures.push(bar.into());
        }
    }

    /// True if no bar has failed.
    pub(crate) const fn holds(&self) -> bool {
        self.failures.is_empty()
    }

    /// The row without the path of its directory, which differs from run to run.
    fn without(mut self, path: &str) -> Self {
        let Self { sent, seen, honest, failures, .. } = &mut self;
        for text in [sent, seen, honest].into_iter().chain(failures) {
            *text = text.replace(path, "");
        }
        self
    }

    fn verdict(&self) -> String {
        match (&self.skipped, self.failures.as_slice()) {
            (Some(why), []) => format!("skipped: {why}"),
            (None, []) => "ok".to_owned(),
            (_, failures) => format!("**FAILS**: {}", failures.join("; ")),
        }
    }
}

/// A row with its case.
pub(crate) struct Tried {
    name: &'static str,
    row: CaseRow,
}

/// Runs cases and gives their rows in the order of the list.
pub(crate) fn run(bench: &Bench, cases: &[&Case]) -> Vec<Tried> {
    let rows: Vec<Mutex<Option<CaseRow>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    let do_one = |index: usize| {
        let (Some(case), Some(place)) = (cases.get(index), rows.get(index)) else { return };
        let row = run_one(bench, case);
        if let Ok(mut place) = place.lock() {
            *place = Some(row);
        }
    };
    let of = |load: Load| -> Vec<usize> {
        (0..).zip(cases).filter(|(_, case)| case.load == load).map(|(index, _)| index).collect()
    };
    let waiting = of(Load::Waiting);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| of(Load::Busy).into_iter().for_each(do_one));
        for _ in 0..SIDE_BY_SIDE.min(waiting.len()) {
            scope.spawn(|| {
                while let Some(index) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                    do_one(*index);
                }
            });
        }
    });
    let lost = || CaseRow { failures: vec!["the case itself ended early".to_owned()], ..CaseRow::new("") };
    let taken = |place: Mutex<Option<CaseRow>>| place.into_inner().ok().flatten().unwrap_or_else(lost);
    let results = cases.iter().zip(rows);
    results.map(|(case, row)| Tried { name: case.name, row: taken(row) }).collect()
}

fn run_one(bench: &Bench, case: &Case) -> CaseRow {
    let begin = Instant::now();
    let directory = bench.directory.join(case.name);
    let row = fs::create_dir_all(&directory)
        .map_err(|error| error.to_string())
        .and_then(|()| (case.run)(bench, &directory))
        .unwrap_or_else(|why| CaseRow { failures: vec![why], ..CaseRow::new("") })
        .without(&format!("{}/", directory.display()));
    let verdict = row.verdict();
    eprintln!("{:>6.1} s  {:<22} {verdict}", begin.elapsed().as_secs_f64(), case.name);
    row
}

/// The table, in Markdown; `columns` are the names of a case and of the three columns of a
/// [`CaseRow`].
pub(crate) fn table(columns: [&str; 4], results: &[Tried]) -> String {
    let [first, columns @ ..] = columns;
    let mut text =
        format!("| {first} | {} | verdict |\n| --- | --- | --- | --- | --- |\n", columns.join(" | "));
    let clean = |cell: &str| cell.replace('|', "\\|").replace(['\n', '\r', '\u{1b}'], " ");
    for Tried { name, row } in results {
        let cells = [&row.sent, &row.seen, &row.honest, &row.verdict()].map(|cell| clean(cell));
        // Writing to a String does not fail.
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    for result in results.iter().filter(|result| !result.row.details.is_empty()) {
        let _ = write!(text, "\n{}", result.row.details);
    }
    text
}

/// The names of the rows that failed.
pub(crate) fn failed(results: &[Tried]) -> Vec<&'static str> {
    results.iter().filter(|result| !result.row.failures.is_empty()).map(|result| result.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        Bench {
            binary: PathBuf::new(),
            directory: std::env::temp_dir().join(format!("hostile-engine-{}", std::process::id())),
            form: Form::Short,
            place: Ground::Machine,
            undisturbed: Duration::ZERO,
            messages: 0,
            soak: Duration::ZERO,
            datagrams: 0,
            key: None,
        }
    }

    #[test]
    fn private_sessions_know_the_receivers_key() {
        let plain = bench();
        assert_eq!(plain.words(&["send", "a:1"]), ["send", "a:1"]);
        let private = Bench { key: Some("SHA256:x".to_owned()), ..plain };
        assert_eq!(private.words(&["recv", "-1"]), ["recv", "--quic", "-1"]);
        assert_eq!(private.words(&["send", "-R"]), ["send", "--quic", "-R"]);
        assert_eq!(private.words(&["send", "a:1"]), ["send", "--quic", "--peer-key", "SHA256:x", "a:1"]);
        assert_eq!(
            private.words(&["recv", "--from", "a:1"]),
            ["recv", "--quic", "--peer-key", "SHA256:x", "--from", "a:1"]
        );
        let stranger = ["send", "--peer-key", "SHA256:y", "a:1"];
        assert_eq!(private.words(&stranger), ["send", "--quic", "--peer-key", "SHA256:y", "a:1"]);
        assert_eq!(private.words(&["link", "--to", "a:1"]), ["link", "--to", "a:1"]);
    }

    #[test]
    fn rows_keep_their_order_and_failures_are_named() {
        let cases = [
            Case::new("waits", Load::Waiting, |_, _| Ok(CaseRow::new("nothing"))),
            Case::new("works", Load::Busy, |_, _| {
                let mut row = CaseRow::new("a|b");
                row.saw("one");
                row.saw("two");
                row.bar(false, "too much");
                Ok(row)
            }),
            Case::new("breaks", Load::Waiting, |_, _| Err("no port".to_owned())),
            Case::new("elsewhere", Load::Waiting, |_, _| Ok(CaseRow::skipped("no rights"))),
        ];
        let bench = bench();
        let results = run(&bench, &cases.iter().collect::<Vec<_>>());
        fs::remove_dir_all(&bench.directory).expect("ours");
        assert_eq!(failed(&results), ["works", "breaks"]);
        let lines: Vec<String> = table(["attack", "sent", "happened", "honest"], &results)
            .lines()
            .skip(2)
            .map(str::to_owned)
            .collect();
        assert_eq!(
            lines,
            [
                "| waits | nothing |  | – | ok |",
                "| works | a\\|b | one; two | – | **FAILS**: too much |",
                "| breaks |  |  | – | **FAILS**: no port |",
                "| elsewhere | – |  | – | skipped: no rights |",
            ]
        );
    }
}
