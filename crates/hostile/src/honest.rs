//! An honest transfer, alone or during an attack.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use super::engine::{Bench, CaseRow, Form};
use super::program::{Ended, Program, Stream};
use super::stranger::Xorshift;

/// Longest wait for the end of a transfer that takes a second or a few undisturbed.
const PATIENCE: Duration = Duration::from_secs(40);
/// A transfer during an attack may take this many times as long as one alone, and [`SLACK`] more:
/// two processors are shared with the attacker.
const TIMES: u32 = 4;
const SLACK: Duration = Duration::from_secs(4);

/// A UDP port that nobody has at this moment.
pub(crate) fn free_port(address: &str) -> Result<u16, String> {
    let socket = UdpSocket::bind((address, 0)).map_err(|error| format!("{address}: {error}"))?;
    socket.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

/// Size, cap and arguments of an honest transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferPlan<'a> {
    /// Bytes of the file.
    pub(crate) bytes: usize,
    /// Cap of the sender.
    pub(crate) cap: &'a str,
    /// Address that the receiver listens on.
    pub(crate) address: &'a str,
    /// Further arguments of the receiver.
    pub(crate) recv: &'a [&'a str],
    /// Further arguments of the sender.
    pub(crate) send: &'a [&'a str],
}

impl TransferPlan<'_> {
    /// Three megabytes at 20 Mbit/s, about 1.2 s.
    pub(crate) const USUAL: TransferPlan<'static> =
        TransferPlan { bytes: 3_000_000, cap: "20M", address: "127.0.0.1", recv: &[], send: &[] };
}

/// A receiver that listens, and where its data go.
pub(crate) struct Listening {
    pub(crate) program: Program,
    /// HOST:PORT for a sender.
    pub(crate) address: String,
    /// The UDP port.
    pub(crate) port: u16,
    /// The file it writes.
    pub(crate) file: PathBuf,
}

impl Listening {
    /// Starts `tfrc recv -o out` with `arguments`.
    pub(crate) fn start(
        bench: &Bench,
        directory: &Path,
        address: &str,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let file = directory.join("out");
        let output = file.to_string_lossy().into_owned();
        Self::raw(bench, directory, address, &[&["-o", &output], arguments].concat(), Stream::Own)
    }

    /// Starts `tfrc recv` with `arguments` alone.
    pub(crate) fn raw(
        bench: &Bench,
        directory: &Path,
        address: &str,
        arguments: &[&str],
        output: Stream,
    ) -> Result<Self, String> {
        let port = free_port(address)?;
        let number = port.to_string();
        let all = [&["recv", "--bind", address, "-p", &number], arguments].concat();
        let mut program = bench.start(directory, "recv", &all, Stream::Own, output)?;
        program.wait_for("listening")?;
        let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        Ok(Self { program, address: format!("{host}:{port}"), port, file: directory.join("out") })
    }
}

/// Writes a file of `bytes` bytes without a pattern and gives its path.
pub(crate) fn input(directory: &Path, bytes: usize) -> Result<PathBuf, String> {
    let path = directory.join("in");
    let mut noise = Xorshift::new(saturating::<u64>(bytes));
    let content: Vec<u8> =
        std::iter::repeat_with(|| noise.next().to_le_bytes()).flatten().take(bytes).collect();
    let mut file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    file.write_all(&content).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Starts `tfrc send` of `file` to `to`.
pub(crate) fn send(
    bench: &Bench,
    directory: &Path,
    to: &str,
    file: &Path,
    plan: &TransferPlan<'_>,
) -> Result<Program, String> {
    send_as(bench, directory, "send", to, file, plan)
}

/// Starts `tfrc send` with its output in files named by `label`.
pub(crate) fn send_as(
    bench: &Bench,
    directory: &Path,
    label: &str,
    to: &str,
    file: &Path,
    plan: &TransferPlan<'_>,
) -> Result<Program, String> {
    let file = file.to_string_lossy();
    let arguments = [&["send", to, "-f", &file, "-b", plan.cap], plan.send].concat();
    bench.run(directory, label, &arguments)
}

/// True if both files have the same bytes, which is more than an equal SHA-256.
pub(crate) fn equal(one: &Path, other: &Path) -> bool {
    let (Ok(mut one), Ok(mut other)) = (File::open(one), File::open(other)) else { return false };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    one.read_to_end(&mut a).is_ok() && other.read_to_end(&mut b).is_ok() && a == b
}

/// Bytes of a file, "none" if there is none.
pub(crate) fn length(path: &Path) -> String {
    fs::metadata(path).map_or("none".to_owned(), |metadata| metadata.len().to_string())
}

/// An honest transfer that has ended.
pub(crate) struct HonestTransfer {
    /// The sender's end.
    pub(crate) send: Ended,
    /// True if the file arrived as it was.
    pub(crate) equal: bool,
    time: Duration,
}

/// Sends a file of `plan` to `to`; `arrived` is the receiver's.
pub(crate) fn transfer(
    bench: &Bench,
    directory: &Path,
    to: &str,
    arrived: &Path,
    plan: &TransferPlan<'_>,
) -> Result<HonestTransfer, String> {
    let file = input(directory, plan.bytes)?;
    let begin = Instant::now();
    let mut sender = send(bench, directory, to, &file, plan)?;
    let end = sender.end(PATIENCE);
    Ok(finish(end, begin.elapsed(), &file, arrived))
}

/// Looks at what a sender that has ended left at the receiver, which may still be writing.
pub(crate) fn finish(send: Ended, time: Duration, file: &Path, arrived: &Path) -> HonestTransfer {
    let begin = Instant::now();
    while !equal(file, arrived) && begin.elapsed() < Duration::from_secs(4) {
        std::thread::sleep(Duration::from_millis(50));
    }
    HonestTransfer { equal: equal(file, arrived), send, time }
}

impl HonestTransfer {
    /// Fills in the row's column and the bars that every honest transfer of [`TransferPlan::USUAL`]
    /// has to meet.
    pub(crate) fn judge(&self, bench: &Bench, row: &mut CaseRow) {
        self.judge_against(bench, bench.undisturbed, row);
    }

    /// [`HonestTransfer::judge`] against another time than the usual one.
    pub(crate) fn judge_against(&self, bench: &Bench, undisturbed: Duration, row: &mut CaseRow) {
        row.honest = format!(
            "{}, bytes {}, {:.1} s ({:.1} s alone)",
            self.send.how,
            if self.equal { "equal" } else { "differ" },
            self.time.as_secs_f64(),
            undisturbed.as_secs_f64()
        );
        row.bar(self.send.is(0), format!("honest sender: {} ({})", self.send.how, self.send.last));
        row.bar(self.equal, "honest file differs");
        // The short form runs beside builds, where a time says nothing but that it ended.
        if bench.form == Form::Long {
            let most = undisturbed * TIMES + SLACK;
            row.bar(self.time <= most, format!("honest transfer within {:.1} s", most.as_secs_f64()));
        }
    }
}

/// Measures [`TransferPlan::USUAL`] without an attack.
pub(crate) fn undisturbed(bench: &Bench) -> Result<Duration, String> {
    let directory = bench.directory.join("undisturbed");
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let receiver = Listening::start(bench, &directory, "127.0.0.1", &["-1"])?;
    let transfer = transfer(bench, &directory, &receiver.address, &receiver.file, &TransferPlan::USUAL)?;
    if transfer.send.is(0) && transfer.equal {
        Ok(transfer.time)
    } else {
        Err(format!("an undisturbed transfer fails: {} {}", transfer.send.how, transfer.send.last))
    }
}
