//! Checks of a receiver's reports: the sender accepts no more than its own record of what it sent
//! allows (RFC 4342 §9).
//!
//! A receiver gains by three lies: that more arrives than was sent, that less is lost, that the
//! path is shorter. The record shows how fast data was sent, how many packets a loss interval can
//! hold, and when the packet after the one acknowledged was sent. `docs/security.md` says what is
//! left to a liar. What a report says beyond the record is cut down, not punished.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tfrc::history::linux::AGREES_FROM;
use tfrc_units::{Duration, Instant, Probability, Rate, SeqNo48, f64_from_u64, saturating, u64_from_f64};

use arrayvec::ArrayVec;

use super::ccid4::PerInterval;
use super::sent::SentLog;
use crate::wire::{LossInterval, LossIntervals};

/// Lengths of loss intervals, newest first: as many as an estimator takes, and the open one.
pub(crate) type Lengths = ArrayVec<f64, { tfrc::study::MAX_INTERVALS + 1 }>;

/// Verification of reports against the record of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// X_recv, p and hold times that the record rules out are cut down to what it allows.
    Records,
    /// Reports are taken as they come.
    Trusting,
}

/// The sender's record of its own rate, and of what it has accepted so far.
#[derive(Debug, Clone)]
pub(crate) struct Verifier {
    policy: Verification,
    first: Option<SeqNo48>,
    total: SentBy,
    /// Oldest first, about eight in a round-trip time.
    tallies: VecDeque<SentBy>,
    /// The highest rate shown sent so far.
    fastest: Rate,
    /// The best of 1/p as accepted in the last two stretches of two round-trip times each, the
    /// older first.
    believed: [Option<Belief>; 2],
    /// That when the receiver told the first loss.
    first_loss: Option<f64>,
    /// 1/p as last told, and how often it has fallen.
    latest: Option<f64>,
    rises: u32,
    /// Reported intervals whose lossy part was sent over more than one loss event can hold: where
    /// they begin, and how many events they are.
    merged: Vec<(SeqNo48, u32)>,
    corrections: u64,
}

/// Data sent by a time, the packets then included.
#[derive(Debug, Clone, Copy)]
struct SentBy {
    at: Instant,
    bytes: u64,
    datagrams: u64,
}

/// The options by which a receiver tells of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossForm {
    /// Loss Intervals, from which p follows.
    Intervals,
    /// Loss Event Rate alone. Linux 6.1 sends that, and averages one interval too few before the
    /// ninth loss event: 1/p stands still from the first to the second, and leaps by up to all that
    /// was sent meanwhile when an interval that was left out begins to count.
    RateAlone,
}

#[derive(Debug, Clone, Copy)]
struct Belief {
    /// When the stretch began.
    since: Instant,
    /// 1/p less the datagrams sent by the packet acknowledged then; infinite while nothing was
    /// lost.
    head_start: f64,
}

/// Tallies kept: four round-trip times of them.
const TALLIES: usize = 32;
const TALLIES_PER_RTT: u64 = 8;
/// A hold time is accepted if it ends before this many packets after the acknowledged one were due
/// to arrive: one or two might be lost.
const LATER_PACKETS: u64 = 4;
/// Merged intervals remembered: as many as are reported.
const MERGED: usize = 9;

impl Verifier {
    pub(crate) const fn new(policy: Verification) -> Self {
        Self {
            policy,
            first: None,
            total: SentBy { at: Instant::ZERO, bytes: 0, datagrams: 0 },
            tallies: VecDeque::new(),
            fastest: Rate::ZERO,
            believed: [None; 2],
            first_loss: None,
            latest: None,
            rises: 0,
            merged: Vec::new(),
            corrections: 0,
        }
    }

    /// Statements cut down so far.
    pub(crate) const fn corrections(&self) -> u64 {
        self.corrections
    }

    /// A packet has gone.
    pub(crate) const fn on_sent(&mut self, seq: SeqNo48) {
        if self.first.is_none() {
            self.first = Some(seq);
        }
    }

    /// A datagram has gone.
    pub(crate) fn on_datagram(&mut self, now: Instant, bytes: usize, rtt: Duration) {
        self.total.at = now;
        self.total.bytes = self.total.bytes.saturating_add(saturating::<u64>(bytes));
        self.total.datagrams += 1;
        let spacing = rtt / TALLIES_PER_RTT;
        if self.tallies.back().is_none_or(|last| now.saturating_since(last.at) >= spacing) {
            if self.tallies.capacity() == 0 {
                self.tallies.reserve_exact(TALLIES);
            }
            if self.tallies.len() == TALLIES {
                self.tallies.pop_front();
            }
            self.tallies.push_back(self.total);
        }
    }

    /// X_recv, at most the rate at which data was sent in the round-trip time before the
    /// acknowledged packet, and a packet more: no receiver gets more than that (RFC 5348 §4.3 then
    /// allows twice as much). Rounded up to an eighth of a round-trip time.
    pub(crate) fn receive_rate(
        &mut self,
        claimed: Rate,
        acknowledged: Instant,
        rtt: Option<Duration>,
        segment: f64,
    ) -> Rate {
        let Some(rtt) = rtt else { return claimed };
        let until = self.by_at_least(acknowledged);
        let start = Instant::from_nanos(acknowledged.as_nanos().saturating_sub(rtt.as_nanos()));
        let before = self.tallies.iter().rev().find(|tally| tally.at <= start);
        let before = before.or_else(|| self.tallies.front().filter(|_| self.tallies.len() == TALLIES));
        let bytes = until.bytes - before.map_or(0, |tally| tally.bytes).min(until.bytes);
        let shown = Rate::of(f64_from_u64(bytes) + segment, rtt);
        self.fastest = self.fastest.max(shown);
        match self.policy {
            // RFC 4340 §12.3.
            Verification::Records if claimed > shown => {
                self.corrections += 1;
                shown
            }
            _ => claimed,
        }
    }

    /// How long the receiver held the packet it acknowledges, as far as that can be: meanwhile the
    /// packets sent after it arrived, and it would have acknowledged those. A quarter of the
    /// round-trip time is left to jitter, so that false hold times cannot bring the round-trip time
    /// below four fifths of the true one while packets are that close.
    pub(crate) fn hold_time(
        &mut self,
        claimed: Duration,
        ack: SeqNo48,
        log: &SentLog,
        rtt: Option<Duration>,
    ) -> Duration {
        let (Some(rtt), Some(sent), Some(later)) = (rtt, log.get(ack), log.get(ack.add(LATER_PACKETS)))
        else {
            return claimed;
        };
        let longest = later.at.saturating_since(sent.at) + rtt / 4;
        match self.policy {
            Verification::Records if claimed > longest => {
                self.corrections += 1;
                longest
            }
            _ => claimed,
        }
    }

    /// The intervals of a report that acknowledges `ack`. Only the oldest may be longer than its
    /// numbers (RFC 4342 §6.1.1), by as much as `first_interval` says of twice the highest rate
    /// shown sent (RFC 5348 §6.3.1), and none begins before our first packet.
    pub(crate) fn intervals(
        &mut self,
        ack: SeqNo48,
        reported: &LossIntervals<'_>,
        first_interval: impl Fn(Rate) -> f64,
    ) -> PerInterval<LossInterval> {
        let mut intervals: PerInterval<LossInterval> =
            reported.iter().take(LossIntervals::MAX_INTERVALS).collect();
        if self.policy == Verification::Trusting {
            return intervals;
        }
        let cut = |n: u64| saturating::<u32>(n);
        let mut left = self.first.map_or(0, |first| ack.add(1).distance_from(first));
        left = left.saturating_sub(u64::from(reported.skip_length));
        let oldest = intervals.len().saturating_sub(1);
        let mut corrected = false;
        for (i, interval) in intervals.iter_mut().enumerate() {
            let before = *interval;
            interval.lossless_length = cut(left).min(interval.lossless_length);
            left -= u64::from(interval.lossless_length);
            interval.loss_length = cut(left).min(interval.loss_length);
            left -= u64::from(interval.loss_length);
            let length = interval.lossless_length.saturating_add(interval.loss_length).max(1);
            let most = if i == oldest && interval.data_length > length {
                length.max(cut(u64_from_f64(first_interval(self.fastest * 2.0))))
            } else {
                length
            };
            interval.data_length = interval.data_length.min(most);
            corrected |= before != *interval;
        }
        self.corrections += u64::from(corrected);
        intervals
    }

    /// The lengths that p is computed from. A lossy part is a round-trip time at most
    /// (RFC 4342 §6.1). One whose packets were sent over more than two of them is more than one
    /// loss event (RFC 4342 §9.2), however the receiver counts it: one in two round-trip times at
    /// least.
    pub(crate) fn lengths(
        &mut self,
        ack: SeqNo48,
        skip: u8,
        intervals: &[LossInterval],
        log: &SentLog,
        rtt: Option<Duration>,
    ) -> Lengths {
        let mut lengths = Lengths::new();
        let mut end = ack.add(1).sub(u64::from(skip));
        for interval in intervals {
            let data = f64::from(interval.data_length.max(1));
            let lossy_end = end.sub(u64::from(interval.lossless_length));
            end = lossy_end.sub(u64::from(interval.loss_length));
            let events = match self.policy {
                Verification::Records if interval.loss_length > 1 => {
                    self.events_in(end, lossy_end.sub(1), log, rtt)
                }
                _ => 1,
            };
            let lossy = f64::from(interval.loss_length).min(data) * f64::from(events - 1) / f64::from(events);
            // What does not fit is older than any estimator looks.
            let _ = lengths.try_push((data - lossy).max(1.0));
            for _ in 1..events {
                let _ = lengths.try_push((lossy / f64::from(events - 1)).max(1.0));
            }
        }
        lengths
    }

    fn events_in(&mut self, start: SeqNo48, last: SeqNo48, log: &SentLog, rtt: Option<Duration>) -> u32 {
        if let Some((_, events)) = self.merged.iter().find(|(known, _)| *known == start) {
            return *events;
        }
        let (Some(rtt), Some(from), Some(to)) = (rtt, log.get(start), log.get(last)) else { return 1 };
        let span = to.at.saturating_since(from.at).as_nanos();
        let events = span.checked_div((rtt * 2).as_nanos()).unwrap_or(0).saturating_add(1);
        // More than the estimator looks at are no use.
        let events = saturating::<u32>(events.min(32));
        if events > 1 {
            self.corrections += 1;
            if self.merged.len() == MERGED {
                self.merged.remove(0);
            }
            self.merged.push((start, events));
        }
        events
    }

    /// p, which cannot fall faster than packets are sent: the mean loss interval grows by no more
    /// than one for each. A late packet may take a loss back, so what was accepted a few round-trip
    /// times ago counts too; and of a receiver that tells p alone what it told at its first loss,
    /// until its history is full.
    pub(crate) fn loss_event_rate(
        &mut self,
        now: Instant,
        claimed: Probability,
        acknowledged: Instant,
        rtt: Duration,
        form: LossForm,
    ) -> Probability {
        let sent = f64_from_u64(self.by_at_least(acknowledged).datagrams);
        let inverse = if claimed.is_zero() { f64::INFINITY } else { 1.0 / claimed.get() };
        let first = self.first_loss.filter(|_| form == LossForm::RateAlone && self.rises < AGREES_FROM);
        let beliefs = self.believed.iter().flatten().map(|belief| belief.head_start);
        let best = beliefs.chain(first).reduce(f64::max);
        if self.latest.is_some_and(|latest| inverse < latest) {
            self.rises += 1;
        }
        self.latest = Some(inverse);
        let believed = match (self.policy, best) {
            (Verification::Records, Some(best)) if inverse > best + sent => {
                self.corrections += 1;
                (best + sent).max(1.0)
            }
            _ => inverse,
        };
        if self.first_loss.is_none() && believed.is_finite() {
            // The first loss was found when the packets after it had come.
            self.first_loss = Some(believed + f64_from_u64(LATER_PACKETS) - sent);
        }
        let [_, newer] = self.believed;
        match &mut self.believed {
            [_, Some(newer)] if now.saturating_since(newer.since) < rtt * 2 => {
                newer.head_start = newer.head_start.max(believed - sent);
            }
            slots => *slots = [newer, Some(Belief { since: now, head_start: believed - sent })],
        }
        if believed.is_finite() { Probability::saturating(1.0 / believed) } else { Probability::ZERO }
    }

    /// Datagrams sent by then, rounded up to an eighth of a round-trip time.
    pub(crate) fn datagrams_by(&self, at: Instant) -> u64 {
        self.by_at_least(at).datagrams
    }

    /// At least what had been sent by then.
    fn by_at_least(&self, at: Instant) -> SentBy {
        let from = self.tallies.partition_point(|tally| tally.at <= at);
        self.tallies.get(from).copied().unwrap_or(self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ccid::sent::{Sent, SentKind};
    use crate::wire::Nonce;
    use tfrc_testkit::at;

    const RTT: Duration = Duration::from_millis(100);

    /// A thousand datagrams of 1000 bytes, one in 10 ms: 100 kB/s.
    fn after_sending(policy: Verification) -> (Verifier, SentLog) {
        let (mut verifier, mut log) = (Verifier::new(policy), SentLog::default());
        for n in 0..1000 {
            let seq = SeqNo48::new(n);
            verifier.on_sent(seq);
            verifier.on_datagram(at(10 * n), 1000, RTT);
            log.push(seq, Sent { at: at(10 * n), kind: SentKind::Data(0) });
        }
        (verifier, log)
    }

    fn rate(bytes: f64) -> Rate {
        Rate::from_bytes_per_sec(bytes)
    }

    fn p(x: f64) -> Probability {
        Probability::new(x).expect("a probability")
    }

    #[test]
    fn nobody_receives_more_than_was_sent() {
        let (mut verifier, _) = after_sending(Verification::Records);
        let honest = verifier.receive_rate(rate(100_000.0), at(9900), Some(RTT), 1000.0);
        assert_eq!((honest, verifier.corrections()), (rate(100_000.0), 0));
        let lie = verifier.receive_rate(rate(1e9), at(9900), Some(RTT), 1000.0).bytes_per_sec();
        // Ten packets in the window, one more, and what the tallies round up.
        assert!((110_000.0..=140_000.0).contains(&lie), "{lie}");
        assert_eq!(verifier.corrections(), 1);
        let (mut trusting, _) = after_sending(Verification::Trusting);
        assert_eq!(trusting.receive_rate(rate(1e9), at(9900), Some(RTT), 1000.0), rate(1e9));
    }

    /// Slower than one packet in a round-trip time, the honest rate passes.
    #[test]
    fn slow_senders_are_believed() {
        let mut verifier = Verifier::new(Verification::Records);
        for n in 0..50 {
            verifier.on_datagram(at(1000 * n), 1000, RTT);
        }
        let honest = rate(10_000.0);
        assert_eq!(verifier.receive_rate(honest, at(49_000), Some(RTT), 1000.0), honest);
    }

    #[test]
    fn held_packets_are_followed_by_others() {
        let (mut verifier, log) = after_sending(Verification::Records);
        let ack = SeqNo48::new(900);
        let mut hold = |ms| verifier.hold_time(Duration::from_millis(ms), ack, &log, Some(RTT));
        assert_eq!(hold(30), Duration::from_millis(30));
        assert_eq!(hold(95), Duration::from_millis(65), "40 ms until the fourth later packet, and a quarter");
        let newest = SeqNo48::new(999);
        let all = Duration::from_millis(95);
        assert_eq!(verifier.hold_time(all, newest, &log, Some(RTT)), all, "nothing came after it");
    }

    fn interval(lossless_length: u32, loss_length: u32, data_length: u32) -> LossInterval {
        LossInterval { lossless_length, nonce: Nonce::Zero, loss_length, data_length }
    }

    #[test]
    fn intervals_hold_no_more_than_their_numbers() {
        let (mut verifier, _) = after_sending(Verification::Records);
        let mut space = Vec::new();
        let ack = SeqNo48::new(999);
        let report = [interval(10, 1, 5000), interval(89, 1, 90), interval(100_000, 0, 10_000_000)];
        let reported = LossIntervals::encode(0, &report, &mut space);
        let believed: Vec<_> =
            verifier.intervals(ack, &reported, |_| 1234.0).iter().map(|i| i.data_length).collect();
        assert_eq!(believed, [11, 90, 1234], "the first may be synthetic, up to a bound");
        let believed = verifier.intervals(ack, &reported, |_| 1.0);
        assert_eq!(believed.last(), Some(&interval(899, 0, 899)), "there were no more");
    }

    #[test]
    fn long_lossy_parts_are_several_events() {
        let (mut verifier, log) = after_sending(Verification::Records);
        // Lost over 600 ms: six round-trip times.
        let report = [interval(40, 60, 100), interval(50, 10, 60)];
        let ack = SeqNo48::new(999);
        let lengths = verifier.lengths(ack, 0, &report, &log, Some(RTT));
        assert_eq!(lengths.as_slice(), [60.0, 20.0, 20.0, 60.0]);
        let forgotten = SentLog::default();
        assert_eq!(verifier.lengths(ack, 0, &report, &forgotten, Some(RTT)), lengths, "it stays known");
    }

    #[test]
    fn losses_do_not_vanish() {
        let (mut verifier, _) = after_sending(Verification::Records);
        let mut told =
            |ms, claimed| verifier.loss_event_rate(at(ms), claimed, at(ms), RTT, LossForm::Intervals);
        assert_eq!(told(9400, p(0.1)), p(0.1));
        // Forty packets on, 1/p is at most 50, and what the tallies round up.
        let vanished = 1.0 / told(9800, Probability::ZERO).get();
        assert!((50.0..=53.0).contains(&vanished), "{vanished}");
        assert_eq!(told(9900, p(0.2)), p(0.2), "bad news is always believed");
    }

    #[test]
    fn a_loss_taken_back_at_once_leaves_nothing_behind() {
        let (mut verifier, _) = after_sending(Verification::Records);
        let mut told =
            |ms, claimed| verifier.loss_event_rate(at(ms), claimed, at(ms), RTT, LossForm::Intervals);
        for ms in [9400, 9700] {
            assert!(told(ms, Probability::ZERO).is_zero());
        }
        assert_eq!(told(9800, p(0.1)), p(0.1));
        assert!(told(9850, Probability::ZERO).is_zero());
    }

    /// The first loss told after 2 s, then nothing new for 3 s, in which 300 datagrams went: 1/p
    /// leaps from 14 to 300, as Linux has it at the second loss event. No receiver can show more,
    /// and none leaps so once its history is full.
    #[test]
    fn a_receiver_that_tells_p_alone_may_leave_out_an_interval() {
        let leap = |form, events: u32, to: f64| {
            let mut verifier = Verifier::new(Verification::Records);
            let mut believed = 0.0;
            for n in 0..=500 {
                verifier.on_datagram(at(10 * n), 1000, RTT);
                let claim = match n {
                    500 => to,
                    210.. => 24.0 - f64::from(events),
                    200.. => 24.0 - f64::from(saturating::<u32>(n - 200).min(events)),
                    _ => continue,
                };
                let told = verifier.loss_event_rate(at(10 * n), p(1.0 / claim), at(10 * n), RTT, form);
                believed = 1.0 / told.get();
            }
            believed
        };
        assert!((leap(LossForm::RateAlone, 0, 300.0) - 300.0).abs() < 1e-6);
        let most = leap(LossForm::RateAlone, 0, 1e6);
        assert!((320.0..=335.0).contains(&most), "{most}");
        for (form, events) in [(LossForm::RateAlone, 9), (LossForm::Intervals, 0)] {
            let cut = leap(form, events, 300.0);
            assert!((30.0..=70.0).contains(&cut), "{form:?}, {events} events: {cut}");
        }
    }
}
