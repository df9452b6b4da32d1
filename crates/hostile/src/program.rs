//! A program that a case runs: its output in files, its memory and descriptors, its end.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Time that a program gets for what it should do at once, on a machine with other work.
pub(crate) const SOON: Duration = Duration::from_secs(10);
/// Interval between two looks at a program.
const LOOK: Duration = Duration::from_millis(10);

/// A running child, killed when dropped.
pub(crate) struct Program {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    began: Instant,
}

/// Standard input or output of a program.
pub(crate) enum Stream {
    /// Nothing to read; what is written goes to a file next to the case.
    Own,
    /// A pipe whose other end the case holds.
    Pipe,
}

impl Program {
    /// Starts `binary` with `arguments`; its standard error goes to `DIRECTORY/LABEL.err`.
    pub(crate) fn start(
        binary: &Path,
        directory: &Path,
        label: &str,
        arguments: &[&str],
        input: Stream,
        output: Stream,
    ) -> Result<Self, String> {
        let out = directory.join(format!("{label}.out"));
        let err = directory.join(format!("{label}.err"));
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let stdin = match input {
            Stream::Own => Stdio::null(),
            Stream::Pipe => Stdio::piped(),
        };
        let stdout = match output {
            Stream::Own => create(&out)?.into(),
            Stream::Pipe => Stdio::piped(),
        };
        let child = Command::new(binary)
            .args(arguments)
            .current_dir(directory)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(create(&err)?)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", binary.display()))?;
        Ok(Self { child, out, err, began: Instant::now() })
    }

    /// Starts a command line with these standard streams; where they lead to a terminal its last
    /// words are lost.
    pub(crate) fn on(directory: &Path, line: &[&str], streams: [Stdio; 3]) -> Result<Self, String> {
        let [stdin, stdout, stderr] = streams;
        let (name, arguments) = line.split_first().ok_or("no command")?;
        let mut command = Command::new(name);
        command.args(arguments).current_dir(directory).stdin(stdin).stdout(stdout).stderr(stderr);
        let child = command.spawn().map_err(|error| format!("{name} does not start: {error}"))?;
        let nowhere = directory.join("terminal");
        Ok(Self { child, out: nowhere.clone(), err: nowhere, began: Instant::now() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The reading end of a piped standard output, once.
    pub(crate) fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The writing end of a piped standard input, once.
    pub(crate) fn take_input(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits until standard error contains `text`.
    pub(crate) fn wait_for(&mut self, text: &str) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let said = self.errors();
            if said.contains(text) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("ended ({status}) before it said “{text}”: {}", said.trim_end()));
            }
            if begin.elapsed() > SOON {
                return Err(format!("did not say “{text}” in {} s: {}", SOON.as_secs(), said.trim_end()));
            }
            thread::sleep(LOOK);
        }
    }

    /// True until the program has ended.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end; a program that runs longer is killed.
    pub(crate) fn end(&mut self, within: Duration) -> Ended {
        let begin = Instant::now();
        let how = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break How::from(status),
                Ok(None) if begin.elapsed() >= within => break How::StillRunning(within),
                Ok(None) => thread::sleep(LOOK),
                Err(_) => break How::StillRunning(within),
            }
        };
        self.kill();
        Ended { how, waited: begin.elapsed(), lasted: self.began.elapsed(), last: last_line(&self.errors()) }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A program that has ended has no use for a signal.
            let _ = kill_process(pid, signal);
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Standard error so far.
    pub(crate) fn errors(&self) -> String {
        fs::read(&self.err).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Standard output so far, unless it went elsewhere.
    pub(crate) fn output(&self) -> String {
        fs::read(&self.out).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Bytes written to standard error and output.
    pub(crate) fn log_bytes(&self) -> u64 {
        [&self.out, &self.err].into_iter().filter_map(|path| fs::metadata(path).ok()).map(|m| m.len()).sum()
    }

    /// Resident memory now, in kB.
    pub(crate) fn memory_kb(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most resident memory so far, in kB.
    pub(crate) fn peak_kb(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, key: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
    }

    /// Number of open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.id())).map_or(0, Iterator::count)
    }

    /// Ports of the UDP sockets it has.
    pub(crate) fn udp_ports(&self) -> Vec<u16> {
        let own: Vec<String> = fs::read_dir(format!("/proc/{}/fd", self.id()))
            .into_iter()
            .flatten()
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
            .collect();
        let tables = ["udp", "udp6"]
            .map(|name| fs::read_to_string(format!("/proc/{}/net/{name}", self.id())).unwrap_or_default());
        let mut ports = Vec::new();
        for line in tables.iter().flat_map(|table| table.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Columns of /proc/net/udp: the second is address:port in hexadecimal, the tenth the
            // inode.
            let (Some(address), Some(inode)) = (words.get(1), words.get(9)) else { continue };
            let port = address.rsplit(':').next().and_then(|port| u16::from_str_radix(port, 16).ok());
            if let Some(port) = port.filter(|_| own.iter().any(|own| own == inode)) {
                ports.push(port);
            }
        }
        ports
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Not within the time it had.
    StillRunning(Duration),
}

impl From<ExitStatus> for How {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::StillRunning(time) => write!(f, "still running after {:.0} s", time.as_secs_f64()),
        }
    }
}

/// The end of a program.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    /// Exit status or signal.
    pub(crate) how: How,
    /// Time from the call of [`Program::end`] to the end.
    pub(crate) waited: Duration,
    /// Time from the start of the program to its end.
    pub(crate) lasted: Duration,
    /// Last line of standard error.
    pub(crate) last: String,
}

impl Ended {
    /// True for exit status `code`.
    pub(crate) fn is(&self, code: i32) -> bool {
        self.how == How::Exit(code)
    }

    /// True for a panic, an abort or a crash.
    pub(crate) const fn crashed(&self) -> bool {
        matches!(self.how, How::Exit(101) | How::Signal(4 | 6 | 7 | 8 | 11))
    }
}

/// The last line that says something, without control characters.
fn last_line(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim().chars().map(|c| if c.is_control() { '¤' } else { c }).take(160).collect()
}
