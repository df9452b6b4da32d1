//! The third act of `send`: the data, and the close of the connection.

use std::sync::Arc;

use tfrc_net::Closed;
use tfrc_report::record::{EventKind, Record};
use tfrc_units::Duration;

use super::connect::Connected;
use super::course::{Course, PeerKind, Repair, Sent, StopSending};
use super::hearing::{Heard, Hearing};
use super::prepare::{config, model, time_limit};
use super::pump::{Pumped, Waiting, moved_file, pump};
use super::rate_out::RateOut;
use super::refused::Refused;
use super::{Feeder, Session};
use crate::args::SendArgs;
use crate::args::values::FileOrStream;
use crate::interrupt::{Farewell, Interrupt, LastWords};
use crate::live::{self, Command, Keys, Live};
use crate::reporter::Reporter;
use crate::session::{self, ClosingWord, DatagramSource, Encoded, FileSource, Part, SAMPLE, Sampler, Task};

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
        // Datagrams that were sent before the receiver was sure count, too.
        let mut first = connection.status();
        first.stats = tfrc_net::Stats::default();
        let began = endpoint.now();
        let course = Course {
            connection,
            sampler: Sampler::new(began, first),
            began,
            encoded,
            refused: counts.map(Refused::new),
            narrowed: 0,
            aborted: false,
            whole: source.file_bytes().filter(|_| part == Part::SendsFile),
            once: None,
            file: file.as_ref().map(FileSource::sent),
            repair: if file.as_ref().is_some_and(FileSource::repairs) { Repair::Going } else { Repair::None },
        };
        let mut transfer = Transfer {
            args: self.args,
            reporter: &mut self.reporter,
            interrupt: &mut self.interrupt,
            course,
            time_up: time_limit(self.args).map(|limit| tokio::time::Instant::now() + limit.into()),
            hearing: Hearing::new(began),
            rate_out,
            file,
        };
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
        let event = transfer.course.sampler.event(ended, EventKind::Closed);
        transfer.reporter.say(&event);
        let Transfer { course, .. } = transfer;
        Sent { endpoint, limit, kind, course, ended, stop, closed, unwritten_rate }
    }
}

/// A connection that data is sent over.
struct Transfer<'a> {
    args: &'a SendArgs,
    reporter: &'a mut Reporter,
    interrupt: &'a mut Interrupt,
    course: Course,
    /// The end of `-t`.
    time_up: Option<tokio::time::Instant>,
    hearing: Hearing,
    rate_out: Option<RateOut>,
    /// The file, if the receiver knows the places of its bytes.
    file: Option<FileSource>,
}

impl Transfer<'_> {
    /// Says that there is a connection, with the receiver's address if the user has not given it.
    fn introduce(&mut self, peer: Option<String>) {
        let event = self.course.sampler.event_with(self.course.began, EventKind::Connected, peer);
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
        let counts = self.course.refused.as_ref().map(Refused::counts);
        let waiting = Arc::new(Waiting::default());
        let connection = Arc::clone(&self.course.connection);
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
                received = self.course.connection.recv() => match received {
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
            Pumped::AllSent(bytes) => self.course.whole = self.course.whole.map(|_| bytes),
            Pumped::Whole(bytes) => (self.course.whole, self.course.repair) = (Some(bytes), Repair::Done),
            Pumped::Once(bytes) => {
                (self.course.whole, self.course.once) = (self.course.whole.map(|_| bytes), Some(bytes));
            }
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
        if let Some(warning) = self.course.encoded.as_ref().and_then(Encoded::warning) {
            self.reporter.note(&warning);
        }
        let patience = self.course.encoded.as_ref().map(|encoded| encoded.patience);
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
        let reason = format!("stopped by the circuit breaker: {}", self.course.connection.status().stopped?);
        // The peer may be long in answering the close.
        self.reporter.note(&reason);
        Some(StopSending::Failed(reason))
    }

    /// Closes, still sampling what is on its way. A user who wants the end does not wait for data
    /// that has not gone, and for the answer no longer than [`FAREWELL`].
    pub(super) async fn close(&mut self, mut stop: StopSending) -> (StopSending, Option<Closed>) {
        let connection = Arc::clone(&self.course.connection);
        if matches!(stop, StopSending::Gone(_)) {
            return (stop, None);
        }
        let status = connection.status();
        // Datagrams that were refused of a file that is whole have gone again.
        self.course.narrowed = if self.course.repair == Repair::Done { 0 } else { status.unsent_packets };
        let all =
            self.course.whole == Some(status.stats.sent_data_bytes) && self.course.repair == Repair::None;
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
        let connection = Arc::clone(&self.course.connection);
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
        let connection = Arc::clone(&self.course.connection);
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
                    () = aborts(self.interrupt.clone()), if !self.course.aborted => {
                        self.course.aborted = true;
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
        let refuses = self.course.refused.as_ref().is_some_and(|refused| refused.totals().is_failure());
        match (stop, self.course.whole.or(self.course.once)) {
            _ if matches!(stop, StopSending::Failed(_)) || self.course.narrowed > 0 || refuses => {
                Some(ClosingWord::Unfinished)
            }
            (StopSending::EndOfData, _) if sent == 0 => Some(ClosingWord::Empty),
            (StopSending::EndOfData, Some(bytes)) => Some(ClosingWord::File(bytes)),
            (StopSending::Interrupted, _) if self.course.whole.is_some() => Some(ClosingWord::Unfinished),
            _ => None,
        }
    }

    /// Says when the receiver is not heard any more, and when it is again; a sentence if it has
    /// gone.
    fn hear(&mut self) -> Option<String> {
        match self.hearing.look(&self.course.connection.status()) {
            Heard::Gone(reason) => return Some(reason),
            Heard::Again(news) | Heard::Silence(news) => self.reporter.note(&news),
            Heard::NothingNew => {}
        }
        None
    }

    /// A sentence about an encoder that has given nothing for this time.
    fn silence(&self, waiting: &Waiting, most: std::time::Duration) -> Option<String> {
        let silent = waiting.since()?.elapsed();
        let source = &self.course.encoded.as_ref()?.source;
        (silent >= most)
            .then(|| format!("{source}: nothing came from the encoder for {} s", silent.as_secs()))
    }

    /// Writes the allowed rate for the encoder, if it is asked for.
    fn tell_rate(&mut self) {
        let note = self.rate_out.as_mut().and_then(|out| out.tell(&self.course.connection.status()));
        if let Some(note) = note {
            self.reporter.note(&note);
        }
    }

    /// Says once that datagrams of `--udp-in` are refused.
    fn tell_refused(&mut self) {
        let limit = self.course.connection.max_datagram();
        let news = self.course.refused.as_mut().map(|refused| refused.news(limit)).unwrap_or_default();
        for note in news {
            self.reporter.note(&note);
        }
    }

    fn sample(&mut self) {
        let mut records = self.course.sampler.sender(&self.course.connection);
        if let (Some(sent), true) = (&self.course.file, self.course.repair != Repair::None) {
            self.course.sampler.note_repaired(&mut records, sent.counts().1);
        }
        for mut record in records {
            if let (Record::Interval(interval), Some(encoded)) = (&mut record, &self.course.encoded) {
                encoded.note(interval);
            }
            self.reporter.say(&record);
        }
        self.reporter.set_waiting(self.course.connection.status().queued);
        let summary = self.course.so_far(self.args);
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
