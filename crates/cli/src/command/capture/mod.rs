//! `tfrc capture`: what a recording says about rate control.

mod page;

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;

use tfrc_capture::{CaptureError, Options, Recording};
use tfrc_net::pcap::{LinkType, Writer};

use crate::args::values::FileOrStream;
use crate::args::{CaptureArgs, Format};
use crate::visible::visible;
use crate::{Failure, document};

/// Runs `tfrc capture`.
///
/// # Errors
/// [`Failure::Usage`] when the file is no capture or its options do not fit, [`Failure::Run`] when
/// it has no packets of DCCP or cannot be read.
pub(crate) fn run(args: &CaptureArgs) -> Result<(), Failure> {
    let read_file = match &args.file {
        FileOrStream::File(path) => Some(path.as_path()),
        FileOrStream::Standard => None,
    };
    let outputs = [("--report", &args.report), ("--native", &args.native)];
    crate::page::check_all(&outputs)?;
    let written = outputs.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    let named: Vec<_> = read_file.map(|path| ("FILE", path)).into_iter().chain(written).collect();
    crate::session::files::all_different(&named)?;
    let name = read_file.map_or("standard input".to_owned(), |path| path.display().to_string());
    let options = Options {
        ports: args.port.iter().copied().collect(),
        tap: args.side,
        lost: (!args.lost.is_empty()).then(|| args.lost.iter().copied().collect()),
    };
    let recording =
        tfrc_capture::read(open(&args.file, &name)?, &options).map_err(|error| refusal(&name, error))?;
    if recording.connections.is_empty() && recording.rtp.is_empty() && recording.quic.is_empty() {
        return Err(Failure::Run(nothing(&name, &recording)));
    }
    if let Some(path) = &args.native {
        if !recording.quic.is_empty() {
            let hint = "leave the option out: a qlog has no packets of DCCP";
            return Err(Failure::usage("--native: needs a capture of DCCP", hint));
        }
        let Some(read_file) = read_file else {
            let hint = "write standard input to a file first: it is read twice";
            return Err(Failure::usage("--native: needs a file to read", hint));
        };
        write_native(read_file, path, &options, &name)?;
    }
    let text = tfrc_capture::text::text(&recording);
    if let Some(path) = &args.report {
        crate::page::write_text(path, &page::page(&name, &recording, &text))?;
    }
    super::print(&match args.output.format() {
        Format::Human => text.lines().map(|line| visible(line) + "\n").collect(),
        _ => format!("{}\n", document::text(&recording)),
    })
}

fn open(file: &FileOrStream, name: &str) -> Result<Box<dyn Read + Send>, Failure> {
    match file {
        FileOrStream::Standard => Ok(Box::new(io::stdin())),
        FileOrStream::File(path) => match File::open(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(Failure::usage(format!("{name}: {error}"), HINT)),
        },
    }
}

const HINT: &str =
    "name a pcap or pcapng file, as tcpdump -w, Wireshark or tfrc send --pcap write, or a qlog of QUIC";

fn refusal(name: &str, error: CaptureError) -> Failure {
    match error {
        CaptureError::Read(error) => Failure::io(&name, &error),
        CaptureError::Empty => {
            Failure::usage(format!("{name}: {error}"), "record it again: tcpdump -w, Wireshark")
        }
        error => Failure::usage(format!("{name}: {error}"), HINT),
    }
}

/// A capture without DCCP: what it has instead.
fn nothing(name: &str, recording: &Recording) -> String {
    let packets = recording.packets;
    if recording.format.starts_with("qlog") {
        let seen = tfrc_capture::text::others(recording);
        let seen = if seen.is_empty() { "no events".to_owned() } else { seen };
        let fault = recording.fault.as_ref().map_or(String::new(), |fault| format!("; {fault}"));
        return format!(
            "{name}: {} without packets of QUIC; seen: {seen}{fault}\n\n  hint: have packet_sent and \
             packet_received logged, with recovery metrics",
            recording.format
        );
    }
    if packets == 0 {
        return format!("{name}: the capture has no packets\n\n  hint: record while the flow is running");
    }
    let fault = recording.fault.as_ref().map_or(String::new(), |fault| format!("; {fault}"));
    format!(
        "{name}: no DCCP or RTP in {packets} packets ({}); seen: {}{fault}\n\n  hint: if UDP on some port carries DCCP \
         and the capture begins after its Request, give --port PORT",
        recording.links.join(", "),
        tfrc_capture::text::others(recording),
    )
}

fn write_native(from: &Path, to: &Path, options: &Options, name: &str) -> Result<(), Failure> {
    let input = File::open(from).map_err(|error| Failure::io(&name, &error))?;
    let failed = |error: io::Error| Failure::io(&to.display(), &error);
    let out = BufWriter::new(crate::page::create(to)?);
    let mut writer = Writer::new(out, LinkType::Raw).map_err(failed)?;
    tfrc_capture::native(input, options, |at, packet| writer.packet(at, packet)).map_err(
        |error| match error {
            CaptureError::Read(error) => failed(error),
            error => refusal(name, error),
        },
    )?;
    writer.flush().map_err(failed)
}
