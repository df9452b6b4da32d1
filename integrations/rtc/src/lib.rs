//! TFRC as a bandwidth estimator of rtc-interceptor.

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::time::Instant;

use rtc_interceptor::{BandwidthEstimator, EstimatorStats, PacketReport};
use rtcp::transport_feedbacks::cc_feedback_report::Ecn as Mark;
use tfrc::advisor::{Ack, Hold};
use tfrc::config::RateCap;
use tfrc::{Advisor, ConfigError, Settings};
use tfrc_units::{Duration, Ecn, Epoch, Rate, saturating};

/// Packets remembered until they are reported: 98 Mbit/s of 1200 bytes in 200 ms.
const REMEMBERED: usize = 2048;

/// The least time by which a wake-up is ahead: `rtc-interceptor` asks for one that advances.
const AHEAD: std::time::Duration = std::time::Duration::from_millis(1);

/// Limits of an encoder, bit/s, and the usual time between two feedback packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The least bit rate. The target is never below, even where TFRC allows less: an encoder that
    /// cannot go slower must leave frames out then.
    pub least_bps: f64,
    /// The highest bit rate.
    pub most_bps: f64,
    /// The longest usual time between feedback packets: 62.5 ms of Chromium 156, at any rate.
    pub feedback_interval: std::time::Duration,
}

/// TFRC as the estimator of `rtc-interceptor`'s congestion control.
#[derive(Debug, Clone)]
pub struct Tfrc {
    epoch: Epoch,
    advisor: Box<Advisor<REMEMBERED>>,
    /// The lowest identifier not yet taken in.
    next: u64,
    now: Instant,
}

impl Tfrc {
    /// An estimator that begins at `now`.
    ///
    /// # Errors
    /// The first setting out of range, among them a highest rate of zero.
    pub fn new(now: Instant, settings: Settings, limits: Limits) -> Result<Self, ConfigError> {
        let cap = RateCap::AtMost(Rate::from_bits_per_sec(limits.most_bps));
        let config = Settings { cap, ..settings }.validate()?;
        let mut advisor = Box::new(Advisor::with_capacity(&config, limits.feedback_interval.into()));
        advisor.set_floor(Rate::from_bits_per_sec(limits.least_bps));
        Ok(Self { epoch: Epoch::new(now), advisor, next: 0, now })
    }

    /// A round-trip time that is known before any feedback, such as that of ICE's checks: the rate
    /// begins with RFC 5348's initial window in it.
    pub fn on_round_trip(&mut self, now: Instant, rtt: std::time::Duration) {
        self.advisor.on_rtt_sample(self.epoch.at(now), rtt.into());
    }

    /// The rate control, for its readings and for limits that change while it runs.
    #[must_use]
    pub fn advisor(&self) -> &Advisor<REMEMBERED> {
        &self.advisor
    }

    /// Changes the limits of the encoder.
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a highest rate of zero; then the previous ones stay.
    pub fn set_limits(&mut self, least_bps: f64, most_bps: f64) -> Result<(), ConfigError> {
        self.advisor.set_cap(RateCap::AtMost(Rate::from_bits_per_sec(most_bps)))?;
        self.advisor.set_floor(Rate::from_bits_per_sec(least_bps));
        Ok(())
    }
}

impl BandwidthEstimator for Tfrc {
    fn on_reports(&mut self, now: Instant, reports: &[PacketReport]) {
        self.now = self.now.max(now);
        if reports.is_empty() {
            return;
        }
        // A departure is known only now, with the packet's fate. Packets of a feedback packet that
        // was lost are never seen here: they count neither as arrived nor as lost.
        for report in reports {
            if report.id >= self.next {
                self.advisor.on_sent(
                    self.epoch.at(report.departure),
                    report.id,
                    saturating::<u32>(report.size),
                );
                self.next = report.id + 1;
            }
        }
        for report in reports.iter().filter(|report| report.arrived) {
            let arrived_at = report.arrival.map(|at| tfrc_units::Instant::ZERO + Duration::from(at));
            let ecn = if report.ecn == Mark::Ce { Ecn::Ce } else { Ecn::NotEct };
            self.advisor.on_acked(Ack { id: report.id, arrived_at, ecn });
        }
        self.advisor.on_report(self.epoch.at(now), Hold::Unknown);
    }

    fn target_bitrate(&self) -> f64 {
        self.advisor.target_rate().bits_per_sec()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.advisor.handle_timeout(self.epoch.at(now));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let wake = self.advisor.poll_timeout()?;
        Some(self.epoch.time(wake.at).max(self.now + AHEAD))
    }

    fn stats(&self) -> EstimatorStats {
        let mut stats = EstimatorStats::default();
        stats.round_trip_time = self.advisor.rtt().map(Into::into);
        stats
    }
}
