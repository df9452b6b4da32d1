//! The data of `send` and its end.

use std::sync::{Arc, Mutex, PoisonError};

use tfrc_net::{Closed, SendError};
use tfrc_report::record::Record;
use tfrc_units::{Duration, Instant};

use super::hearing::{Heard, Hearing};
use super::rate_out::RateOut;
use super::refused::Refused;
use super::{config, so_far};
use crate::args::SendArgs;
use crate::args::values::FileOrStream;
use crate::interrupt::{Farewell, Interrupt, LastWords};
use crate::live::{self, Command, Keys};
use crate::reporter::Reporter;
use crate::session::{
    ClosingWord, Connection, DatagramSource, Encoded, FileOutcome, FileSent, FileSource, SAMPLE, Sampler,
    Task, UdpInCounts, count, pump_file,
};

/// Silence of an encoder that is reported.
const NEWS: std::time::Duration = std::time::Duration::from_secs(5);
/// Silence of an encoder at the end of `-t` that is a failure: a picture is due more than once a
/// second, and the first comes within about two.
const STILL: std::time::Duration = std::time::Duration::from_secs(3);

/// How long made-up data lasts unless the user says otherwise.
const ENDLESS_UNTIL: Duration = Duration::from_secs(10);

/// The longest wait for an answer to the close of a user who wants the end: on a path that has
/// become narrow the answer stands behind minutes of data.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(6);

/// How often the wait for an answer to the close begins again when the round-trip time has grown
/// meanwhile.
const CLOSE_ATTEMPTS: u32 = 3;

/// Why no more data is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopSending {
    /// All of it has been sent.
    EndOfData,
    /// It could not be read, or must not be sent; a sentence.
    Failed(String),
    /// The peer is gone; holds a sentence.
    Gone(String),
    /// The user wants the end.
    Interrupted,
    /// The connection is over, or the receiver wants the end.
    Over,
    /// The time of `-t` is over.
    TimeUp,
}

impl StopSending {
    /// True if the source or the user ended it: the connection is there.
    pub(super) const fn is_of_this_end(&self) -> bool {
        !matches!(self, Self::Gone(_) | Self::Over)
    }
}

/// A connection that data is sent over.
pub(super) struct Transfer<'a> {
    pub(super) args: &'a SendArgs,
    pub(super) connection: &'a Arc<Connection>,
    pub(super) sampler: Sampler,
    pub(super) reporter: &'a mut Reporter,
    pub(super) interrupt: &'a mut Interrupt,
    pub(super) began: Instant,
    /// The end of `-t`.
    pub(super) time_up: Option<tokio::time::Instant>,
    pub(super) hearing: Hearing,
    pub(super) rate_out: Option<RateOut>,
    /// The figures of the encoder that the data comes from.
    pub(super) encoded: Option<Encoded>,
    /// Datagrams of `--udp-in` that are not sent.
    pub(super) refused: Option<Refused>,
    /// Datagrams that the path had become too narrow for before the session was closed.
    pub(super) narrowed: u64,
    /// The receiver was told that the user aborts.
    pub(super) aborted: bool,
    /// Bytes of the file that has to arrive whole, if one is sent.
    pub(super) whole: Option<u64>,
    /// Bytes of a file of which each was sent once, for a receiver that takes holes.
    pub(super) once: Option<u64>,
    /// The file, if the receiver knows the places of its bytes.
    pub(super) file: Option<FileSource>,
    /// Its counts.
    pub(super) sent: Option<Arc<FileSent>>,
    pub(super) repair: Repair,
}

/// The repair of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// The two ends have not agreed on one: what is lost is lost.
    None,
    /// Not all of the file has arrived yet.
    Going,
    /// The receiver has all of it, and the hash agrees.
    Done,
}

impl Transfer<'_> {
    /// Moves data until it ends, the time is up, the user wants the end, or the connection breaks.
    /// The live view ends with that, so that Ctrl-C is a signal again.
    pub(super) async fn data(&mut self, source: DatagramSource, keys: Option<Keys>) -> StopSending {
        let stop = self.moved(source, keys).await;
        self.tell_refused();
        self.reporter.end_live();
        stop
    }

    async fn moved(&mut self, source: DatagramSource, mut keys: Option<Keys>) -> StopSending {
        let mut tick = crate::session::ticks(SAMPLE);
        tick.tick().await;
        self.tell_rate();
        let time_up = until(self.time_up);
        tokio::pin!(time_up);
        let counts = self.refused.as_ref().map(Refused::counts);
        let waiting = Arc::new(Waiting::default());
        let connection = Arc::clone(self.connection);
        // Words of a receiver that come faster than they are read say the same.
        let (answers, heard) = tokio::sync::mpsc::channel(16);
        let mut pump = match self.file.take() {
            Some(file) => Task::start(moved_file(file, connection, heard)),
            None => Task::start(pump(source, connection, counts, Arc::clone(&waiting))),
        };
        let stop = loop {
            let interrupt = self.interrupt.clone();
            tokio::select! {
                pumped = pump.ended() => break match pumped {
                    Pumped::AllSent(bytes) => {
                        // A file may have grown meanwhile.
                        self.whole = self.whole.map(|_| bytes);
                        StopSending::EndOfData
                    }
                    Pumped::Whole(bytes) => {
                        (self.whole, self.repair) = (Some(bytes), Repair::Done);
                        StopSending::EndOfData
                    }
                    Pumped::Once(bytes) => {
                        (self.whole, self.once) = (self.whole.map(|_| bytes), Some(bytes));
                        StopSending::EndOfData
                    }
                    Pumped::NotWhole(why) => StopSending::Failed(why),
                    Pumped::Over => StopSending::Over,
                    Pumped::Unreadable(why) => StopSending::Failed(unreadable(self.args, &why)),
                },
                () = &mut time_up => break match self.silence(&waiting, STILL) {
                    Some(silence) => StopSending::Failed(silence),
                    None => StopSending::TimeUp,
                },
                () = wished(interrupt) => break StopSending::Interrupted,
                command = live::wish(&mut keys) => if command == Command::End {
                    break StopSending::Interrupted;
                },
                // A receiver has words about a file, and no other data; this shows that it wants
                // the end, or that the connection is over.
                received = self.connection.recv() => match received {
                    Some(received) => drop(answers.try_send(received.bytes)),
                    None => break StopSending::Over,
                },
                _ = tick.tick() => {
                    self.sample();
                    self.tell_rate();
                    self.tell_refused();
                    if let Some(warning) = self.encoded.as_ref().and_then(Encoded::warning) {
                        self.reporter.note(&warning);
                    }
                    let patience = self.encoded.as_ref().map(|encoded| encoded.patience);
                    if let Some(silence) = patience.and_then(|most| self.silence(&waiting, most)) {
                        break StopSending::Failed(silence);
                    }
                    if let Some(silence) = self.silence(&waiting, NEWS)
                        && waiting.tell()
                    {
                        self.reporter.note(&silence);
                    }
                    if let Some(gone) = self.hear() {
                        break StopSending::Gone(gone);
                    }
                    if let Some(trip) = self.connection.status().stopped {
                        let reason = format!("stopped by the circuit breaker: {trip}");
                        // The peer may be long in answering the close.
                        self.reporter.note(&reason);
                        break StopSending::Failed(reason);
                    }
                }
            }
        };
        // The source knows only now how much it still had.
        pump.end().await;
        stop
    }

    /// Closes, still sampling what is on its way. A user who wants the end does not wait for data
    /// that has not gone, and for the answer no longer than [`FAREWELL`].
    pub(super) async fn close(&mut self, mut stop: StopSending) -> (StopSending, Option<Closed>) {
        let connection = self.connection;
        let mut tick = crate::session::ticks(SAMPLE);
        if matches!(stop, StopSending::Gone(_)) {
            return (stop, None);
        }
        let status = connection.status();
        // What was refused of a file that is whole has gone again.
        self.narrowed = if self.repair == Repair::Done { 0 } else { status.unsent_packets };
        let all = self.whole == Some(status.stats.sent_data_bytes) && self.repair == Repair::None;
        if stop == StopSending::Interrupted && all {
            // It has gone already.
            stop = StopSending::EndOfData;
        }
        if let Some(word) = self.closing_word(&stop, status.stats.sent_data_packets) {
            connection.set_closing_text(&word.to_string());
        }
        if !matches!(stop, StopSending::Interrupted | StopSending::TimeUp) {
            let over = stop == StopSending::Over;
            let close = async move {
                // The receiver may wait for an answer to its Close.
                if over { connection.accept_close("").await } else { connection.close().await }
            };
            tokio::pin!(close);
            loop {
                let interrupt = self.interrupt.clone();
                tokio::select! {
                    closed = &mut close => {
                        self.sample();
                        return (stop, closed);
                    }
                    () = wished(interrupt) => break,
                    () = until(self.time_up) => break,
                    _ = tick.tick() => {
                        self.sample();
                        if let Some(gone) = self.hear() {
                            return (StopSending::Gone(gone), None);
                        }
                    }
                }
            }
        }
        let asked = tokio::time::Instant::now();
        let mut attempts = 0;
        let patience = tokio::time::sleep(FAREWELL);
        tokio::pin!(patience);
        loop {
            let close = connection.close_now();
            tokio::pin!(close);
            let closed = loop {
                tokio::select! {
                    closed = &mut close => break closed,
                    () = &mut patience => return (stop, None),
                    () = aborts(self.interrupt.clone()), if !self.aborted => {
                        self.aborted = true;
                        connection.set_closing_text(&ClosingWord::Unfinished.to_string());
                    }
                    _ = tick.tick() => self.sample(),
                }
            };
            self.sample();
            attempts += 1;
            // The answer comes behind all that fills the queues of the path: their growth may have
            // stretched the round trip.
            let round_trips =
                std::time::Duration::from(connection.status().rtt.unwrap_or(Duration::ZERO)) * 4;
            if closed.is_some() || attempts >= CLOSE_ATTEMPTS || asked.elapsed() >= round_trips {
                return (stop, closed);
            }
        }
    }

    /// The word for the receiver about what it has got; `sent` datagrams were sent.
    fn closing_word(&self, stop: &StopSending, sent: u64) -> Option<ClosingWord> {
        let refuses = self.refused.as_ref().is_some_and(|refused| refused.totals().is_failure());
        match (stop, self.whole.or(self.once)) {
            _ if matches!(stop, StopSending::Failed(_)) || self.narrowed > 0 || refuses => {
                Some(ClosingWord::Unfinished)
            }
            (StopSending::EndOfData, _) if sent == 0 => Some(ClosingWord::Empty),
            (StopSending::EndOfData, Some(bytes)) => Some(ClosingWord::File(bytes)),
            (StopSending::Interrupted, _) if self.whole.is_some() => Some(ClosingWord::Unfinished),
            _ => None,
        }
    }

    /// Says when the receiver is not heard any more, and when it is again; a sentence if it has
    /// gone.
    fn hear(&mut self) -> Option<String> {
        match self.hearing.look(&self.connection.status()) {
            Heard::Gone(reason) => return Some(reason),
            Heard::Again(news) | Heard::Silence(news) => self.reporter.note(&news),
            Heard::NothingNew => {}
        }
        None
    }

    /// A sentence about an encoder that has given nothing for this time.
    fn silence(&self, waiting: &Waiting, most: std::time::Duration) -> Option<String> {
        let silent = waiting.since()?.elapsed();
        let source = &self.encoded.as_ref()?.source;
        (silent >= most)
            .then(|| format!("{source}: nothing came from the encoder for {} s", silent.as_secs()))
    }

    /// Writes the allowed rate for the encoder, if it is asked for.
    fn tell_rate(&mut self) {
        let note = self.rate_out.as_mut().and_then(|out| out.tell(&self.connection.status()));
        if let Some(note) = note {
            self.reporter.note(&note);
        }
    }

    /// Says once that datagrams of `--udp-in` are refused.
    fn tell_refused(&mut self) {
        let limit = self.connection.max_datagram();
        let news = self.refused.as_mut().map(|refused| refused.news(limit)).unwrap_or_default();
        for note in news {
            self.reporter.note(&note);
        }
    }

    fn sample(&mut self) {
        let mut records = self.sampler.sender(self.connection);
        if let (Some(sent), true) = (&self.sent, self.repair != Repair::None) {
            self.sampler.note_repaired(&mut records, sent.counts().1);
        }
        for mut record in records {
            if let (Record::Interval(interval), Some(encoded)) = (&mut record, &self.encoded) {
                encoded.note(interval);
            }
            self.reporter.say(&record);
        }
        self.reporter.set_waiting(self.connection.status().queued);
        let summary = so_far(self.args, &self.sampler, self.connection, self.began);
        let mut config = config(self.args);
        config.report = None;
        self.interrupt.keep(Some(LastWords { config, summary, farewell: Farewell::Peer }));
    }
}

/// The end of the data, as the task that moves it sees it.
enum Pumped {
    /// Everything was sent; holds the number of bytes.
    AllSent(u64),
    /// The connection takes nothing more.
    Over,
    /// The source failed; a phrase.
    Unreadable(String),
    /// The receiver has all of a file of this many bytes.
    Whole(u64),
    /// Each byte of a file of this many bytes was sent once.
    Once(u64),
    /// The receiver does not get the file; a sentence.
    NotWhole(String),
}

/// Since when the source has nothing, and that the user knows.
#[derive(Debug, Default)]
struct Waiting(Mutex<Silence>);

#[derive(Debug, Default)]
struct Silence {
    since: Option<tokio::time::Instant>,
    told: bool,
}

impl Waiting {
    fn begin(&self) {
        self.silence().since = Some(tokio::time::Instant::now());
    }

    fn end(&self) {
        *self.silence() = Silence::default();
    }

    fn since(&self) -> Option<tokio::time::Instant> {
        self.silence().since
    }

    /// Returns true the first time.
    fn tell(&self) -> bool {
        !std::mem::replace(&mut self.silence().told, true)
    }

    fn silence(&self) -> std::sync::MutexGuard<'_, Silence> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves data from its source into the connection.
async fn pump(
    mut source: DatagramSource,
    connection: Arc<Connection>,
    counts: Option<Arc<UdpInCounts>>,
    waiting: Arc<Waiting>,
) -> Pumped {
    loop {
        // Made-up data that drops what is late never waits by itself.
        tokio::task::coop::consume_budget().await;
        waiting.begin();
        let next = source.next(connection.max_datagram(), connection.buffer()).await;
        waiting.end();
        let datagram = match next {
            Ok(Some(datagram)) => datagram,
            Ok(None) => break,
            Err(error) => return Pumped::Unreadable(error.to_string()),
        };
        match (connection.send(datagram).await, &counts) {
            (Ok(()), _) => {}
            (Err(SendError::TooLong { length, .. }), Some(counts)) => counts.refuse(length),
            (Err(_), _) => return Pumped::Over,
        }
    }
    connection.flushed().await;
    match source.shortfall() {
        Some((sent, length)) => shrunk(sent, length),
        None => Pumped::AllSent(source.given()),
    }
}

/// A file of which `sent` bytes were there, of `length`.
fn shrunk(sent: u64, length: u64) -> Pumped {
    Pumped::Unreadable(format!(
        "became shorter while it was sent: {} of {} bytes were there",
        count(sent),
        count(length)
    ))
}

/// Moves a file into the connection until the receiver has all of it.
async fn moved_file(
    mut source: FileSource,
    connection: Arc<Connection>,
    mut answers: tokio::sync::mpsc::Receiver<Vec<u8>>,
) -> Pumped {
    let length = |source: &FileSource| source.length().unwrap_or(0);
    match pump_file(&mut source, &connection, &mut answers).await {
        Err(error) => Pumped::Unreadable(error.to_string()),
        Ok(None) => Pumped::Over,
        Ok(Some(FileOutcome::Once)) => {
            connection.flushed().await;
            Pumped::Once(length(&source))
        }
        Ok(Some(FileOutcome::Whole)) => Pumped::Whole(length(&source)),
        Ok(Some(FileOutcome::Shrunk(sent, length))) => shrunk(sent, length),
        Ok(Some(outcome)) => Pumped::NotWhole(outcome.to_string()),
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn wished(mut interrupt: Interrupt) {
    interrupt.wished().await;
}

async fn aborts(mut interrupt: Interrupt) {
    interrupt.aborted().await;
}

fn unreadable(args: &SendArgs, why: &str) -> String {
    match &args.file {
        Some(FileOrStream::File(path)) => format!("{}: {why}", path.display()),
        None if args.udp_in.is_some() => format!("the port of --udp-in: {why}"),
        _ => format!("standard input: {why}"),
    }
}

/// When to stop at the latest: made-up data would never end by itself.
pub(super) fn time_limit(args: &SendArgs) -> Option<Duration> {
    let endless = args.file.is_none() && args.udp_in.is_none() && args.bytes.is_none();
    args.time.or(endless.then_some(ENDLESS_UNTIL))
}
