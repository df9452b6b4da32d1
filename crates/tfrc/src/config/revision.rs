//! Settings of the published revisions of TFRC.

use tfrc_units::Duration;

use crate::config::{BurstCredit, SegmentSize, Settings, TfrcSp};
use crate::study::{Algorithm, Profile, Revision, ShortIntervals, ns2};

impl Settings {
    /// The default settings with the choices of a profile.
    #[must_use]
    pub fn for_profile(profile: Profile) -> Self {
        Self {
            algorithm: Algorithm::of(Revision::default()).with(|choices| profile.choose(choices)),
            ..Self::default()
        }
    }

    /// The settings of a revision: its algorithm, and what its text says about bursts, timers and
    /// the first packet.
    #[must_use]
    pub fn for_revision(revision: Revision) -> Self {
        let settings = Self { algorithm: Algorithm::of(revision), ..Self::default() };
        // Neither the paper nor ns-2 makes up for missed sending.
        let no_burst = BurstCredit::Time(Duration::ZERO);
        match revision {
            Revision::Rfc5348 => settings,
            // RFC 3448 §4.6: 10 ms where the host's is not known.
            Revision::Rfc3448 => Self { timer_granularity: Duration::from_millis(10), ..settings },
            Revision::Sigcomm2000 => Self { credit: no_burst, ..settings },
            Revision::Ns2 => {
                Self { segment: SegmentSize::Mean { initial: ns2::PACKET }, credit: no_burst, ..settings }
            }
        }
    }
}

impl Revision {
    /// TFRC-SP in this revision: RFC 4828's, or that of the simulator.
    #[must_use]
    pub fn tfrc_sp(self) -> TfrcSp {
        match self {
            Self::Ns2 => {
                TfrcSp { header: ns2::SP_HEADER, short_intervals: ShortIntervals::Ns2, ..TfrcSp::default() }
            }
            Self::Rfc5348 | Self::Rfc3448 | Self::Sigcomm2000 => TfrcSp::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equation::{EquationForm, RtoPolicy};
    use crate::study::{
        EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses, Growth, HistoryDiscounting,
        InitialRate, LossEventTiming, NoFeedbackCut, RateFloor, RateStep, ReceiveLimit, ReceiveRateWindow,
        Reschedule, SlowStart, Spacing,
    };

    #[test]
    fn each_revision_is_sound_and_has_a_name() {
        for revision in Revision::ALL {
            assert!(Settings::for_revision(revision).validate().is_ok(), "{}", revision.name());
            assert_eq!(Revision::from_name(revision.name()), Some(revision));
        }
        assert_eq!(Revision::from_name("rfc9999"), None);
        assert_eq!(Settings::for_revision(Revision::default()), Settings::default());
        assert_eq!(Settings::for_profile(Profile::Rfc5348), Settings::default());
        let balanced = Settings::for_profile(Profile::Balanced);
        assert_eq!(balanced.algorithm.choices().equation.friend, crate::equation::Friend::Cubic);
        assert!(balanced.validate().is_ok());
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

    /// The table of `docs/models/tfrc.md`.
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
