//! One enum per choice of a TCP that texts and programs differ in.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

/// Which acknowledgements that acknowledge nothing new count towards the threshold of
/// [`Pipe::Counter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Every one.
    All,
    /// One whose SACK blocks report a segment that was not known to have arrived (ns-2.35's Sack1,
    /// which asks its scoreboard). Its scoreboard is emptied by each acknowledgement of new data
    /// outside of a recovery, and learns nothing between a timeout and the next such
    /// acknowledgement.
    NewlyReporting,
}

/// The effect of an echo on a window that cannot be halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnAtOne {
    /// The window may fall below one segment, and then nothing goes until an acknowledgement lets
    /// it grow or the timer expires. A second echo in a row at a window of one doubles the timer,
    /// and only an acknowledgement without an echo ends that (ns-2.35, seen in traces of its
    /// `backoff_` and `cwnd_`).
    BackOff,
    /// Nothing goes until the timer expires, which is not doubled (RFC 3168 §6.1.2).
    Wait,
}

/// Fast convergence: a CUBIC flow gives way when it loses before its old plateau (RFC 9438 §4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastConvergence {
    /// No: for a flow that is alone.
    Off,
    /// Yes.
    On,
}

/// How the window grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Increase {
    /// By the acknowledgement: 1 in slow start, 1/cwnd in congestion avoidance (RFC 5681 (3)).
    PerAck,
    /// The most segments of one acknowledgement that count in slow start: L of RFC 3465, 1 in
    /// RFC 5681 §3.1. It is 1 after a timeout; congestion avoidance grows by acknowledged/cwnd.
    Counted(u32),
}

/// The window at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum InitialWindow {
    /// Four, three or two segments, by their size (RFC 3390, RFC 5681 §3.1).
    Rfc3390,
    /// A number of segments.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Segments(u32),
}

impl InitialWindow {
    /// Segments of `segment` bytes, at least one.
    #[must_use]
    pub const fn segments(self, segment: u32) -> u32 {
        match self {
            Self::Rfc3390 if segment <= 1095 => 4,
            Self::Rfc3390 if segment <= 2190 => 3,
            Self::Rfc3390 => 2,
            Self::Segments(0) => 1,
            Self::Segments(n) => n,
        }
    }
}

/// The window of a sender that had nothing to send for longer than its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum AfterIdle {
    /// It stays as it was (ns-2).
    Keep,
    /// It is the initial window at most (RFC 5681 §4.1), or as Linux has it.
    Restart,
}

/// Reno's region of CUBIC: the window is never smaller than Reno's would be (RFC 9438 §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum RenoRegion {
    /// No: the cubic curve alone.
    Off,
    /// Yes.
    On,
}

/// Limited Transmit (RFC 3042): the first two duplicate acknowledgements let out a new segment
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum LimitedTransmit {
    /// Yes, and after going back the next old one (ns-2's `singledup_`, which does not ask whether
    /// a segment is new).
    AlsoOld,
    /// No.
    Off,
    /// Yes.
    On,
}

/// Effect of the loss of a SYN once the connection is open. The window is one segment in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostSyn {
    /// Effect of any lost segment: ssthresh is cut, and the timer stays doubled until a round-trip
    /// time is measured (ns-2.35, seen in traces of its `backoff_` and `ssthresh_`).
    AsSegment,
    /// A timeout of at least 3 s, without doublings (RFC 6298 §5 (5.7)).
    Forgotten,
}

/// Size of the timestamp and SACK options: their bytes are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionBytes {
    /// Yes: 12 for timestamps, 4 and 8 for each block for SACK (RFC 7323 appendix A, RFC 2018 §3).
    Counted,
    /// Packets have their nominal size (ns-2).
    Ignored,
}

/// Effect of a partial acknowledgement on NewReno's inflated window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialAck {
    /// All inflation goes (ns-2's `partial_window_deflation_` false).
    Collapse,
    /// Less what is acknowledged, plus one segment (RFC 6582 §3.2 step 3).
    Deflate,
}

/// Which partial acknowledgements restart the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialAckTimer {
    /// Every one: slow but steady (RFC 6582 §4).
    Each,
    /// The first only: impatient (RFC 6582 §3.2 step 3).
    First,
}

/// How SACK recovery counts what is in the network and chooses what to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Pipe {
    /// A counter: one less for each acknowledgement, two less for a partial one, one more for each
    /// segment sent; holes below the highest block go first, whether they count as lost or not
    /// (Fall and Floyd 1996; ns-2's Sack1). Recovery begins at the third duplicate and by the rule
    /// of [`Repeat::Avoided`]; after a timeout duplicates do not count until something new is
    /// acknowledged, and going back sends everything again.
    Counter,
    /// From the scoreboard (RFC 6675 §4).
    Scoreboard,
}

/// Precision of half of a window, which may or may not have a fraction, and its least value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Precision {
    /// It may; window and ssthresh are the same, at least 2 (RFC 5681 (4)).
    Fraction,
    /// It may not: the fraction is cut off.
    Whole,
    /// The window may, and is at least 1; the fraction of ssthresh is cut off, and it is at least 2
    /// (ns-2 with
    /// `precisionReduce_` true, docs/ns2-facts.md §3).
    WholeThreshold,
}

/// How much beyond the first missing segment the receiver has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveBuffer {
    /// The whole of [`Settings::window`](crate::tcp::Settings::window).
    Fixed,
    /// Twice the most that has been outstanding outside of a recovery, up to
    /// [`Settings::window`](crate::tcp::Settings::window): a receiver that sizes its buffer by what
    /// arrives in a round trip. A recovery whose retransmission is lost sends no more than that
    /// before the timer expires.
    Tuned,
}

/// The window of NewReno at the end of fast recovery. (Reno ends at ssthresh unless it is
/// [`RecoveryExit::Grown`].)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryExit {
    /// The window becomes ssthresh. The acknowledgement that ends the recovery then grows the
    /// window, as any other acknowledgement does (ns-2's Reno and NewReno).
    Grown,
    /// No more than what is in flight and one segment (RFC 6582 §3.2 step 3, first way).
    Outstanding,
    /// ssthresh (second way).
    Threshold,
}

/// Rule on whether duplicate acknowledgements for data sent before the last reduction may cause
/// another. (SACK and CUBIC with [`Pipe::Scoreboard`] follow RFC 6675 instead.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// No, but a SACK recovery that is complete lets the next acknowledgement begin another
    /// (ns-2.35's Sack1, which then forgets `recover_`). A loss in the first window after a
    /// recovery does not wait for the timer.
    AfterRecovery,
    /// Yes: several reductions for one window of losses, as in the Tahoe and Reno of the early
    /// 1990s.
    Allowed,
    /// No (RFC 6582 §3.2 step 2; ns-2's `bugFix_` true).
    Avoided,
}

/// How round-trip times become the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RttArithmetic {
    /// Real numbers; the tick is RFC 6298's G.
    Exact,
    /// Integers of ticks, with three and two bits of fraction, as in BSD and in ns-2
    /// (docs/ns2-facts.md §1: the variation stays at three quarters of a tick on a steady path).
    FixedPoint,
    /// Samples are rounded to ticks, the rest is real.
    WholeTicks,
}

/// Effect of a timeout on the scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SackAtTimeout {
    /// Forgets it (RFC 2018 §8, RFC 6675 §5.1).
    Expunge,
    /// Keeps it, as RFC 6675 §5.1 describes: the sink here never drops what it has reported.
    Keep,
}

/// Quantity that is halved when segments are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shrink {
    /// FlightSize to the letter: what is sent and not acknowledged cumulatively, without what
    /// Limited Transmit sent (RFC 5681 §3.1 (4), §3.2). It counts segments that SACK has reported
    /// or that are lost, so that a long recovery can make a reduction raise the window.
    Flight,
    /// The smaller of FlightSize and the window in use; the latter without what duplicate
    /// acknowledgements have added. RFC 5681 §3.1 asks for no more than half of FlightSize, so this
    /// is within it. Later timeouts of the same segment leave ssthresh alone.
    InUse,
    /// The window in use, at every timeout again (ns-2).
    Window,
}

/// Event that ends the doubling of the timeout where every acknowledgement is a sample
/// ([`Timestamps::On`](crate::tcp::Timestamps::On)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampBackoff {
    /// Any sample: a timestamp shows which transmission it is of (RFC 6298 §3, §5 (5.7)).
    AnySample,
    /// Only the acknowledgement of something sent after the timeout (ns-2.35 with `ts_resetRTO_`
    /// false, its default; seen in traces of its `backoff_`).
    NewData,
}
