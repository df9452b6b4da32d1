//! The third act of `send`: the data, and the close of the connection.

use std::sync::Arc;

use tfrc_net::Closed;
use tfrc_report::record::{EventKind, Record};
use tfrc_units::{Duration, Instant};

use super::connect::Connected;
use super::hearing::{Heard, Hearing};
use super::judge::PeerKind;
use super::prepare::{config, model, time_limit};
use super::pump::{Pumped, Waiting, moved_file, pump};
use super::rate_out::RateOut;
use super::refused::{self, Refused};
use super::sum_up::so_far;
use super::{Feeder, Session};
use crate::Failure;
use crate::args::SendArgs;
use crate::args::values::FileOrStream;
use crate::interrupt::{Farewell, Interrupt, LastWords};
use crate::live::{self, Command, Keys, Live};
use crate::reporter::Reporter;
use crate::session::{
    self, ClosingWord, Connection, DatagramSource, Encoded, Endpoint, FileSent, FileSource, Part, SAMPLE,
    Sampler, Task,
};

/// Silence of an encoder that is reported.
const NEWS: std::time::Duration = std::time::Duration::from_secs(5);
/// Silence of an encoder at the end of `-t` that is a failure: a picture is due more than once a
/// second, and the first comes within about two.
const STILL: std::time::Duration = std::time::Duration::from_secs(3);

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

/// A session whose data has ended and whose connection is closed.
pub(super) struct Sent {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Arc<Connection>,
    /// The longest datagram that the path carried at the beginning, bytes.
    pub(super) limit: usize,
    pub(super) kind: PeerKind,
    pub(super) sampler: Sampler,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) stop: StopSending,
    pub(super) closed: Option<Closed>,
    /// Datagrams of `--udp-in` that were not sent.
    pub(super) refused: refused::Totals,
    /// Datagrams that the path had become too narrow for before the session was closed.
    pub(super) narrowed: u64,
    /// The receiver was told that the user aborts.
    pub(super) aborted: bool,
    /// Bytes of the file that has to arrive whole, if one was sent.
    pub(super) whole: Option<u64>,
    /// Bytes of a file of which each was sent once, for a receiver that takes holes.
    pub(super) once: Option<u64>,
    /// Counts of a file whose places the receiver knows.
    pub(super) file: Option<Arc<FileSent>>,
    pub(super) repair: Repair,
    /// The figures of the encoder that the data came from.
    pub(super) encoded: Option<Encoded>,
    /// Why the encoder did not hear the rate.
    pub(super) unwritten_rate: Option<Failure>,
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

impl Session<'_> {
    /// Sends the data and closes the connection.
    pub(super) async fn transfer(
        &mut self,
        connected: Connected,
        rate_out: Option<RateOut>,
        feeder: Option<Feeder>,
    ) -> Sent {
        let Connected { endpoint, connection, limit, source, file, counts, part, peer } = connected;
        let mut keys = None;
        if self.args.session.live.tui
            && let Some((screen, read)) = live::open(self.args.session.output.format())
        {
            keys = Some(read);
            self.reporter.set_live(Live::new(model(self.args), Some(screen)));
        }
        let (encoded, end) = feeder.map(|feeder| (feeder.encoded, feeder.end)).unzip();
        // A `tfrc` has words for the end.
        let kind = if connection.peer_greeting().is_some() { PeerKind::Tfrc } else { PeerKind::Other };
        let whole = source.file_bytes().filter(|_| part == Part::SendsFile);
        let counts = counts.map(Refused::new);
        let mut transfer =
            Transfer::new(self, connection, endpoint.now(), file, whole, counts, rate_out, encoded);
        transfer.introduce(peer);
        let stop = transfer.data(source, keys).await;
        // The other program ends when it hears no more rates.
        let unwritten_rate = transfer.rate_out.take().and_then(RateOut::failure);
        let ended = session::blocking(move || end.map_or(Ok(()), |end| end())).await;
        let stop = match ended {
            Err(why) if stop.is_of_this_end() => StopSending::Failed(why),
            _ => stop,
        };
        // However the data ended, the connection is closed and summed up.
        let (stop, closed) = transfer.close(stop).await;
        let ended = endpoint.now();
        let event = transfer.sampler.event(ended, EventKind::Closed);
        transfer.reporter.say(&event);
        let refused = transfer.refused.as_ref().map(Refused::totals).unwrap_or_default();
        let Transfer { connection, sampler, began, encoded, .. } = transfer;
        let Transfer { narrowed, aborted, whole, once, sent: file, repair, .. } = transfer;
        Sent {
            endpoint,
            connection,
            limit,
            kind,
            sampler,
            began,
            ended,
            stop,
            closed,
            refused,
            narrowed,
            aborted,
            whole,
            once,
            file,
            repair,
            encoded,
            unwritten_rate,
        }
    }
}

/// A connection that data is sent over.
struct Transfer<'a> {
    args: &'a SendArgs,
    connection: Arc<Connection>,
    sampler: Sampler,
    reporter: &'a mut Reporter,
    interrupt: &'a mut Interrupt,
    began: Instant,
    /// The end of `-t`.
    time_up: Option<tokio::time::Instant>,
    hearing: Hearing,
    rate_out: Option<RateOut>,
    /// The figures of the encoder that the data comes from.
    encoded: Option<Encoded>,
    /// Datagrams of `--udp-in` that are not sent.
    refused: Option<Refused>,
    /// Datagrams that the path had become too narrow for before the session was closed.
    narrowed: u64,
    /// The receiver was told that the user aborts.
    aborted: bool,
    /// Bytes of the file that has to arrive whole, if one is sent.
    whole: Option<u64>,
    /// Bytes of a file of which each was sent once, for a receiver that takes holes.
    once: Option<u64>,
    /// The file, if the receiver knows the places of its bytes.
    file: Option<FileSource>,
    /// Its counts.
    sent: Option<Arc<FileSent>>,
    repair: Repair,
}

impl<'a> Transfer<'a> {
    #[expect(clippy::too_many_arguments, reason = "each is a fact of the session")]
    fn new(
        Session { args, reporter, interrupt }: &'a mut Session<'_>,
        connection: Arc<Connection>,
        began: Instant,
        file: Option<FileSource>,
        whole: Option<u64>,
        refused: Option<Refused>,
        rate_out: Option<RateOut>,
        encoded: Option<Encoded>,
    ) -> Self {
        // Datagrams that were sent before the receiver was sure count, too.
        let mut first = connection.status();
        first.stats = tfrc_net::Stats::default();
        Self {
            args,
            connection,
            sampler: Sampler::new(began, first),
            reporter,
            interrupt,
            began,
            time_up: time_limit(args).map(|limit| tokio::time::Instant::now() + limit.into()),
            hearing: Hearing::new(began),
            rate_out,
            encoded,
            refused,
            narrowed: 0,
            aborted: false,
            whole,
            sent: file.as_ref().map(FileSource::sent),
            once: None,
            repair: if file.as_ref().is_some_and(FileSource::repairs) { Repair::Going } else { Repair::None },
            file,
        }
    }

    /// Says that there is a connection, with the receiver's address if the user has not given it.
    fn introduce(&mut self, peer: Option<String>) {
        let event = self.sampler.event_with(self.began, EventKind::Connected, peer);
        self.reporter.say(&event);
        let Self { args, reporter, .. } = self;
        reporter.note(&format!("rate control: {}, profile {}", args.variant, args.profile().name()));
    }

    /// Moves data until it ends, the time is up, the user wants the end, or the connection breaks.
    /// The live view ends with that, so that Ctrl-C is a signal again.
    pub(super) async fn data(&mut self, source: DatagramSource, keys: Option<Keys>) -> StopSending {
        let stop = self.moved(source, keys).await;
        self.tell_refused();
        self.reporter.end_live();
        stop
    }

    async fn moved(&mut self, source: DatagramSource, mut keys: Option<Keys>) -> StopSending {
        let mut tick = session::ticks(SAMPLE);
        tick.tick().await;
        self.tell_rate();
        let time_up = until(self.time_up);
        tokio::pin!(time_up);
        let counts = self.refused.as_ref().map(Refused::counts);
        let waiting = Arc::new(Waiting::default());
        let connection = Arc::clone(&self.connection);
        // Words of a receiver that come faster than they are read say the same.
        let (answers, heard) = tokio::sync::mpsc::channel(16);
        let mut pump = match self.file.take() {
            Some(file) => Task::start(moved_file(file, connection, heard)),
            None => Task::start(pump(source, connection, counts, Arc::clone(&waiting))),
        };
        let stop = loop {
            let interrupt = self.interrupt.clone();
            tokio::select! {
                pumped = pump.ended() => break self.pumped(pumped),
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
                    if let Some(stop) = self.look(&waiting) {
                        break stop;
                    }
                }
            }
        };
        // The source knows only now how much it still had.
        pump.end().await;
        stop
    }

    /// Takes over what the source has given, and how it ended.
    fn pumped(&mut self, pumped: Pumped) -> StopSending {
        match pumped {
            // A file may have grown meanwhile.
            Pumped::AllSent(bytes) => self.whole = self.whole.map(|_| bytes),
            Pumped::Whole(bytes) => (self.whole, self.repair) = (Some(bytes), Repair::Done),
            Pumped::Once(bytes) => (self.whole, self.once) = (self.whole.map(|_| bytes), Some(bytes)),
            Pumped::NotWhole(why) => return StopSending::Failed(why),
            Pumped::Over => return StopSending::Over,
            Pumped::Unreadable(why) => return StopSending::Failed(unreadable(self.args, &why)),
        }
        StopSending::EndOfData
    }

    /// Looks at everything, several times a second: a reason to stop, if there is one.
    fn look(&mut self, waiting: &Waiting) -> Option<StopSending> {
        self.sample();
        self.tell_rate();
        self.tell_refused();
        if let Some(warning) = self.encoded.as_ref().and_then(Encoded::warning) {
            self.reporter.note(&warning);
        }
        let patience = self.encoded.as_ref().map(|encoded| encoded.patience);
        if let Some(silence) = patience.and_then(|most| self.silence(waiting, most)) {
            return Some(StopSending::Failed(silence));
        }
        if let Some(silence) = self.silence(waiting, NEWS)
            && waiting.tell()
        {
            self.reporter.note(&silence);
        }
        if let Some(gone) = self.hear() {
            return Some(StopSending::Gone(gone));
        }
        let reason = format!("stopped by the circuit breaker: {}", self.connection.status().stopped?);
        // The peer may be long in answering the close.
        self.reporter.note(&reason);
        Some(StopSending::Failed(reason))
    }

    /// Closes, still sampling what is on its way. A user who wants the end does not wait for data
    /// that has not gone, and for the answer no longer than [`FAREWELL`].
    pub(super) async fn close(&mut self, mut stop: StopSending) -> (StopSending, Option<Closed>) {
        let connection = Arc::clone(&self.connection);
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
        if !matches!(stop, StopSending::Interrupted | StopSending::TimeUp)
            && let Some(closed) = self.close_in_time(stop == StopSending::Over).await
        {
            return match closed {
                Ok(closed) => (stop, closed),
                Err(gone) => (StopSending::Gone(gone), None),
            };
        }
        let closed = self.close_now().await;
        (stop, closed)
    }

    /// Closes when all data has gone; `over` if the receiver wants it. A sentence if that has gone;
    /// `None` if the user does not want to wait any longer.
    async fn close_in_time(&mut self, over: bool) -> Option<Result<Option<Closed>, String>> {
        let connection = Arc::clone(&self.connection);
        let mut tick = session::ticks(SAMPLE);
        let close = async {
            // The receiver may wait for an answer to its Close.
            if over { connection.accept_close("").await } else { connection.close().await }
        };
        tokio::pin!(close);
        loop {
            let interrupt = self.interrupt.clone();
            tokio::select! {
                closed = &mut close => {
                    self.sample();
                    return Some(Ok(closed));
                }
                () = wished(interrupt) => return None,
                () = until(self.time_up) => return None,
                _ = tick.tick() => {
                    self.sample();
                    if let Some(gone) = self.hear() {
                        return Some(Err(gone));
                    }
                }
            }
        }
    }

    /// Closes without the data that has not gone.
    async fn close_now(&mut self) -> Option<Closed> {
        let connection = Arc::clone(&self.connection);
        let mut tick = session::ticks(SAMPLE);
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
                    () = &mut patience => return None,
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
                return closed;
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
        let mut records = self.sampler.sender(&self.connection);
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
        let summary = so_far(self.args, &self.sampler, &self.connection, self.began);
        let mut config = config(self.args);
        config.report = None;
        self.interrupt.keep(Some(LastWords { config, summary, farewell: Farewell::Peer }));
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
