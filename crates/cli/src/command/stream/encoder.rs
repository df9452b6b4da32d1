//! GStreamer as a program that encodes at the rate it is given.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::args::MediaArgs;

/// The program: the rule by which bitrates follow, and the pipeline.
const PROGRAM: &str =
    concat!(include_str!("../../../../../contrib/encoder/follow.py"), include_str!("pipeline.py"));
const HINT: &str = "on Debian: apt install python3-gi gir1.2-gstreamer-1.0 \
                    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad \
                    gstreamer1.0-plugins-ugly";

/// Time that the program has to end after its input has ended.
const GRACE: Duration = Duration::from_secs(3);
/// Time between two looks whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// The source of picture and sound.
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
        let asked = program(&python).arg("--check").stdin(Stdio::null()).output();
        lacking = match asked {
            Ok(answer) if answer.status.success() => return Ok(python),
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.stderr);
                format!("{}: {}", python.display(), said.lines().last().unwrap_or("failed"))
            }
            Err(error) => format!("{}: {error}", python.display()),
        };
    }
    Err(Failure::usage(format!("stream needs GStreamer and its Python bindings; {lacking}"), HINT))
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
    pub(super) fn start(python: &Path, source: &Source, args: &MediaArgs) -> Result<Self, Failure> {
        let bps = |rate: tfrc_units::Rate| format!("{:.0}", rate.bits_per_sec());
        let mut command = program(python);
        command.args(["--rate", "/dev/stdin", "--kind", source.kind()]);
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
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Failure::io(&python.display(), &error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(rates), Some(media), Some(words)) = pipes else {
            return Err(Failure::Run("the encoder has no pipes".to_owned()));
        };
        Ok(Self { child, rates, media, last_words: thread::spawn(move || last_line(words)) })
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
        let asked = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if asked.elapsed() < GRACE => thread::sleep(LOOK),
                Ok(None) => {
                    // A driver or a sink hangs: nobody needs the rest.
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return Ok(());
                }
                Err(error) => break Err(error.to_string()),
            }
        }?;
        if status.success() {
            return Ok(());
        }
        let said = self.last_words.join().unwrap_or_default();
        Err(if said.is_empty() { format!("the encoder ended with {status}") } else { said })
    }
}

/// Reads to the end, so that the program never waits; the last line with a word in it.
fn last_line(words: ChildStderr) -> String {
    let lines = BufReader::new(words).lines().map_while(Result::ok);
    lines.filter(|line| !line.trim().is_empty()).last().unwrap_or_default()
}
