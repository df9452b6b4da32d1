//! A session that something happens to: both programs, the network between them, and the rules of
//! exit statuses and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tfrc_units::saturating;

use super::engine::{Bench, CaseRow};
use super::honest::{self, Listening, TransferPlan};
use super::program::{Ended, Program, Stream};

/// Time after which an end has noticed that its peer is silent: 60 s for a sender, 30 s for a
/// receiver, and some for a busy machine.
pub(crate) const SILENCE: Duration = Duration::from_secs(80);

/// Both ends of a transfer in progress.
pub(crate) struct Session {
    /// The receiver, with `-1`.
    pub(crate) receiver: Program,
    pub(crate) sender: Program,
    /// The network between them, if the session has one.
    pub(crate) link: Option<Program>,
    /// The file that is sent.
    pub(crate) source: PathBuf,
    /// FILE of the receiver.
    pub(crate) file: PathBuf,
}

/// The bar on FILE and FILE.part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Any ending is accepted.
    Anything,
    /// FILE after exit 0, FILE.part after any other: only the names are checked.
    AsStatus,
    /// FILE.part, the beginning of the source.
    Part,
    /// FILE, equal to the source.
    Whole,
}

/// The bars on both ends.
pub(crate) struct Bars<'a> {
    /// Exit statuses of the sender that are right; none: not looked at.
    pub(crate) sender: &'a [i32],
    /// Exit statuses of the receiver that are right; none: not looked at.
    pub(crate) receiver: &'a [i32],
    /// The bar on the files.
    pub(crate) kept: Kept,
}

/// Writes a scenario of one link and gives its path.
pub(crate) fn scenario(directory: &Path, link: &str) -> Result<PathBuf, String> {
    let path = directory.join("link.toml");
    let text = format!(
        "duration = \"100000s\"\nseed = 7\nnodes = [\"near\", \"far\"]\n\n[[link]]\nfrom = \"near\"\nto = \"far\"\n{link}\n"
    );
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Starts `tfrc link` in front of `to`; gives it and its entrance.
pub(crate) fn link(
    bench: &Bench,
    directory: &Path,
    keys: &str,
    to: &str,
) -> Result<(Program, String), String> {
    let scenario = scenario(directory, keys)?;
    let entrance = format!("127.0.0.1:{}", honest::free_port("127.0.0.1")?);
    let mut program = bench.run(
        directory,
        "link",
        &["link", &scenario.to_string_lossy(), "--listen", &entrance, "--to", to],
    )?;
    program.wait_for("relaying")?;
    Ok((program, entrance))
}

impl Session {
    /// Starts `recv -1 --json -o FILE` and `send --json`, and waits until they are connected.
    pub(crate) fn start(
        bench: &Bench,
        directory: &Path,
        plan: &TransferPlan<'_>,
        keys: Option<&str>,
    ) -> Result<Self, String> {
        let file = directory.join("out");
        let output = file.to_string_lossy().into_owned();
        Self::to(bench, directory, plan, keys, &output, Stream::Own)
    }

    /// [`Session::start`] with another output of the receiver.
    pub(crate) fn to(
        bench: &Bench,
        directory: &Path,
        plan: &TransferPlan<'_>,
        keys: Option<&str>,
        output: &str,
        stdout: Stream,
    ) -> Result<Self, String> {
        // Standard output cannot carry both the data and a document.
        let json: &[&str] = if output == "-" { &["-1", "-o", "-"] } else { &["-1", "--json", "-o", output] };
        let arguments = [json, plan.recv].concat();
        let listening = Listening::raw(bench, directory, plan.address, &arguments, stdout)?;
        let (link, to) = match keys {
            None => (None, listening.address.clone()),
            Some(keys) => {
                let (program, entrance) = link(bench, directory, keys, &listening.address)?;
                (Some(program), entrance)
            }
        };
        let source = honest::input(directory, plan.bytes)?;
        let send = [&["--json"], plan.send].concat();
        let mut sender =
            honest::send(bench, directory, &to, &source, &TransferPlan { send: &send, ..*plan })?;
        sender.wait_for("connected")?;
        Ok(Self { receiver: listening.program, sender, link, source, file: PathBuf::from(output) })
    }

    /// Waits for both ends, the sender first, and judges them.
    pub(crate) fn judge(
        &mut self,
        what: &str,
        sender: Duration,
        receiver: Duration,
        bars: &Bars<'_>,
    ) -> CaseRow {
        let sender = self.sender.end(sender);
        let receiver = self.receiver.end(receiver);
        self.judge_ends(what, &sender, &receiver, bars)
    }

    /// Judges two ends.
    pub(crate) fn judge_ends(
        &self,
        what: &str,
        sender: &Ended,
        receiver: &Ended,
        bars: &Bars<'_>,
    ) -> CaseRow {
        let mut row = CaseRow::new(what);
        let said = |end: &Ended| format!("{}, {:.1} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last);
        row.saw(format!("sender {}", said(sender)));
        row.saw(format!("receiver {}", said(receiver)));
        let part = part_of(&self.file);
        let has = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let (whole, partial) = (has(&self.file), has(&part));
        let summary: serde_json::Value = serde_json::from_str(&self.receiver.output()).unwrap_or_default();
        let counted = summary["received_bytes"].as_u64();
        row.honest = format!("FILE {}, FILE.part {}", honest::length(&self.file), honest::length(&part));
        if let Some(counted) = counted {
            row.honest.push_str(&format!(", counted {counted}"));
        }
        check(&mut row, "sender", sender, bars.sender);
        check(&mut row, "receiver", receiver, bars.receiver);
        let wanted = match bars.kept {
            Kept::Anything => return row,
            Kept::Whole => true,
            Kept::Part => false,
            Kept::AsStatus => receiver.is(0),
        };
        row.bar(whole == wanted && partial != wanted, if wanted { "FILE alone" } else { "FILE.part alone" });
        let left = if whole { &self.file } else { &part };
        let (source, content) =
            (fs::read(&self.source).unwrap_or_default(), fs::read(left).unwrap_or_default());
        match bars.kept {
            Kept::Whole => row.bar(content == source, "FILE equal to the source"),
            Kept::AsStatus => {}
            _ => row.bar(source.starts_with(&content), "what is there is the beginning of the source"),
        }
        let length = saturating::<u64>(content.len());
        // The part of a file that was being repaired has holes, and an end that does not count.
        let missing = summary["missing_bytes"].as_u64().unwrap_or(0);
        let fits = |counted: u64| if whole { counted + missing == length } else { counted <= length };
        row.bar(counted.is_none_or(fits), "counted bytes are in the file");
        row
    }
}

/// FILE.part.
pub(crate) fn part_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn check(row: &mut CaseRow, name: &str, end: &Ended, right: &[i32]) {
    row.bar(!end.crashed(), format!("{name} does not crash"));
    let words: Vec<String> = right.iter().map(i32::to_string).collect();
    row.bar(
        right.is_empty() || right.iter().any(|code| end.is(*code)),
        format!("{name}: exit {}", words.join(" or ")),
    );
}
