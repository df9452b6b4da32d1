//! Checks and openings before `send` calls anybody, and what its options mean for the rest.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tfrc_net::options::{Carrier, Promise};
use tfrc_net::pcap::CaptureForm;
use tfrc_session::{Boundaries, Common, DEADLINE_QUEUE, DataFrom, Dccp, Listen, Options, Recordings};
use tfrc_units::{Duration, Rate};

use crate::Failure;
use crate::args::values::{FileOrStream, ListenAt, RatePlace};
use crate::args::{SendArgs, SessionArgs};
use crate::live::{Model, ModelConfig, View};
use crate::reporter::{ExistingPage, Page, Reporter, ReporterConfig};
use crate::session::{
    Access, DatagramSource, Existing, Pace, Part, Privacy, UdpSource, blocking, comes_back, files, listen,
    only_dccp,
};

/// The cap of a session with another host, unless the user says otherwise.
const POLITE_CAP_BPS: f64 = 50e6;
/// How long made-up data lasts unless the user says otherwise.
const ENDLESS_UNTIL: Duration = Duration::from_secs(10);
/// The longest time that bytes of a pipe wait for a full packet.
const FLUSH: std::time::Duration = std::time::Duration::from_millis(20);

/// Policy for files that exist.
pub(super) const fn existing(args: &SendArgs) -> Existing {
    if args.session.overwrite { Existing::Overwrite } else { Existing::Refuse }
}

/// Looks at all files that are named, and touches none.
///
/// # Errors
/// [`Failure::Usage`] if two are the same, or one must not be replaced.
pub(super) fn check_files(args: &SendArgs) -> Result<(), Failure> {
    let mut named: Vec<(&str, &Path)> = Vec::new();
    match &args.file {
        Some(FileOrStream::File(path)) => named.push(("-f", path)),
        Some(FileOrStream::Standard) if Path::new("/dev/stdin").exists() => {
            named.push(("-f -", Path::new("/dev/stdin")));
        }
        _ => {}
    }
    let SendArgs { journal, pcap, session: SessionArgs { report, series, .. }, .. } = args;
    let outputs = [("--journal", journal), ("--pcap", pcap), ("--report", report), ("--series", series)];
    let outputs = outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    named.extend(outputs.clone());
    if let Some(RatePlace::File(path)) = &args.rate_out {
        named.push(("--rate-out", path));
    }
    files::all_different(&named)?;
    outputs.map(|(_, path)| path).try_for_each(|path| files::check_new(path, existing(args)))
}

/// Refuses options that only DCCP has in a private session: those of [`dccp`] and recordings.
///
/// # Errors
/// [`Failure::Usage`] with one of them.
pub(super) fn check_private(args: &SendArgs) -> Result<(), Failure> {
    if !args.session.private.quic {
        return Ok(());
    }
    let recordings = [("journal", &args.journal), ("pcap", &args.pcap)];
    let recordings = recordings.into_iter().filter(|(_, path)| path.is_some());
    let chosen = recordings.map(|(name, _)| name.to_owned()).chain(dccp(args).chosen()).next();
    chosen.map_or(Ok(()), |name| Err(only_dccp(&name)))
}

/// The cap on the sending rate, in bit/s.
///
/// # Errors
/// [`Failure::Usage`] if a guarantee is above it.
pub(super) fn cap(
    args: &SendArgs,
    addresses: &[SocketAddr],
    reporter: &mut Reporter,
) -> Result<Option<f64>, Failure> {
    let cap = match args.session.cap {
        Some(cap) => Some(cap.bits_per_sec()),
        None if addresses.iter().all(|to| to.ip().is_loopback()) => None,
        None => {
            reporter.note("no -b given: sending at most 50 Mbit/s to another host");
            Some(POLITE_CAP_BPS)
        }
    };
    match (cap, args.guarantee) {
        (Some(cap), Some(guarantee)) if cap < guarantee.bits_per_sec() => {
            let cap = Rate::from_bits_per_sec(cap);
            Err(Failure::usage(
                format!("--guarantee {guarantee} cannot be kept below a cap of {cap}"),
                format!("use -b {guarantee} or more, or a lower guarantee"),
            ))
        }
        _ => Ok(cap),
    }
}

/// The options of the endpoint.
pub(super) fn options(args: &SendArgs, part: Part, cap_bps: Option<f64>, privacy: &Privacy) -> Options {
    let usual = Common::default();
    let common = Common {
        greeting: part.word().to_owned(),
        // Datagrams of another program go as they are.
        boundaries: if args.udp_in.is_some() { Boundaries::Kept } else { Boundaries::Free },
        accept: if args.reverse { Listen::One } else { Listen::Refuse },
        data_from: if args.reverse { DataFrom::Listener } else { DataFrom::Caller },
        allow: listen::networks(&args.allow),
        revision: args.revision(),
        profile: args.profile(),
        friend: args.friend,
        segment_bytes: u32::from(args.length()),
        cap_bps,
        max_queue_delay: args.session.max_queue_delay,
        no_feedback_floor: args.session.no_feedback_floor,
        send_queue: if args.deadline.is_some() { DEADLINE_QUEUE } else { usual.send_queue },
        ..usual
    };
    Options { common, carrier: privacy.carrier(dccp(args)) }
}

/// The options that DCCP alone has.
fn dccp(args: &SendArgs) -> Dccp {
    Dccp {
        service: args.service,
        variant: args.variant,
        guarantee: args.guarantee.map(|rate| Promise {
            rate,
            start: args.guarantee_start,
            give_way_below: args.guarantee_threshold,
        }),
        dscp: args.dscp,
        circuit_breaker: args.circuit_breaker,
        optimistic_acks: args.optimistic_acks,
        carrier: if args.raw { Carrier::Raw } else { Carrier::Udp },
        ..Dccp::default()
    }
}

/// Bytes that the session will send if nobody and no limit of time ends it, where that is known.
pub(super) fn size(args: &SendArgs) -> Option<u64> {
    let file = match &args.file {
        Some(FileOrStream::File(path)) => {
            Some(path.metadata().ok().filter(std::fs::Metadata::is_file)?.len())
        }
        Some(FileOrStream::Standard) => return None,
        None => None,
    };
    let all = file.into_iter().chain(args.bytes).min();
    // How much a receiver that goes on has already is not known.
    all.filter(|bytes| args.time.is_none() && !args.resume && *bytes > 0)
}

/// Opens the port of `--udp-in`. `to` are the addresses of the receiver.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be opened, or the session would come back to it.
pub(super) async fn udp_in(at: &ListenAt, to: &[SocketAddr]) -> Result<UdpSource, Failure> {
    let ListenAt { host, port } = at;
    let port = port.unwrap_or_default();
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::usage(
            format!("--udp-in {host}:{port}: {why}"),
            "name a free port of this host, such as 5000 or 192.0.2.1:5000",
        )
    };
    let mut found = tokio::net::lookup_host((host.as_str(), port)).await.map_err(|error| unusable(&error))?;
    let at = found.next().ok_or_else(|| unusable(&"has no address"))?;
    if to.iter().any(|to| comes_back(at, *to)) {
        return Err(unusable(&"is the address of the receiver: the session would feed itself"));
    }
    UdpSource::open(at).await.map_err(|error| unusable(&error))
}

/// Opens the source of the data. Waits for the other end of a FIFO.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be opened.
pub(super) async fn source(args: &SendArgs, udp_in: Option<UdpSource>) -> Result<DatagramSource, Failure> {
    let length = usize::from(args.length());
    let source = match (&args.file, udp_in) {
        (_, Some(port)) => DatagramSource::udp(port),
        (None, None) => DatagramSource::made_up(length),
        (Some(FileOrStream::Standard), None) if args.whole => {
            let most = args.bytes.unwrap_or(u64::MAX);
            let file = blocking(move || spooled(most)).await;
            DatagramSource::file(file.map_err(|error| Failure::io(&"standard input", &error))?, length)
        }
        (Some(FileOrStream::Standard), None) => DatagramSource::standard(length, FLUSH),
        (Some(FileOrStream::File(path)), None) => {
            let name = path.clone();
            let file = blocking(move || data_file(&name)).await.map_err(|error| {
                Failure::usage(
                    format!("{}: {error}", path.display()),
                    "name a file that can be read, or - for standard input",
                )
            })?;
            DatagramSource::file(file, length)
        }
    };
    let pace = args.pps.map_or(Pace::AsAllowed, Pace::PerSecond);
    let mut source = source.at_most(args.bytes).paced(pace);
    if !args.resume {
        return Ok(source);
    }
    let (source, read) = blocking(move || {
        let read = source.go_on();
        (source, read)
    })
    .await;
    read.map(|()| source).map_err(|error| Failure::io(&"-f", &error))
}

/// A file without a name, with all that standard input brings, `most` bytes at most: the bytes that
/// get lost are read again.
fn spooled(most: u64) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    std::io::copy(&mut std::io::stdin().lock().take(most), &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// Opens a file that has data.
fn data_file(path: &Path) -> std::io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// Opens the files of the recordings. Waits for the other end of a FIFO.
///
/// # Errors
/// [`Failure::Usage`] when one exists or cannot be opened.
pub(super) async fn recordings(args: &SendArgs) -> Result<Recordings, Failure> {
    let existing = existing(args);
    Ok(Recordings {
        journal: create(args.journal.clone(), existing, Access::Owner).await?,
        capture: create(args.pcap.clone(), existing, Access::Usual).await?,
        form: if args.pcap_udp { CaptureForm::Udp } else { CaptureForm::Native },
    })
}

async fn create(
    path: Option<PathBuf>,
    existing: Existing,
    access: Access,
) -> Result<Option<Box<dyn Write + Send>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let file = blocking(move || files::create(&path, existing, access)).await?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

/// When to stop at the latest: made-up data would never end by itself.
pub(super) fn time_limit(args: &SendArgs) -> Option<Duration> {
    let endless = args.file.is_none() && args.udp_in.is_none() && args.bytes.is_none();
    args.time.or(endless.then_some(ENDLESS_UNTIL))
}

/// The live view of the session before its first record.
pub(super) fn model(args: &SendArgs) -> Model {
    Model::new(ModelConfig {
        view: View::Sender,
        title: match &args.to {
            Some(to) => format!("tfrc send {to}"),
            None => "tfrc send -R".to_owned(),
        },
        duration_s: time_limit(args).map(Duration::as_secs_f64),
        queue_limit: None,
        controls: None,
    })
}

/// The session's output for the user.
pub(super) fn config(args: &SendArgs) -> ReporterConfig {
    let existing = match existing(args) {
        Existing::Overwrite => ExistingPage::Replace,
        _ => ExistingPage::Keep,
    };
    ReporterConfig {
        duration: time_limit(args),
        bytes: size(args),
        report: args.session.report.clone().map(|path| Page { path, existing }),
        ..ReporterConfig::new(args.session.output.format())
    }
}
