//! Choices of the receiver: when it reports, and over what it measures.

/// When the receiver sends feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedbackTrigger {
    /// A timer of one round-trip time (RFC 5348 §6.2), early at a new loss event.
    Timer,
    /// The first packet more than a round-trip time after the last report, or a timer of one and a
    /// half if data has come by then; at once at each new loss event, whatever it does to p (ns-2).
    Arrival,
    /// The window counter has gone on by four (RFC 4342 §10.3), early at a new loss event.
    WindowCounter,
}

/// The time over which X_recv is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveRateWindow {
    /// The last round-trip time, longer while packets are rare (RFC 5348 §6.2 step 2).
    RoundTrip,
    /// The time since the last report if that is a round-trip time or more, else the last
    /// round-trip time (ns-2). A report that a packet sets off after a pause then has the pause in
    /// it.
    SinceReport,
}

/// A report when the feedback timer expires and no data has come since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyReport {
    /// None: the timer is set anew (RFC 5348 §6.2).
    Never,
    /// One, if a packet's arrival set off the last report (ns-2). X_recv in it is one packet a
    /// second.
    OnceAfterArrival,
}

/// Packets sent before the first one that arrives, where [`crate::Receiver::expect`] tells which
/// came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstLosses {
    /// They are lost (RFC 5348 §6.3.1).
    Counted,
    /// Nothing is known of them: a flow that begins in a hole starts with p = 0 (ns-2).
    Unknown,
}
