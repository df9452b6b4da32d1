//! Values that a flow is set up with, and the named sets of them.

use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use super::segment::Ack;
use super::study::{Algorithm, Choices, InitialWindow, OptionBytes};

/// Which TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Variant {
    /// BBR version 1 with SACK, which Linux alone has: with [`Stack::Rfc`] it is SACK.
    Bbr,
    /// SACK loss recovery with the window of CUBIC (RFC 9438).
    Cubic,
    /// Fast recovery with partial acknowledgements (RFC 6582).
    #[cfg_attr(feature = "schema", serde(rename = "newreno"))]
    NewReno,
    /// Fast recovery that the first acknowledgement of new data ends (RFC 5681 §3.2).
    Reno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// Slow start after every loss: the fast retransmit of 1988, going back to the first hole.
    Tahoe,
}

impl Variant {
    /// Returns true if sender and sink use selective acknowledgements.
    #[must_use]
    pub const fn selective(self) -> bool {
        matches!(self, Self::Bbr | Self::Cubic | Self::Sack)
    }
}

/// Machinery of a sender: loss recovery, timers and the arithmetic of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stack {
    /// That of mainline Linux (docs/models/tcp-linux.md). It has SACK whatever the variant, so that
    /// Reno, NewReno and Tahoe are SACK there. Of [`Settings::algorithm`] it takes the initial
    /// window, the size of options, fast convergence, Reno's region and the window after idle
    /// times.
    Linux,
    /// That of the RFCs, with choices in [`Settings::algorithm`].
    Rfc,
}

/// When a sink acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Acks {
    /// Every segment.
    Each,
    /// As Linux does: each of the first 16 segments, of the 16 after a duplicate and while the
    /// receive window grows, then every second or one that has waited 40 to 200 ms, by the distance
    /// of the segments.
    Linux,
    /// The longest delay, such as 200ms: every second segment is acknowledged, or a segment after
    /// this time (RFC 5681 §4.2: at most 500 ms). A segment that is out of order or fills a hole is
    /// acknowledged at once.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Delayed(Duration),
    /// Every segment of this number, such as 4, or one that has waited 200 ms; 0 counts as 1. A
    /// segment that is out of order or fills a hole is acknowledged at once.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Every(u32),
}

/// ECN: the flow is ECN-capable (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum EcnMode {
    /// Not.
    Off,
    /// New data carries ECT(0); retransmissions and acknowledgements do not (RFC 3168 §6.1.4,
    /// §6.1.5).
    On,
}

/// Opening of a connection by a SYN and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum SynMode {
    /// It is open from the start.
    Off,
    /// Both have the header size and no data.
    On,
}

/// Timestamps option: segments carry the time (RFC 7323 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Timestamps {
    /// One segment per window is timed, none that was retransmitted (Karn).
    Off,
    /// Every acknowledgement of new data is a sample.
    On,
}

/// Values that a flow is set up with, at both ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which TCP.
    pub variant: Variant,
    /// See [`Stack`].
    pub stack: Stack,
    /// Bytes of data in a full segment; with [`Stack::Linux`] also of timestamps (RFC 6691).
    pub segment: u32,
    /// Bytes of headers on every packet, also on acknowledgements and SYNs; options come on top.
    pub header: u32,
    /// The receiver's window, in segments, at least 1.
    pub window: u32,
    /// See [`EcnMode`].
    pub ecn: EcnMode,
    /// See [`Timestamps`].
    pub timestamps: Timestamps,
    /// See [`SynMode`].
    pub syn: SynMode,
    /// See [`Acks`].
    pub acks: Acks,
    /// The timeout before the first sample.
    pub initial_rto: Duration,
    /// The least timeout.
    pub min_rto: Duration,
    /// The greatest timeout, doubled or not.
    pub max_rto: Duration,
    /// The clock's granularity.
    pub tick: Duration,
    /// Record of the window, see [`crate::tcp::Sender::window_trace`].
    pub trace: crate::trace::Tracing,
    /// The algorithm: for reproducing papers and programs; leave it at that of the RFCs otherwise.
    pub algorithm: Algorithm,
}

impl Settings {
    /// The RFCs: 5681, 6298, 6582, 6675, 3042, 3390, with delayed acknowledgements (200 ms),
    /// without timestamps and ECN.
    #[must_use]
    pub const fn rfc(variant: Variant) -> Self {
        Self {
            variant,
            stack: Stack::Rfc,
            segment: 1460,
            header: 40,
            window: 65_535,
            ecn: EcnMode::Off,
            timestamps: Timestamps::Off,
            syn: SynMode::On,
            acks: Acks::Delayed(Duration::from_millis(200)),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            tick: Duration::from_millis(1),
            trace: crate::trace::Tracing::Off,
            algorithm: Algorithm::rfc(),
        }
    }

    /// Mainline Linux: SACK with RACK-TLP (RFC 8985) and PRR (RFC 9937), a window of 10 at the
    /// start (RFC 6928), HyStart for CUBIC, a least timeout of 200 ms on the deviation, timestamps,
    /// quick acknowledgements, segments that make packets of 1500 bytes.
    #[must_use]
    pub const fn linux(variant: Variant) -> Self {
        let mut settings = Self {
            stack: Stack::Linux,
            timestamps: Timestamps::On,
            acks: Acks::Linux,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            ..Self::rfc(variant)
        };
        settings.algorithm.choices_mut().initial_window = InitialWindow::Segments(10);
        settings
    }

    /// ns-2.35: a window of 20, one acknowledgement per segment, ticks of 10 ms, minimum timeout
    /// 0.2 s, first timeout 3 s, packets of 1000 bytes and 40, and the algorithm of ns-2.
    #[must_use]
    pub const fn ns2(variant: Variant) -> Self {
        super::study::ns2::settings(variant)
    }

    /// These settings with an algorithm that deviates: `change` sets single choices.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Choices)) -> Self {
        change(self.algorithm.choices_mut());
        self
    }
}

impl Settings {
    /// Bytes of data in a full segment.
    #[inline]
    #[must_use]
    pub const fn payload(&self) -> u32 {
        match self.stack {
            Stack::Linux => self.segment.saturating_sub(self.timestamp_bytes()),
            Stack::Rfc => self.segment,
        }
    }

    /// Bytes on the wire of a segment with `len` bytes of data.
    #[inline]
    #[must_use]
    pub const fn data_size(&self, len: u32) -> u32 {
        self.header.saturating_add(self.timestamp_bytes()).saturating_add(len)
    }

    /// Bytes on the wire of an acknowledgement.
    #[inline]
    #[must_use]
    pub const fn ack_size(&self, ack: &Ack) -> u32 {
        let [a, b, c] = &ack.sack;
        let blocks = match (a.is_empty(), b.is_empty(), c.is_empty()) {
            (true, _, _) => 0,
            (false, true, _) => SACK_BYTES + BLOCK_BYTES,
            (false, false, true) => SACK_BYTES + 2 * BLOCK_BYTES,
            (false, false, false) => SACK_BYTES + 3 * BLOCK_BYTES,
        };
        let blocks = match self.algorithm.choices().option_bytes {
            OptionBytes::Counted => blocks,
            OptionBytes::Ignored => 0,
        };
        self.data_size(blocks)
    }

    const fn timestamp_bytes(&self) -> u32 {
        match (self.timestamps, self.algorithm.choices().option_bytes) {
            (Timestamps::On, OptionBytes::Counted) => TIMESTAMP_BYTES,
            _ => 0,
        }
    }
}

/// Two bytes of padding, kind and length, two times (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u32 = 12;
/// Two bytes of padding, kind and length (RFC 2018 §3).
const SACK_BYTES: u32 = 4;
/// Two sequence numbers.
const BLOCK_BYTES: u32 = 8;

impl Default for Settings {
    /// [`Settings::rfc`] with SACK.
    fn default() -> Self {
        Self::rfc(Variant::Sack)
    }
}
