//! TFRC as a congestion controller of noq.

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "times to begin with"))]

mod numbers;
mod reading;

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use tfrc::advisor::{Ack, Hold, Losses};
use tfrc::config::SegmentSize;
use tfrc::study::Profile;
use tfrc::{Advisor, Config, ConfigError, Settings};
use tfrc_units::{Duration, Ecn, Epoch};

use numbers::Numbers;

pub use reading::{Reading, Readings};

/// Packets remembered until they are acknowledged or lost: 390 Mbit/s of 1200 bytes at 100 ms.
const REMEMBERED: usize = 4096;

/// The longest time for which a receiver holds an acknowledgement back: `max_ack_delay` of RFC 9000
/// §18.2, whose default is 25 ms.
const ACK_DELAY: Duration = Duration::from_millis(25);

/// The least variation of the round-trip time in a probe timeout: kGranularity of RFC 9002 §6.1.2.
const GRANULARITY: std::time::Duration = std::time::Duration::from_millis(1);

/// Calls for which a packet lost for good is remembered: the loss intervals in p (RFC 5348 §5.4).
const INTERVALS: u8 = 8;

/// Makes a [`Tfrc`] for each path of a connection, of [`Profile::Balanced`] by default;
/// `TfrcConfig::of(Profile::Rfc5348)` is the RFC alone.
///
/// ```
/// use std::sync::Arc;
///
/// let mut transport = noq_proto::TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(tfrc_noq::TfrcConfig::default()));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TfrcConfig {
    config: Config,
}

impl Default for TfrcConfig {
    fn default() -> Self {
        Self::of(Profile::Balanced)
    }
}

/// Makes a [`Tfrc`] for each path of one connection, all of which write the same readings.
#[derive(Debug, Clone)]
pub struct ReadConfig {
    config: TfrcConfig,
    readings: Arc<Readings>,
}

impl TfrcConfig {
    /// The default settings with the choices of a profile.
    ///
    /// # Panics
    /// Never: these settings are in range.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        Self { config: Settings::for_profile(profile).validate().expect("defaults are in range") }
    }

    /// With these settings; the initial segment size is the path's MTU.
    ///
    /// # Errors
    /// The first setting out of range.
    pub fn new(settings: Settings) -> Result<Self, ConfigError> {
        Ok(Self { config: settings.validate()? })
    }

    /// Has the controllers write their readings here. For the configuration of one connection: the
    /// paths of several would overwrite each other's.
    #[must_use]
    pub const fn read_by(self, readings: Arc<Readings>) -> ReadConfig {
        ReadConfig { config: self, readings }
    }

    fn controller(&self, now: Instant, current_mtu: u16, readings: Option<Arc<Readings>>) -> Box<Tfrc> {
        let segment = SegmentSize::Mean { initial: current_mtu.into() };
        let settings = Settings { segment, ..*self.config.settings() };
        // An MTU is above zero, and the rest was sound.
        let config = settings.validate().unwrap_or(self.config);
        let mut advisor = Box::new(Advisor::with_capacity(&config, ACK_DELAY));
        advisor.set_losses(Losses::ByTransport);
        Box::new(Tfrc {
            epoch: readings.as_ref().map_or_else(|| Epoch::new(now), |readings| readings.epoch()),
            readings,
            advisor,
            numbers: Numbers::default(),
            mtu: current_mtu.into(),
            is_marked: false,
            round_trip: std::time::Duration::ZERO,
            is_measured: false,
            patience: std::time::Duration::ZERO,
            late: None,
            looked: now,
            cautious: 0,
        })
    }
}

impl ControllerFactory for TfrcConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        self.controller(now, current_mtu, None)
    }
}

impl ControllerFactory for ReadConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        self.config.controller(now, current_mtu, Some(Arc::clone(&self.readings)))
    }
}

/// TFRC for one path: the pacing rate is X, and no window stops it.
#[derive(Debug, Clone)]
pub struct Tfrc {
    epoch: Epoch,
    readings: Option<Arc<Readings>>,
    advisor: Box<Advisor<REMEMBERED>>,
    numbers: Numbers,
    mtu: u64,
    is_marked: bool,
    /// The transport's smoothed round-trip time, without the peer's delays.
    round_trip: std::time::Duration,
    /// The transport has measured that. It takes an acknowledgement in after it has told of it:
    /// with the first one comes what it assumes for a path that it does not know.
    is_measured: bool,
    /// At least so long after its departure noq waits for a packet that it has declared lost: two
    /// probe timeouts (RFC 9002 §6.2.1), as they are if the round-trip time does not vary.
    patience: std::time::Duration,
    /// The packets declared lost since noq last waited for none: when the first and the last of
    /// them left.
    late: Option<(Instant, Instant)>,
    /// When noq last looked for packets of which it waits no longer.
    looked: Instant,
    /// Calls of which only the certain part is believed: packets have been lost for good lately.
    cautious: u8,
}

impl Tfrc {
    /// The rate control, for its readings: rates, R, p, the reason of the rate.
    #[must_use]
    pub fn advisor(&self) -> &Advisor<REMEMBERED> {
        &self.advisor
    }

    /// X within the limits of the settings, in bits of UDP payload per second: what an encoder may
    /// make, less the headers of QUIC.
    #[must_use]
    pub fn target_bits_per_sec(&self) -> u64 {
        self.advisor.target_rate().bits_per_sec() as u64
    }

    fn publish(&mut self) {
        if let Some(readings) = &self.readings {
            readings.note(&mut self.advisor);
        }
    }
}

impl Controller for Tfrc {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let oldest = self.advisor.oldest_remembered();
        let id = self.numbers.on_sent(now, pn, oldest.unwrap_or(0));
        let at = self.epoch.at(now);
        // noq gives controllers no timer: the nofeedback timer is served here.
        self.advisor.handle_timeout(at);
        self.advisor.on_sent(at, id, bytes.into());
        if let Some(readings) = &self.readings {
            readings.sent(now, bytes, self.mtu as f64);
        }
        self.publish();
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        _bytes: u64,
        pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.round_trip = rtt.get();
        self.patience = (self.round_trip + GRANULARITY) * 2;
        if let Some(readings) = &self.readings {
            self.is_marked |= readings.acknowledged(sent);
        }
        if let Some(id) = self.numbers.on_ack(sent, pn) {
            let ecn = if std::mem::take(&mut self.is_marked) { Ecn::Ce } else { Ecn::NotEct };
            self.advisor.on_acked(Ack { id, arrived_at: None, ecn });
        }
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        self.looked = now;
        let at = self.epoch.at(now);
        let is_measured = std::mem::replace(&mut self.is_measured, true);
        let hold = if is_measured { Hold::RoundTrip(self.round_trip.into()) } else { Hold::Unknown };
        self.advisor.on_report(at, hold);
        self.advisor.handle_timeout(at);
        if let Some(readings) = &self.readings {
            readings.reported();
        }
        self.publish();
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        // Lost packets come one by one. Marks come after the acknowledgements of their report: the
        // next packet counts as marked.
        self.is_marked |= is_ecn;
    }

    /// All packets have been acknowledged that noq has declared lost and still waits for: the
    /// losses since it last waited for none are taken back. If packets have been lost for good
    /// lately, those of packets that left so long ago that noq may have forgotten them stay.
    fn on_spurious_congestion_event(&mut self) {
        let Some((first, _)) = self.late.take() else { return };
        let certain = self.looked.checked_sub(self.patience).filter(|_| self.cautious > 0);
        self.cautious = self.cautious.saturating_sub(1);
        self.advisor.on_losses_undone(self.epoch.at(certain.map_or(first, |at| at.max(first))));
    }

    fn on_packet_lost(&mut self, _lost_bytes: u16, pn: u64, now: Instant) {
        if let Some((id, sent)) = self.numbers.on_lost(pn) {
            self.advisor.on_lost(id);
            let waits = |last: Instant| now.saturating_duration_since(last) <= self.patience;
            self.looked = now;
            self.late = Some(match self.late {
                Some((first, last)) if waits(last) => (first.min(sent), last.max(sent)),
                Some(_) => {
                    self.cautious = INTERVALS;
                    (sent, sent)
                }
                None => (sent, sent),
            });
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
    }

    /// Without a bound once there is a rate: the pacer holds that, and it halves by the nofeedback
    /// timer (RFC 5348 §4.4) when acknowledgements stop. A window would hold answers to
    /// PATH_CHALLENGE back too, and noq gives a new address up after three probe timeouts.
    fn window(&self) -> u64 {
        self.advisor.rtt().map_or(self.initial_window(), |_| u32::MAX.into())
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.bandwidth_estimate = Some(self.target_bits_per_sec());
        // Before there is a round-trip time X is a packet a second, which would hold the handshake
        // up; the window lets four packets go.
        if self.advisor.rtt().is_some() {
            let rate = self.advisor.sender().sending_rate().bytes_per_sec();
            metrics.pacing_rate = Some((rate as u64).max(1));
            metrics.send_quantum = Some(self.mtu);
        }
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        4 * self.mtu
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
