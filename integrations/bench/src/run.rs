//! A run of a case under a congestion control.

use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion::{Bbr3Config, CubicConfig};
use rtc_interceptor::{BandwidthEstimator, Gcc};
use tfrc::Settings;
use tfrc::config::{PacketSize, QueueDelay, TfrcSp};
use tfrc::study::Profile;
use tfrc_rtc::{Limits, Tfrc};
use tfrc_sim::tcp;
use tfrc_testkit::path::noq::Factory;
use tfrc_testkit::path::shared::{Bottleneck, Flow, Jitter, Pair, Record, Shared};
use tfrc_units::{Duration, Rate};

use crate::cases::{Case, JITTER_MS};
use crate::encoder::RANGE;
use crate::source::{FIRST, Schedule, Source, Waste};
use crate::{quic, rtp};

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Tfrc,
    Bounded,
    SmallPackets,
    Gcc,
    Cubic,
    Bbr,
}

impl Control {
    pub(crate) const ALL: [Self; 6] =
        [Self::Tfrc, Self::Bounded, Self::SmallPackets, Self::Gcc, Self::Cubic, Self::Bbr];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tfrc => "TFRC",
            Self::Bounded => "TFRC, 80 ms",
            Self::SmallPackets => "TFRC-SP",
            Self::Gcc => "GCC (rtc-interceptor)",
            Self::Cubic => "CUBIC (noq)",
            Self::Bbr => "BBR (noq)",
        }
    }

    /// The controller in QUIC; `None` over RTP.
    fn quic(self) -> Option<Factory> {
        match self {
            Self::Cubic => Some(Arc::new(CubicConfig::default())),
            Self::Bbr => Some(Arc::new(Bbr3Config::default())),
            _ => None,
        }
    }

    /// The estimator over RTP, and its pacing. TFRC's is X; that of GCC lets a frame go in less
    /// than its time, as WebRTC's does.
    fn rtp(self, epoch: Instant) -> (Box<dyn BandwidthEstimator>, rtp::Pacing) {
        let usual = Settings::for_profile(Profile::Balanced);
        let (settings, least) = match self {
            Self::Bounded => {
                let most = QueueDelay::AtMost(Duration::from_millis(80));
                (Settings { max_queue_delay: most, ..usual }, 0)
            }
            // RFC 4828 §4.3: at most a packet in 10 ms.
            Self::SmallPackets => {
                (Settings { packet_size: PacketSize::TfrcSp(TfrcSp::default()), ..usual }, 10)
            }
            Self::Gcc => {
                let least = std::time::Duration::ZERO;
                let gcc = Gcc::new(FIRST, RANGE.0, RANGE.1);
                return (Box::new(gcc), rtp::Pacing { factor: 2.5, least });
            }
            _ => (usual, 0),
        };
        let limits = Limits { least_bps: RANGE.0, most_bps: RANGE.1, feedback_interval: rtp::FEEDBACK };
        let tfrc = Tfrc::new(epoch, settings, limits).expect("settings in range");
        let least = std::time::Duration::from_millis(least);
        (Box::new(tfrc), rtp::Pacing { factor: 1.0, least })
    }
}

/// The records of a run.
pub(crate) struct Run {
    /// The media flows.
    pub(crate) media: Vec<Record>,
    /// The TCP, if there is one.
    pub(crate) tcp: Option<Record>,
    /// Packets of media made, and dropped at the sender.
    pub(crate) made: u64,
    pub(crate) late: u64,
}

/// Runs a case with this seed of encoders and jitter.
pub(crate) fn run(case: &Case, control: Control, seed: u64) -> Run {
    let epoch = Instant::now();
    let seconds = Duration::from_secs;
    let waste = Waste::default();
    let mut flows: Vec<Flow> = Vec::new();
    for (n, (start, delay)) in case.flows.iter().enumerate() {
        let (begin, end) = (seconds(*start).into(), seconds(case.time).into());
        let pause =
            case.pause.filter(|_| n == 0).map(|(from, to)| (seconds(from).into(), seconds(to).into()));
        let schedule = Schedule { begin, end, pause };
        let source = Source::new(epoch, seed * 100 + n as u64, schedule, waste.clone());
        let begin = epoch + begin;
        let pair = if let Some(factory) = control.quic() {
            let (sender, receiver) = quic::Sender::connect(begin, factory, source);
            Pair::Ends(Box::new(sender), Box::new(receiver))
        } else {
            let (estimator, pacing) = control.rtp(begin);
            let sender = rtp::Sender::new(begin, estimator, pacing, source);
            Pair::Ends(Box::new(sender), Box::new(rtp::Reporter::default()))
        };
        let delay = Duration::from_millis(*delay);
        flows.push(Flow { pair, delay, start: seconds(*start), stop: seconds(case.time) });
    }
    if let Some((start, stop)) = case.tcp {
        let pair = Pair::Tcp(tcp::Settings::linux(tcp::Variant::Cubic));
        let delay = Duration::from_millis(50);
        flows.push(Flow { pair, delay, start: seconds(start), stop: seconds(stop) });
    }
    let rate = |mbit: f64| Rate::from_bits_per_sec(mbit * 1e6);
    let rates: Vec<_> = case.rates.iter().map(|(at, mbit)| (seconds(*at), rate(*mbit))).collect();
    let queue = (case.rates[0].1 * 1e6 / 8.0 * case.queue_ms / 1e3) as u64;
    let jitter = Jitter { most: Duration::from_millis(JITTER_MS), seed };
    let mut shared = Shared::new(epoch, &Bottleneck { rates, queue, jitter }, flows);
    shared.run(seconds(case.time));
    let mut media = shared.into_records();
    let tcp = case.tcp.and_then(|_| media.pop());
    Run { media, tcp, made: waste.made.get(), late: waste.late.get() }
}
