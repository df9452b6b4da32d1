//! Media over RTP under a bandwidth estimator: a pacer, and transport-wide feedback every 100 ms.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rtc_interceptor::{BandwidthEstimator, PacketReport};
use rtcp::transport_feedbacks::cc_feedback_report::Ecn as Mark;
use tfrc_testkit::path::{Datagram, End};
use tfrc_units::Ecn;

use crate::source::{FRAMING, MEDIA, Source};

/// Time between two reports.
pub(crate) const FEEDBACK: Duration = Duration::from_millis(100);
/// Mean length of a packet over the longest one: frames are cut into equal packets.
const FILLED: f64 = 0.8;
/// The longest time that the pacer makes up for.
const CREDIT: Duration = Duration::from_millis(5);

/// The spacing of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    /// Rate of the pacer over the target.
    pub(crate) factor: f64,
    /// The least time between packets.
    pub(crate) least: Duration,
}

/// The end that sends.
pub(crate) struct Sender {
    estimator: Box<dyn BandwidthEstimator>,
    pacing: Pacing,
    source: Source,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// When the next packet may go.
    next: Instant,
    number: u64,
    /// Packets without a report: number, departure, bytes.
    unreported: VecDeque<(u64, Instant, usize)>,
}

impl Sender {
    pub(crate) fn new(
        begin: Instant,
        estimator: Box<dyn BandwidthEstimator>,
        pacing: Pacing,
        source: Source,
    ) -> Self {
        let (waiting, unreported) = (VecDeque::new(), VecDeque::new());
        Self { estimator, pacing, source, waiting, next: begin, number: 0, unreported }
    }
}

impl Sender {
    /// The rate that the encoder may have, bit/s: that of the estimator, but no more than the least
    /// spacing lets go.
    fn target(&self) -> f64 {
        let longest = (MEDIA + FRAMING) as f64 * 8.0 * FILLED;
        self.estimator.target_bitrate().min(longest / self.pacing.least.as_secs_f64())
    }
}

impl End for Sender {
    fn receive(&mut self, now: Instant, datagram: Datagram) {
        let entries: Vec<(u64, Duration)> = entries(&datagram.bytes).collect();
        let Some((newest, _)) = entries.last().copied() else { return };
        let mut reports = Vec::new();
        let mut arrived = entries.into_iter().peekable();
        while let Some((id, departure, size)) = self.unreported.pop_front_if(|(id, ..)| *id <= newest) {
            let arrival = arrived.next_if(|(number, _)| *number == id).map(|(_, at)| at);
            reports.push(PacketReport {
                ssrc: 1,
                id,
                rtp_sequence_number: id as u16,
                is_twcc: true,
                twcc_sequence_number: id as u16,
                size,
                arrived: arrival.is_some(),
                departure,
                arrival,
                ecn: Mark::NotEct,
            });
        }
        self.estimator.on_reports(now, &reports);
    }

    fn wake(&mut self, now: Instant) {
        if self.estimator.poll_timeout().is_some_and(|at| at <= now) {
            self.estimator.handle_timeout(now);
        }
        self.source.fill(now, self.target(), &mut self.waiting);
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.next > now {
            return None;
        }
        let (_, mut bytes) = self.waiting.pop_front()?;
        bytes.resize(bytes.len() + FRAMING, 0);
        let rate = self.estimator.target_bitrate() * self.pacing.factor;
        let gap = Duration::from_secs_f64(bytes.len() as f64 * 8.0 / rate).max(self.pacing.least);
        self.next = self.next.max(now.checked_sub(CREDIT).unwrap_or(now)) + gap;
        bytes[..8].copy_from_slice(&self.number.to_be_bytes());
        self.unreported.push_back((self.number, now, bytes.len()));
        self.number += 1;
        Some(Datagram { bytes, ecn: Ecn::NotEct })
    }

    fn timeout(&mut self) -> Option<Instant> {
        let packet = Some(self.next).filter(|_| !self.waiting.is_empty());
        [packet, self.source.timeout(), self.estimator.poll_timeout()].into_iter().flatten().min()
    }
}

/// The end that reports what has come.
#[derive(Default)]
pub(crate) struct Reporter {
    begin: Option<Instant>,
    seen: Vec<u8>,
    due: Option<Instant>,
}

impl End for Reporter {
    fn receive(&mut self, now: Instant, datagram: Datagram) {
        let begin = *self.begin.get_or_insert(now);
        self.seen.extend_from_slice(&datagram.bytes[..8]);
        self.seen.extend_from_slice(&((now - begin).as_micros() as u64).to_be_bytes());
        self.due.get_or_insert(now + FEEDBACK);
    }

    fn wake(&mut self, _: Instant) {}

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.due.take_if(|due| *due <= now)?;
        Some(Datagram { bytes: std::mem::take(&mut self.seen), ecn: Ecn::NotEct })
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.due
    }
}

/// The packets of a report and their arrivals.
fn entries(report: &[u8]) -> impl Iterator<Item = (u64, Duration)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    report
        .chunks_exact(16)
        .map(move |entry| (number(&entry[..8]), Duration::from_micros(number(&entry[8..]))))
}
