//! Where the data of `send` comes from, cut into datagrams.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tfrc_units::saturating;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::file::{HASH, whole_hash};
use crate::{FileSource, UdpSource};

/// How often an application that makes its own data has a datagram ready.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Whenever it is asked.
    AsAllowed,
    /// This many datagrams per second.
    PerSecond(f64),
}

impl Pace {
    fn ticker(self) -> Option<tokio::time::Interval> {
        let Self::PerSecond(rate) = self else { return None };
        let mut ticker = interval(Duration::from_secs_f64(1.0 / rate));
        // Timers are late by a millisecond: the mean is kept. More than a [`MOMENT`] is not made up
        // for.
        ticker.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Some(ticker)
    }
}

/// The time by which a source that was held up stays behind its pace.
const MOMENT: Duration = Duration::from_millis(100);

/// Bytes of a packet of an MPEG transport stream (ISO 13818-1 §2.4.3.2).
const TS_PACKET: usize = 188;

/// A stream of datagrams of at most `length` bytes; those that come as datagrams keep their length.
pub struct DatagramSource {
    input: Input,
    length: usize,
    left: u64,
    /// Bytes handed out so far.
    given: u64,
    /// The length of a file when it was opened.
    expected: Option<u64>,
    ticker: Option<tokio::time::Interval>,
    serial: u64,
    /// Bytes that were read and do not fill a datagram yet, and until when the rest is waited for.
    begun: Vec<u8>,
    flush_at: Option<Instant>,
    /// Datagrams that were given out and came back, oldest first.
    returned: VecDeque<Vec<u8>>,
    /// A second handle of a file, by which it is sent whole, and the pace of that.
    original: Option<std::fs::File>,
    pace: Pace,
    /// Its length and hash, if the receiver may have a part of it.
    known: Option<(u64, [u8; HASH])>,
}

enum Input {
    MadeUp,
    Stream { reader: Box<dyn AsyncBufRead + Send + Unpin>, flush: Option<Duration> },
    Udp(UdpSource),
}

impl DatagramSource {
    /// Data without meaning, numbered so that packets differ.
    #[must_use]
    pub fn made_up(length: usize) -> Self {
        Self::new(Input::MadeUp, length)
    }

    /// A file: full datagrams except the last.
    pub fn file(file: std::fs::File, length: usize) -> Self {
        let expected = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        let original = expected.and_then(|_| file.try_clone().ok());
        let stream = match unblocked(&file) {
            Some(pipe) => Self::stream(pipe, length, None),
            None => Self::stream(tokio::fs::File::from_std(file), length, None),
        };
        Self { expected, original, ..stream }
    }

    /// Standard input, as a [`DatagramSource::pipe`].
    #[must_use]
    pub fn standard(length: usize, flush: Duration) -> Self {
        match unblocked(&std::io::stdin()) {
            Some(pipe) => Self::pipe(pipe, length, flush),
            None => Self::pipe(tokio::io::stdin(), length, flush),
        }
    }

    /// A pipe: what has come goes after `flush` even if it does not fill a datagram.
    pub fn pipe(reader: impl AsyncRead + Send + Unpin + 'static, length: usize, flush: Duration) -> Self {
        Self::stream(reader, length, Some(flush))
    }

    /// A stream, read in large pieces: a file costs a change of threads for each.
    fn stream(
        reader: impl AsyncRead + Send + Unpin + 'static,
        length: usize,
        flush: Option<Duration>,
    ) -> Self {
        let reader = Box::new(tokio::io::BufReader::with_capacity(1 << 16, reader));
        Self::new(Input::Stream { reader, flush }, length)
    }

    /// The datagrams that come to a port; they end only with a limit in bytes, behind the datagram
    /// that reaches it.
    #[must_use]
    pub fn udp(port: UdpSource) -> Self {
        Self::new(Input::Udp(port), usize::MAX)
    }

    fn new(input: Input, length: usize) -> Self {
        Self {
            input,
            length,
            left: u64::MAX,
            given: 0,
            expected: None,
            ticker: None,
            serial: 0,
            begun: Vec::new(),
            flush_at: None,
            returned: VecDeque::new(),
            original: None,
            pace: Pace::AsAllowed,
            known: None,
        }
    }

    /// Ends after this many bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: Option<u64>) -> Self {
        self.left = bytes.unwrap_or(u64::MAX);
        self
    }

    /// Holds back datagrams to this pace.
    #[must_use]
    pub fn paced(mut self, pace: Pace) -> Self {
        self.ticker = pace.ticker();
        self.pace = pace;
        self
    }

    /// The file, from its beginning, for a receiver that takes it whole; `None` for what is no
    /// file. This source stays as it is.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn whole(&self) -> io::Result<Option<FileSource>> {
        let (Some(original), Some(expected)) = (&self.original, self.expected) else { return Ok(None) };
        let limit = self.left.saturating_add(self.given);
        let file = original.try_clone()?;
        let whole = FileSource::new(file, self.length, limit, expected, self.pace.ticker());
        Ok(Some(match self.known {
            Some(known) => whole.going_on(known),
            None => whole,
        }))
    }

    /// Reads a file for its hash, so that [`DatagramSource::whole`] sends only what the receiver
    /// lacks of it. Blocks.
    ///
    /// # Errors
    /// The error of the file.
    pub fn go_on(&mut self) -> io::Result<()> {
        if let Some(original) = &self.original {
            self.known = Some(whole_hash(original, self.left.saturating_add(self.given))?);
        }
        Ok(())
    }

    /// True if each datagram is one of another program, which must not be cut.
    #[must_use]
    pub const fn keeps_boundaries(&self) -> bool {
        matches!(self.input, Input::Udp(_))
    }

    /// The bytes of a file that are to be sent; `None` for what is no file.
    #[must_use]
    pub fn file_bytes(&self) -> Option<u64> {
        self.expected.map(|length| length.max(self.given).min(self.left.saturating_add(self.given)))
    }

    /// Bytes given out so far.
    #[must_use]
    pub const fn given(&self) -> u64 {
        self.given
    }

    /// After the end: the bytes given out and the length that the file had when it was opened, if
    /// it has become shorter.
    #[must_use]
    pub fn shortfall(&self) -> Option<(u64, u64)> {
        self.expected
            .filter(|expected| self.left > 0 && self.given < *expected)
            .map(|length| (self.given, length))
    }

    /// The next datagram, in this empty buffer unless it has one already; `None` at the end.
    /// Datagrams without boundaries of their own have at most `limit` bytes. Cancel-safe: what was
    /// read stays here.
    ///
    /// # Errors
    /// The error of the file or pipe.
    pub async fn next(&mut self, limit: usize, mut buffer: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if let Some(again) = self.returned.pop_front() {
            self.give(again.len());
            return Ok(Some(again));
        }
        if let Some(ticker) = &mut self.ticker {
            let due = ticker.tick().await;
            if due.elapsed() > MOMENT {
                ticker.reset();
            }
        }
        let length = fitting(self.length, limit.max(1)).min(saturating::<usize>(self.left));
        if length == 0 {
            return Ok(None);
        }
        let datagram = match &mut self.input {
            Input::MadeUp => made_up(self.serial, length, buffer),
            Input::Stream { reader, flush } => {
                fill(reader, &mut self.begun, length, *flush, &mut self.flush_at).await?;
                buffer.extend(self.begun.drain(length.min(self.begun.len())..));
                std::mem::replace(&mut self.begun, buffer)
            }
            Input::Udp(port) => port.next().await?,
        };
        self.serial += 1;
        self.give(datagram.len());
        let ended = datagram.is_empty() && !self.keeps_boundaries();
        Ok((!ended).then_some(datagram))
    }

    /// Takes datagrams back that were the last to be given out: they are the next.
    pub fn put_back(&mut self, datagrams: Vec<Vec<u8>>) {
        let bytes: u64 = datagrams.iter().map(|datagram| saturating::<u64>(datagram.len())).sum();
        self.left = self.left.saturating_add(bytes);
        self.given = self.given.saturating_sub(bytes);
        for datagram in datagrams.into_iter().rev() {
            self.returned.push_front(datagram);
        }
    }

    fn give(&mut self, length: usize) {
        let given = saturating::<u64>(length);
        self.left = self.left.saturating_sub(given);
        self.given += given;
    }
}

/// A pipe that needs no thread to wait for its data. It is opened anew: the flag that makes it so
/// is shared by all who have the descriptor.
#[cfg(target_os = "linux")]
fn unblocked(input: &impl std::os::fd::AsFd) -> Option<tokio::net::unix::pipe::Receiver> {
    let path = crate::pipe::pipe_path(input)?;
    tokio::net::unix::pipe::OpenOptions::new().open_receiver(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn unblocked<T>(_: &T) -> Option<tokio::io::Empty> {
    None
}

/// Returns the length of a datagram where at most `limit` bytes fit. One of whole packets of an
/// MPEG transport stream stays so if that leaves a seventh of the room at most: a datagram that is
/// lost damages no more packets than it carries.
const fn fitting(length: usize, limit: usize) -> usize {
    if length <= limit {
        return length;
    }
    let whole = limit - limit % TS_PACKET;
    if length.is_multiple_of(TS_PACKET) && limit - whole <= limit / 7 { whole } else { limit }
}

fn made_up(serial: u64, length: usize, mut datagram: Vec<u8>) -> Vec<u8> {
    let number = serial.to_be_bytes();
    while datagram.len() + number.len() <= length {
        datagram.extend_from_slice(&number);
    }
    datagram.extend(number.into_iter().take(length - datagram.len()));
    datagram
}

/// Reads until `begun` has `length` bytes, the input ends, or `flush` has passed since its first
/// bytes.
async fn fill(
    reader: &mut (dyn AsyncBufRead + Send + Unpin),
    begun: &mut Vec<u8>,
    length: usize,
    flush: Option<Duration>,
    flush_at: &mut Option<Instant>,
) -> io::Result<()> {
    while begun.len() < length {
        if !begun.is_empty() && flush_at.is_none() {
            *flush_at = flush.map(|flush| Instant::now() + flush);
        }
        let piece = match *flush_at {
            None => reader.fill_buf().await?,
            Some(at) => match timeout_at(at, reader.fill_buf()).await {
                Ok(piece) => piece?,
                Err(_) => break,
            },
        };
        let taken = piece.len().min(length - begun.len());
        if taken == 0 {
            break;
        }
        begun.extend_from_slice(piece.get(..taken).unwrap_or_default());
        reader.consume(taken);
    }
    *flush_at = None;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    async fn lengths(mut source: DatagramSource) -> Vec<usize> {
        all(&mut source).await
    }

    async fn all(source: &mut DatagramSource) -> Vec<usize> {
        let mut lengths = Vec::new();
        while let Some(datagram) = source.next(usize::MAX, Vec::new()).await.expect("readable") {
            lengths.push(datagram.len());
        }
        lengths
    }

    /// Five seconds in which nobody asks, at 50 datagrams a second: the pace goes on as it was.
    #[tokio::test(start_paused = true)]
    async fn what_was_missed_does_not_come_in_a_burst() {
        let mut source = DatagramSource::made_up(100).paced(Pace::PerSecond(50.0));
        let given = async |source: &mut DatagramSource, time: Duration| {
            let (end, mut given) = (Instant::now() + time, 0);
            while timeout_at(end, source.next(usize::MAX, Vec::new())).await.is_ok() {
                given += 1;
            }
            given
        };
        let second = Duration::from_secs(1);
        assert!((50..=51).contains(&given(&mut source, second).await));
        tokio::time::sleep(5 * second).await;
        let after = given(&mut source, second).await;
        assert!((50..=52).contains(&after), "{after}");
        // A moment is made up for.
        tokio::time::sleep(second / 20).await;
        let after = given(&mut source, second).await;
        assert!((52..=54).contains(&after), "{after}");
    }

    #[test]
    fn packets_of_a_transport_stream_stay_whole() {
        for (length, limit, fits) in [
            (1316, 1316, 1316),
            (1316, 1400, 1316),
            (1316, 1315, 1128),
            (1316, 1158, 1128),
            (376, 200, 188),
            // Too much of the packet would be empty, or there is nothing to keep whole.
            (1316, 524, 524),
            (1316, 100, 100),
            (1000, 999, 999),
        ] {
            assert_eq!(fitting(length, limit), fits, "{length} in {limit}");
        }
    }

    #[tokio::test]
    async fn limits_in_bytes_hold_exactly() {
        assert_eq!(lengths(DatagramSource::made_up(1000).at_most(Some(2500))).await, [1000, 1000, 500]);
        let text: &[u8] = &[7; 2500];
        assert_eq!(
            lengths(DatagramSource::pipe(text, 1000, Duration::from_secs(1))).await,
            [1000, 1000, 500]
        );
        let text: &[u8] = &[7; 2500];
        assert_eq!(
            lengths(DatagramSource::pipe(text, 1000, Duration::from_secs(1)).at_most(Some(1200))).await,
            [1000, 200]
        );
    }

    #[tokio::test]
    async fn a_file_that_shrinks_is_found_out_and_one_that_grows_is_sent() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("source");
        // Longer than what is read ahead.
        let length = 200_000;
        for (limit, new_length, sent, shortfall) in [
            (None, 100_000, None, true),
            (None, 300_000, Some(300_000), false),
            (None, 200_000, Some(200_000), false),
            (Some(1000), 100_000, Some(1000), false),
            (Some(1_000_000), 200_000, Some(200_000), false),
        ] {
            std::fs::write(&path, vec![7; length]).expect("written");
            let mut source =
                DatagramSource::file(std::fs::File::open(&path).expect("there"), 1000).at_most(limit);
            let first = source.next(usize::MAX, Vec::new()).await.expect("readable").expect("data").len();
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("there");
            file.set_len(new_length).expect("ours");
            let total = first + all(&mut source).await.iter().sum::<usize>();
            assert!(sent.is_none_or(|sent| sent == total), "{total}");
            assert_eq!(source.shortfall().is_some(), shortfall, "{limit:?} {new_length}");
        }
    }

    /// Bytes that a reader had read when it gave up, and those that came back, are not lost; a path
    /// that carries less makes more datagrams of the same bytes.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_by_waiting_no_longer_or_by_a_narrow_path() {
        let (mut there, here) = tokio::io::duplex(64);
        tokio::spawn(async move {
            for byte in 0..40_u8 {
                there.write_all(&[byte; 25]).await.expect("open");
                tokio::time::sleep(Duration::from_millis(7)).await;
            }
        });
        let mut source = DatagramSource::pipe(here, 100, Duration::from_secs(1));
        let mut arrived = Vec::new();
        for limit in (20..=140).cycle() {
            let wait = Duration::from_millis(11);
            let Ok(next) = tokio::time::timeout(wait, source.next(limit, Vec::new())).await else { continue };
            let Some(datagram) = next.expect("readable") else { break };
            assert!(datagram.len() <= limit.min(100), "{limit}");
            if limit % 3 == 0 {
                source.put_back(vec![datagram]);
            } else {
                arrived.extend(datagram);
            }
            if limit % 3 == 0 {
                arrived.extend(
                    source.next(usize::MAX, Vec::new()).await.expect("readable").expect("it came back"),
                );
            }
        }
        let sent: Vec<u8> = (0..40_u8).flat_map(|byte| [byte; 25]).collect();
        assert_eq!(arrived, sent);
    }

    /// Bytes that trickle in are put together into one datagram; a pause sends what is there.
    #[tokio::test(start_paused = true)]
    async fn a_pipe_is_flushed_after_a_while() {
        let (mut there, here) = tokio::io::duplex(64);
        tokio::spawn(async move {
            for pause in [0, 5, 5, 50, 5] {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                there.write_all(b"abc").await.expect("open");
            }
        });
        assert_eq!(lengths(DatagramSource::pipe(here, 1000, Duration::from_millis(20))).await, [9, 6]);
    }
}
