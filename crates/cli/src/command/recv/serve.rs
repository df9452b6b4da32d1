//! One connection of `recv`, from its first packet to its last line.
//!
//! Its data goes to a thread that writes. While that is behind, nothing is read from the
//! connection, whose sender learns of it. A sender names no file, and `--idle` and `--idle-timeout`
//! bound how long it keeps its place.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tfrc_net::{Closed, ClosedBy};
use tfrc_report::record::{EventKind, Outcome, Record, Role, Start, Summary};
use tfrc_session::Handle;
use tfrc_units::{Duration, Instant};

use super::Receiver;
use super::intake::{Intake, Progress, StopTaking, Way};
use super::losses::Losses;
use super::options::Take;
use super::sink::Sink;
use super::speaker::Speaker;
use super::totals::{Fates, Gauges};
use crate::Failure;
use crate::interrupt::{Farewell, Interrupt, LastWords};
use crate::reporter::ReporterConfig;
use crate::session::{
    self, ClosingWord, Connection, DatagramWriter, Ending, FileState, FileTaker, FileWay, Inbox, Output,
    SAMPLE, Sampler, Tally, Task, Trouble, UdpOutCounts, Written, as_f64, clash, complete, count, counted,
    is_proper, not_whole, shown, why,
};

/// How long a receiver that ends the session waits for the sender to agree: four attempts on a
/// short path.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(3);

/// How long a receiver that is interrupted waits for the writes that have begun.
const LAST_WRITES: std::time::Duration = std::time::Duration::from_millis(500);

/// How long a datagram of a file is waited for behind which others have come: longer than a path
/// that reorders delays one, for nobody reads the file meanwhile.
const FILE_PATIENCE: Duration = Duration::from_secs(1);

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
    /// The counts of the writer, and of what goes to it.
    written: Arc<Written>,
    progress: Arc<Progress>,
    losses: Losses,
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
    /// The data goes into a file, of which holes are not meant.
    keeps_whole: bool,
    /// A file that the sender sends until it is whole.
    file: Option<Arc<FileState>>,
    /// A file that is taken with its holes, each byte in its place.
    holes: Option<Arc<FileState>>,
    /// The word of the sender's Close, once that has come.
    word: Option<ClosingWord>,
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
    let part = receiver.options.part();
    let clash = clash(part, connection);
    let first = interrupt.or(connection.recv()).await.flatten();
    let empty = first.is_none() && ClosingWord::of_peer(connection) == Some(ClosingWord::Empty);
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
    let options = &receiver.options;
    let is_file = sink.output.is_file();
    let file_way = part.file_way(connection);
    let file = if file_way.is_some() { sink.output.part_file() } else { Ok(None) };
    let holes_meant = options.lossy || file_way == Some(FileWay::WithHoles);
    let way = match (file, sink.output.map()) {
        (Ok(Some(file)), _) if holes_meant => {
            sink.output.begin_anew().map(|()| Way::File(FileTaker::with_holes(file)))
        }
        (Ok(Some(file)), Some(map)) => {
            session::blocking(move || FileTaker::go_on(file, map)).await.map(Way::File)
        }
        (Ok(Some(file)), None) => Ok(Way::File(FileTaker::start(file))),
        (Ok(None), _) => sink.output.handle().map(|handle| stream(handle, is_file, options.take.others())),
        (Err(error), _) => Err(error),
    };
    let way = way.unwrap_or_else(|error| {
        stop = Some(StopTaking::Output(Arc::new(error)));
        stream(None, is_file, 0)
    });
    let state = if let Way::File(file) = &way { Some(file.state()) } else { None };
    let (file, holes) = if holes_meant { (None, state) } else { (state, None) };
    let written = way.written();
    let mut intake = Intake::new(connection, way, options.idle_timeout);
    let mut run = Serving {
        receiver,
        connection,
        config,
        began,
        sampler,
        written,
        progress: intake.progress(),
        losses: Losses::default(),
        reported: (0, 0),
        output: sink.output.name(),
        player: if let Output::Udp(out) = &sink.output { Some(out.counts()) } else { None },
        told_of_drops: false,
        told_of_trouble: false,
        number,
        second: Second { begin: began, bytes: 0, rate_bps: 0.0 },
        clash,
        keeps_whole: is_file && !holes_meant,
        file,
        holes,
        word: None,
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
    let mut place = None;
    if let StopTaking::Ended = stop {
        run.word = ClosingWord::of_peer(connection);
        let is_asked = connection.is_asked_to_close();
        let length = if let Some(ClosingWord::File(length)) = run.word { Some(length) } else { None };
        stop = write_rest(&mut intake, length, &sink.output, interrupt).await;
        // The deed comes before the word: the sender hears that all is written once it has its
        // place.
        if is_asked && run.has_all(&stop) {
            match sink.keep().await {
                Ok(kept) => place = kept,
                Err(error) => stop = StopTaking::Output(Arc::new(error)),
            }
        }
    }
    let (tally, closed) = run.close(&mut intake, &stop).await;
    let ended = receiver.endpoint.now();
    let (tally, summary) = run.summarise_end(tally, closed.as_ref());
    for record in run.records(summary.lost_packets.unwrap_or(0)) {
        speaker.say(ended, &record);
    }
    speaker.say(ended, &run.sampler.event(ended, EventKind::Closed));
    run.report(tally);
    let brought = match (clash, summary.sent_packets) {
        (Some(_), _) => Brought::Receiver,
        (None, None | Some(0)) if !empty => Brought::Nothing,
        (None, _) => Brought::Data,
    };
    let mut ending = run.judge(&stop, closed.as_ref(), &summary, tally.trouble);
    // A server that asks its client to close (CloseReq, RFC 4340 §8.3) waits for no word of ours.
    if place.is_none() && ending.outcome == Outcome::Complete {
        match sink.keep().await {
            Ok(kept) => place = kept,
            Err(error) => ending = Ending::failed(run.unwritable(&error)),
        }
    }
    let absence = run.absence();
    let config = run.config.clone();
    let file = run.file.clone();
    // The pipe of a program is closed with its last handle.
    drop((run, intake));
    let held = match place {
        Some(place) => Some(format!("{place} holds {}", counted(tally.bytes, "byte"))),
        None if ending.outcome == Outcome::Complete => None,
        None => session::held(&sink.output, tally.bytes),
    };
    ending = ending.with(held).with(absence);
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
    if let Some(file) = file {
        receiver.totals.file_ended(ending.outcome == Outcome::Complete, file.goes_on());
    }
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
        let stats = self.connection.status().stats;
        let filled = self.progress.filled() + stats.queue_dropped_packets;
        let lost = self.losses.see(now, self.progress.given_up(), filled);
        for record in self.records(lost) {
            speaker.say(now, &record);
        }
        if !self.told_of_drops && stats.queue_dropped_packets > 0 {
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
        self.measure(now, lost, tally.late);
        if self.config.connection.is_none() {
            let summary = self.summarise(tally, None);
            interrupt.keep(Some(LastWords {
                config: self.config.clone(),
                summary,
                farewell: Farewell::None,
            }));
        }
    }

    /// The records since the last call; `lost` datagrams are lost.
    fn records(&mut self, lost: u64) -> Vec<Record> {
        let mut records = self.sampler.receiver(self.connection, lost);
        if let Some(file) = &self.file {
            self.sampler.note_repaired(&mut records, file.repaired_bytes());
        }
        records
    }

    /// Tells the receiver's totals how the connection is; `lost` datagrams are lost, `late` came
    /// too late.
    fn measure(&mut self, now: Instant, lost: u64, late: u64) {
        let status = self.connection.status();
        let stats = &status.stats;
        let fates = Fates { lost, late, dropped: stats.queue_dropped_packets };
        let gauges = Gauges {
            peer: self.connection.remote_addr().map_or_else(String::new, shown),
            key: self.connection.peer_key(),
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
            let _ = tokio::time::timeout(LAST_WRITES, intake.finish()).await;
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
        let ((received, bytes), late) = (self.written.counts(), self.progress.late());
        let status = self.connection.status();
        let stats = &status.stats;
        // What comes after the end is lost to both ends, and nobody's fault here.
        let arrived = match stop {
            StopTaking::Ended => self.progress.taken() + stats.queue_dropped_packets,
            _ => stats.received_data_packets,
        };
        let (loss_events, of_packets) = status.after_slow_start;
        Tally {
            received,
            bytes,
            late,
            loss_events,
            of_packets,
            dropped: arrived.saturating_sub(received).saturating_sub(late),
            trouble: match stop {
                StopTaking::Ended => match self.word {
                    Some(ClosingWord::Unfinished) => Some(Trouble::Unfinished),
                    Some(ClosingWord::File(length)) if bytes < length || !self.hash_agrees() => {
                        Some(if self.keeps_whole { Trouble::NotWhole } else { Trouble::Holes })
                    }
                    _ => None,
                },
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
            transport: self.connection.transport().map(str::to_owned),
            duration_s: self.receiver.endpoint.now().saturating_since(self.began).as_secs_f64(),
            rtt_s: self.sampler.mean_rtt(),
            max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
            invalid_packets: Some(status.stats.invalid_packets),
            duplicate_packets: Some(status.stats.duplicate_packets),
            // QUIC counts marks, and keeps them from its application.
            marked_packets: self.connection.peer_key().is_none().then_some(status.stats.marked_packets),
            queue_dropped_packets: Some(status.stats.queue_dropped_packets),
            unreachable_reports: self.player.as_ref().map(|player| player.unreachable()).filter(|n| *n > 0),
            ..Summary::default()
        };
        complete(&tally, sent, &mut summary);
        if let Some(length) = self.file_length() {
            summary.file_bytes = Some(length);
            summary.missing_bytes = Some(length.saturating_sub(tally.bytes));
        }
        summary.repaired_bytes = self.file.as_ref().map(|file| file.repaired_bytes());
        summary.holes = self.holes.as_ref().and_then(|file| file.holes()).map(<[_]>::to_vec);
        summary
    }

    /// The figures at the end. A datagram that has been counted as lost stays so, though it came
    /// seconds later.
    fn summarise_end(&mut self, mut tally: Tally, closed: Option<&Closed>) -> (Tally, Summary) {
        let summary = self.summarise(tally, closed);
        let total = summary.lost_packets.unwrap_or(0);
        let lost = self.losses.end(total);
        if lost == total {
            return (tally, summary);
        }
        tally.late = tally.late.saturating_sub(lost - total);
        (tally, self.summarise(tally, closed))
    }

    /// The length of a file whose holes are not meant, if the sender has said it.
    fn file_length(&self) -> Option<u64> {
        match (self.word, &self.file) {
            (Some(ClosingWord::File(length)), _) if self.keeps_whole || self.holes.is_some() => Some(length),
            (_, Some(file)) => file.length(),
            _ => None,
        }
    }

    /// False for a file that has to be whole and of which the hash does not agree, or not yet.
    fn hash_agrees(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.agrees() == Some(true))
    }

    /// True for a file that was sent until it was whole, and is.
    fn is_whole(&self) -> bool {
        self.file.is_some() && self.hash_agrees()
    }

    /// True if everything that the sender meant to send is here, but for what the network may lose.
    fn has_all(&self, stop: &StopTaking) -> bool {
        let tally = self.tally(stop);
        let ended = matches!(stop, StopTaking::Ended) && self.clash.is_none();
        let brought = self.word == Some(ClosingWord::Empty) || self.progress.taken() > 0;
        let kept_up = tally.dropped == 0 || self.is_whole();
        ended && brought && kept_up && matches!(tally.trouble, None | Some(Trouble::Holes))
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
        let empty = self.word == Some(ClosingWord::Empty);
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
            (StopTaking::Ended, Some(_)) if dropped > 0 && !self.is_whole() => Ending::failed(format!(
                "{} of {} dropped here: {}",
                count(dropped),
                counted(sent, "datagram"),
                self.too_slow()
            )),
            (StopTaking::Ended, Some(_))
                if self.file.as_ref().and_then(|file| file.agrees()) == Some(false) =>
            {
                Ending::failed(
                    "not whole: the hash differs: the file changed while it was sent, or another one was begun",
                )
            }
            (StopTaking::Ended, Some(_)) if trouble == Some(Trouble::Unfinished) => {
                let torn = if self.keeps_whole { "not whole: " } else { "" };
                Ending::failed(format!("{torn}the sender ended before it had sent all that it meant to"))
            }
            (StopTaking::Ended, Some(_)) if trouble == Some(Trouble::NotWhole) => {
                let (length, missing) = (known(summary.file_bytes), known(summary.missing_bytes));
                Ending::failed(not_whole(missing, length)).with(Some(fates(summary)))
            }
            (StopTaking::Ended, Some(_)) if take.is_one() && sent == 0 && !empty => {
                Ending::failed("the sender closed without sending anything")
            }
            // The line of one among others has the counts.
            (StopTaking::Ended, Some(_)) if self.config.connection.is_some() => {
                Ending::complete("the sender closed")
            }
            (StopTaking::Ended, Some(_)) if self.is_whole() => {
                let length = counted(known(summary.file_bytes), "byte");
                let whole = format!("the file is whole: {length}, and the hash agrees");
                Ending::complete(whole).with(Some(repaired(summary)))
            }
            (StopTaking::Ended, Some(_)) => {
                let sent = format!("the sender closed after {}", counted(sent, "datagram"));
                let holes = self.holes.as_ref().and(summary.missing_bytes).filter(|missing| *missing > 0);
                let holes = holes.map(|missing| format!("{} in holes", counted(missing, "byte")));
                Ending::complete(sent).with(Some(fates(summary))).with(holes)
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
async fn write_rest(
    intake: &mut Intake,
    length: Option<u64>,
    output: &Output,
    interrupt: &mut Interrupt,
) -> StopTaking {
    let writing = async {
        intake.write_rest(length).await?;
        match output.to_sync().map_err(Arc::new)? {
            Some(file) => session::blocking(move || session::on_disk(&file)).await.map_err(Arc::new),
            None => Ok(()),
        }
    };
    match interrupt.or(writing).await {
        Some(Ok(())) => StopTaking::Ended,
        Some(Err(error)) => StopTaking::Output(error),
        None => StopTaking::Interrupted,
    }
}

/// A phrase about the datagrams of a file that were lost, and what came in their place.
fn repaired(summary: &Summary) -> String {
    match summary.repaired_bytes {
        None | Some(0) => fates(summary),
        Some(again) => format!("{}, {} repaired", fates(summary), counted(again, "byte")),
    }
}

/// The way of data that is written as it comes, next to `others` like it.
fn stream(handle: Option<Handle>, is_file: bool, others: u32) -> Way {
    let patience = if is_file { FILE_PATIENCE } else { Duration::ZERO };
    Way::Stream { inbox: Inbox::patient(patience), writer: DatagramWriter::start(handle, others) }
}

/// A phrase about the datagrams that were not written.
fn fates(summary: &Summary) -> String {
    let lost = match summary.lost_packets {
        None | Some(0) => "none".to_owned(),
        Some(lost) => count(lost),
    };
    match summary.late_packets {
        None | Some(0) => format!("{lost} lost on the way"),
        Some(late) => format!("{lost} lost on the way, {} came too late", count(late)),
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
