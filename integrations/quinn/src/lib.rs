//! TFRC as a congestion controller of quinn.

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use tfrc::advisor::{Hold, Losses};
use tfrc::config::SegmentSize;
use tfrc::study::Profile;
use tfrc::{Advisor, Config, ConfigError, Settings};
use tfrc_feedback::BySendTime;
use tfrc_units::{Duration, Epoch, saturating};

/// Packets remembered until they are acknowledged or lost: 390 Mbit/s of 1200 bytes at 100 ms.
const REMEMBERED: usize = 4096;

/// The longest time for which a receiver holds an acknowledgement back: `max_ack_delay` of RFC 9000
/// §18.2, whose default is 25 ms.
const ACK_DELAY: Duration = Duration::from_millis(25);

/// Shorter packets only acknowledge: they are not in flight, and nothing is reported of them.
const LEAST_PACKET: u64 = 64;

/// Makes a [`Tfrc`] for each path of a connection, of [`Profile::Balanced`] by default;
/// `TfrcConfig::of(Profile::Rfc5348)` is the RFC alone.
///
/// ```
/// use std::sync::Arc;
///
/// let mut transport = quinn_proto::TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(tfrc_quinn::TfrcConfig::default()));
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
}

impl ControllerFactory for TfrcConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let segment = SegmentSize::Mean { initial: current_mtu.into() };
        let settings = Settings { segment, ..*self.config.settings() };
        // An MTU is above zero, and the rest was sound.
        let config = settings.validate().unwrap_or(self.config);
        let mut advisor = Box::new(Advisor::with_capacity(&config, ACK_DELAY));
        advisor.set_losses(Losses::ByTransport);
        Box::new(Tfrc {
            epoch: Epoch::new(now),
            advisor,
            packets: BySendTime::new(),
            mtu: current_mtu.into(),
            round_trip: std::time::Duration::ZERO,
            is_measured: false,
        })
    }
}

/// TFRC for one path. quinn 0.11 takes no rate of a controller, only a window: X times R.
#[derive(Debug, Clone)]
pub struct Tfrc {
    epoch: Epoch,
    advisor: Box<Advisor<REMEMBERED>>,
    packets: BySendTime,
    mtu: u64,
    /// The transport's smoothed round-trip time, without the peer's delays.
    round_trip: std::time::Duration,
    /// The transport has measured that. It takes an acknowledgement in after it has told of it:
    /// with the first one comes what it assumes for a path that it does not know.
    is_measured: bool,
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
}

impl Controller for Tfrc {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        if bytes < LEAST_PACKET {
            return;
        }
        let at = self.epoch.at(now);
        // quinn gives controllers no timer: the nofeedback timer is served here.
        self.advisor.handle_timeout(at);
        let packets = saturating::<u32>(bytes.div_ceil(self.mtu));
        self.packets.on_sent(at, bytes, packets, &mut self.advisor);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, _bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        self.round_trip = rtt.get();
        self.packets.on_acked(self.epoch.at(sent), &mut self.advisor);
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        let at = self.epoch.at(now);
        let is_measured = std::mem::replace(&mut self.is_measured, true);
        let hold = if is_measured { Hold::RoundTrip(self.round_trip.into()) } else { Hold::Unknown };
        self.advisor.on_report(at, hold);
        self.advisor.handle_timeout(at);
    }

    fn on_congestion_event(&mut self, _now: Instant, sent: Instant, _persistent: bool, lost_bytes: u64) {
        if lost_bytes == 0 {
            self.packets.on_marked();
        } else {
            self.packets.on_lost_up_to(self.epoch.at(sent), lost_bytes, &mut self.advisor);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
    }

    fn window(&self) -> u64 {
        let Some(rtt) = self.advisor.rtt() else { return self.initial_window() };
        // quinn lets a packet go while one more would still be below the window: with half a packet
        // added, the packets in flight are X·R, rounded.
        let window = self.advisor.sender().sending_rate() * rtt;
        (window as u64 + self.mtu / 2).max(self.mtu + 1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = Some(self.target_bits_per_sec());
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
