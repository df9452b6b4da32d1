//! `tfrc send`: a file, a pipe or made-up data over one connection.
//!
//! Files that exist, that two options name or that cannot be written are refused before anybody is
//! called; `-l` longer than a packet of the path takes, after the handshake. However the data ends,
//! the connection is closed and summed up, and `judge` gives the reason and the exit status.

mod hearing;
mod peer;
mod prepare;
mod rate_out;
mod refused;
mod transfer;
mod trial;

use std::net::SocketAddr;
use std::sync::Arc;

use tfrc_net::{Cause, Closed, ClosedBy, LatePolicy, Status, UNCONFIRMED};
use tfrc_report::record::{EventKind, Record, Role, Start, Summary};
use tfrc_units::Dscp;
use tfrc_units::{Duration, Instant, Rate, saturating};

use self::hearing::Hearing;
use self::rate_out::RateOut;
use self::refused::Refused;
use self::transfer::{Repair, StopSending, Transfer};
use crate::Failure;
use crate::args::SendArgs;
use crate::interrupt::Interrupt;
use crate::live::{self, Live, Model, ModelConfig, View};
use crate::reporter::{ExistingPage, Page, Reporter, ReporterConfig};
use crate::session::{
    self, Connection, Does, Encoded, Ending, Endpoint, Existing, FileSent, FileSource, Part, Privacy,
    Sampler, Tally, Trouble, UdpSource, as_f64, at_receiver, complete, count, counted, is_proper, not_whole,
    why,
};

/// Runs `tfrc send`.
///
/// # Errors
/// [`Failure::Usage`] when a file must not be touched or cannot be opened, [`Failure::Run`] when
/// the connection cannot be made, [`Failure::Session`] when it broke off or not all data was
/// delivered.
pub fn run(args: &SendArgs) -> Result<(), Failure> {
    run_fed(args, None, || Ok(()))
}

/// Runs `tfrc send` with data of another program, an encoder with these figures. Once no more is
/// read, `fed` ends that program; an error, a sentence, is that of the source.
///
/// # Errors
/// As [`run`].
pub(super) fn run_fed(
    args: &SendArgs,
    encoded: Option<Encoded>,
    fed: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Result<(), Failure> {
    prepare::check_private(args)?;
    prepare::check_files(args)?;
    // Before anything else is opened: a descriptor that was not given must not be one of ours.
    let rate_out = args.rate_out.as_ref().map(RateOut::open).transpose()?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(send(args, rate_out, encoded, fed, interrupt))
}

async fn send(
    args: &SendArgs,
    rate_out: Option<RateOut>,
    encoded: Option<Encoded>,
    fed: impl FnOnce() -> Result<(), String> + Send + 'static,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut reporter = Reporter::new(config(args)).with_series(args.session.series.as_deref(), &[])?;
    let interrupted = || {
        Failure::Run(match &args.to {
            Some(to) => format!("interrupted before {to} answered"),
            None => "interrupted before a receiver connected".to_owned(),
        })
    };
    let addresses = interrupt.or(peer::addresses(args)).await.ok_or_else(interrupted)??;
    peer::check(args, &addresses, &mut reporter)?;
    let privacy = match &args.to {
        Some(to) => Privacy::new(&args.session.private, Does::Calls(&to.to_string()), &mut reporter)?,
        None => Privacy::new(&args.session.private, Does::Listens(&args.allow_key), &mut reporter)?,
    };
    if args.to.is_some() {
        privacy.warn(&addresses, &mut reporter);
    }
    let cap = prepare::cap(args, &addresses, &mut reporter)?;
    // Opened first: a wrong name should fail before anybody is called. A FIFO may have no other
    // end.
    let udp_in = match &args.udp_in {
        Some(at) => Some(prepare::udp_in(at, &addresses).await?),
        None => None,
    };
    let counts = udp_in.as_ref().map(UdpSource::counts);
    if let Some(address) = udp_in.as_ref().and_then(UdpSource::address) {
        reporter.note(&format!("taking datagrams at {address}"));
    }
    let mut source = interrupt.or(prepare::source(args, udp_in)).await.ok_or_else(interrupted)??;
    let recordings = interrupt.or(prepare::recordings(args)).await.ok_or_else(interrupted)??;
    let is_file = source.file_bytes().is_some() && means_whole(args);
    let part = match source.file_bytes() {
        Some(_) if is_file => Part::SendsFile,
        Some(_) if args.lossy && args.deadline.is_none() && args.time.is_none() => Part::SendsLossy,
        _ => Part::Sends,
    };
    let options = prepare::options(args, part, cap, &privacy);
    let began = std::time::Instant::now();
    reporter.say(&Record::Start(start(args, &addresses, cap)));
    let mut patience = interrupt.clone();
    let connecting =
        peer::Connecting { args, part, addresses: &addresses, options: &options, privacy: &privacy };
    let attempt = connecting.connected(recordings, &mut source, &mut reporter, &mut patience);
    let connected = match interrupt.or(attempt).await {
        Some(connected) => connected,
        None => Err(interrupted()),
    };
    let peer::Connected { endpoint, connection, file } = connected.inspect_err(|failure| {
        let t_s = began.elapsed().as_secs_f64();
        reporter.say(&Record::Error { t_s, message: failure.to_string() });
    })?;
    let connection = Arc::new(connection);
    let limit = connection.max_datagram();
    if let Some(length) = args.length.filter(|length| usize::from(*length) > limit) {
        connection.close_now().await;
        let message = format!("-l {length}: packets on this path carry at most {limit} bytes");
        return Err(Failure::usage(message, format!("use -l {limit} or less")));
    }
    if let Some(agreed) = connection.status().sending.filter(|agreed| *agreed != args.variant) {
        reporter.note(&format!("the receiver does not take {}: {agreed} it is", args.variant));
    }
    if let Some(deadline) = args.deadline {
        connection.set_late_policy(LatePolicy::DropAfter(deadline));
    }
    let mut keys = None;
    if args.session.live.tui
        && let Some((screen, read)) = live::open(args.session.output.format())
    {
        keys = Some(read);
        reporter = reporter.with_live(Live::new(model(args), Some(screen)));
    }
    let began = endpoint.now();
    let sent = file.as_ref().map(FileSource::sent);
    // Datagrams that were sent before the receiver was sure count, too.
    let mut first = connection.status();
    first.stats = tfrc_net::Stats::default();
    let mut transfer = Transfer {
        args,
        connection: &connection,
        sampler: Sampler::new(began, first),
        reporter: &mut reporter,
        interrupt: &mut interrupt,
        began,
        time_up: transfer::time_limit(args).map(|limit| tokio::time::Instant::now() + limit.into()),
        hearing: Hearing::new(began),
        rate_out,
        encoded,
        refused: counts.map(Refused::new),
        narrowed: 0,
        aborted: false,
        whole: source.file_bytes().filter(|_| is_file),
        sent: sent.clone(),
        once: None,
        repair: if file.as_ref().is_some_and(FileSource::repairs) { Repair::Going } else { Repair::None },
        file,
    };
    let named = args.to.is_some() && addresses.len() == 1;
    let peer = connection.remote_addr().filter(|_| !named).map(session::shown);
    // A `tfrc` has words for the end.
    let kind = if connection.peer_greeting().is_some() { PeerKind::Tfrc } else { PeerKind::Other };
    let event = transfer.sampler.event_with(began, EventKind::Connected, peer);
    transfer.reporter.say(&event);
    transfer.reporter.note(&format!("rate control: {}, profile {}", args.variant, args.profile().name()));
    let stop = transfer.data(source, keys).await;
    // The other program ends when it hears no more rates.
    let unwritten_rate = transfer.rate_out.take().and_then(RateOut::failure);
    let stop = match session::blocking(fed).await {
        Err(why) if stop.is_of_this_end() => StopSending::Failed(why),
        _ => stop,
    };
    // However the data ended, the connection is closed and summed up.
    let (stop, closed) = transfer.close(stop).await;
    let ended = endpoint.now();
    let event = transfer.sampler.event(ended, EventKind::Closed);
    transfer.reporter.say(&event);
    let refused = transfer.refused.as_ref().map(Refused::totals).unwrap_or_default();
    let Transfer { narrowed, aborted, whole, once, repair, .. } = transfer;
    let mut status = connection.status();
    status.unsent_packets += refused.unsent;
    let mut summary = summarise(args, &transfer.sampler, &status, began, ended);
    if let Some(sent) = &sent {
        note_file(&mut summary, sent, repair);
    }
    refused.note(&mut summary);
    let fell_behind = transfer.encoded.as_ref().and_then(|encoded| encoded.sum_up(&mut summary));
    let text = closed.as_ref().and_then(|closed| closed.text.as_deref());
    let tally = text.and_then(|text| text.parse::<Tally>().ok());
    // Of a file that is repaired the octets of each datagram are its place, too, and an earlier
    // session may have brought a part.
    let most = whole.filter(|_| sent.is_some()).unwrap_or(status.stats.sent_data_bytes);
    let tally = tally.map(|tally| tally.bounded(status.stats.sent_data_packets, most));
    match &tally {
        Some(tally) => complete(tally, status.stats.sent_data_packets, &mut summary),
        None => reporter.note("the receiver did not say what it got: received, lost and late are unknown"),
    }
    let data = if args.file.is_some() || args.udp_in.is_some() { Data::Given } else { Data::MadeUp };
    if data == Data::MadeUp {
        // Nobody misses what was made up and waited when the time was up.
        summary.unsent_packets = Some(0);
    }
    summary.file_bytes = whole.or(once);
    summary.missing_bytes =
        summary.file_bytes.zip(tally).map(|(length, tally)| length.saturating_sub(tally.bytes));
    if repair == Repair::Done {
        // What was refused of the file has gone again.
        status.unsent_packets = 0;
        summary.unsent_packets = Some(0);
    }
    let facts = Facts { data, kind, narrowed, aborted, whole, repair, again: summary.repaired_bytes };
    let ending = refused.judge(judge(&stop, facts, closed.as_ref(), tally.as_ref(), &status), limit);
    let ending = ending.with(fell_behind);
    let ending = ending.after(unwritten_rate.as_ref());
    drop(connection);
    // A peer that is out of step cannot read our Reset, and asks.
    let asks = |closed: Closed| closed.by == ClosedBy::Peer || matches!(closed.cause, Cause::OutOfStep(_));
    if closed.is_some_and(asks) {
        interrupt.or(endpoint.linger()).await;
    }
    let recorded = shut_down(args, endpoint).await;
    interrupt.keep(None);
    reporter.conclude(summary, ending.after(recorded.err().as_ref())).status()
}

/// True if a file that is sent is of use only if it is whole. Who drops what is late, or stops at a
/// time, has decided otherwise.
fn means_whole(args: &SendArgs) -> bool {
    !args.lossy && args.deadline.is_none() && args.time.is_none()
}

/// Ends the endpoint with its recordings.
async fn shut_down(args: &SendArgs, endpoint: Endpoint) -> Result<(), Failure> {
    let recorded = args.journal.is_some() || args.pcap.is_some();
    endpoint.shut_down().await.map_err(|error| {
        let what = if recorded { "network or recording" } else { "network" };
        Failure::Run(format!("{what}: {error}"))
    })
}

/// The worth of data that is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Somebody wants it to arrive.
    Given,
    /// Nobody misses it.
    MadeUp,
}

/// The program at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeerKind {
    /// It has introduced itself: it says what it got.
    Tfrc,
    Other,
}

/// Facts about a session besides its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts {
    data: Data,
    kind: PeerKind,
    /// Datagrams that the path had become too narrow for before the session was closed.
    narrowed: u64,
    /// The receiver was told that the user aborts.
    aborted: bool,
    /// Bytes of the file that has to arrive whole, if one was sent.
    whole: Option<u64>,
    repair: Repair,
    /// Bytes of the file that were sent again.
    again: Option<u64>,
}

/// How the session ended, and why; it determines the exit status.
fn judge(
    stop: &StopSending,
    Facts { data, kind, narrowed, aborted, whole, repair, again }: Facts,
    closed: Option<&Closed>,
    tally: Option<&Tally>,
    status: &Status,
) -> Ending {
    let dropped = tally.map_or(0, |tally| tally.dropped).max(status.stats.peer_dropped_packets);
    let written = tally.map(|tally| format!("it has written {}", counted(tally.bytes, "byte")));
    let unsent = (status.unsent_packets > 0 && data == Data::Given)
        .then(|| format!("{} not sent", counted(status.unsent_packets, "datagram")));
    let trouble = tally.and_then(|tally| tally.trouble);
    if let Some(trouble) = trouble.filter(|_| tally.is_some_and(Tally::is_receivers)) {
        return Ending::failed(at_receiver(trouble)).with(written).with(unsent);
    }
    let lost = || match tally {
        // Only `tfrc recv` has words for that.
        None => "nobody confirmed that it arrived".to_owned(),
        Some(tally) => match status.stats.sent_data_packets - (tally.received + tally.late + tally.dropped) {
            0 => "none lost on the way".to_owned(),
            lost => format!("{} lost on the way", count(lost)),
        },
    };
    // A file of which the receiver lacks bytes, unless it has said that it takes holes.
    let missing = whole.zip(tally).map(|(length, tally)| (length.saturating_sub(tally.bytes), length));
    let torn = missing.filter(|(missing, _)| match trouble {
        Some(Trouble::Holes) => false,
        Some(Trouble::NotWhole) => true,
        _ => *missing > 0,
    });
    let torn = torn.map(|(missing, length)| Ending::failed(not_whole(missing, length)).with(Some(lost())));
    let ending = match (stop, closed) {
        (StopSending::Gone(reason), _) => Ending::failed(reason.clone()),
        (_, None) => Ending::failed("the peer did not answer the close in time"),
        (_, Some(closed)) if !is_proper(closed) => Ending::failed(why(closed)),
        (StopSending::Failed(reason), _) => Ending::failed(reason.clone()),
        (StopSending::Over, _) => Ending::failed("the receiver ended the session"),
        (_, Some(closed)) if closed.by == ClosedBy::Peer => Ending::failed("the receiver ended the session"),
        (StopSending::EndOfData | StopSending::Interrupted | StopSending::TimeUp, _)
            if dropped > 0 && repair != Repair::Done =>
        {
            Ending::failed(format!(
                "the receiver reads too slowly: it dropped {} that had arrived",
                counted(dropped, "datagram")
            ))
        }
        (_, Some(closed)) if closed.text.as_deref() == Some(UNCONFIRMED) => {
            return Ending::unconfirmed("the receiver has not yet written all that arrived").with(unsent);
        }
        (_, Some(_)) if tally.is_none() && kind == PeerKind::Tfrc => {
            return Ending::unconfirmed("the receiver did not say what it has written").with(unsent);
        }
        (StopSending::Interrupted | StopSending::TimeUp, _) if narrowed > 0 && data == Data::Given => {
            Ending::failed("the path has become too narrow for some datagrams")
        }
        (StopSending::Interrupted | StopSending::TimeUp, _) if aborted && trouble.is_some() => {
            Ending::failed("aborted by a second Ctrl-C")
        }
        (StopSending::Interrupted, _) => match torn {
            Some(torn) => torn.with(Some("interrupted".to_owned())),
            None if whole.is_some() => Ending::failed("interrupted before the end of the file"),
            None => Ending::stopped("interrupted"),
        },
        (StopSending::TimeUp, _) => Ending::stopped("the time is up"),
        (StopSending::EndOfData, _) if status.unsent_packets > 0 => {
            Ending::failed("the path has become too narrow for some datagrams")
        }
        (StopSending::EndOfData, _) if repair == Repair::Done => {
            let length = counted(whole.unwrap_or(0), "byte");
            let again = match again {
                None | Some(0) => String::new(),
                Some(again) => format!("; {} sent again", counted(again, "byte")),
            };
            let whole = format!("the file is whole: {length}, and the hash agrees{again}");
            torn.unwrap_or_else(|| Ending::complete(whole))
        }
        (StopSending::EndOfData, _) => {
            let all = format!("all of {} sent", counted(status.stats.sent_data_packets, "datagram"));
            torn.unwrap_or_else(|| Ending::complete(all))
        }
    };
    let told = (!ending.has_failed()).then(lost);
    ending.with(told).with(unsent)
}

/// Counts the bytes of a file without what says where they belong.
fn note_file(summary: &mut Summary, sent: &FileSent, repair: Repair) {
    let (once, again) = sent.counts();
    summary.sent_bytes = Some(once + again);
    summary.repaired_bytes = (repair != Repair::None).then_some(again);
}

/// The figures of the run up to now, without the receiver's.
fn summarise(args: &SendArgs, sampler: &Sampler, status: &Status, began: Instant, now: Instant) -> Summary {
    let duration_s = now.saturating_since(began).as_secs_f64();
    let bytes = status.stats.sent_data_bytes;
    let handed_over = status.late_dropped + status.stats.sent_data_packets;
    Summary {
        variant: Some(status.sending.unwrap_or(args.variant).to_string()),
        profile: Some(args.profile().name().to_owned()),
        sent_packets: Some(status.stats.sent_data_packets),
        sent_bytes: Some(bytes),
        duration_s,
        send_rate_bps: (duration_s > 0.0).then(|| as_f64(bytes) * 8.0 / duration_s),
        allowed_rate_bps: sampler.mean_allowed_rate(),
        rtt_s: sampler.mean_rtt(),
        late_dropped_packets: Some(status.late_dropped),
        late_dropped_rate: (handed_over > 0).then(|| as_f64(status.late_dropped) / as_f64(handed_over)),
        unsent_packets: Some(status.unsent_packets),
        max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
        path_probes: Some(status.stats.sent_path_probes),
        corrected_feedback: Some(status.stats.corrected_feedback),
        refused_feedback: Some(status.stats.refused_feedback),
        skipped_numbers: Some(status.stats.skipped_numbers),
        invalid_packets: Some(status.stats.invalid_packets),
        ..Summary::default()
    }
}

fn start(args: &SendArgs, addresses: &[SocketAddr], cap: Option<f64>) -> Start {
    let mut start = session::start(Role::Send);
    start.peer = args.to.as_ref().map(|to| match addresses {
        [address] => address.to_string(),
        _ => to.to_string(),
    });
    start.segment_bytes = Some(u64::from(args.length()));
    let mut set = |name: &str, value: String| start.parameters.insert(name.to_owned(), value);
    set("variant", args.variant.to_string());
    if args.session.private.quic {
        set("transport", "quic".to_owned());
    }
    if let Some(guarantee) = args.guarantee {
        set("guarantee", guarantee.to_string());
    }
    if let Some(most) = args.session.max_queue_delay {
        set("max_queue_delay", most.to_string());
    }
    if let Some(least) = args.session.no_feedback_floor {
        set("no_feedback_floor", least.to_string());
    }
    if args.dscp != Dscp::DEFAULT {
        set("dscp", args.dscp.to_string());
    }
    set("revision", args.revision().name().to_owned());
    set("profile", args.profile().name().to_owned());
    if let Some(friend) = args.friend {
        set("friend", friend.name().to_owned());
    }
    if let Some(cap) = cap {
        set("cap", Rate::from_bits_per_sec(cap).to_string());
    }
    start
}

/// The live view of the session before its first record.
fn model(args: &SendArgs) -> Model {
    Model::new(ModelConfig {
        view: View::Sender,
        title: match &args.to {
            Some(to) => format!("tfrc send {to}"),
            None => "tfrc send -R".to_owned(),
        },
        duration_s: transfer::time_limit(args).map(Duration::as_secs_f64),
        queue_limit: None,
        controls: None,
    })
}

fn config(args: &SendArgs) -> ReporterConfig {
    let existing = match prepare::existing(args) {
        Existing::Overwrite => ExistingPage::Replace,
        _ => ExistingPage::Keep,
    };
    ReporterConfig {
        duration: transfer::time_limit(args),
        bytes: prepare::size(args),
        report: args.session.report.clone().map(|path| Page { path, existing }),
        ..ReporterConfig::new(args.session.output.format())
    }
}

/// The summary of a run that goes on, for the user who aborts it.
fn so_far(args: &SendArgs, sampler: &Sampler, connection: &Connection, began: Instant) -> Summary {
    let status = connection.status();
    let mut summary = summarise(args, sampler, &status, began, status.at);
    summary.unsent_packets = Some(status.unsent_packets + saturating::<u64>(status.queued));
    summary
}
