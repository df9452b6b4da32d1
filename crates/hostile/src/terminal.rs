//! A window that is shut: every command that runs for a while, on a terminal that goes away.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::honest::{self, Listening};
use super::program::{Program, SOON};

/// The cases of this file.
pub(crate) const CASES: [Case; 2] = [
    Case::new("terminal-gone", Load::Waiting, |b, d| gone(b, d, HangUp::Signal)),
    Case::new("terminal-gone-unsaid", Load::Waiting, |b, d| gone(b, d, HangUp::Silent)),
];

/// The end of a terminal as its programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HangUp {
    /// The kernel sends SIGHUP.
    Signal,
    /// Writing fails with EIO, for the programs are of another session.
    Silent,
}

/// A pseudo-terminal whose window reads what is written.
struct Window {
    is_shut: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl Window {
    /// Opens a window; the descriptor is that of its programs.
    fn open() -> io::Result<(Self, OwnedFd)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let slave = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
        tcsetwinsize(&slave, Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 })?;
        let is_shut = Arc::new(AtomicBool::new(false));
        let shut = Arc::clone(&is_shut);
        let reader = thread::spawn(move || {
            let mut master = File::from(master);
            while !shut.load(Ordering::Relaxed) {
                let mut fds = [PollFd::new(&master, PollFlags::IN)];
                let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                let readable = poll(&mut fds, Some(&moment)).is_ok_and(|count| count > 0);
                if readable && master.read(&mut [0; 4096]).is_err() {
                    break;
                }
            }
        });
        Ok((Self { is_shut, reader }, slave))
    }

    /// Shuts it.
    fn shut(self) {
        self.is_shut.store(true, Ordering::Relaxed);
        let _ = self.reader.join();
    }
}

/// A command on a terminal.
struct Shown {
    name: &'static str,
    program: Program,
    window: Window,
    /// Its exit status once nobody sees it any more: as for SIGHUP.
    status: i32,
    directory: PathBuf,
    /// Files that it writes: a page, or the heads of time series.
    files: &'static [&'static str],
}

/// A page and time series, for the commands that have them.
const FILES: [&str; 4] = ["--report", "page.html", "--series", "series.csv"];
/// These files.
const BOTH: &[&str] = &["page.html", "series.csv"];

/// Starts a command in a folder and a window of its own.
fn show(
    bench: &Bench,
    directory: &Path,
    hang_up: HangUp,
    name: &'static str,
    (arguments, status, files): (&[&str], i32, &'static [&'static str]),
) -> Result<Shown, String> {
    let folder = directory.join(name.replace(' ', ""));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (window, terminal) = Window::open().map_err(|error| format!("a terminal: {error}"))?;
    let session = match hang_up {
        HangUp::Signal => ["setsid", "--ctty"].as_slice(),
        HangUp::Silent => ["setsid"].as_slice(),
    };
    let binary = bench.binary.to_string_lossy();
    let all = [session, &["env", "TERM=xterm"], &[&*binary], &bench.words(arguments)].concat();
    let end = || terminal.try_clone().map(Stdio::from).map_err(|error| error.to_string());
    let program = Program::on(&folder, &all, [end()?, end()?, end()?])?;
    Ok(Shown { name, program, window, status, directory: folder, files })
}

/// Every command on a terminal that is shut after some seconds.
fn gone(bench: &Bench, directory: &Path, hang_up: HangUp) -> Result<CaseRow, String> {
    let how = match hang_up {
        HangUp::Signal => "with SIGHUP",
        HangUp::Silent => "without a signal",
    };
    let mut row = CaseRow::new(format!("the terminal of every command that runs for a while, {how}"));
    let file = honest::input(directory, 20_000_000)?;
    let file = file.to_string_lossy();
    let folder = |name: &str| {
        let folder = directory.join(name);
        fs::create_dir_all(&folder).map(|()| folder).map_err(|error| error.to_string())
    };
    let mut receivers = Vec::new();
    let mut shown = Vec::new();
    for (name, live) in [("send", [].as_slice()), ("send --tui", &["--tui"])] {
        let receiver = Listening::start(bench, &folder(&format!("to {name}"))?, "127.0.0.1", &[])?;
        let arguments = [&["send", &receiver.address, "-f", &file, "-b", "2M"], &FILES[..], live].concat();
        shown.push(show(bench, directory, hang_up, name, (&arguments, 1, BOTH))?);
        receivers.push((name, receiver));
    }
    let sim = ["sim", "halving", "--set", "duration=1000000s"];
    let link = ["link", "--rate", "1Mbit/s", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"];
    let recv = ["recv", "--bind", "127.0.0.1", "-p", "0", "--tui", "--series", "series.csv"];
    let alone: [(&'static str, Vec<&str>, i32, &'static [&'static str]); 7] = [
        ("demo", [&["demo", "--duration", "60s"], &FILES[..]].concat(), 0, BOTH),
        ("link", [&link[..], &FILES[..]].concat(), 0, BOTH),
        ("link --tui", [&link[..], &FILES[..], &["--tui"]].concat(), 0, BOTH),
        ("recv --tui", recv.to_vec(), 0, &["series.csv"]),
        // A simulation that did not come to its end has no result.
        ("sim", [&sim[..], &FILES[..]].concat(), 1, BOTH),
        ("sim --tui", [&sim[..], &FILES[..], &["--tui"]].concat(), 1, BOTH),
        ("emu --tui", [&["emu", "halving", "--tui"], &FILES[..]].concat(), 0, BOTH),
    ];
    for (name, arguments, status, files) in &alone {
        if bench.place == Ground::Own || !name.starts_with("emu") {
            shown.push(show(bench, directory, hang_up, name, (arguments, *status, files))?);
        }
    }
    // They draw by then: all senders have sent some of their file.
    let begin = Instant::now();
    let has_data = |receiver: &Listening| {
        let part = receiver.file.with_extension("part");
        fs::metadata(part).is_ok_and(|part| part.len() > 300_000)
    };
    while begin.elapsed() < SOON && !receivers.iter().all(|(_, receiver)| has_data(receiver)) {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_secs(1));
    let mut programs = Vec::new();
    for mut one in shown {
        row.bar(one.program.runs(), format!("{} runs until then", one.name));
        one.window.shut();
        programs.push((one.name, one.program, one.status, one.directory, one.files));
    }
    for (name, mut program, status, folder, files) in programs {
        let end = program.end(SOON);
        row.saw(format!("{name} {}", end.how));
        // A machine that was busy meanwhile makes 3 of an emulation's 0: its measure is no result.
        let is_busy = name.starts_with("emu") && end.is(3);
        row.bar(end.is(status) || is_busy, format!("{name}: exit {status}"));
        for file in files {
            let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
            let whole = match *file {
                "page.html" => text.ends_with("</html>\n"),
                _ => text.lines().count() >= 1 && text.ends_with('\n'),
            };
            row.bar(whole, format!("{name}: {file} is whole"));
        }
    }
    let source = fs::read(directory.join("in")).map_err(|error| error.to_string())?;
    for (name, mut receiver) in receivers {
        let end = receiver.program.end(SOON);
        let bytes = fs::read(receiver.file.with_extension("part")).unwrap_or_default();
        row.saw(format!("receiver of {name} {}, {} bytes", end.how, bytes.len()));
        // The sender's user wanted the end: the session is closed, and FILE.part is what was sent
        // until then.
        row.bar(end.is(1) && !receiver.file.exists(), format!("receiver of {name}: exit 1"));
        row.bar(
            bytes.len() > 300_000 && source.starts_with(&bytes),
            format!("receiver of {name}: its bytes"),
        );
    }
    Ok(row)
}
