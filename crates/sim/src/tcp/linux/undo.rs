//! Evidence that a reduction was for nothing, and what is restored then: all that was sent again
//! has arrived twice (D-SACK, RFC 3708), or the original was still on its way (timestamps, RFC
//! 3522, RFC 4015).

use tfrc_units::Instant;

use crate::tcp::segment::{Ack, SackBlock};

/// The last reduction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Undo {
    /// The first segment that was missing at its start, `None` if there is nothing to restore.
    marker: Option<u32>,
    again: Again,
    before: Option<Before>,
    /// Time of the first retransmission since.
    first_again: Option<Instant>,
    /// Duplicates that the receiver has reported.
    duplicates: u64,
}

/// Retransmissions whose duplicates have not been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Again {
    /// None was made yet.
    #[default]
    NotYet,
    Unreported(u32),
}

/// Windows before a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
}

impl Undo {
    /// A reduction begins with this many retransmissions in the network. Without `before`, as after
    /// a congestion mark, it stays.
    pub(super) const fn begin(&mut self, una: u32, out: u32, before: Option<Before>) {
        self.marker = Some(una);
        self.again = if out == 0 { Again::NotYet } else { Again::Unreported(out) };
        self.before = before;
    }

    /// Nothing may be restored any more.
    pub(super) const fn forget(&mut self) {
        self.marker = None;
    }

    /// A segment was sent again.
    pub(super) fn sent_again(&mut self, now: Instant) {
        self.first_again.get_or_insert(now);
        self.again = Again::Unreported(match self.again {
            Again::NotYet => 1,
            Again::Unreported(count) => count.saturating_add(1),
        });
    }

    /// No retransmission is in the network.
    pub(super) const fn none_out(&mut self) {
        self.first_again = None;
    }

    /// Counts duplicates; false if more have come than were sent again, so that the path made them.
    pub(super) fn is_plausible(&mut self, duplicates: u32, sent_again: u64) -> bool {
        self.duplicates = self.duplicates.saturating_add(u64::from(duplicates));
        self.duplicates <= sent_again
    }

    /// A segment that was sent again is reported to have arrived twice.
    pub(super) fn reported(&mut self, seq: u32) {
        if self.marker.is_some_and(|marker| seq >= marker)
            && let Again::Unreported(count) = &mut self.again
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Returns true if all that was sent again had arrived already.
    pub(super) fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.again == Again::Unreported(0)
    }

    /// Returns true if an acknowledgement of new data is of something sent before the first
    /// retransmission.
    pub(super) fn was_delayed(&self, ack: &Ack) -> bool {
        let before = |again| ack.echo.is_some_and(|echo| echo.at() < again);
        self.marker.is_some() && self.first_again.is_none_or(before)
    }

    /// The windows to restore, once.
    pub(super) const fn take(&mut self) -> Option<Before> {
        self.marker = None;
        self.before
    }
}

/// The segments that an acknowledgement reports to have arrived twice (RFC 2883 §4).
pub(super) fn duplicate(ack: &Ack) -> Option<SackBlock> {
    let [first, second, _] = ack.sack;
    let below = first.start < ack.next;
    let within = !second.is_empty() && second.start <= first.start && first.end <= second.end;
    (!first.is_empty() && (below || within)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::{AckKind, ConnectionId, EcnEcho, Stamp};
    use tfrc_units::Duration;

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    fn ack(next: u32, echo: u64, sack: [(u32, u32); 3]) -> Ack {
        let sack = sack.map(|(start, end)| SackBlock { start, end });
        let (connection, kind) = (ConnectionId::default(), AckKind::Ack);
        Ack { connection, kind, next, sack, echo: Some(Stamp::new(ms(echo))), ecn: EcnEcho::None }
    }

    #[test]
    fn duplicates_lie_below_or_within_the_next_block() {
        let found = |next, blocks| duplicate(&ack(next, 0, blocks)).map(|block| (block.start, block.end));
        // RFC 2883 §4.1.1, §4.2: below the acknowledgement, and in a block beyond it.
        assert_eq!(found(8, [(6, 7), (0, 0), (0, 0)]), Some((6, 7)));
        assert_eq!(found(4, [(6, 7), (5, 8), (0, 0)]), Some((6, 7)));
        assert_eq!(found(4, [(5, 8), (10, 11), (0, 0)]), None);
        assert_eq!(found(4, [(10, 11), (5, 8), (0, 0)]), None);
        assert_eq!(found(4, [(0, 0); 3]), None);
    }

    #[test]
    fn each_retransmission_has_to_be_reported() {
        let mut undo = Undo::default();
        undo.begin(10, 0, Some(Before { cwnd: 20, ssthresh: 15 }));
        assert!(!undo.all_were_duplicates());
        undo.sent_again(ms(1));
        undo.sent_again(ms(2));
        undo.reported(10);
        // Of an earlier loss.
        undo.reported(9);
        assert!(!undo.all_were_duplicates());
        undo.reported(12);
        assert!(undo.all_were_duplicates());
        assert_eq!(undo.take(), Some(Before { cwnd: 20, ssthresh: 15 }));
        assert!(!undo.all_were_duplicates());
    }

    #[test]
    fn an_echo_from_before_the_retransmission_is_of_the_original() {
        let mut undo = Undo::default();
        assert!(!undo.was_delayed(&ack(11, 5, [(0, 0); 3])), "nothing was reduced");
        undo.begin(10, 0, None);
        assert!(undo.was_delayed(&ack(11, 5, [(0, 0); 3])), "nothing was sent again");
        undo.sent_again(ms(6));
        undo.sent_again(ms(9));
        assert!(undo.was_delayed(&ack(11, 5, [(0, 0); 3])));
        assert!(!undo.was_delayed(&ack(11, 6, [(0, 0); 3])));
    }

    #[test]
    fn more_duplicates_than_retransmissions_come_from_the_path() {
        let mut undo = Undo::default();
        assert!(!undo.is_plausible(1, 0));
        assert!(undo.is_plausible(1, 2));
    }
}
