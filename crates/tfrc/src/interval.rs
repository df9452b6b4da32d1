//! A loss interval as it was measured, before a rule gives it a length.

/// Packets, losses and duration of a loss interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredInterval {
    /// N, data packets from the first loss up to the next loss event.
    pub(crate) packets: f64,
    /// K, how many of them were lost or marked.
    pub(crate) lost: u64,
    /// How long it lasted, in round-trip times; infinite if unknown.
    pub(crate) round_trips: f64,
    /// s, the mean packet size in bytes.
    pub(crate) size: f64,
}
