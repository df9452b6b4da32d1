//! One connection of `recv`, from its first packet to its last line.
//!
//! Its data goes to a thread that writes. While that is behind, nothing is read from the
//! connection, whose sender learns of it. A sender names no file, and `--idle` and `--idle-timeout`
//! bound how long it keeps its place.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_net::{Closed, ClosedBy};
use tfrc_report::record::{EventKind, Outcome, Record, Role, Start, Summary};
use tfrc_units::{Duration, Instant};

use super::Receiver;
use super::intake::{Intake, StopTaking};
use super::options::Take;
use super::sink::Sink;
use super::speaker::Speaker;
use super::totals::{Fates, Gauges};
use crate::Failure;
use crate::interrupt::{Farewell, Interrupt, LastWords};
use crate::reporter::ReporterConfig;
use crate::session::{
    self, Connection, DatagramWriter, EMPTY, Ending, Output, Part, SAMPLE, Sampler, Tally, Task, Trouble,
    UNFINISHED, UdpOutCounts, Written, as_f64, count, counted, is_proper, shown, why,
};

/// How long a receiver that ends the session waits for the sender to agree: four attempts on a
/// short path.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(3);

/// How long a receiver that is interrupted waits for the writes that have begun.
const LAST_WRITES: std::time::Duration = std::time::Duration::from_millis(500);

/// How a connection went.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) ending: Ending,
    pub(super) closed: Option<ClosedBy>,
    pub(super) brought: Brought,
    pub(super) fate: OutputState,
}

/// The use of a connection to a receiver that waits for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brought {
    /// The sender sent datagrams, as far as is known.
    Data,
    Nothing,
    /// The peer is a receiver, too.
    Receiver,
}

/// The state of the output after a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputState {
    /// The data cannot be written any more.
    Broken,
    /// The records cannot be written any more.
    Mute(Failure),
    /// It may be written on.
    Usable,
}

/// A connection that is being served.
struct Serving<'a> {
    receiver: &'a Receiver,
    connection: &'a Arc<Connection>,
    config: ReporterConfig,
    began: Instant,
    sampler: Sampler,
    /// The counts of the writer, and the datagrams that came too late.
    written: Arc<Written>,
    late: Arc<AtomicU64>,
    /// Datagrams and bytes written that the totals know of.
    reported: (u64, u64),
    /// The name of the output.
    output: Option<String>,
    /// Trouble with a UDP output.
    player: Option<Arc<UdpOutCounts>>,
    /// The user has been told that datagrams are dropped here, and of trouble with the player.
    told_of_drops: bool,
    told_of_trouble: bool,
    /// Its number in the totals.
    number: u64,
    second: Second,
    /// A sentence if the peer receives, too.
    clash: Option<&'static str>,
    /// The sender had no data to send.
    empty: bool,
}

/// The data of the last whole second.
struct Second {
    begin: Instant,
    /// Bytes that had arrived at its beginning.
    bytes: u64,
    /// The rate of the second before, bit/s.
    rate_bps: f64,
}

impl Second {
    /// The rate of the last second, bit/s, when `bytes` have arrived in all.
    fn rate(&mut self, now: Instant, bytes: u64) -> f64 {
        let passed = now.saturating_since(self.begin);
        if passed >= Duration::from_secs(1) {
            let rate_bps = as_f64(bytes.saturating_sub(self.bytes)) * 8.0 / passed.as_secs_f64();
            *self = Self { begin: now, bytes, rate_bps };
        }
        self.rate_bps
    }
}

/// Serves a connection to its end. `number` is that of the totals; `sink` waits for the first
/// datagram.
pub(super) async fn serve<S: Future<Output = Result<Sink, String>>>(
    receiver: &Receiver,
    connection: &Arc<Connection>,
    number: u64,
    sink: impl FnOnce(SocketAddr) -> S,
    interrupt: &mut Interrupt,
) -> (Served, Sink) {
    let began = receiver.endpoint.now();
    let shown_number = matches!(receiver.options.take, Take::Many(_)).then_some(number);
    let config = ReporterConfig { connection: shown_number, ..receiver.options.reporter.clone() };
    let peer = connection.remote_addr().unwrap_or(receiver.endpoint.local_addr());
    receiver.totals.begin(number, shown(peer));
    tracing::debug!("connection {number} from {} began", shown(peer));
    let mut speaker = Speaker::new(config.clone(), shown(peer), &receiver.log, receiver.overview.as_ref());
    speaker.say(began, &Record::Start(start(connection, peer)));
    let sampler = Sampler::new(began, connection.status());
    speaker.say(began, &sampler.event_with(began, EventKind::Connected, Some(shown(peer))));
    let clash = Part::Receives.clash(connection);
    let first = interrupt.or(connection.recv()).await.flatten();
    let empty = first.is_none() && connection.peer_closing_text().is_some_and(|text| text == EMPTY);
    // A stranger who brings nothing makes no file and starts no program; a sender of an empty file
    // does.
    let opened = if first.is_some() || empty {
        sink(peer).await.map_err(io::Error::other)
    } else {
        Ok(Sink::of(Output::Nowhere))
    };
    let (mut sink, mut stop) = match opened {
        Ok(sink) => (sink, None),
        Err(error) => (Sink::of(Output::Nowhere), Some(StopTaking::Output(Arc::new(error)))),
    };
    let handle = sink.output.handle().unwrap_or_else(|error| {
        stop = Some(StopTaking::Output(Arc::new(error)));
        None
    });
    let options = &receiver.options;
    let writer = DatagramWriter::start(handle, options.take.others());
    let written = writer.written();
    let mut intake = Intake::new(connection, writer, options.idle_timeout);
    let mut run = Serving {
        receiver,
        connection,
        config,
        began,
        sampler,
        written,
        late: intake.late(),
        reported: (0, 0),
        output: sink.output.name(),
        player: if let Output::Udp(out) = &sink.output { Some(out.counts()) } else { None },
        told_of_drops: false,
        told_of_trouble: false,
        number,
        second: Second { begin: began, bytes: 0, rate_bps: 0.0 },
        clash,
        empty,
    };
    if let Some(datagram) = first {
        intake.begin(datagram);
    }
    let mut stop = match stop {
        Some(stop) => stop,
        None => {
            let stop;
            (intake, stop) = run.receive(intake, &mut speaker, interrupt).await;
            stop
        }
    };
    if let StopTaking::Ended = stop {
        stop = write_rest(&mut intake, &sink.output, interrupt).await;
    }
    let (tally, closed) = run.close(&mut intake, &stop).await;
    let ended = receiver.endpoint.now();
    for record in run.sampler.receiver(connection) {
        speaker.say(ended, &record);
    }
    speaker.say(ended, &run.sampler.event(ended, EventKind::Closed));
    let summary = run.summarise(tally, closed.as_ref());
    run.report(tally);
    let brought = match (clash, summary.sent_packets) {
        (Some(_), _) => Brought::Receiver,
        (None, None | Some(0)) if !empty => Brought::Nothing,
        (None, _) => Brought::Data,
    };
    let mut ending = run.judge(&stop, closed.as_ref(), &summary, tally.trouble);
    let absence = run.absence();
    let config = run.config.clone();
    // The pipe of a program is closed with its last handle.
    drop((run, intake));
    ending = settle(&mut sink.output, ending, tally.bytes).with(absence);
    if let Some(fault) = sink.program_ended(interrupt.wished()).await {
        ending = match ending.outcome {
            Outcome::Complete => Ending::failed(fault),
            _ => ending.with(Some(fault)),
        };
    }
    if config.connection.is_none() {
        interrupt.keep(None);
    }
    let closed = closed.map(|closed| closed.by);
    let (ending, fate) = speak_of_end(receiver, &mut speaker, summary.clone(), ending, (brought, closed));
    receiver.totals.end(number, ending.outcome, &summary);
    let fate = if let StopTaking::Output(_) = stop { OutputState::Broken } else { fate };
    (Served { ending, closed, brought, fate }, sink)
}

/// The last words about a connection, and the ending that they are of; whether there can be more.
fn speak_of_end(
    receiver: &Receiver,
    speaker: &mut Speaker<'_>,
    summary: Summary,
    mut ending: Ending,
    (brought, closed): (Brought, Option<ClosedBy>),
) -> (Ending, OutputState) {
    if receiver.is_last(brought, closed) {
        speaker
            .note("the data is closed; answering the sender for 2 s more, should it not have heard the end");
    }
    if receiver.is_used_up(brought) {
        ending = receiver.end_overview(ending);
    } else {
        speaker.forget_page();
    }
    let (ending, mute) = speaker.end(summary, ending);
    (ending, mute.map_or(OutputState::Usable, OutputState::Mute))
}

impl Serving<'_> {
    /// Has the data taken in, and speaks of it meanwhile.
    async fn receive(
        &mut self,
        intake: Intake,
        speaker: &mut Speaker<'_>,
        interrupt: &Interrupt,
    ) -> (Intake, StopTaking) {
        let mut tick = crate::session::ticks(SAMPLE);
        let mut taking = Task::start(intake.take(interrupt.clone()));
        loop {
            tokio::select! {
                taken = taking.ended() => return taken,
                _ = tick.tick() => self.sample(speaker, interrupt),
            }
        }
    }

    fn sample(&mut self, speaker: &mut Speaker<'_>, interrupt: &Interrupt) {
        let now = self.receiver.endpoint.now();
        for record in self.sampler.receiver(self.connection) {
            speaker.say(now, &record);
        }
        if !self.told_of_drops && self.connection.status().stats.queue_dropped_packets > 0 {
            self.told_of_drops = true;
            speaker.note(&format!("dropped here: {}", self.too_slow()));
        }
        if !self.told_of_trouble
            && let Some(trouble) = self.absence().or_else(|| self.unsendable())
        {
            self.told_of_trouble = true;
            speaker.note(&format!("{trouble}; the session goes on"));
        }
        let tally = self.tally(&StopTaking::Ended);
        self.report(tally);
        self.measure(now, tally.late);
        if self.config.connection.is_none() {
            let summary = self.summarise(tally, None);
            interrupt.keep(Some(LastWords {
                config: self.config.clone(),
                summary,
                farewell: Farewell::None,
            }));
        }
    }

    /// Tells the receiver's totals how the connection is; `late` datagrams came too late.
    fn measure(&mut self, now: Instant, late: u64) {
        let status = self.connection.status();
        let stats = &status.stats;
        let fates = Fates {
            lost: status.peer_sent_packets.saturating_sub(stats.received_data_packets),
            late,
            dropped: stats.queue_dropped_packets,
        };
        let gauges = Gauges {
            peer: self.connection.remote_addr().map_or_else(String::new, shown),
            rate_bps: self.second.rate(now, stats.received_data_bytes),
            rtt_s: status.sender_rtt.map(Duration::as_secs_f64),
            loss_event_rate: status.loss_event_rate.get(),
        };
        self.receiver.totals.sample(self.number, fates, gauges);
    }

    /// Adds to the receiver's totals what has been written since the last call.
    fn report(&mut self, tally: Tally) {
        let (packets, bytes) = self.reported;
        self.receiver.totals.written(tally.received - packets, tally.bytes - bytes);
        self.reported = (tally.received, tally.bytes);
    }

    /// Ends the connection, with the counts for the sender. They are the counts of this end too:
    /// what comes after them is lost for both.
    async fn close(&mut self, intake: &mut Intake, stop: &StopTaking) -> (Tally, Option<Closed>) {
        if let StopTaking::Idle(_) | StopTaking::Interrupted = stop {
            // What was handed over is written, unless the reader stalls.
            let _ = tokio::time::timeout(LAST_WRITES, intake.writer.finish()).await;
        }
        let tally = self.tally(stop);
        let text = tally.to_string();
        let closed = match stop {
            StopTaking::Ended => self.connection.accept_close(&text).await,
            _ => tokio::time::timeout(FAREWELL, self.connection.request_close(&text)).await.ok().flatten(),
        };
        (tally, closed)
    }

    /// The counts now: of what has been written, not of what came.
    fn tally(&self, stop: &StopTaking) -> Tally {
        let ((received, bytes), late) = (self.written.counts(), self.late.load(Ordering::Relaxed));
        let status = self.connection.status();
        let arrived = status.stats.received_data_packets;
        let (loss_events, of_packets) = status.after_slow_start;
        Tally {
            received,
            bytes,
            late,
            loss_events,
            of_packets,
            dropped: arrived.saturating_sub(received).saturating_sub(late),
            trouble: match stop {
                StopTaking::Ended => {
                    let said = self.connection.peer_closing_text();
                    said.is_some_and(|text| text == UNFINISHED).then_some(Trouble::Unfinished)
                }
                StopTaking::Idle(_) => Some(Trouble::Idle),
                StopTaking::Interrupted => Some(Trouble::Interrupted),
                StopTaking::Output(error) => Some(Trouble::of(error)),
            },
        }
    }

    fn summarise(&self, tally: Tally, closed: Option<&Closed>) -> Summary {
        let status = self.connection.status();
        let sent = closed.map_or(status.peer_sent_packets, |closed| closed.peer_sent_data_packets);
        let mut summary = Summary {
            variant: status.receiving.map(|variant| variant.to_string()),
            duration_s: self.receiver.endpoint.now().saturating_since(self.began).as_secs_f64(),
            rtt_s: self.sampler.mean_rtt(),
            max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
            invalid_packets: Some(status.stats.invalid_packets),
            duplicate_packets: Some(status.stats.duplicate_packets),
            marked_packets: Some(status.stats.marked_packets),
            queue_dropped_packets: Some(status.stats.queue_dropped_packets),
            unreachable_reports: self.player.as_ref().map(|player| player.unreachable()).filter(|n| *n > 0),
            ..Summary::default()
        };
        tally.complete(sent, &mut summary);
        summary
    }

    fn judge(
        &self,
        stop: &StopTaking,
        closed: Option<&Closed>,
        summary: &Summary,
        trouble: Option<Trouble>,
    ) -> Ending {
        let known = |n: Option<u64>| n.unwrap_or(0);
        let (sent, dropped) = (known(summary.sent_packets), known(summary.dropped_by_reader_packets));
        let take = self.receiver.options.take;
        if let (StopTaking::Ended, Some(why)) = (stop, self.clash) {
            return Ending::failed(why);
        }
        match (stop, closed) {
            (StopTaking::Output(error), _) => Ending::failed(self.unwritable(error)),
            (StopTaking::Idle(idle), _) => {
                Ending::failed(format!("no data came for {} s; see --idle-timeout", idle.as_secs_f64()))
            }
            (StopTaking::Interrupted, _) => {
                let outcome = self.receiver.options.if_interrupted();
                Ending { outcome, reason: "interrupted before the sender had ended".to_owned() }
            }
            (StopTaking::Ended, None) => Ending::failed("the network of this end has failed"),
            (StopTaking::Ended, Some(closed)) if !is_proper(closed) => Ending::failed(why(closed)),
            (StopTaking::Ended, Some(_)) if dropped > 0 => Ending::failed(format!(
                "{} of {} dropped here: {}",
                count(dropped),
                counted(sent, "datagram"),
                self.too_slow()
            )),
            (StopTaking::Ended, Some(_)) if trouble == Some(Trouble::Unfinished) => {
                Ending::failed("the sender ended before it had sent all that it meant to")
            }
            (StopTaking::Ended, Some(_)) if take.is_one() && sent == 0 && !self.empty => {
                Ending::failed("the sender closed without sending anything")
            }
            // The line of one among others has the counts.
            (StopTaking::Ended, Some(_)) if self.config.connection.is_some() => {
                Ending::complete("the sender closed")
            }
            (StopTaking::Ended, Some(_)) => {
                let lost = known(summary.lost_packets);
                let late = match known(summary.late_packets) {
                    0 => String::new(),
                    late => format!(", {} came too late", count(late)),
                };
                Ending::complete(format!(
                    "the sender closed after {}; {} lost on the way{late}",
                    counted(sent, "datagram"),
                    if lost == 0 { "none".to_owned() } else { count(lost) },
                ))
            }
        }
    }

    fn unwritable(&self, error: &io::Error) -> String {
        let output = self.output.as_deref().unwrap_or("the output");
        match Trouble::of(error) {
            Trouble::DiskFull => format!("the disk is full: {output}: {error}"),
            Trouble::ReaderClosed => format!("the reader of {output} has closed it"),
            _ if self.output.is_none() => error.to_string(),
            _ => format!("{output}: {error}"),
        }
    }

    /// A sentence about a player that is not there.
    fn absence(&self) -> Option<String> {
        let reports = self.player.as_ref()?.unreachable();
        let output = self.output.as_deref()?;
        (reports > 0).then(|| {
            format!(
                "nobody listens at {output}: the network reports the port unreachable, {}",
                if reports == 1 { "once".to_owned() } else { format!("{} times", count(reports)) }
            )
        })
    }

    /// A sentence about datagrams that the system does not send to the player.
    fn unsendable(&self) -> Option<String> {
        let failure = self.player.as_ref()?.failure()?;
        Some(format!("datagrams cannot be sent to {}: {failure}", self.output.as_deref()?))
    }

    fn too_slow(&self) -> String {
        if let Some(unsendable) = self.unsendable() {
            return unsendable;
        }
        match self.output.as_deref() {
            None => "this program gets too little of the processor".to_owned(),
            Some(name) if name.ends_with(".part") => format!("the disk of {name} is too slow"),
            Some(name) => format!("the reader of {name} is too slow"),
        }
    }
}

/// Writes what waits for a gap, and waits until all is written and on the disk.
async fn write_rest(intake: &mut Intake, output: &Output, interrupt: &mut Interrupt) -> StopTaking {
    let writing = async {
        intake.write_rest().await?;
        match output.to_sync().map_err(Arc::new)? {
            Some(file) => session::blocking(move || file.sync_all()).await.map_err(Arc::new),
            None => Ok(()),
        }
    };
    match interrupt.or(writing).await {
        Some(Ok(())) => StopTaking::Ended,
        Some(Err(error)) => StopTaking::Output(error),
        None => StopTaking::Interrupted,
    }
}

/// Gives a complete file its name, and says in which file the data of a connection is.
fn settle(output: &mut Output, ending: Ending, bytes: u64) -> Ending {
    if ending.outcome != Outcome::Complete {
        let held = output.holds(bytes);
        return ending.with(held);
    }
    if !matches!(output, Output::Part(_)) {
        return ending;
    }
    let part = output.name().unwrap_or_default();
    match std::mem::replace(output, Output::Nowhere).keep() {
        Ok(name) => ending.with(name.map(|name| format!("{name} holds {}", counted(bytes, "byte")))),
        Err(error) => Ending::failed(format!("{part} cannot be renamed: {error}"))
            .with(Some(format!("it holds {}", counted(bytes, "byte")))),
    }
}

fn start(connection: &Connection, peer: SocketAddr) -> Start {
    let mut start = session::start(Role::Recv);
    start.peer = Some(shown(peer));
    if let Some(variant) = connection.status().receiving {
        start.parameters.insert("variant".to_owned(), variant.to_string());
    }
    if let Some(transport) = connection.transport() {
        start.parameters.insert("transport".to_owned(), transport.to_owned());
    }
    start
}
