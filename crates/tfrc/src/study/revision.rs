//! Named sets of choices: the revisions of TFRC.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use tfrc_units::schema::JsonSchema;

use super::{
    AfterExpiration, Choices, FirstInterval, HistoryDiscounting, InitialRate, LossEventTiming, NoFeedback,
    NoFeedbackCut, RateFloor, ReceiveLimit, SlowStart, Spacing,
};
use crate::study::ns2;

/// A published TFRC. `docs/models/` has the tables of where they differ, each value with its
/// source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[non_exhaustive]
pub enum Revision {
    /// RFC 5348 (2008), the default.
    #[default]
    Rfc5348,
    /// RFC 3448 (2003) with its errata.
    Rfc3448,
    /// Floyd, Handley, Padhye and Widmer at SIGCOMM 2000, and their technical report.
    Sigcomm2000,
    /// ns-2.35 as it comes.
    Ns2,
}

impl Revision {
    /// All of them, newest text first, the simulator last.
    pub const ALL: [Self; 4] = [Self::Rfc5348, Self::Rfc3448, Self::Sigcomm2000, Self::Ns2];

    /// The name that settings and command lines use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc5348 => "rfc5348",
            Self::Rfc3448 => "rfc3448",
            Self::Sigcomm2000 => "sigcomm2000",
            Self::Ns2 => "ns2",
        }
    }

    /// The revision of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }
}

impl Revision {
    /// The choices of the revision.
    pub(crate) fn choices(self) -> Choices {
        match self {
            Self::Rfc5348 => Choices::default(),
            Self::Rfc3448 => rfc3448(),
            Self::Sigcomm2000 => sigcomm2000(),
            Self::Ns2 => ns2::choices(),
        }
    }
}

fn rfc3448() -> Choices {
    Choices {
        discounting: HistoryDiscounting::Floor(0.5),
        first_interval: FirstInterval::AtReceiveRate,
        initial_rate: InitialRate::PacketPerRtt,
        slow_start: SlowStart::KeepPacketPerRtt,
        receive_limit: ReceiveLimit::Latest,
        no_feedback: NoFeedback {
            round_trips: 4,
            factor: 0.5,
            cut: NoFeedbackCut::ReceiveRate,
            ask: AfterExpiration::Nothing,
        },
        ..Choices::default()
    }
}

fn sigcomm2000() -> Choices {
    Choices {
        lost_after: 1,
        loss_event_timing: LossEventTiming::SenderTime,
        discounting: HistoryDiscounting::Floor(0.5),
        first_interval: FirstInterval::AtHalfReceiveRate,
        initial_rate: InitialRate::PacketPerRtt,
        slow_start: SlowStart::KeepPacketPerRtt,
        receive_limit: ReceiveLimit::LatestOrPacketPerRtt,
        floor: RateFloor::None,
        no_feedback: NoFeedback {
            round_trips: 2,
            factor: 0.5,
            cut: NoFeedbackCut::Rate,
            ask: AfterExpiration::Nothing,
        },
        rtt_weight: 0.95,
        spacing: Spacing::Damped { weight: 0.95 },
        ..Choices::default()
    }
}
