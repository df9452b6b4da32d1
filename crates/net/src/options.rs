//! The options of an endpoint, and their conversion into the configuration of the protocol machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tfrc::Settings;
use tfrc::config::{
    BurstCredit, ClockGrain, MinInterval, PacketSize, QueueDelay, RateCap, SegmentSize, TfrcSp,
};
pub use tfrc::config::{Promise, PromiseStart};
pub use tfrc::guard::CircuitBreaker;
use tfrc_dccp::connection::Silence;
pub use tfrc_dccp::connection::{EcnSending, SkippedNumbers};
use tfrc_dccp::endpoint::{Allow, PerSource};
pub use tfrc_dccp::endpoint::{Listen, Prefix, PrefixError};
use tfrc_dccp::feature::{CcidPreference, EcnReading, Wishes};
use tfrc_dccp::wire::ServiceCode;
use tfrc_dccp::{Boundaries, ConnectionConfig, EndpointConfig};
use tfrc_units::{Dscp, Duration, Rate, saturating};

use crate::io::Offload;
use crate::{Friend, Profile, Revision, Variant};

/// Options of an endpoint that speaks DCCP. A journal holds them, all in one table.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Options {
    /// Options that a session has over any carrier.
    #[serde(flatten)]
    pub common: Common,
    /// Options that DCCP alone has.
    #[serde(flatten)]
    pub dccp: Dccp,
}

/// Options of an endpoint over any carrier, such as DCCP or QUIC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// The specification that rate control follows: a sender's in rates and p, a receiver's in
    /// measuring.
    #[serde(default)]
    pub revision: Revision,
    /// Choices on top of the revision for the data that this end sends. The other end takes part in
    /// none of them. A journal without this field is of [`Profile::Rfc5348`].
    #[serde(default, skip_serializing_if = "is_plain")]
    pub profile: Profile,
    /// The TCP to be friendly to; `None`: that of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friend: Option<Friend>,
    /// Bytes of data expected in a packet, until the mean of those sent is known: the s of the
    /// initial rate.
    pub segment_bytes: u32,
    /// The application's own limit on the sending rate, in bits of data per second.
    pub cap_bps: Option<f64>,
    /// The longest queueing delay that the flow may make, at least 1 ms: it sends less than X then.
    /// `None`: no bound, as in RFC 5348.
    #[serde(
        default,
        rename = "max_queue_delay_ns",
        with = "nanoseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_queue_delay: Option<Duration>,
    /// A text for the peer's application in the first packet, at most 32 bytes; empty: none. See
    /// [`Connection::peer_greeting`](crate::Connection::peer_greeting).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub greeting: String,
    /// The worth of the boundaries between datagrams handed over: pieces of a stream of bytes may
    /// be cut to what the path carries.
    #[serde(default, with = "boundaries", skip_serializing_if = "boundaries::is_usual")]
    pub boundaries: Boundaries,
    /// The least time of the nofeedback timer, for paths that pause, such as radio links; at least
    /// 20 ms are kept in any case. A longer one keeps the rate through longer silences, and takes
    /// as long to see that a path is gone.
    #[serde(
        default,
        rename = "no_feedback_floor_ns",
        with = "nanoseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub no_feedback_floor: Option<Duration>,
    /// Connections taken from peers.
    pub accept: Listen,
    /// The end that sends the data: its `variant` is the one asked for, and the other end may take
    /// its time to bring the data to the disk when the connection is closed.
    #[serde(default, skip_serializing_if = "DataFrom::is_usual")]
    pub data_from: DataFrom,
    /// Address prefixes of peers that may begin connections; empty: all. Other peers get no answer;
    /// `EndpointStats::strangers.not_allowed` counts their packets.
    #[serde(default, with = "prefixes")]
    pub allow: Vec<Prefix>,
    /// Time in which a connection must bring its first datagram; above zero. `None`: no limit.
    #[serde(default, rename = "first_data_within_ns", with = "nanoseconds")]
    pub first_data_within: Option<Duration>,
    /// Silence after which a peer counts as dead: nothing valid has come, and the Syncs that ask
    /// for an answer are unanswered; above zero. The first goes after 15 s, or half of the silence
    /// if that is less. `None`: 60 s.
    #[serde(default, rename = "silence_ns", with = "nanoseconds")]
    pub silence: Option<Duration>,
    /// Connections that one IP address may have with an endpoint that accepts them; `None`: no
    /// limit. Clients behind one address translator share it.
    #[serde(default)]
    pub per_source: Option<u32>,
    /// Maximum number of datagrams that wait to be sent, per connection.
    pub send_queue: usize,
    /// Maximum number of received datagrams that wait to be read, per connection; further ones are
    /// dropped, and the peer is informed. A connection counts against `accept` from its handshake
    /// until its handle is dropped, accepted or not and over or not. An application that neither
    /// accepts nor reads holds at most (connections × `receive_queue` × longest datagram) bytes.
    pub receive_queue: usize,
}

/// Options of an endpoint that DCCP alone has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dccp {
    /// The DCCP service code (RFC 4340 §8.1.2); both ends must name the same.
    pub service: u32,
    /// The rate control to ask for. An endpoint that accepts connections serves both and prefers
    /// this one.
    #[serde(default)]
    pub variant: Variant,
    /// A rate that the network has promised (gTFRC). It needs a `dscp` of Assured Forwarding or a
    /// circuit breaker.
    #[serde(default)]
    pub guarantee: Option<Promise>,
    /// The Differentiated Services codepoint of everything sent.
    #[serde(default, with = "codepoint")]
    pub dscp: Dscp,
    /// Circuit breaker: stops sending on a path that looks broken or badly congested (RFC 8083).
    #[serde(default)]
    pub circuit_breaker: CircuitBreaker,
    /// The grain of the clock whose times the endpoint is driven with; `None`: measured.
    #[serde(
        default,
        rename = "clock_grain_ns",
        with = "nanoseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub clock_grain: Option<Duration>,
    /// The longest UDP payload sent, in bytes.
    pub max_udp_payload: usize,
    /// Detection of receivers that acknowledge what they have not received, by sequence numbers
    /// left out at times (RFC 4342 §9).
    #[serde(default)]
    pub optimistic_acks: SkippedNumbers,
    /// Segmentation offload: several datagrams in one system call.
    #[serde(default)]
    pub offload: Offload,
    /// ECN marks of received datagrams. An endpoint detects itself if its system hides them.
    #[serde(default)]
    pub marks: Marks,
    /// The protocol that carries the packets.
    #[serde(default, skip_serializing_if = "Carrier::is_udp")]
    pub carrier: Carrier,
    /// The DCCP port of this end. `None`: 6511 inside of UDP; without UDP an endpoint sets that of
    /// its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// The protocol that carries DCCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// UDP (RFC 6773): addresses are those of UDP. It passes address translators.
    #[default]
    Udp,
    /// IP itself, as protocol 33 (RFC 4340): ports of addresses are those of DCCP. It needs Linux
    /// and the right to raw sockets (CAP_NET_RAW). An endpoint has one port and one version of IP,
    /// and one connection at a time to a peer's port.
    Raw,
}

impl Carrier {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_udp(&self) -> bool {
        *self == Self::Udp
    }
}

/// The end of a connection that sends the data, where only one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataFrom {
    /// The end that connects, or both.
    #[default]
    Caller,
    /// The end that accepts the connection, such as the sender of a download.
    Listener,
}

impl DataFrom {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// ECN marks of datagrams that arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// The marks are read.
    #[default]
    Readable,
    /// They cannot be read: the peer is asked to send without ECN (RFC 4340 §12.1).
    Unreadable,
}

/// The rate control of a study, in place of that of the options.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Estimator, rate, spacing, packet size: as in the simulator.
    pub tfrc: tfrc::Config,
    /// The ECN codepoint of what is sent.
    pub ecn: EcnSending,
}

/// A guarantee without a mark for the network and without a circuit breaker is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a guarantee without a DSCP of Assured Forwarding and without a circuit breaker is uncontrolled UDP")]
pub struct Unmarked;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_plain(profile: &Profile) -> bool {
    *profile == Profile::default()
}

/// The names of the options in a journal, in the order in which they are written.
const WRITTEN: [&str; 29] = [
    "service",
    "variant",
    "revision",
    "profile",
    "friend",
    "segment_bytes",
    "cap_bps",
    "guarantee",
    "dscp",
    "circuit_breaker",
    "max_queue_delay_ns",
    "greeting",
    "boundaries",
    "no_feedback_floor_ns",
    "clock_grain_ns",
    "max_udp_payload",
    "accept",
    "data_from",
    "allow",
    "first_data_within_ns",
    "silence_ns",
    "per_source",
    "optimistic_acks",
    "send_queue",
    "receive_queue",
    "offload",
    "marks",
    "carrier",
    "port",
];

impl Serialize for Options {
    /// One table in the order of `WRITTEN`: a journal that is read and written again is the same,
    /// byte for byte.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = table(&self.common);
        all.append(&mut table(&self.dccp));
        let first: Vec<_> = WRITTEN.iter().filter_map(|name| all.remove_entry(*name)).collect();
        serializer.collect_map(first.into_iter().chain(all))
    }
}

/// Options by their names, each as its text in a journal.
fn table(options: &impl Serialize) -> BTreeMap<String, Box<RawValue>> {
    let written = serde_json::to_string(options);
    written.and_then(|written| serde_json::from_str(&written)).unwrap_or_default()
}

/// A codepoint as its number.
mod codepoint {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use tfrc_units::Dscp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(dscp: &Dscp, serializer: S) -> Result<S::Ok, S::Error> {
        dscp.number().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dscp, D::Error> {
        Dscp::new(u8::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Boundaries by whether they are kept.
mod boundaries {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tfrc_dccp::Boundaries;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn is_usual(boundaries: &Boundaries) -> bool {
        *boundaries == Boundaries::Kept
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(kept: &Boundaries, serializer: S) -> Result<S::Ok, S::Error> {
        is_usual(kept).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Boundaries, D::Error> {
        bool::deserialize(deserializer).map(|kept| if kept { Boundaries::Kept } else { Boundaries::Free })
    }
}

/// Prefixes as their texts.
mod prefixes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use tfrc_dccp::endpoint::Prefix;

    pub(super) fn serialize<S: Serializer>(prefixes: &[Prefix], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(prefixes.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Prefix>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// A time that may be missing as its nanoseconds.
mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tfrc_units::Duration;

    #[expect(clippy::ref_option, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(tfrc_units::Duration::as_nanos).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}

/// The DCCP port inside of UDP. One service per UDP port needs no more than one; it has the number
/// of UDP's own (RFC 6773 §3.8).
const DCCP_PORT: u16 = 6511;

/// Silence before a peer is asked for an answer, at most: the least spacing of keep-alives that RFC
/// 8085 §3.5 recommends.
const ASK_AFTER: Duration = Duration::from_secs(15);

/// Timers of user programs are late by up to some milliseconds, so a nofeedback timer below this
/// would fire for nothing.
const NO_FEEDBACK_FLOOR: Duration = Duration::from_millis(20);

/// For the same reason a receive rate over less than this is noise, and more frequent feedback is
/// useless.
const FEEDBACK_FLOOR: Duration = Duration::from_millis(2);

/// How long an application that receives may take for the last of its data once the peer
/// has closed: it brings a file to the disk before it answers, so that the answer can say whether
/// that went well. After that the endpoint answers that nobody has confirmed anything
/// ([`UNCONFIRMED`](crate::UNCONFIRMED)): the peer repeats its Close for 30 s, on a short path
/// after 16 s for the last time, and an answer may be lost.
const ACCEPT_CLOSE_WITHIN: Duration = Duration::from_secs(15);

/// Time between packets of TFRC-SP. For the same reason missed slots may be made up for: at most
/// three packets in 30 ms (RFC 5622 §5).
const MIN_INTERVAL: Duration = Duration::from_millis(10);

impl From<Common> for Options {
    fn from(common: Common) -> Self {
        Self { common, dccp: Dccp::default() }
    }
}

impl Default for Common {
    fn default() -> Self {
        Self {
            revision: Revision::Rfc5348,
            profile: Profile::Balanced,
            friend: None,
            segment_bytes: 1316,
            cap_bps: None,
            max_queue_delay: None,
            greeting: String::new(),
            boundaries: Boundaries::Kept,
            no_feedback_floor: None,
            accept: Listen::Refuse,
            data_from: DataFrom::Caller,
            allow: Vec::new(),
            first_data_within: None,
            silence: None,
            per_source: None,
            send_queue: 64,
            receive_queue: 4096,
        }
    }
}

impl Default for Dccp {
    fn default() -> Self {
        Self {
            service: 0,
            variant: Variant::Tfrc,
            guarantee: None,
            dscp: Dscp::DEFAULT,
            circuit_breaker: CircuitBreaker::WithGuarantee,
            clock_grain: None,
            max_udp_payload: 1472,
            optimistic_acks: SkippedNumbers::Never,
            offload: Offload::default(),
            marks: Marks::default(),
            carrier: Carrier::default(),
            port: None,
        }
    }
}

impl Common {
    /// The settings of the rate control that these options choose, within the limits of a user's
    /// program. What they leave open is as the revision has it.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let cap = |bps| RateCap::AtMost(Rate::from_bits_per_sec(bps));
        let mut settings = Settings {
            segment: SegmentSize::Mean { initial: self.segment_bytes },
            cap: self.cap_bps.map_or(RateCap::Unlimited, cap),
            max_queue_delay: self.max_queue_delay.map_or(QueueDelay::Unlimited, QueueDelay::AtMost),
            no_feedback_floor: self.no_feedback_floor.unwrap_or_default().max(NO_FEEDBACK_FLOOR),
            ..Settings::for_revision(self.revision)
        };
        let choices = settings.algorithm.choices_mut();
        self.profile.choose(choices);
        choices.equation.friend = self.friend.unwrap_or(choices.equation.friend);
        settings
    }

    /// True if this end sends the data.
    #[must_use]
    pub fn sends(&self) -> bool {
        (self.accept == Listen::Refuse) == (self.data_from == DataFrom::Caller)
    }
}

impl Dccp {
    /// The names, as journals have them, of the options whose values are not the usual ones.
    #[must_use]
    pub fn chosen(&self) -> Vec<String> {
        let usual = table(&Self::default());
        let is_usual =
            |name: &str, value: &RawValue| usual.get(name).map(|usual| usual.get()) == Some(value.get());
        table(self).into_iter().filter(|(name, value)| !is_usual(name, value)).map(|(name, _)| name).collect()
    }
}

impl Options {
    /// A flow that will not go below some rate is not congestion controlled: either the network
    /// polices it, which needs a mark, or a circuit breaker ends it.
    pub(crate) fn check_marking(&self) -> Result<(), Unmarked> {
        let Dccp { guarantee, circuit_breaker, dscp, .. } = &self.dccp;
        let guarded = *circuit_breaker != CircuitBreaker::Off || dscp.is_assured();
        if guarantee.is_none() || guarded { Ok(()) } else { Err(Unmarked) }
    }

    /// The configuration of the protocol machine with the rate control of a study, within the
    /// limits of this host.
    ///
    /// # Errors
    /// A sentence about the option that is out of range.
    pub(crate) fn endpoint_config_of_study(
        &self,
        study: &Study,
    ) -> Result<EndpointConfig, tfrc::ConfigError> {
        let mut endpoint = self.endpoint_config()?;
        let settings = study.tfrc.settings();
        endpoint.connection.ecn = study.ecn;
        endpoint.connection.tfrc = Settings {
            credit: BurstCredit::RoundTripOrHalfGap,
            clock_grain: ClockGrain::Measured,
            no_feedback_floor: settings.no_feedback_floor.max(NO_FEEDBACK_FLOOR),
            feedback_floor: settings.feedback_floor.max(FEEDBACK_FLOOR),
            ..*settings
        }
        .validate()?;
        Ok(endpoint)
    }

    /// Converts the options into the configuration of the protocol machine.
    ///
    /// # Errors
    /// A sentence about the option that is out of range.
    pub(crate) fn endpoint_config(&self) -> Result<EndpointConfig, tfrc::ConfigError> {
        let Self { common, dccp } = self;
        let settings = Settings {
            guarantee: dccp.guarantee,
            circuit_breaker: dccp.circuit_breaker,
            // A wake-up here is late by more than the round-trip time of a short path.
            credit: BurstCredit::RoundTripOrHalfGap,
            clock_grain: dccp.clock_grain.map_or(ClockGrain::Measured, ClockGrain::Known),
            feedback_floor: FEEDBACK_FLOOR,
            // For connections by TFRC-SP; the others do without.
            packet_size: PacketSize::TfrcSp(TfrcSp {
                min_interval: MinInterval::ThreePackets(MIN_INTERVAL),
                ..TfrcSp::default()
            }),
            ..common.settings()
        };
        let receives = !common.sends();
        let ccids = if receives { CcidPreference::FourThenThree } else { dccp.variant.preference() };
        let ecn = match dccp.marks {
            Marks::Readable => EcnReading::Capable,
            Marks::Unreadable => EcnReading::Incapable,
        };
        let connection = ConnectionConfig {
            wishes: Wishes { sending: ccids, receiving: ccids, ecn, ..Wishes::default() },
            service: ServiceCode::new(dccp.service),
            tfrc: settings.validate()?,
            greeting: common.greeting.clone(),
            boundaries: common.boundaries,
            max_packet: dccp.max_udp_payload,
            skipped_numbers: dccp.optimistic_acks,
            send_queue: common.send_queue,
            receive_queue: common.receive_queue,
            accept_close_within: match receives {
                true => ACCEPT_CLOSE_WITHIN,
                false => ConnectionConfig::default().accept_close_within,
            },
            first_data_within: common.first_data_within,
            silence: common.silence.map_or(ConnectionConfig::default().silence, |give_up| Silence::Probe {
                after: (give_up / 2).min(ASK_AFTER),
                give_up,
            }),
            ..ConnectionConfig::default()
        };
        let per_source = common
            .per_source
            .map_or(PerSource::Unlimited, |limit| PerSource::AtMost(saturating::<usize>(limit)));
        let allow = if common.allow.is_empty() { Allow::Anyone } else { Allow::Only(common.allow.clone()) };
        Ok(EndpointConfig {
            connection,
            listen: common.accept,
            allow,
            per_source,
            carrier: match dccp.carrier {
                Carrier::Udp => tfrc_dccp::endpoint::Carrier::Udp,
                Carrier::Raw => tfrc_dccp::endpoint::Carrier::Hosted,
            },
            port: dccp.port.unwrap_or(DCCP_PORT),
            ..EndpointConfig::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_older_journals_are_those_of_plain_tfrc() {
        let mut written = serde_json::to_value(Options::default()).expect("numbers");
        for key in [
            "variant",
            "guarantee",
            "dscp",
            "circuit_breaker",
            "revision",
            "per_source",
            "optimistic_acks",
            "allow",
            "first_data_within_ns",
            "silence_ns",
        ] {
            assert!(written.as_object_mut().is_some_and(|options| options.remove(key).is_some()), "{key}");
        }
        assert_eq!(serde_json::from_value::<Options>(written).ok(), Some(Options::default()));
    }

    #[test]
    fn a_guarantee_goes_through_a_journal_into_the_machine() {
        let rate = Rate::from_bits_per_sec(5e5);
        let promise = Promise { rate, start: PromiseStart::FirstLossReport, give_way_below: Some(2.0) };
        let dscp = Dscp::new(10).expect("af11");
        let options = Options {
            dccp: Dccp { guarantee: Some(promise), dscp, ..Dccp::default() },
            ..Options::default()
        };
        let written = serde_json::to_string(&options).expect("numbers");
        assert_eq!(serde_json::from_str::<Options>(&written).ok(), Some(options.clone()));
        let settings = *options.endpoint_config().expect("in range").connection.tfrc.settings();
        assert_eq!(settings.guarantee, Some(promise));
        assert!(settings.circuit_breaker.is_in_force(settings.guarantee));
        let zero = Promise { rate: Rate::ZERO, ..promise };
        let refused =
            Options { dccp: Dccp { guarantee: Some(zero), ..Dccp::default() }, ..Options::default() }
                .endpoint_config();
        assert_eq!(refused.err(), Some(tfrc::ConfigError::Guarantee));
    }

    #[test]
    fn defences_reach_the_machine() {
        let plain = Options::default().endpoint_config().expect("in range");
        assert_eq!(
            (plain.per_source, plain.connection.skipped_numbers),
            (PerSource::Unlimited, SkippedNumbers::Never)
        );
        assert_eq!((plain.allow, plain.connection.first_data_within), (Allow::Anyone, None));
        let allow: Vec<Prefix> = vec!["192.0.2.0/24".parse().expect("a prefix")];
        let first_data_within = Some(Duration::from_millis(1500));
        assert_eq!(plain.connection.silence, ConnectionConfig::default().silence);
        let options = Options {
            common: Common {
                per_source: Some(3),
                allow: allow.clone(),
                first_data_within,
                silence: Some(Duration::from_secs(4)),
                ..Common::default()
            },
            dccp: Dccp { optimistic_acks: SkippedNumbers::Usual, ..Dccp::default() },
        };
        let written = serde_json::to_string(&options).expect("numbers");
        let read: Options = serde_json::from_str(&written).expect("what was written");
        let config = read.endpoint_config().expect("in range");
        assert_eq!(
            (config.per_source, config.connection.skipped_numbers),
            (PerSource::AtMost(3), SkippedNumbers::Usual)
        );
        assert_eq!(
            (config.allow, config.connection.first_data_within),
            (Allow::Only(allow), first_data_within)
        );
        let silence = Silence::Probe { after: Duration::from_secs(2), give_up: Duration::from_secs(4) };
        assert_eq!(config.connection.silence, silence);
    }

    #[test]
    fn a_guarantee_needs_a_mark_or_a_circuit_breaker() {
        let promise = Promise::of(Rate::from_bits_per_sec(5e5));
        let check = |guarantee, dscp, circuit_breaker| {
            let dscp = Dscp::new(dscp).expect("below 64");
            Options {
                dccp: Dccp { guarantee, dscp, circuit_breaker, ..Dccp::default() },
                ..Options::default()
            }
            .check_marking()
        };
        assert_eq!(check(Some(promise), 0, CircuitBreaker::Off), Err(Unmarked));
        assert_eq!(
            check(Some(promise), 46, CircuitBreaker::Off),
            Err(Unmarked),
            "EF is not Assured Forwarding"
        );
        assert_eq!(check(Some(promise), 10, CircuitBreaker::Off), Ok(()));
        assert_eq!(check(Some(promise), 0, CircuitBreaker::WithGuarantee), Ok(()));
        assert_eq!(check(Some(promise), 0, CircuitBreaker::Always), Ok(()));
        assert_eq!(check(None, 0, CircuitBreaker::Off), Ok(()));
    }

    #[test]
    fn the_nofeedback_timer_has_a_least_time_over_any_carrier() {
        for (asked, kept) in [(None, 20), (Some(5), 20), (Some(100), 100)] {
            let no_feedback_floor = asked.map(Duration::from_millis);
            let settings = Common { no_feedback_floor, ..Common::default() }.settings();
            assert_eq!(settings.no_feedback_floor, Duration::from_millis(kept));
        }
    }

    #[test]
    fn what_dccp_alone_has_is_named_if_it_is_chosen() {
        assert!(Dccp::default().chosen().is_empty());
        let optimistic_acks = SkippedNumbers::Usual;
        let chosen = Dccp { service: 7, variant: Variant::TfrcSp, optimistic_acks, ..Dccp::default() };
        assert_eq!(chosen.chosen(), ["optimistic_acks", "service", "variant"]);
    }

    /// Journals have held these since 0.2.0.
    #[test]
    fn the_words_of_a_journal_stay() {
        let written = r#"{"service":0,"variant":"tfrc-sp","revision":"rfc3448","segment_bytes":500,"cap_bps":null,"guarantee":{"rate_bps":500000.0,"start":"first-loss-report","give_way_below":2.0},"dscp":10,"circuit_breaker":"always","max_udp_payload":1472,"accept":{"Many":3},"allow":[],"first_data_within_ns":null,"silence_ns":null,"per_source":null,"optimistic_acks":"find-out","send_queue":64,"receive_queue":4096,"offload":"Segmentation","marks":"readable"}"#;
        for (old, new) in [
            ("tfrc-sp", "tfrc"),
            ("{\"Many\":3}", "\"Nobody\""),
            ("{\"Many\":3}", "\"One\""),
            ("find-out", "trust"),
            ("always", "off"),
        ] {
            let written = written.replace(old, new);
            let read: Options = serde_json::from_str(&written).expect("the words of 0.2.0");
            assert_eq!(serde_json::to_string(&read).ok(), Some(written));
        }
    }

    #[test]
    fn a_profile_goes_through_a_journal_into_the_machine() {
        let balanced = Options::from(Common { profile: Profile::Balanced, ..Common::default() });
        let mut told = balanced.clone();
        told.common.friend = Some(Friend::Reno);
        for (options, friend) in [(balanced, Friend::Cubic), (told, Friend::Reno)] {
            let written = serde_json::to_string(&options).expect("numbers and names");
            assert_eq!(serde_json::from_str::<Options>(&written).ok(), Some(options.clone()));
            let tfrc = options.endpoint_config().expect("in range").connection.tfrc;
            let choices = tfrc.settings().algorithm.choices();
            assert_eq!(choices.equation.friend, friend);
            assert_ne!(choices.pairs, tfrc::study::Choices::default().pairs);
        }
    }

    #[test]
    fn a_journal_names_the_revision() {
        for revision in Revision::ALL {
            let options = Options::from(Common { revision, ..Common::default() });
            let written = serde_json::to_string(&options).expect("numbers and names");
            assert!(written.contains(revision.name()));
            assert_eq!(serde_json::from_str::<Options>(&written).ok(), Some(options.clone()));
            assert!(options.endpoint_config().is_ok(), "{}", revision.name());
        }
        let written = serde_json::to_string(&Options::default()).expect("names");
        let read = serde_json::from_str::<Options>(&written.replace("rfc5348", "rfc1"));
        assert!(read.is_err_and(|e| e.to_string().contains("rfc1")));
    }
}
