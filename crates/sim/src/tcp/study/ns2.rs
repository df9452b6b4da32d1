//! The TCPs of ns-2.35 as they come (`docs/models/tcp.md`).

use tfrc_units::Duration;

use super::{
    AfterIdle, Algorithm, Choices, Duplicates, EcnAtOne, Increase, InitialWindow, LimitedTransmit, LostSyn,
    OptionBytes, PartialAck, PartialAckTimer, Pipe, Precision, ReceiveBuffer, RecoveryExit, Repeat,
    RttArithmetic, Shrink, TimestampBackoff,
};
use crate::tcp::settings::{Acks, Settings, Variant};

/// Packets, windows and timers.
pub(in crate::tcp) const fn settings(variant: Variant) -> Settings {
    Settings {
        segment: 1000,
        window: 20,
        acks: Acks::Each,
        initial_rto: Duration::from_secs(3),
        min_rto: Duration::from_millis(200),
        tick: Duration::from_millis(10),
        algorithm: algorithm(variant),
        ..Settings::rfc(variant)
    }
}

/// A window of 2 at the start that grows by the acknowledgement; the window in use is halved, SACK
/// counts, options have no bytes, round-trip times are integers.
const fn algorithm(variant: Variant) -> Algorithm {
    Algorithm(Choices {
        option_bytes: OptionBytes::Ignored,
        receive_buffer: ReceiveBuffer::Fixed,
        initial_window: InitialWindow::Segments(2),
        increase: Increase::PerAck,
        duplicates: Duplicates::NewlyReporting,
        limited_transmit: match variant {
            Variant::Tahoe => LimitedTransmit::On,
            _ => LimitedTransmit::AlsoOld,
        },
        shrink: Shrink::Window,
        precision: Precision::WholeThreshold,
        partial_ack: PartialAck::Deflate,
        partial_ack_timer: PartialAckTimer::First,
        recovery_exit: RecoveryExit::Grown,
        pipe: Pipe::Counter,
        repeat: match variant {
            Variant::Bbr | Variant::Cubic | Variant::Sack => Repeat::AfterRecovery,
            Variant::NewReno | Variant::Reno | Variant::Tahoe => Repeat::Avoided,
        },
        ecn_at_one: EcnAtOne::BackOff,
        timestamp_backoff: TimestampBackoff::NewData,
        lost_syn: LostSyn::AsSegment,
        after_idle: AfterIdle::Keep,
        rtt_arithmetic: RttArithmetic::FixedPoint,
        ..Algorithm::rfc().0
    })
}
