//! Counts of a connection.

/// Counts of what a connection has sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Datagrams sent.
    pub sent_data_packets: u64,
    /// Bytes of those datagrams, headers excluded.
    pub sent_data_bytes: u64,
    /// Packets sent without a datagram.
    pub sent_non_data_packets: u64,
    /// Datagrams received, duplicates excluded.
    pub received_data_packets: u64,
    /// Bytes of those datagrams, headers excluded.
    pub received_data_bytes: u64,
    /// Packets received without a datagram.
    pub received_non_data_packets: u64,
    /// Datagrams that arrived and were dropped because the receive queue was full: the application
    /// did not read in time.
    pub queue_dropped_packets: u64,
    /// Datagrams sent that the peer has reported as received and then dropped, by Data Dropped with
    /// Drop Code 0, 1 or 2 (RFC 4340 §11.7): mostly for want of room in its receive queue. Each
    /// counts once. At most `sent_data_packets`.
    pub peer_dropped_packets: u64,
    /// Datagrams taken from the application and dropped by its [`LatePolicy`](crate::LatePolicy).
    pub late_packets: u64,
    /// Datagrams taken from the application that will never be sent, dropped by no policy:
    /// discarded by [`Connection::close_now`](crate::Connection::close_now), waiting when the
    /// connection ended, or too long since the path became narrow. Complete once the connection is
    /// over.
    pub unsent_packets: u64,
    /// Total length of those datagrams, bytes.
    pub unsent_bytes: u64,
    /// Arrivals that were not a packet of this connection: malformed, or for other ports.
    pub malformed_packets: u64,
    /// Packets that are sequence-invalid, or of a type that does not fit the state.
    pub invalid_packets: u64,
    /// Packets received a second time.
    pub duplicate_packets: u64,
    /// Received packets with a congestion mark.
    pub marked_packets: u64,
    /// Syncs and SyncAcks sent.
    pub sent_syncs: u64,
    /// Syncs and SyncAcks received.
    pub received_syncs: u64,
    /// Resets sent.
    pub sent_resets: u64,
    /// Feedback packets sent.
    pub sent_feedback: u64,
    /// Feedback packets taken in.
    pub received_feedback: u64,
    /// Feedback packets refused: they acknowledged what was not sent, or were overtaken.
    pub refused_feedback: u64,
    /// Statements in feedback that were cut down because our record of what was sent rules them
    /// out.
    pub corrected_feedback: u64,
    /// Syncs sent to probe the path MTU, unpadded ones included.
    pub sent_path_probes: u64,
    /// Sequence numbers left out on purpose.
    pub skipped_numbers: u64,
    /// Messages of the network that a packet sent lately found nobody at its destination. Each
    /// quotes the number of that packet, which only an observer on the path can know. They do not
    /// end an established connection.
    pub unreachable_reports: u64,
}
