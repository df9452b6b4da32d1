//! Arguments of `tfrc stream`.

use std::path::PathBuf;

use clap::{Arg, Args};
use tfrc_units::{Duration, Rate};

use super::SendArgs;
use super::session::{RATE, RECORDS, SessionArgs, in_order};
use super::values::{self, FileOrStream, RatePlace, Target};

/// Arguments of `tfrc stream`: video and audio, encoded by GStreamer at the allowed rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(worded), mut_args(in_order(ORDER)))]
pub(crate) struct MediaArgs {
    /// The source: a camera (/dev/video0), a file, an address that GStreamer reads
    /// (udp://0.0.0.0:5000), or `test` for a test picture with sound
    #[arg(value_name = "INPUT", value_parser = input)]
    pub input: Input,
    /// The receiver; without a port 6511
    #[arg(value_name = "HOST[:PORT]", value_parser = values::target)]
    pub to: Target,
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
    /// Drop data that has waited longer than this instead of sending it late
    #[arg(help_heading = RATE, long, value_name = "TIME", default_value = "500ms", value_parser = values::positive_time)]
    pub deadline: Duration,
    /// Write the bitrates of the encoder: a line for each change, with the time of the picture
    #[arg(help_heading = RECORDS, long, value_name = "FILE")]
    pub bitrate_log: Option<PathBuf>,
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
}

const MEDIA: &str = "Picture and sound";

/// The order of the help where options of every session stand between those of `stream`.
const ORDER: &str = "wait quic peer_key key time \
                     cap profile max_queue_delay no_feedback_floor deadline \
                     bitrate_log report series overwrite tui json json_stream";

/// Puts what an option means here in place of its meaning for `send`.
fn worded(option: Arg) -> Arg {
    let words = match option.get_id().as_str() {
        "cap" => "Never send faster than this; without it 50 Mbit/s to another host and no cap to this one",
        "profile" => "balanced (the default), or rfc5348 for the RFC alone: see tfrc send --help",
        "max_queue_delay" => "Keep the queueing delay below this, as `tfrc send` does",
        "no_feedback_floor" => "Keep the rate through silences of this time, as `tfrc send` does",
        "overwrite" => {
            "Replace files of --bitrate-log, --report and --series that exist; without it they are refused"
        }
        _ => return option,
    };
    option.help(words).hide_possible_values(false)
}

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
pub(crate) enum Input {
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
pub(crate) struct Size {
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
    /// The session: `tfrc send` with data from `media`, whose encoder reads its rate from
    /// `rates`.
    #[must_use]
    pub(crate) fn sending(&self, media: PathBuf, rates: u32) -> SendArgs {
        SendArgs {
            to: Some(self.to.clone()),
            file: Some(FileOrStream::File(media)),
            rate_out: Some(RatePlace::Descriptor(rates)),
            time: self.time,
            deadline: Some(self.deadline),
            session: self.session.clone(),
            ..SendArgs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

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
    fn a_session_without_options_is_that_of_send() {
        let args = read("test host --deadline 1s").expect("right");
        let fed = args.sending("media".into(), 7);
        let command = SendArgs::augment_args(clap::Command::new("send"));
        let line = "send host -f media --rate-out 7 --deadline 1s";
        let matches = command.try_get_matches_from(line.split_whitespace()).expect("right");
        let send = SendArgs::from_arg_matches(&matches).expect("right");
        assert_eq!(format!("{fed:?}"), format!("{send:?}"));
    }

    #[test]
    fn the_session_has_the_options_of_both() {
        let args = read(
            "test [::1]:7000 -b 3M --deadline 80ms --max-queue-delay 50ms --no-feedback-floor 100ms -t 2s -J",
        )
        .expect("right");
        let send = args.sending("media".into(), 7);
        assert_eq!(send.to, Some(args.to));
        assert_eq!((send.deadline, send.time), (Some(args.deadline), args.time));
        assert_eq!(send.session.cap, Some(Rate::from_bits_per_sec(3e6)));
        assert_eq!(send.session.max_queue_delay, Some(Duration::from_millis(50)));
        assert_eq!(send.session.no_feedback_floor, Some(Duration::from_millis(100)));
        assert_eq!((send.length(), send.variant), (1316, tfrc_net::Variant::Tfrc));
        assert_eq!(send.session.output.format(), super::super::Format::Json);
        assert_eq!(args.size, Size { width: 640, height: 360 });
        for bad in ["test", "test host --size 0x0", "test host --size 641x360", "test host --fps 0"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
