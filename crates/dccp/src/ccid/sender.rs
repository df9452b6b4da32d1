//! The data sender of a half-connection: paces, remembers what it sent, and understands feedback
//! (RFC 4342 §5, 6, 8), as RFC 5348 updates it (RFC 4342 §3.1).

use alloc::boxed::Box;
use alloc::vec::Vec;

use tfrc::config::{ConfigError, RateCap};
use tfrc::equation::Equation;
use tfrc::{Feedback, LossReport, PacketCount, RateChange, SendDecision, Sender};
use tfrc_units::{Duration, Instant, Probability, Rate, SeqNo48, saturating};

use super::Ccid;
use super::ccid4::{IntervalTimes, PerInterval};
use super::corrupt::CorruptEvents;
use super::counter::WindowCounter;
use super::intervals::{FirstInterval, combine, interval_at, measures_as_receivers_do, rate_from_wire};
use super::losses::LossCounter;
use super::sent::{Sent, SentKind, SentLog};
use super::verify::{LossForm, Verification, Verifier};
use crate::wire::{DataDropped, DroppedPackets, Elapsed, LossInterval, LossIntervals};

/// The round-trip time while nothing is known of it (RFC 4340 §3.4).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// Packets that the log keeps behind the one acknowledged: a receiver that waits for reordered
/// packets may still find losses there.
const KEPT: u64 = 64;

/// The sending side of CCID 3 and 4.
#[derive(Debug, Clone)]
pub(crate) struct DataSender {
    tfrc: Sender,
    ccid: Ccid,
    counter: WindowCounter,
    log: SentLog,
    verifier: Verifier,
    /// The newest acknowledgement that was feedback.
    acknowledged: Option<SeqNo48>,
    interval_times: IntervalTimes,
    first_interval: FirstInterval,
    losses: LossCounter,
    /// Where the newest loss interval began, as last reported.
    newest_event: Option<SeqNo48>,
    /// Datagrams reported with Data Dropped so far, each once.
    peer_dropped: u64,
    /// Once there are any.
    corrupt: Option<Box<CorruptEvents>>,
    timing: Timing,
    stamped_at: Option<Instant>,
    /// The application's limit, once it has changed.
    cap: Option<RateCap>,
}

/// How the peer lets us separate its hold time from the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    /// It sends Elapsed Time, as RFC 4342 §8.2 requires; or nothing is known yet.
    ElapsedTime,
    /// It does not: we put Timestamps on data packets and wait for their echo.
    Timestamps,
}

/// The options of a packet that may make it feedback, with its Acknowledgement Number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FeedbackOptions<'a> {
    pub(crate) elapsed: Option<Elapsed>,
    pub(crate) echo: Option<(u32, Elapsed)>,
    pub(crate) receive_rate: Option<u32>,
    pub(crate) loss_event_rate: Option<u32>,
    pub(crate) intervals: Option<LossIntervals<'a>>,
    /// Counts of the Dropped Packets option (CCID 4 only).
    pub(crate) drop_counts: Option<DroppedPackets<'a>>,
    /// One continues the other (RFC 4340 §11.7); of more options the rest is ignored.
    pub(crate) dropped: [DataDropped<'a>; 2],
    pub(crate) slow_receiver: bool,
}

impl<'a> FeedbackOptions<'a> {
    /// Another Data Dropped option.
    pub(crate) fn add_dropped(&mut self, dropped: DataDropped<'a>) {
        if let Some(free) = self.dropped.iter_mut().find(|known| known.blocks.is_empty()) {
            *free = dropped;
        }
    }

    /// Returns true if the receiver, not the network, slows the flow down or drops data.
    fn tells_of_receiver(&self) -> bool {
        self.slow_receiver || self.dropped.iter().any(|dropped| !dropped.blocks.is_empty())
    }
}

/// Outcome of offering a packet as feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedbackVerdict {
    /// It lacks the options that RFC 4342 §6 requires.
    NotFeedback,
    /// It was taken in.
    Taken,
    /// It acknowledges what was never sent, or is forgotten, or is older than what was taken in
    /// already.
    Refused,
}

impl DataSender {
    /// `config` is that of a half-connection with this CCID.
    pub(crate) fn new(ccid: Ccid, config: &tfrc::Config, verification: Verification) -> Self {
        Self {
            tfrc: Sender::new(config),
            ccid,
            counter: WindowCounter::default(),
            log: SentLog::default(),
            verifier: Verifier::new(verification),
            acknowledged: None,
            interval_times: IntervalTimes::default(),
            first_interval: FirstInterval::default(),
            losses: LossCounter::default(),
            newest_event: None,
            peer_dropped: 0,
            corrupt: None,
            timing: Timing::ElapsedTime,
            stamped_at: None,
            cap: None,
        }
    }

    /// The CCID in force.
    pub(crate) const fn ccid(&self) -> Ccid {
        self.ccid
    }

    /// The ends have agreed on another CCID than expected: its rate control restarts.
    pub(crate) fn begin_with(&mut self, now: Instant, ccid: Ccid, config: &tfrc::Config) {
        let rtt = self.tfrc.rtt();
        (self.tfrc, self.ccid) = (Sender::new(config), ccid);
        if let Some(cap) = self.cap {
            // It was taken before.
            let _ = self.tfrc.set_cap(cap);
        }
        if let Some(rtt) = rtt {
            self.tfrc.on_rtt_sample(now, rtt);
        }
    }

    /// Replaces the application's limit on the rate.
    pub(crate) fn set_cap(&mut self, cap: RateCap) -> Result<(), ConfigError> {
        self.tfrc.set_cap(cap)?;
        self.cap = Some(cap);
        Ok(())
    }

    /// The path carries other lengths than before: TFRC-SP follows.
    pub(crate) fn set_path_mss(&mut self, mss: u32) {
        self.tfrc.set_path_mss(mss);
    }

    /// A round-trip time from the handshake.
    pub(crate) fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        self.tfrc.on_rtt_sample(now, rtt);
    }

    /// When the next datagram may go.
    pub(crate) fn next_send(&self, now: Instant) -> SendDecision {
        self.tfrc.next_send(now)
    }

    /// CCVal of a data packet that is about to be sent.
    pub(crate) fn window_counter(&mut self, now: Instant) -> u8 {
        let rtt = self.rtt_or_default();
        self.counter.on_send(now, rtt)
    }

    /// The Timestamp to put on a data packet, about once per round-trip time, if the peer needs
    /// that.
    pub(crate) fn timestamp(&mut self, now: Instant) -> Option<u32> {
        let rtt = self.rtt_or_default();
        let due = self.timing == Timing::Timestamps
            && self.stamped_at.is_none_or(|at| now.saturating_since(at) >= rtt);
        if !due {
            return None;
        }
        self.stamped_at = Some(now);
        Some(clock(now))
    }

    /// A packet has gone; `datagram` is the length of its data.
    pub(crate) fn on_sent(&mut self, now: Instant, seq: SeqNo48, kind: SentKind, datagram: usize) {
        self.log.push(seq, Sent { at: now, kind });
        self.verifier.on_sent(seq);
        if matches!(kind, SentKind::Data(_)) {
            self.first_interval.on_datagram(seq);
            self.verifier.on_datagram(now, datagram, self.tfrc.rtt().unwrap_or(DEFAULT_RTT));
            self.tfrc.on_sent(now, saturating::<u32>(datagram));
        }
    }

    /// A number is left out on purpose.
    pub(crate) fn on_skipped(&mut self, now: Instant, seq: SeqNo48) {
        self.log.push(seq, Sent { at: now, kind: SentKind::Skipped });
    }

    /// Returns true if this number was left out on purpose: a receiver that acknowledges it has not
    /// received what it says.
    pub(crate) fn was_skipped(&self, seq: SeqNo48) -> bool {
        self.log.get(seq).is_some_and(|sent| sent.kind == SentKind::Skipped)
    }

    /// When a packet was sent that may still be acknowledged.
    pub(crate) fn sent_at(&self, seq: SeqNo48) -> Option<Instant> {
        self.log.get(seq).map(|sent| sent.at)
    }

    /// When a packet left from which a round-trip time can be measured.
    pub(crate) fn departure(&self, seq: SeqNo48) -> Option<Instant> {
        self.log.departure(seq)
    }

    /// The host was held up: packets sent since then left at a time that nobody knows.
    pub(crate) fn on_held_up(&mut self, since: Instant) {
        self.log.note_held_up(since);
    }

    /// A packet acknowledges `ack` and carries these options; it had `waited` here. `lenient`
    /// accepts a Loss Event Rate in place of Loss Intervals and of Elapsed Time.
    pub(crate) fn on_acknowledgement(
        &mut self,
        now: Instant,
        waited: Duration,
        ack: SeqNo48,
        options: &FeedbackOptions<'_>,
        lenient: bool,
    ) -> FeedbackVerdict {
        let Some(receive_rate) = options.receive_rate else { return FeedbackVerdict::NotFeedback };
        let timed = options.elapsed.is_some() || options.echo.is_some();
        let strict = timed && options.intervals.is_some();
        if !(strict || lenient && options.loss_event_rate.is_some()) {
            return FeedbackVerdict::NotFeedback;
        }
        if self.acknowledged.is_some_and(|newest| newest.is_after(ack)) {
            return FeedbackVerdict::Refused;
        }
        let Some(sent) = self.log.get(ack) else { return FeedbackVerdict::Refused };
        if let SentKind::Data(counter) = sent.kind {
            self.counter.on_acknowledged(counter);
        }
        let since_sent = now.saturating_since(sent.at);
        let held = match (options.elapsed, options.echo) {
            (Some(elapsed), _) => {
                Some(self.verifier.hold_time(elapsed.duration(), ack, &self.log, self.tfrc.rtt()))
            }
            (None, Some((stamp, held))) => {
                let travelled = Elapsed::from_units(clock(now).wrapping_sub(stamp)).duration();
                let claimed = since_sent.saturating_sub(travelled.saturating_sub(held.duration()));
                Some(self.verifier.hold_time(claimed, ack, &self.log, self.tfrc.rtt()))
            }
            // The hold time is unknown: then this one says nothing new about a known round-trip
            // time.
            (None, None) => self.tfrc.rtt().is_none().then_some(Duration::ZERO),
        };
        // As in Karn's algorithm: what left at an unknown time measures nothing.
        let held = held.filter(|_| self.log.departure(ack).is_some() || self.tfrc.rtt().is_none());
        self.timing = if options.elapsed.is_some() { Timing::ElapsedTime } else { Timing::Timestamps };
        let alike = measures_as_receivers_do(&self.tfrc.config());
        let dropped = self.on_dropped(ack, options);
        let claimed = self.limited(Rate::from_bytes_per_sec(f64::from(receive_rate)), dropped, options);
        let (rtt, segment) = (self.tfrc.rtt(), self.tfrc.segment_size());
        let receive_rate = self.verifier.receive_rate(claimed, sent.at, rtt, segment);
        let (losses, p, count) = match options.intervals {
            Some(reported) => {
                let tfrc = &self.tfrc;
                let longest = |rate| longest_first_interval(tfrc, rate);
                let mut intervals = self.verifier.intervals(ack, &reported, longest);
                let own = tfrc.config().settings().algorithm.choices().equation;
                let end = ack.add(1).sub(u64::from(reported.skip_length));
                let converted = self.first_interval.convert(&own, self.rtt_or_default(), end, &mut intervals);
                let (mut dropped, mut space) = (options.drop_counts, Vec::new());
                // RFC 4340 §11.7.1.
                if let Some(corrupt) = &self.corrupt {
                    let counts;
                    (intervals, counts) =
                        self.cut(corrupt, ack, reported.skip_length, &intervals, dropped.as_ref());
                    dropped = dropped.map(|_| DroppedPackets::encode(&counts, &mut space));
                }
                let losses = self.losses(ack, reported.skip_length, &intervals);
                let p = self.rate_of(ack, reported.skip_length, &intervals, dropped.as_ref());
                let packets = self.verifier.datagrams_by(sent.at);
                let told =
                    self.losses.count(packets, ack, reported.skip_length, &intervals, dropped.as_ref());
                let count = if options.tells_of_receiver() { PacketCount::SlowReceiver } else { told };
                // The receiver's own p has the first interval as it was.
                (losses, combine(p, options.loss_event_rate.filter(|_| alike && !converted)), count)
            }
            None => {
                let p = options.loss_event_rate.map_or(Probability::ZERO, rate_from_wire);
                let slow = options.tells_of_receiver();
                let count = if slow { PacketCount::SlowReceiver } else { PacketCount::Unknown };
                (LossReport::NoNewLoss, p, count)
            }
        };
        // Other estimators may leap where a long interval ends.
        let loss_event_rate = if alike {
            let form = options.intervals.map_or(LossForm::RateAlone, |_| LossForm::Intervals);
            self.verifier.loss_event_rate(now, p, sent.at, self.rtt_or_default(), form)
        } else {
            p
        };
        let elapsed = held.unwrap_or_default();
        let feedback =
            Feedback { newest_sent_at: sent.at, elapsed, receive_rate, loss_event_rate, losses, count };
        match held {
            Some(_) => self.tfrc.on_feedback(now - waited, feedback),
            None => self.tfrc.on_untimed_feedback(now, feedback),
        }
        self.acknowledged = Some(ack);
        self.log.forget_before(ack.sub(KEPT));
        FeedbackVerdict::Taken
    }

    /// The intervals and their losses with those of corrupt packets (RFC 4340 §11.7.2).
    fn cut(
        &self,
        corrupt: &CorruptEvents,
        ack: SeqNo48,
        skip: u8,
        intervals: &[LossInterval],
        counts: Option<&DroppedPackets<'_>>,
    ) -> (PerInterval<LossInterval>, PerInterval<u32>) {
        let counts = counts.into_iter().flat_map(DroppedPackets::iter).chain(core::iter::repeat(u32::MAX));
        let reported: PerInterval<(LossInterval, u32)> = intervals.iter().copied().zip(counts).collect();
        let end = ack.add(1).sub(u64::from(skip));
        let cut = corrupt.cut(end, &reported, self.rtt_or_default(), |seq| self.sent_at(seq));
        cut.into_iter().unzip()
    }

    /// p from the intervals reported: in CCID 4 with what was lost in them and how long they lasted
    /// (RFC 5622 §5).
    fn rate_of(
        &mut self,
        ack: SeqNo48,
        skip: u8,
        intervals: &[LossInterval],
        drop_counts: Option<&DroppedPackets<'_>>,
    ) -> Probability {
        match self.ccid {
            Ccid::Three => {
                let lengths = self.verifier.lengths(ack, skip, intervals, &self.log, self.tfrc.rtt());
                tfrc::history::loss_event_rate(&lengths, &self.tfrc.config())
            }
            Ccid::Four => {
                let rtt = self.rtt_or_default();
                let measured = self.interval_times.measure(ack, skip, intervals, drop_counts, &self.log, rtt);
                tfrc::history::loss_event_rate_of(&measured, &self.tfrc.config())
            }
        }
    }

    /// Returns [`LossReport::NewLossEvent`] if the newest interval began later than the newest one
    /// known.
    fn losses(&mut self, ack: SeqNo48, skip: u8, intervals: &[LossInterval]) -> LossReport {
        let newest = intervals.first().filter(|newest| newest.loss_length > 0);
        let Some(newest) = newest else { return LossReport::NoNewLoss };
        let length = u64::from(newest.lossless_length) + u64::from(newest.loss_length);
        let start = ack.add(1).sub(u64::from(skip) + length);
        let is_new = self.newest_event.is_none_or(|known| start.is_after(known));
        if is_new {
            self.newest_event = Some(start);
            return LossReport::NewLossEvent;
        }
        LossReport::NoNewLoss
    }

    /// Counts the datagrams that a packet reports for the first time as dropped at the receiver for
    /// a reason other than corruption (RFC 4342 §5.2), and notes corrupt ones. Each counts once,
    /// whatever acknowledgements are lost or repeated; packets that are not in the record of what
    /// was sent, or had no data, do not count (RFC 4340 §11.7: more packets than were sent is
    /// invalid).
    pub(crate) fn on_dropped(&mut self, ack: SeqNo48, options: &FeedbackOptions<'_>) -> u32 {
        let rtt = self.rtt_or_default();
        let mut newest = ack;
        let mut count = 0;
        for block in options.dropped.iter().flat_map(DataDropped::iter) {
            for i in 0..block.packets {
                let (Some(code), seq) = (block.code, newest.sub(u64::from(i))) else { break };
                let Some(sent) = self.log.get(seq).filter(|_| self.log.note_dropped(seq)) else { continue };
                if code.counts_as_marked() {
                    self.corrupt.get_or_insert_default().note(seq, sent.at, rtt);
                } else {
                    count += 1;
                }
            }
            newest = newest.sub(u64::from(block.packets));
        }
        self.peer_dropped += u64::from(count);
        count
    }

    /// Datagrams reported as dropped at the receiver so far.
    pub(crate) const fn peer_dropped(&self) -> u64 {
        self.peer_dropped
    }

    /// X_recv cut down by what Slow Receiver and Data Dropped ask for (RFC 4342 §5.2).
    fn limited(&self, x_inrecv: Rate, dropped: u32, options: &FeedbackOptions<'_>) -> Rate {
        let mut x_drop = Rate::INFINITY;
        if options.slow_receiver {
            // RFC 4340 §11.6.
            x_drop = x_inrecv;
        }
        if dropped > 0 {
            let one = Rate::of(self.tfrc.segment_size(), self.rtt_or_default());
            let less = x_inrecv.bytes_per_sec() - f64::from(dropped) * one.bytes_per_sec();
            x_drop = x_drop.min(Rate::from_bytes_per_sec(less).max(x_inrecv.min(one)));
        }
        x_inrecv.min(x_drop / 2.0)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.tfrc.handle_timeout(now);
    }

    /// When the nofeedback timer expires.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.poll_timeout().map(|wake| wake.at)
    }

    pub(crate) fn poll_event(&mut self) -> Option<RateChange> {
        self.tfrc.poll_event()
    }

    /// Statements of reports that were cut down to what the record of sent packets allows.
    pub(crate) const fn corrections(&self) -> u64 {
        self.verifier.corrections()
    }

    /// The state machine underneath, to look at.
    pub(crate) const fn tfrc(&self) -> &Sender {
        &self.tfrc
    }

    pub(crate) fn rtt_or_default(&self) -> Duration {
        self.tfrc.rtt().unwrap_or(DEFAULT_RTT)
    }
}

/// The longest synthetic first interval of a receiver that this rate can have reached: receivers
/// have RFC 5348's equation (§6.3.1).
fn longest_first_interval(tfrc: &Sender, rate: Rate) -> f64 {
    let Some(rtt) = tfrc.rtt() else { return f64::INFINITY };
    interval_at(&Equation::default(), tfrc.segment_size().max(1.0), rtt, rate)
}

/// The Timestamp clock: units of 10 µs, wrapping.
fn clock(now: Instant) -> u32 {
    saturating::<u32>((now.as_nanos() / 10_000) & u64::from(u32::MAX))
}
