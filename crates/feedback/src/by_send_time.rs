//! Transports that report by time of sending, without packet numbers: the congestion controllers of
//! quinn 0.11 are given no more.

use std::collections::VecDeque;

use tfrc::advisor::{Ack, Advisor, Taken};
use tfrc_units::{Ecn, Instant, saturating};

/// Most batches remembered: more than any [`Advisor`] remembers packets in practice.
const MAX_BATCHES: usize = 1 << 16;

/// Packets that left at the same time.
#[derive(Debug, Clone)]
struct Batch {
    sent_at: Instant,
    /// Numbers of the packets not yet reported, `first..end`.
    first: u64,
    end: u64,
    /// Bytes of data in each packet.
    size: u32,
}

/// Numbers the packets for an [`Advisor`] and finds them again by their time of sending.
///
/// The Advisor must have [`Losses::ByTransport`](tfrc::advisor::Losses::ByTransport), and is used
/// for nothing else that sends. After the calls for a report, call
/// [`Advisor::on_report`] once.
///
/// Packets of one batch have one time; an acknowledgement takes the first of them that is not yet
/// reported, a loss the last, which is the same to the Advisor.
#[derive(Debug, Clone, Default)]
pub struct BySendTime {
    batches: VecDeque<Batch>,
    next: u64,
    is_marked: bool,
}

impl BySendTime {
    /// Without packets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch of `packets` packets with `bytes` bytes in all left at `sent_at`: times of departure
    /// do not go back, and a batch told with an earlier time counts as sent with the one before.
    /// Nothing happens for zero packets.
    pub fn on_sent<const N: usize>(
        &mut self,
        sent_at: Instant,
        bytes: u64,
        packets: u32,
        advisor: &mut Advisor<N>,
    ) {
        let Some(mean) = bytes.checked_div(u64::from(packets)) else { return };
        let sent_at = self.batches.back().map_or(sent_at, |batch| batch.sent_at.max(sent_at));
        let size = saturating::<u32>(mean);
        let first = self.next;
        self.next += u64::from(packets);
        for id in first..self.next {
            advisor.on_sent(sent_at, id, size);
        }
        match self.batches.back_mut() {
            Some(batch) if batch.sent_at == sent_at && batch.size == size => batch.end = self.next,
            _ => self.batches.push_back(Batch { sent_at, first, end: self.next, size }),
        }
        let oldest = advisor.oldest_remembered().unwrap_or(0);
        while self
            .batches
            .front()
            .is_some_and(|b| b.first == b.end || b.end <= oldest || self.batches.len() > MAX_BATCHES)
        {
            self.batches.pop_front();
        }
    }

    /// A packet that left at `sent_at` has arrived. Gives [`Taken::Duplicate`] if all packets of
    /// that time are reported, [`Taken::Unknown`] if none is remembered.
    pub fn on_acked<const N: usize>(&mut self, sent_at: Instant, advisor: &mut Advisor<N>) -> Taken {
        let (from, to) = self.at(sent_at);
        if from == to {
            return Taken::Unknown;
        }
        let Some(batch) = self.batches.range_mut(from..to).find(|batch| batch.first < batch.end) else {
            return Taken::Duplicate;
        };
        let id = batch.first;
        batch.first += 1;
        let ecn = if self.is_marked { Ecn::Ce } else { Ecn::NotEct };
        let taken = advisor.on_acked(Ack { id, arrived_at: None, ecn });
        self.is_marked &= taken != Taken::New;
        taken
    }

    /// The transport has given up packets of `bytes` bytes in all, the newest of which left at
    /// `sent_at`. Counts them from there back and gives their number: at least one if any packet so
    /// old is not reported.
    pub fn on_lost_up_to<const N: usize>(
        &mut self,
        sent_at: Instant,
        bytes: u64,
        advisor: &mut Advisor<N>,
    ) -> u64 {
        let (mut left, mut lost) = (bytes, 0);
        let (_, to) = self.at(sent_at);
        for batch in self.batches.range_mut(..to).rev() {
            while batch.first < batch.end && (left > 0 || lost == 0) {
                batch.end -= 1;
                advisor.on_lost(batch.end);
                lost += 1;
                left = left.saturating_sub(u64::from(batch.size.max(1)));
            }
            if left == 0 {
                break;
            }
        }
        lost
    }

    /// The transport has learned of congestion marks (ECN-CE): the next packet that is acknowledged
    /// counts as marked. Transports say so after the acknowledgements of a report, and all marks of
    /// a round-trip time are one loss event (RFC 5348 §5.2).
    pub const fn on_marked(&mut self) {
        self.is_marked = true;
    }

    /// The batches with that time, as a range of indices.
    fn at(&self, sent_at: Instant) -> (usize, usize) {
        let from = self.batches.partition_point(|batch| batch.sent_at < sent_at);
        (from, self.batches.partition_point(|batch| batch.sent_at <= sent_at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tfrc::advisor::{Hold, Losses};
    use tfrc::config::Config;
    use tfrc_units::Duration;

    use super::*;

    const SIZE: u32 = 1200;

    fn advisor() -> Box<Advisor> {
        let mut advisor = Box::new(Advisor::new(&Config::default(), Duration::ZERO));
        advisor.set_losses(Losses::ByTransport);
        advisor
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    proptest! {
        /// Batches of any lengths with losses in them, reported 50 ms later: X, R and p equal those
        /// of an Advisor that is given the numbers.
        #[test]
        fn equal_to_an_advisor_told_the_numbers(
            batches in prop::collection::vec((1u32..5, 0u32..3, 0u32..40), 1..200),
        ) {
            let (mut told, mut timed, mut front) = (advisor(), advisor(), BySendTime::new());
            let mut id = 0;
            for (n, (packets, lost, mark)) in (0..).zip(batches) {
                let (sent, heard) = (at(100 + n * 10), at(150 + n * 10));
                let lost = if n % 7 == 0 { lost.min(packets) } else { 0 };
                front.on_sent(sent, u64::from(packets * SIZE), packets, &mut timed);
                let first = id;
                id += u64::from(packets);
                let lost_from = id - u64::from(lost);
                for id in first..id {
                    told.on_sent(sent, id, SIZE);
                }
                let ecn = |id| if mark == 0 && id == first { Ecn::Ce } else { Ecn::NotEct };
                for id in first..lost_from {
                    told.on_acked(Ack { id, arrived_at: None, ecn: ecn(id) });
                }
                if mark == 0 && first < lost_from {
                    front.on_marked();
                }
                for _ in first..lost_from {
                    prop_assert_eq!(front.on_acked(sent, &mut timed), Taken::New);
                }
                for id in lost_from..id {
                    told.on_lost(id);
                }
                if lost > 0 {
                    let bytes = u64::from(lost * SIZE);
                    prop_assert_eq!(front.on_lost_up_to(sent, bytes, &mut timed), u64::from(lost));
                }
                told.on_report(heard, Hold::Known(Duration::ZERO));
                timed.on_report(heard, Hold::Known(Duration::ZERO));
                prop_assert_eq!(
                    (told.allowed_rate(), told.rtt(), told.loss_events()),
                    (timed.allowed_rate(), timed.rtt(), timed.loss_events())
                );
            }
        }
    }

    #[test]
    fn reports_of_what_was_never_sent_have_no_effect() {
        let (mut advisor, mut front) = (advisor(), BySendTime::new());
        front.on_sent(at(10), 0, 0, &mut advisor);
        assert_eq!(front.on_acked(at(10), &mut advisor), Taken::Unknown);
        assert_eq!(front.on_lost_up_to(at(10), 1200, &mut advisor), 0);
        front.on_sent(at(20), 2400, 2, &mut advisor);
        assert_eq!(front.on_acked(at(15), &mut advisor), Taken::Unknown);
        let taken = [(); 3].map(|()| front.on_acked(at(20), &mut advisor));
        assert_eq!(taken, [Taken::New, Taken::New, Taken::Duplicate]);
        assert_eq!(front.on_lost_up_to(at(20), 1200, &mut advisor), 0, "all have arrived");
    }

    /// The loss of three packets whose newest left at 30 ms: those of 30 and 20 ms.
    #[test]
    fn losses_are_counted_back_from_the_newest() {
        let (mut advisor, mut front) = (advisor(), BySendTime::new());
        for ms in [10, 20, 30, 40] {
            front.on_sent(at(ms), 2400, 2, &mut advisor);
        }
        assert_eq!(front.on_lost_up_to(at(30), 3600, &mut advisor), 3);
        let mut left =
            |ms| std::iter::repeat_with(|| front.on_acked(at(ms), &mut advisor)).take(2).collect::<Vec<_>>();
        assert_eq!(left(30), [Taken::Duplicate; 2]);
        assert_eq!(left(20), [Taken::New, Taken::Duplicate]);
        assert_eq!(left(10), [Taken::New; 2]);
        assert_eq!(left(40), [Taken::New; 2]);
    }

    /// Nothing grows without end when no report comes.
    #[test]
    fn what_the_advisor_forgot_is_forgotten() {
        let (mut advisor, mut front) = (advisor(), BySendTime::new());
        for ms in 0..5000 {
            front.on_sent(at(ms), 1200, 1, &mut advisor);
        }
        assert!(front.batches.len() <= 1025, "{}", front.batches.len());
    }
}
