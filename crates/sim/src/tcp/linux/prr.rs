//! Proportional rate reduction: the way from the window before a loss to the one after it, within
//! one round trip (RFC 9937).

/// A reduction under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    /// The window at its start, which the kernel takes for RecoverFS.
    before: u32,
    delivered: u32,
    sent: u32,
}

/// Progress that an acknowledgement shows during a reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// Segments newly acknowledged or reported.
    pub(super) delivered: u32,
    /// SafeACK: it advances what is acknowledged cumulatively and shows no further loss.
    pub(super) safety: Safety,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    Safe,
    Unsafe,
}

impl Prr {
    pub(super) const fn new(window: u32) -> Self {
        Self { before: window, delivered: 0, sent: 0 }
    }

    /// A segment goes out.
    pub(super) const fn on_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// The window after an acknowledgement, `None` to leave it (RFC 9937 §6.2).
    pub(super) fn window(&mut self, in_flight: u32, ssthresh: u32, progress: Progress) -> Option<u32> {
        if progress.delivered == 0 || self.before == 0 {
            return None;
        }
        self.delivered = self.delivered.saturating_add(progress.delivered);
        let count = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.before));
            tfrc_units::saturating::<u32>(share).saturating_sub(self.sent)
        } else {
            let owed = self.delivered.saturating_sub(self.sent).max(progress.delivered);
            (owed + u32::from(progress.safety == Safety::Safe)).min(ssthresh - in_flight)
        };
        // The first one goes out in any case: it is the retransmission.
        let count = if self.sent == 0 { count.max(1) } else { count };
        Some(in_flight.saturating_add(count))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const ONE: Progress = Progress { delivered: 1, safety: Safety::Unsafe };

    #[test]
    fn every_other_segment_while_too_much_is_in_flight() {
        // From 20 to 10: of each two that leave, one is replaced, until 10 are in flight.
        let (mut prr, mut in_flight, mut sent) = (Prr::new(20), 19, Vec::new());
        for _ in 0..18 {
            in_flight -= 1;
            let window = prr.window(in_flight, 10, ONE).unwrap();
            let count = window - in_flight;
            for _ in 0..count {
                prr.on_sent();
            }
            in_flight += count;
            sent.push(count);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
        assert_eq!(in_flight, 10);
    }

    #[test]
    fn seven_tenths_for_cubic() {
        let (mut prr, mut in_flight, mut sent) = (Prr::new(100), 99, 0);
        for _ in 0..99 {
            in_flight -= 1;
            for _ in 0..prr.window(in_flight, 70, ONE).unwrap() - in_flight {
                prr.on_sent();
                in_flight += 1;
                sent += 1;
            }
        }
        // ⌈99 × 0.7⌉ of those that left.
        assert_eq!((sent, in_flight), (70, 70));
    }

    #[test]
    fn below_the_threshold_it_conserves_or_catches_up() {
        // Many were lost at once: 4 in flight, 10 wanted.
        let mut prr = Prr::new(20);
        assert_eq!(prr.window(4, 10, ONE), Some(5));
        prr.on_sent();
        assert_eq!(prr.window(4, 10, Progress { safety: Safety::Safe, ..ONE }), Some(6));
        // Never beyond the threshold.
        let mut prr = Prr::new(20);
        assert_eq!(prr.window(9, 10, Progress { delivered: 5, safety: Safety::Safe }), Some(10));
    }

    #[test]
    fn the_retransmission_goes_at_once() {
        // 2 of 40 for each 20 delivered: less than a segment, and yet one goes.
        assert_eq!(Prr::new(40).window(39, 2, ONE), Some(40));
        let mut prr = Prr::new(40);
        prr.on_sent();
        assert_eq!(prr.window(38, 2, ONE), Some(38));
        assert_eq!(prr.window(38, 2, Progress { delivered: 0, ..ONE }), None);
    }
}
