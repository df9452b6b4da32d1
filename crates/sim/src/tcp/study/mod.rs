//! The algorithm of a study: for reproducing papers and programs; leave it at that of the RFCs
//! otherwise. `docs/models/tcp.md` has each choice with its source.

mod choices;
pub(super) mod ns2;

pub use choices::{
    AfterIdle, Duplicates, EcnAtOne, FastConvergence, Increase, InitialWindow, LimitedTransmit, LostSyn,
    OptionBytes, PartialAck, PartialAckTimer, Pipe, Precision, ReceiveBuffer, RecoveryExit, RenoRegion,
    Repeat, RttArithmetic, SackAtTimeout, Shrink, TimestampBackoff,
};

/// The algorithm of a TCP: that of the RFCs, of ns-2, or deviations from one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Algorithm(Choices);

impl Algorithm {
    /// The RFCs: 5681, 6298, 6582, 6675, 3042, 3390.
    #[must_use]
    pub const fn rfc() -> Self {
        Self(Choices {
            option_bytes: OptionBytes::Counted,
            receive_buffer: ReceiveBuffer::Tuned,
            initial_window: InitialWindow::Rfc3390,
            increase: Increase::Counted(1),
            fast_convergence: FastConvergence::On,
            reno_region: RenoRegion::On,
            after_idle: AfterIdle::Restart,
            dup_threshold: 3,
            duplicates: Duplicates::All,
            limited_transmit: LimitedTransmit::On,
            shrink: Shrink::InUse,
            precision: Precision::Fraction,
            repeat: Repeat::Avoided,
            partial_ack: PartialAck::Deflate,
            partial_ack_timer: PartialAckTimer::First,
            recovery_exit: RecoveryExit::Outstanding,
            pipe: Pipe::Scoreboard,
            sack_at_timeout: SackAtTimeout::Expunge,
            max_burst: None,
            ecn_at_one: EcnAtOne::Wait,
            timestamp_backoff: TimestampBackoff::AnySample,
            lost_syn: LostSyn::Forgotten,
            rtt_arithmetic: RttArithmetic::Exact,
        })
    }

    /// The choices that it is made of.
    #[must_use]
    pub const fn choices(&self) -> &Choices {
        &self.0
    }

    /// The choices, to change them in place.
    pub const fn choices_mut(&mut self) -> &mut Choices {
        &mut self.0
    }
}

/// Every choice of an [`Algorithm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choices {
    /// See [`OptionBytes`].
    pub option_bytes: OptionBytes,
    /// See [`ReceiveBuffer`].
    pub receive_buffer: ReceiveBuffer,
    /// See [`InitialWindow`].
    pub initial_window: InitialWindow,
    /// See [`Increase`].
    pub increase: Increase,
    /// See [`FastConvergence`].
    pub fast_convergence: FastConvergence,
    /// See [`RenoRegion`].
    pub reno_region: RenoRegion,
    /// See [`AfterIdle`].
    pub after_idle: AfterIdle,
    /// Duplicate acknowledgements that mean a loss; 0 counts as 1.
    pub dup_threshold: u32,
    /// See [`Duplicates`].
    pub duplicates: Duplicates,
    /// See [`LimitedTransmit`].
    pub limited_transmit: LimitedTransmit,
    /// See [`Shrink`].
    pub shrink: Shrink,
    /// See [`Precision`].
    pub precision: Precision,
    /// See [`Repeat`].
    pub repeat: Repeat,
    /// See [`PartialAck`].
    pub partial_ack: PartialAck,
    /// See [`PartialAckTimer`].
    pub partial_ack_timer: PartialAckTimer,
    /// See [`RecoveryExit`].
    pub recovery_exit: RecoveryExit,
    /// See [`Pipe`].
    pub pipe: Pipe,
    /// See [`SackAtTimeout`].
    pub sack_at_timeout: SackAtTimeout,
    /// The most segments in answer to one acknowledgement or timer; `None`: no limit.
    pub max_burst: Option<u32>,
    /// See [`EcnAtOne`].
    pub ecn_at_one: EcnAtOne,
    /// See [`TimestampBackoff`].
    pub timestamp_backoff: TimestampBackoff,
    /// See [`LostSyn`].
    pub lost_syn: LostSyn,
    /// See [`RttArithmetic`].
    pub rtt_arithmetic: RttArithmetic,
}
