//! GStreamer as a program that encodes at the rate it is given.

use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::args::MediaArgs;
use crate::session::Encoded;
use crate::{Failure, limits};

/// The program: the rule by which bitrates follow, and the pipeline.
const PROGRAM: &str =
    concat!(include_str!("../../../../../contrib/encoder/follow.py"), include_str!("pipeline.py"));
const HINT: &str = "on Debian: apt install python3-gi gir1.2-gstreamer-1.0 \
                    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad \
                    gstreamer1.0-plugins-ugly";

/// Time that the program has to end after its input has ended.
const GRACE: Duration = Duration::from_secs(3);
/// Time for the answer whether everything is there; the first call of GStreamer makes its registry.
const ANSWER: Duration = Duration::from_secs(30);
/// Time between two looks whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// The source of video and audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Camera(PathBuf),
    File(PathBuf),
    Test,
    Uri(String),
}

impl Source {
    /// The word for this kind of source that the program takes.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Camera(_) => "camera",
            Self::File(_) => "file",
            Self::Test => "test",
            Self::Uri(_) => "uri",
        }
    }

    /// The longest time without data once the session has begun. An address may have to wait for
    /// its sender, as long as a receiver waits for data (`--idle`).
    pub(super) const fn patience(&self) -> Duration {
        match self {
            Self::Uri(_) => Duration::from_secs(30),
            Self::Camera(_) | Self::File(_) | Self::Test => Duration::from_secs(10),
        }
    }

    /// Its name.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Camera(path) | Self::File(path) => path.display().to_string(),
            Self::Test => "test".to_owned(),
            Self::Uri(uri) => uri.clone(),
        }
    }
}

/// Finds a Python that has GStreamer with all elements: the first of PATH.
///
/// # Errors
/// [`Failure::Usage`] if there is none, with what the last of them lacks.
pub(super) fn python() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut lacking = "no python3 in PATH".to_owned();
    for python in std::env::split_paths(&path).map(|folder| folder.join("python3")) {
        if !python.is_file() {
            continue;
        }
        match asked(&python) {
            Ok(()) => return Ok(python),
            Err(why) => lacking = format!("{}: {why}", python.display()),
        }
    }
    Err(Failure::usage(format!("stream needs GStreamer and its Python bindings; {lacking}"), HINT))
}

/// Asks a Python whether it has everything; a sentence if it has not, or does not answer.
fn asked(python: &Path) -> Result<(), String> {
    let mut command = program(python);
    command.arg("--check").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let words = child.stderr.take();
    let status = match ended(&mut child, ANSWER) {
        Ok(Some(status)) => status,
        Ok(None) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("no answer in {} s", ANSWER.as_secs()));
        }
        Err(error) => return Err(error.to_string()),
    };
    if status.success() {
        return Ok(());
    }
    let said = words.map_or(String::new(), |words| last_line(words, |_| false));
    Err(if said.is_empty() { format!("it ended with {status}") } else { said })
}

/// Waits for the end of a process, at most this long; `None` if it runs on.
fn ended(child: &mut Child, most: Duration) -> io::Result<Option<ExitStatus>> {
    let asked = Instant::now();
    loop {
        match child.try_wait()? {
            None if asked.elapsed() < most => thread::sleep(LOOK),
            ended => return Ok(ended),
        }
    }
}

/// A Python that will run the program, apart from all settings of the user's.
fn program(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-I", "-c", PROGRAM]);
    command
}

/// The program at work. It begins to encode with the first line of the allowed rate.
#[derive(Debug)]
pub(super) struct Encoder {
    child: Child,
    rates: ChildStdin,
    media: ChildStdout,
    last_words: JoinHandle<String>,
}

impl Encoder {
    /// Starts it.
    ///
    /// # Errors
    /// [`Failure::Run`] if the system gives no process.
    pub(super) fn start(
        python: &Path,
        source: &Source,
        args: &MediaArgs,
        encoded: Encoded,
    ) -> Result<Self, Failure> {
        let bps = |rate: tfrc_units::Rate| format!("{:.0}", rate.bits_per_sec());
        let mut command = program(python);
        command.args(["--rate", "-", "--kind", source.kind()]);
        command.args(["--least", &bps(args.min_bitrate), "--most", &bps(args.max_bitrate)]);
        command.args(["--width", &args.size.width.to_string(), "--height", &args.size.height.to_string()]);
        command.args(["--fps", &args.fps.to_string()]);
        if args.no_sound {
            command.arg("--no-sound");
        }
        if let Some(log) = &args.bitrate_log {
            command.arg("--log").arg(log);
        }
        command.arg("--");
        match source {
            Source::Camera(path) | Source::File(path) => command.arg(path),
            Source::Test | Source::Uri(_) => command.arg(source.place()),
        };
        // Signals that a terminal sends to all its programs are for the session, which ends this
        // one.
        command.process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Failure::io(&python.display(), &error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(rates), Some(media), Some(words)) = pipes else {
            return Err(Failure::Run("the encoder has no pipes".to_owned()));
        };
        let last_words = limits::thread("encoder", move || last_line(words, |line| encoded.take(line)));
        let last_words = last_words.map_err(|error| Failure::io(&"the encoder", &error))?;
        Ok(Self { child, rates, media, last_words })
    }

    /// A name of the pipe that brings the MPEG transport stream.
    pub(super) fn media(&self) -> PathBuf {
        PathBuf::from(format!("/dev/fd/{}", self.media.as_raw_fd()))
    }

    /// The descriptor for the lines of the allowed rate.
    pub(super) fn rates(&self) -> u32 {
        self.rates.as_raw_fd().unsigned_abs()
    }

    /// Ends the program if it has not ended.
    ///
    /// # Errors
    /// Its last line, if it failed.
    pub(super) fn end(mut self) -> Result<(), String> {
        // The end of its input: it ends then, and may write until then.
        drop(self.rates);
        let Some(status) = ended(&mut self.child, GRACE).map_err(|error| error.to_string())? else {
            // A driver or a sink hangs: nobody needs the rest.
            let _ = self.child.kill();
            let _ = self.child.wait();
            return Ok(());
        };
        if status.success() {
            return Ok(());
        }
        let said = self.last_words.join().unwrap_or_default();
        Err(if said.is_empty() { format!("the encoder ended with {status}") } else { said })
    }
}

/// Reads to the end, so that the program never waits; the last line with a word in it that is not
/// `taken`.
fn last_line(words: ChildStderr, taken: impl Fn(&str) -> bool) -> String {
    let lines = BufReader::new(words).lines().map_while(Result::ok);
    lines.filter(|line| !line.trim().is_empty() && !taken(line)).last().unwrap_or_default()
}
