//! Datagrams that QUIC has taken and that this end has not sent: the path lost nothing of them.

use tfrc_units::saturating;

/// Bytes of a DATAGRAM frame before its data, at least (RFC 9221 §4).
const FRAME: usize = 1;

/// Datagrams that were stopped at this end, a lower bound. It is exact while a packet holds one
/// datagram, and while no packet leaves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stopped {
    /// Dropped by QUIC: no packet of the path had room for them any more.
    dropped: u64,
    /// In packets that the system refused to send.
    refused: u64,
    /// Bytes of the shortest datagram so far, with its header.
    shortest: Option<usize>,
    before: Handed,
    /// Datagrams and bytes that were called sent. These counts never decrease.
    called_sent: (u64, u64),
}

/// Counts of a connection and its socket so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Handed {
    /// Datagrams that QUIC has put into packets.
    pub(crate) framed: u64,
    /// UDP payloads that QUIC has handed to the socket.
    pub(crate) handed: u64,
    /// UDP payloads of these that the system has refused.
    pub(crate) refused: u64,
}

impl Stopped {
    /// QUIC has taken a datagram of this many bytes, with its header.
    pub(crate) fn took(&mut self, length: usize) {
        self.shortest = Some(self.shortest.map_or(length, |shortest| shortest.min(length)));
    }

    /// QUIC has put `framed` datagrams into packets and holds none of the first `taken`.
    pub(crate) fn by_quic(&mut self, taken: u64, framed: u64) {
        self.dropped = self.dropped.max(taken.saturating_sub(framed));
    }

    /// Takes in the counts of now. UDP payloads have at most `longest` bytes: those that were sent
    /// hold no more datagrams than fit, and the system refused the others.
    pub(crate) fn by_system(&mut self, now: Handed, longest: usize) {
        let before = std::mem::replace(&mut self.before, now);
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let refused = since(now.refused, before.refused);
        if let Some(shortest) = self.shortest.filter(|_| refused > 0) {
            let fit: u64 = saturating((longest / (shortest + FRAME)).max(1));
            let sent = since(now.handed, before.handed).saturating_sub(refused);
            self.refused += since(now.framed, before.framed).saturating_sub(sent.saturating_mul(fit));
        }
    }

    /// The number of stopped ones among `packets` datagrams with `bytes` bytes, and their share of
    /// the bytes. Those that were called sent before count later, with the next that are sent.
    pub(crate) fn of(&mut self, packets: u64, bytes: u64) -> (u64, u64) {
        let (sent, sent_bytes) = self.called_sent;
        let stopped = (self.dropped + self.refused).min(packets.saturating_sub(sent));
        let share = u128::from(bytes) * u128::from(stopped) / u128::from(packets.max(1));
        let share = saturating::<u64>(share).min(bytes.saturating_sub(sent_bytes));
        self.called_sent = (packets - stopped, bytes - share);
        (stopped, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts in which each UDP payload holds `each` datagrams.
    fn handed(payloads: u64, refused: u64, each: u64) -> Handed {
        Handed { framed: payloads * each, handed: payloads, refused }
    }

    #[test]
    fn refused_packets_of_one_datagram_count_exactly() {
        let mut stopped = Stopped::default();
        stopped.took(1162);
        stopped.by_system(handed(100, 0, 1), 1200);
        assert_eq!(stopped.of(100, 1000), (0, 0));
        stopped.by_system(handed(110, 7, 1), 1452);
        assert_eq!(stopped.of(110, 1100), (7, 70));
        // A probe of the path's MTU has no datagram.
        stopped.by_system(Handed { framed: 112, handed: 113, refused: 8 }, 1452);
        assert_eq!(stopped.of(112, 1120), (7, 70));
    }

    #[test]
    fn small_datagrams_count_while_nothing_leaves_and_never_too_many() {
        let mut stopped = Stopped::default();
        stopped.took(4);
        stopped.by_system(handed(10, 0, 200), 1200);
        stopped.by_system(handed(15, 5, 200), 1200);
        assert_eq!(stopped.of(3000, 0), (1000, 0));
        // The refused one may have held one only.
        stopped.by_system(handed(17, 6, 200), 1200);
        let (count, _) = stopped.of(3400, 0);
        assert!((1000..=1200).contains(&count), "{count}");
    }

    #[test]
    fn quic_drops_what_it_neither_sends_nor_keeps() {
        let mut stopped = Stopped::default();
        stopped.by_quic(10, 10);
        assert_eq!(stopped.of(10, 50), (0, 0));
        stopped.by_quic(12, 10);
        // More has gone meanwhile than is known here.
        stopped.by_quic(12, 14);
        assert_eq!(stopped.of(14, 70), (2, 10));
    }

    #[test]
    fn what_was_called_sent_stays_so() {
        let mut stopped = Stopped::default();
        assert_eq!(stopped.of(0, 0), (0, 0));
        assert_eq!(stopped.of(10, 100), (0, 0));
        stopped.by_quic(10, 7);
        let sent: Vec<u64> =
            [10, 11, 12, 13, 14].map(|packets| packets - stopped.of(packets, 10 * packets).0).into();
        assert_eq!(sent, [10, 10, 10, 10, 11]);
    }
}
