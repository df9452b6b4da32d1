//! Named sets of choices: the revisions of TFRC.

use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use super::{
    AfterExpiration, Algorithm, Choices, FirstInterval, HistoryDiscounting, InitialRate, LossEventTiming,
    NoFeedback, NoFeedbackCut, RateFloor, ReceiveLimit, SlowStart, Spacing,
};
use crate::config::{BurstCredit, Settings};
use crate::study::ns2;

/// A published TFRC. `docs/models/` has the tables of where they differ, each value with its
/// source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
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
    pub(super) fn choices(self) -> Choices {
        match self {
            Self::Rfc5348 => Choices::default(),
            Self::Rfc3448 => rfc3448(),
            Self::Sigcomm2000 => sigcomm2000(),
            Self::Ns2 => ns2::choices(),
        }
    }

    /// The settings of the revision.
    pub(crate) fn settings(self) -> Settings {
        let settings = Settings { algorithm: Algorithm::of(self), ..Settings::default() };
        match self {
            Self::Rfc5348 => settings,
            Self::Rfc3448 => Settings { timer_granularity: Duration::from_millis(10), ..settings },
            Self::Sigcomm2000 => Settings { credit: BurstCredit::Time(Duration::ZERO), ..settings },
            Self::Ns2 => ns2::settings(settings),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equation::{EquationForm, RtoPolicy};
    use crate::study::{
        EmptyReport, Estimator, FeedbackTrigger, FirstLosses, Growth, RateStep, ReceiveRateWindow, Reschedule,
    };

    #[test]
    fn each_revision_is_sound_and_has_a_name() {
        for revision in Revision::ALL {
            assert!(Settings::for_revision(revision).validate().is_ok(), "{}", revision.name());
            assert_eq!(Revision::from_name(revision.name()), Some(revision));
        }
        assert_eq!(Revision::from_name("rfc9999"), None);
        assert_eq!(Settings::for_revision(Revision::default()), Settings::default());
    }

    /// The table of `docs/models/tfrc.md`.
    #[test]
    fn where_they_measure_differently() {
        let column = |revision: Revision| {
            let s = revision.choices();
            let estimator = (s.estimator == Estimator::default(), s.discounting);
            (s.lost_after, s.loss_event_timing, s.first_interval, (s.feedback, s.receive_rate), estimator)
        };
        let (half, quarter) = (HistoryDiscounting::Floor(0.5), HistoryDiscounting::Floor(0.25));
        let (arrival, sending) = (LossEventTiming::ArrivalTime, LossEventTiming::SenderTime);
        let (at, at_half) = (FirstInterval::AtReceiveRate, FirstInterval::AtHalfReceiveRate);
        let timer = (FeedbackTrigger::Timer, ReceiveRateWindow::RoundTrip);
        let ns2_reports = (FeedbackTrigger::Arrival, ReceiveRateWindow::SinceReport);
        assert_eq!(
            column(Revision::Rfc5348),
            (3, arrival, FirstInterval::AtMaximumReceiveRate, timer, (true, quarter))
        );
        assert_eq!(column(Revision::Rfc3448), (3, arrival, at, timer, (true, half)));
        assert_eq!(column(Revision::Sigcomm2000), (1, sending, at_half, timer, (true, half)));
        let by_round = LossEventTiming::SenderTimeAndRound;
        assert_eq!(column(Revision::Ns2), (1, by_round, at, ns2_reports, (false, half)));
        for revision in Revision::ALL {
            let s = revision.choices();
            let habits = match revision {
                Revision::Ns2 => (EmptyReport::OnceAfterArrival, FirstLosses::Unknown),
                _ => (EmptyReport::Never, FirstLosses::Counted),
            };
            assert_eq!((s.empty_report, s.first_losses), habits, "{}", revision.name());
        }
    }

    /// The table of `docs/models/tfrc.md`, row by row.
    #[test]
    fn where_they_differ() {
        let column = |revision: Revision| {
            let (s, host) = (revision.choices(), Settings::for_revision(revision));
            (
                (
                    s.equation.form,
                    s.equation.rto == RtoPolicy::FourRtt,
                    s.initial_rate,
                    s.slow_start,
                    s.growth,
                ),
                (s.receive_limit, s.floor, s.no_feedback.round_trips, s.no_feedback.cut),
                (s.rtt_weight, s.spacing, s.rate_step, s.reschedule, host.credit, host.timer_granularity),
            )
        };
        let (tfrc, capped) = (EquationForm::Tfrc, EquationForm::TimeoutTermCapped);
        let no_burst = BurstCredit::Time(Duration::ZERO);
        let (fast, slow) = (Spacing::Damped { weight: 0.9 }, Spacing::Damped { weight: 0.95 });
        let (at_once, always) = (RateStep::AtOnce, Reschedule::Always);
        assert_eq!(
            column(Revision::Rfc5348),
            (
                (tfrc, true, InitialRate::Rfc3390, SlowStart::KeepInitialRate, Growth::ToEquation),
                (ReceiveLimit::RecentMaximum, RateFloor::PacketPer64Seconds, 4, NoFeedbackCut::UpdateLimits),
                (0.9, fast, at_once, always, BurstCredit::RoundTrip, Duration::ZERO),
            )
        );
        assert_eq!(
            column(Revision::Rfc3448),
            (
                (tfrc, true, InitialRate::PacketPerRtt, SlowStart::KeepPacketPerRtt, Growth::ToEquation),
                (ReceiveLimit::Latest, RateFloor::PacketPer64Seconds, 4, NoFeedbackCut::ReceiveRate),
                (0.9, fast, at_once, always, BurstCredit::RoundTrip, Duration::from_millis(10)),
            )
        );
        assert_eq!(
            column(Revision::Sigcomm2000),
            (
                (tfrc, true, InitialRate::PacketPerRtt, SlowStart::KeepPacketPerRtt, Growth::ToEquation),
                (ReceiveLimit::LatestOrPacketPerRtt, RateFloor::None, 2, NoFeedbackCut::Rate),
                (0.95, slow, at_once, always, no_burst, Duration::ZERO),
            )
        );
        assert_eq!(
            column(Revision::Ns2),
            (
                (capped, false, InitialRate::Ns2, SlowStart::Ns2, Growth::PacketPerRtt),
                (ReceiveLimit::Ns2, RateFloor::None, 2, NoFeedbackCut::RateUnlessDataLimited),
                (0.95, slow, RateStep::PerPacket, Reschedule::InSlowStart, no_burst, Duration::ZERO),
            )
        );
    }
}
