//! Programs that run during a test, and their output.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// No single wait of these tests needs more than some seconds; one that lasts this long will never
/// end.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// A running program. It is killed if the test ends before it does.
pub(crate) struct Program {
    name: String,
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<String>,
    said: String,
}

/// Exit status and output of a program that has ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// The built `tfrc` with these arguments, not started yet.
pub(crate) fn tfrc<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("tfrc"));
    command.args(args).stdin(Stdio::null());
    command
}

/// A program from elsewhere, which has to be installed.
pub(crate) fn other(name: &str) -> Command {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()));
    assert!(found, "this test needs the program `{name}`, which is not in PATH; `.ci/run` installs it");
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

impl Program {
    /// Starts it. Its standard input is what `command` says.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_writing(command, Stdio::piped())
    }

    /// Starts it with a standard output that the test reads itself, or nobody.
    pub(crate) fn start_writing(mut command: Command, output: Stdio) -> Self {
        let name = format!("{command:?}");
        let mut child = command
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let err = BufReader::new(child.stderr.take().expect("piped"));
        let (all, stdout) = channel();
        let out = child.stdout.take();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut out) = out {
                let _ = out.read_to_end(&mut bytes);
            }
            all.send(bytes)
        });
        let (line_by_line, stderr) = channel();
        thread::spawn(move || {
            for line in err.lines() {
                let Ok(line) = line else { break };
                if line_by_line.send(line).is_err() {
                    break;
                }
            }
        });
        Self { name, child, stdout, stderr, said: String::new() }
    }

    /// The writing end of its standard input; closed when dropped.
    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("started with Stdio::piped()")
    }

    /// Waits until it says a line with `text` in it on standard error, and gives the line.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        self.wait_for_either(text, text)
    }

    /// As [`Program::wait_for`], for a line with one of two texts.
    pub(crate) fn wait_for_either(&mut self, text: &str, other: &str) -> String {
        loop {
            match self.next_line() {
                Some(line) if line.contains(text) || line.contains(other) => return line,
                Some(_) => {}
                None => panic!("{} ended without saying {text:?}, but:\n{}", self.name, self.said),
            }
        }
    }

    /// Sends it a signal, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().expect("kill starts");
        assert!(status.success(), "no signal {name} to {}", self.name);
    }

    /// Waits for its end, however it ends.
    pub(crate) fn end(mut self) -> Finished {
        while self.next_line().is_some() {}
        let stdout = self.stdout.recv_timeout(LIMIT).unwrap_or_else(|_| self.late("closing its output"));
        // Both outputs are closed: it is ending.
        let status = self.child.wait().expect("a child of ours");
        Finished { status, stdout, stderr: std::mem::take(&mut self.said) }
    }

    /// Waits for its end with exit status 0.
    pub(crate) fn succeed(self) -> Finished {
        let name = self.name.clone();
        let finished = self.end();
        assert!(finished.status.success(), "{name}: {}\n{}", finished.status, finished.stderr);
        finished
    }

    fn next_line(&mut self) -> Option<String> {
        match self.stderr.recv_timeout(LIMIT) {
            Ok(line) => {
                self.said.push_str(&line);
                self.said.push('\n');
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.late("saying a word"),
        }
    }

    fn late(&self, what: &str) -> ! {
        panic!("{} has run for {LIMIT:?} without {what}; so far:\n{}", self.name, self.said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Harmless if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Standard output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }

    /// Standard output as one JSON document.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}; standard error:\n{}", self.text(), self.stderr))
    }
}

/// Runs `tfrc` to its end.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Finished {
    Program::start(tfrc(args)).end()
}
