//! Was the sender data-limited over the whole interval that a feedback packet covers?
//! (RFC 5348 §8.2.1)

use tfrc_units::{Duration, Instant};

/// Two times at which the sender had sent all it was allowed to: one for the interval that the next
/// feedback packet will cover, one for the interval after that.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataLimited {
    not_limited: [Option<Instant>; 2],
    t_new: Option<Instant>,
    t_next: Option<Instant>,
    wanted: Wanted,
}

/// Which of the two times the next one becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Wanted {
    #[default]
    First,
    Second,
    /// Both are known for now: asked for each packet, so not worked out each time.
    Neither,
}

impl DataLimited {
    /// Reads from the memory of this, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        u64::from(self.wanted == Wanted::First)
    }

    /// After sending, nothing more may be sent now: the sender is not data-limited at this moment.
    pub(crate) fn on_not_limited(&mut self, now: Instant) {
        let [first, second] = &mut self.not_limited;
        match self.wanted {
            Wanted::First => *first = Some(now),
            Wanted::Second => *second = Some(now),
            Wanted::Neither => return,
        }
        self.settle();
    }

    fn settle(&mut self) {
        let [first, second] = &self.not_limited;
        // `None` stands for a time before everything, as the zeros of §8.2.1 do.
        self.wanted = if *first <= self.t_new {
            Wanted::First
        } else if *second <= self.t_next {
            Wanted::Second
        } else {
            Wanted::Neither
        };
    }

    /// A feedback packet reports the packet sent at `newest_sent_at`. Whether the sender was
    /// data-limited all through the round-trip time `rtt` up to then.
    pub(crate) fn on_feedback(&mut self, now: Instant, newest_sent_at: Instant, rtt: Duration) -> Coverage {
        self.t_new = Some(newest_sent_at);
        self.t_next = Some(now);
        // (t_old, t_new], half-open; an interval that reaches back to the epoch includes it.
        let t_old = newest_sent_at.as_nanos().checked_sub(rtt.as_nanos()).map(Instant::from_nanos);
        let covered = |at: Option<Instant>| at.is_some_and(|at| Some(at) > t_old && at <= newest_sent_at);
        let coverage = if self.not_limited.into_iter().any(covered) {
            Coverage::NotDataLimited
        } else {
            Coverage::DataLimited
        };
        let [first, second] = &mut self.not_limited;
        if *first <= self.t_new && *second > self.t_new {
            *first = *second;
        }
        self.settle();
        coverage
    }
}

/// State of the sender, data-limited or not, in the interval that a feedback packet covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// It sent less than allowed all the time.
    DataLimited,
    /// At some moment it had sent all it was allowed to.
    NotDataLimited,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const RTT: Duration = Duration::from_millis(100);

    /// RFC 5348 §8.2.1: the interval is half-open, (t_old, t_new].
    #[test]
    fn the_interval_is_half_open() {
        for (not_limited_at, expected) in [
            (300, Coverage::DataLimited),
            (301, Coverage::NotDataLimited),
            (400, Coverage::NotDataLimited),
            (401, Coverage::DataLimited),
        ] {
            let mut limited = DataLimited::default();
            limited.on_not_limited(at(not_limited_at));
            assert_eq!(limited.on_feedback(at(450), at(400), RTT), expected, "{not_limited_at}");
        }
    }

    /// One moment per interval suffices, and the second variable keeps one for the next feedback.
    #[test]
    fn the_second_time_serves_the_next_feedback() {
        let mut limited = DataLimited::default();
        limited.on_not_limited(at(350));
        assert_eq!(limited.on_feedback(at(450), at(400), RTT), Coverage::NotDataLimited);
        limited.on_not_limited(at(420)); // covered by the next feedback: replaces the first
        limited.on_not_limited(at(460)); // after t_next: the second
        assert_eq!(limited.on_feedback(at(550), at(500), RTT), Coverage::NotDataLimited);
        assert_eq!(limited.on_feedback(at(610), at(559), RTT), Coverage::NotDataLimited);
        assert_eq!(limited.on_feedback(at(800), at(700), RTT), Coverage::DataLimited);
    }

    /// The first moment of the interval that the next feedback covers is kept while later ones
    /// come.
    #[test]
    fn the_first_time_of_an_interval_is_kept() {
        let mut limited = DataLimited::default();
        limited.on_not_limited(at(350));
        limited.on_feedback(at(450), at(400), RTT);
        for ms in [420, 440, 460] {
            limited.on_not_limited(at(ms));
        }
        assert_eq!(limited.clone().on_feedback(at(480), at(430), RTT), Coverage::NotDataLimited, "420");
        limited.on_not_limited(at(600));
        assert_eq!(limited.on_feedback(at(610), at(559), RTT), Coverage::NotDataLimited, "460");
    }

    /// RFC 5348 §8.2.1: here only the second time lies in the interval.
    #[test]
    fn either_time_counts() {
        let mut limited = DataLimited::default();
        limited.on_not_limited(at(350));
        limited.on_feedback(at(450), at(400), RTT);
        limited.on_not_limited(at(420));
        limited.on_not_limited(at(540));
        assert_eq!(limited.on_feedback(at(650), at(600), RTT), Coverage::NotDataLimited);
    }

    /// The second time takes the place of the first, and its own is free again.
    #[test]
    fn the_second_time_moves_up() {
        let mut limited = DataLimited::default();
        limited.on_not_limited(at(350));
        limited.on_feedback(at(450), at(400), RTT);
        limited.on_not_limited(at(420));
        limited.on_not_limited(at(540));
        limited.on_feedback(at(550), at(500), RTT);
        limited.on_not_limited(at(545));
        limited.on_not_limited(at(600));
        assert_eq!(limited.clone().on_feedback(at(650), at(541), RTT), Coverage::NotDataLimited, "540");
        assert_eq!(limited.on_feedback(at(720), at(699), RTT), Coverage::NotDataLimited, "600");
    }

    #[test]
    fn an_idle_sender_is_data_limited() {
        assert_eq!(DataLimited::default().on_feedback(at(450), at(400), RTT), Coverage::DataLimited);
    }
}
