//! Arguments of `tfrc stream`.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use tfrc_net::Profile;
use tfrc_units::{Duration, Rate};

use super::SendArgs;
use super::output::{LiveArgs, StreamArgs};
use super::private::PrivateArgs;
use super::values::{self, Target};

/// Arguments of `tfrc stream`: video and audio, encoded by GStreamer at the allowed rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MediaArgs {
    /// The source: a camera (/dev/video0), a file, an address that GStreamer reads
    /// (udp://0.0.0.0:5000), or `test` for a test picture with sound
    #[arg(value_name = "INPUT", value_parser = input)]
    pub input: Input,
    /// The receiver; without a port 6511
    #[arg(value_name = "HOST[:PORT]", value_parser = values::target)]
    pub to: Target,
    /// Wait this long for a receiver that is not there yet, or busy
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub wait: Option<Duration>,
    /// QUIC and keys.
    #[command(flatten)]
    pub private: PrivateArgs,
    /// Stop after this time
    #[arg(short = 't', long, value_name = "TIME", value_parser = values::positive_time)]
    pub time: Option<Duration>,
    /// Size of the picture
    #[arg(help_heading = MEDIA, long, value_name = "WxH", default_value = "640x360", value_parser = size)]
    pub size: Size,
    /// Pictures a second
    #[arg(help_heading = MEDIA, long, value_name = "N", default_value = "25", value_parser = clap::value_parser!(u16).range(1..=240))]
    pub fps: u16,
    /// Lowest bitrate of the picture; where less is allowed, --deadline drops data
    #[arg(help_heading = MEDIA, long, value_name = "RATE", default_value = "150k", value_parser = values::positive_rate)]
    pub min_bitrate: Rate,
    /// Highest bitrate of the picture
    #[arg(help_heading = MEDIA, long, value_name = "RATE", default_value = "4M", value_parser = values::positive_rate)]
    pub max_bitrate: Rate,
    /// Send the picture alone
    #[arg(help_heading = MEDIA, long)]
    pub no_sound: bool,
    /// Never send faster than this; without it 50 Mbit/s to another host and no cap to this one
    #[arg(help_heading = RATE, short = 'b', long = "cap", value_name = "RATE", value_parser = values::positive_rate)]
    pub cap: Option<Rate>,
    /// balanced (the default), or rfc5348 for the RFC alone: see tfrc send --help
    #[arg(help_heading = RATE, long, value_name = "NAME", value_parser = values::one_of(values::PROFILES))]
    pub profile: Option<Profile>,
    /// Keep the queueing delay below this, as `tfrc send` does
    #[arg(help_heading = RATE, long, value_name = "TIME", value_parser = values::positive_time)]
    pub max_queue_delay: Option<Duration>,
    /// Keep the rate through silences of this time, as `tfrc send` does
    #[arg(help_heading = RATE, long, value_name = "TIME", value_parser = values::positive_time)]
    pub no_feedback_floor: Option<Duration>,
    /// Drop data that has waited longer than this instead of sending it late
    #[arg(help_heading = RATE, long, value_name = "TIME", default_value = "500ms", value_parser = values::positive_time)]
    pub deadline: Duration,
    /// Write the bitrates of the encoder: a line for each change, with the time of the picture
    #[arg(help_heading = RECORDS, long, value_name = "FILE")]
    pub bitrate_log: Option<PathBuf>,
    /// Write a page with charts of the run
    #[arg(help_heading = RECORDS, long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write time series of the session, a line for each tenth of a second
    #[arg(help_heading = RECORDS, long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Replace files of --bitrate-log, --report and --series that exist; without it they are
    /// refused
    #[arg(help_heading = RECORDS, long)]
    pub overwrite: bool,
    /// Live view.
    #[command(flatten, next_help_heading = RECORDS)]
    pub live: LiveArgs,
    /// Output format.
    #[command(flatten, next_help_heading = RECORDS)]
    pub output: StreamArgs,
}

const MEDIA: &str = "Picture and sound";
const RATE: &str = "Rate control";
const RECORDS: &str = "Records";

const EXAMPLES: &str = "Examples:
  tfrc stream /dev/video0 there.example                  a camera, and the microphone if there is one
  tfrc stream in.mp4 there.example --max-queue-delay 80ms
  tfrc stream test localhost -t 30s --report run.html    a test picture
  tfrc recv -o - | ffplay -                              at the other end
It runs GStreamer: on Debian the packages python3-gi, gir1.2-gstreamer-1.0 and
gstreamer1.0-plugins-base, -good, -bad and -ugly.";

/// The source of video and audio.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A file or a device.
    Path(PathBuf),
    /// The test picture.
    Test,
    /// An address.
    Uri(String),
}

/// Width and height of a picture, in pixels, both even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Pixels of a line.
    pub width: u16,
    /// Lines.
    pub height: u16,
}

/// Reads an [`Input`]: `test`, `SCHEME://…` or a path. A file of that name is `./test`.
fn input(written: &str) -> Result<Input, String> {
    match written {
        "" => Err("expected a file, a camera, an address or `test`".to_owned()),
        "test" => Ok(Input::Test),
        _ if written.contains("://") => Ok(Input::Uri(written.to_owned())),
        _ => Ok(Input::Path(PathBuf::from(written))),
    }
}

/// Reads a [`Size`]: `640x360`. x264 halves both for the colours.
fn size(written: &str) -> Result<Size, String> {
    let hint = || "expected even numbers from 16 to 8192, such as 1280x720".to_owned();
    let (width, height) = written.split_once('x').ok_or_else(hint)?;
    let side = |text: &str| {
        text.parse().ok().filter(|pixels: &u16| (16..=8192).contains(pixels) && pixels.is_multiple_of(2))
    };
    Ok(Size { width: side(width).ok_or_else(hint)?, height: side(height).ok_or_else(hint)? })
}

impl MediaArgs {
    /// The session: `tfrc send` with the options that both have.
    ///
    /// # Errors
    /// None that a user could cause: the defaults of `tfrc send` are read by its own rules.
    pub fn session(&self) -> Result<SendArgs, clap::Error> {
        let command = SendArgs::augment_args(clap::Command::new("send"));
        let matches = command.try_get_matches_from(["send", "--", &self.to.to_string()])?;
        let send = SendArgs::from_arg_matches(&matches)?;
        Ok(SendArgs {
            private: self.private.clone(),
            wait: self.wait,
            time: self.time,
            cap: self.cap,
            profile: self.profile,
            max_queue_delay: self.max_queue_delay,
            no_feedback_floor: self.no_feedback_floor,
            deadline: Some(self.deadline),
            report: self.report.clone(),
            series: self.series.clone(),
            lossy: false,
            overwrite: self.overwrite,
            live: self.live,
            output: self.output,
            ..send
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<MediaArgs, String> {
        let command = MediaArgs::augment_args(clap::Command::new("stream"));
        command.clone().debug_assert();
        let words = std::iter::once("stream").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        MediaArgs::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn inputs_are_told_apart() {
        for (written, expected) in [
            ("test", Input::Test),
            ("./test", Input::Path("./test".into())),
            ("/dev/video0", Input::Path("/dev/video0".into())),
            ("udp://0.0.0.0:5000", Input::Uri("udp://0.0.0.0:5000".to_owned())),
        ] {
            assert_eq!(read(&format!("{written} host")).expect("right").input, expected);
        }
    }

    #[test]
    fn the_session_has_the_options_of_both_and_the_defaults_of_send() {
        let args = read(
            "test [::1]:7000 -b 3M --deadline 80ms --max-queue-delay 50ms --no-feedback-floor 100ms -t 2s -J",
        )
        .expect("right");
        let send = args.session().expect("defaults");
        assert_eq!(send.to, Some(args.to));
        assert_eq!((send.deadline, send.time), (Some(args.deadline), args.time));
        assert_eq!((send.cap, send.max_queue_delay), (args.cap, args.max_queue_delay));
        assert_eq!(send.no_feedback_floor, Some(Duration::from_millis(100)));
        assert_eq!((send.length(), send.variant), (1316, tfrc_net::Variant::Tfrc));
        assert_eq!(send.output.format(), super::super::Format::Json);
        assert_eq!(args.size, Size { width: 640, height: 360 });
        for bad in ["test", "test host --size 0x0", "test host --size 641x360", "test host --fps 0"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
