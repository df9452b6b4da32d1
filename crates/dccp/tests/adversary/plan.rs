//! Plan of a run, drawn from its seed.

use std::net::IpAddr;

use tfrc::study::Profile;
use tfrc_dccp::ConnectionConfig;
use tfrc_dccp::connection::EcnSending;
use tfrc_dccp::endpoint::Carrier;
use tfrc_dccp::feature::{CcidPreference, RttReports, Wishes};
use tfrc_testkit::{Random, capped};
use tfrc_units::Duration;

/// Kind of corruption of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Corruption {
    /// The DCCP checksum notices it (protocol 33).
    Noticed,
    /// Nothing does: UDP without a checksum, or an attacker on the path.
    Unnoticed,
}

/// A kind of weather that comes and goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// All per mille.
    pub(crate) loss: u64,
    pub(crate) burst: u64,
    pub(crate) duplicate: u64,
    pub(crate) reorder: u64,
    pub(crate) corrupt: u64,
    pub(crate) mark: u64,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
}

/// Everything about a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) carrier: fn(IpAddr) -> Carrier,
    pub(crate) corruption: Corruption,
    pub(crate) client: ConnectionConfig,
    pub(crate) server: ConnectionConfig,
    pub(crate) weathers: Vec<Weather>,
    /// Per mille, at each change of weather.
    pub(crate) blackholes: u64,
    pub(crate) clock_steps: u64,
    pub(crate) rebindings: u64,
    /// Packets until the ends close.
    pub(crate) packets: u64,
    pub(crate) size: usize,
    pub(crate) half_open: usize,
    /// True if the server sends too.
    pub(crate) both_ways: bool,
}

impl Plan {
    pub(crate) fn new(random: &mut Random) -> Self {
        let corruption = if random.per_mille(600) { Corruption::Noticed } else { Corruption::Unnoticed };
        let ccid = if random.per_mille(250) { CcidPreference::Four } else { CcidPreference::Three };
        let rtt_reports = if random.per_mille(800) { RttReports::Wanted } else { RttReports::Refused };
        let ecn = if random.per_mille(500) { EcnSending::Ect0 } else { EcnSending::NotEct };
        let profile = if random.per_mille(300) { Profile::Balanced } else { Profile::Rfc5348 };
        let mut settings = *capped(400_000.0).settings();
        profile.choose(settings.algorithm.choices_mut());
        let config = ConnectionConfig {
            tfrc: settings.validate().expect("sound settings"),
            ecn,
            wishes: Wishes { rtt_reports, sending: ccid, receiving: ccid, ..Wishes::default() },
            ..ConnectionConfig::default()
        };
        let weathers = (0..4).map(|_| Weather::new(random, corruption)).collect();
        let carrier: fn(IpAddr) -> Carrier = match corruption {
            Corruption::Noticed => |local| Carrier::Native { local },
            Corruption::Unnoticed => |_| Carrier::Udp,
        };
        Self {
            carrier,
            corruption,
            client: config.clone(),
            server: config,
            weathers,
            blackholes: [0, 0, 30, 100][index(random, 4)],
            clock_steps: [0, 0, 100][index(random, 3)],
            rebindings: [0, 0, 0, 20][index(random, 4)],
            packets: random.between(500, 5000),
            size: [8, 100, 500, 1400][index(random, 4)],
            half_open: [0, 128][index(random, 2)],
            both_ways: random.per_mille(500),
        }
    }
}

fn index(random: &mut Random, count: u64) -> usize {
    usize::try_from(random.below(count)).expect("small")
}

impl Weather {
    fn new(random: &mut Random, corruption: Corruption) -> Self {
        let mut one_of = |choices: &[u64]| {
            let count = u64::try_from(choices.len()).expect("few");
            *choices.get(index(random, count)).expect("one of them")
        };
        let corrupt = one_of(&[0, 2, 20]);
        Self {
            loss: one_of(&[0, 0, 5, 20, 100]),
            burst: one_of(&[0, 0, 200, 700]),
            duplicate: one_of(&[0, 0, 10, 200]),
            reorder: one_of(&[0, 0, 10, 100]),
            // What nothing notices soon ends a connection.
            corrupt: if corruption == Corruption::Noticed { corrupt } else { corrupt / 2 },
            mark: one_of(&[0, 0, 10]),
            delay: Duration::from_micros(one_of(&[200, 5_000, 25_000, 150_000])),
            jitter: Duration::from_micros(one_of(&[0, 100, 3_000, 40_000])),
        }
    }
}
