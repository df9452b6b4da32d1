//! `tfrc stream`: a camera, a file, an address or a test picture, encoded at the allowed rate.
//!
//! GStreamer encodes in a program of its own. It reads the allowed rate on its standard input, as
//! `tfrc send --rate-out` writes it, and writes an MPEG transport stream on its standard output,
//! which `tfrc send -f` reads: this command is those two around a pair of pipes.

mod encoder;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use self::encoder::{Encoder, Source};
use crate::Failure;
use crate::args::{Input, MediaArgs};
use crate::command::send::{self, Feeder};
use crate::session::{Encoded, Existing, files};

/// Runs `tfrc stream`.
///
/// # Errors
/// [`Failure::Usage`] when GStreamer or the source is missing, or a file must not be touched;
/// [`Failure::Run`] when the source cannot be encoded; otherwise those of `tfrc send`.
pub(crate) fn run(args: &MediaArgs) -> Result<(), Failure> {
    let source = source(&args.input)?;
    check_files(args)?;
    let python = encoder::python()?;
    let encoded = Encoded::new(source.place(), args.fps.into(), source.patience());
    let encoder = Encoder::start(&python, &source, args, encoded.clone())?;
    let session = args.sending(encoder.media(), encoder.rates());
    let place = source.place();
    let encoder = Arc::new(Mutex::new(Some(encoder)));
    let end = {
        let encoder = Arc::clone(&encoder);
        move || encoder.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Encoder::end)
    };
    // An encoder that fails ends the session; its reason is the cause.
    let ended = end.clone();
    let named = format!("{place}: ");
    let feeder = Feeder { encoded, end: Box::new(move || ended().map_err(|why| named + &why)) };
    let sent = send::run_fed(&session, Some(feeder));
    // There was no session.
    end().map_err(|why| Failure::Run(format!("{place}: {why}")))?;
    sent
}

/// The source, which is there as far as can be seen.
fn source(input: &Input) -> Result<Source, Failure> {
    match input {
        Input::Test => Ok(Source::Test),
        Input::Uri(uri) => Ok(Source::Uri(uri.clone())),
        Input::Path(path) => path_source(path),
    }
}

fn path_source(path: &Path) -> Result<Source, Failure> {
    use std::os::unix::fs::FileTypeExt;
    let unusable = |why: &str| {
        Failure::usage(
            format!("{}: {why}", path.display()),
            "name a file, a camera such as /dev/video0, an address such as udp://0.0.0.0:5000, or test",
        )
    };
    let metadata = path.metadata().map_err(|error| unusable(&error.to_string()))?;
    if metadata.is_dir() {
        return Err(unusable("a directory"));
    }
    let path = path.to_owned();
    Ok(if metadata.file_type().is_char_device() { Source::Camera(path) } else { Source::File(path) })
}

/// Refuses a log of bitrates that is there, or another file as well. `send` looks at the others.
fn check_files(args: &MediaArgs) -> Result<(), Failure> {
    let Some(log) = args.bitrate_log.as_deref() else { return Ok(()) };
    let mut named = vec![("--bitrate-log", log)];
    let others = [("--report", args.session.report.as_deref()), ("--series", args.session.series.as_deref())];
    named.extend(others.into_iter().filter_map(|(option, path)| Some((option, path?))));
    if let Input::Path(path) = &args.input {
        named.push(("INPUT", path));
    }
    files::all_different(&named)?;
    files::check_new(log, if args.session.overwrite { Existing::Overwrite } else { Existing::Refuse })
}
