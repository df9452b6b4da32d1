//! Counters of a sender.

use tfrc_units::{Duration, Instant};

/// Counters of a sender, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Bytes of data in them.
    pub sent_bytes: u64,
    /// Segments of them that were sent again.
    pub retransmitted_segments: u64,
    /// Bytes of data in those.
    pub retransmitted_bytes: u64,
    /// Segments acknowledged cumulatively.
    pub acked_segments: u64,
    /// Expirations of the retransmission timer with data or a SYN outstanding.
    pub timeouts: u64,
    /// Reductions of the window, for whatever reason, timeouts included.
    pub window_cuts: u64,
    /// Of them, those that turned out to be for nothing and were taken back.
    pub window_restores: u64,
    /// Of them, answers to congestion echoes.
    pub ecn_cuts: u64,
    /// Samples of the round-trip time.
    pub rtt_samples: u64,
    /// Sum of the samples.
    pub rtt_sum: Duration,
}

impl SenderStats {
    /// The mean of the samples, if there is one.
    #[must_use]
    pub fn mean_rtt(&self) -> Option<Duration> {
        self.rtt_sum.as_nanos().checked_div(self.rtt_samples).map(Duration::from_nanos)
    }
}

/// The window at one time, in segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSample {
    /// The time of the change.
    pub at: Instant,
    /// The congestion window, with what fast recovery adds to it.
    pub cwnd: f64,
    /// The slow start threshold.
    pub ssthresh: f64,
}
