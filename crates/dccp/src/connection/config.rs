//! The settings of a connection.

use alloc::string::String;
use core::net::IpAddr;

use tfrc_units::Duration;

use super::{Boundaries, LatePolicy, PathMtuDiscovery};
use crate::ccid::{Ccid, DataSender, SkippedNumbers, Verification};
use crate::feature::{Location, Wishes};
use crate::wire::ServiceCode;

/// How an end behaves; the default suits a host behind UDP on an Ethernet path.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionConfig {
    /// The service code, which names the application (RFC 4340 §8.1.2); the same at both ends.
    pub service: ServiceCode,
    /// A text for the peer's application, in the first packet: at most 32 bytes; empty: none. A
    /// server greets clients that have greeted, with at most five times as many bytes. An option
    /// for experiments carries it, which peers that do not know it ignore (RFC 4340 §5.8, 19.3).
    /// [`Connection::peer_greeting`](crate::Connection::peer_greeting) is the peer's.
    pub greeting: String,
    /// The protocol that carries the packets.
    pub encapsulation: Encapsulation,
    /// The rate control: estimator, timers, the application's cap. The CCID agreed on decides
    /// between TFRC and TFRC-SP, with the nominal segment and the header size of RFC 5622. A
    /// `packet_size` of TFRC-SP gives only its other two fields, `min_interval` and
    /// `short_intervals`.
    pub tfrc: tfrc::Config,
    /// Values asked for in feature negotiation.
    pub wishes: Wishes,
    /// The ECN codepoint of data and acknowledgements sent. Marks received count in any case.
    pub ecn: EcnSending,
    /// Acknowledgements that count as feedback.
    pub feedback: FeedbackProfile,
    /// Verification of feedback against our own record of what was sent.
    pub verification: Verification,
    /// Sequence numbers left out on purpose, to detect receivers that acknowledge blindly.
    pub skipped_numbers: SkippedNumbers,
    /// The longest DCCP packet, header included, in bytes: the path's MTU less IP and UDP headers.
    pub max_packet: usize,
    /// How a smaller path MTU is detected.
    pub path_mtu: PathMtuDiscovery,
    /// Maximum number of datagrams that wait to be sent; at least one.
    pub send_queue: usize,
    /// The worth of the boundaries between datagrams handed over.
    pub boundaries: Boundaries,
    /// The rule for datagrams that the allowed rate cannot carry at once.
    /// [`Connection::set_late_policy`](crate::Connection::set_late_policy) changes it.
    pub late: LatePolicy,
    /// Maximum number of received datagrams kept for the application. Further ones are refused and
    /// the peer is informed (Data Dropped, RFC 4340 §11.7); from half of it on the peer is asked
    /// not to go faster (Slow Receiver, §11.6).
    pub receive_queue: usize,
    /// How long a client tries to connect.
    pub connect_timeout: Duration,
    /// How long a server keeps a connection whose client does not complete the handshake;
    /// RFC 4340 §8.1.3 asks for at least 8 minutes.
    pub respond_timeout: Duration,
    /// How long this end waits for the first datagram once the handshake is complete; then it
    /// aborts the connection with [`Cause::NoData`](crate::Cause::NoData). `None` waits
    /// indefinitely: right where the peer only receives.
    pub first_data_within: Option<Duration>,
    /// How long the end that closes repeats its Close.
    pub close_timeout: Duration,
    /// How long the end that is asked to close waits for its application's
    /// [`accept_close`](crate::Connection::accept_close).
    pub accept_close_within: Duration,
    /// The reaction to a silent peer.
    pub silence: Silence,
}

/// Protocol that carries a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulation {
    /// UDP: the header checksum is not used (RFC 6773).
    Udp,
    /// IP protocol 33: the header checksum covers both addresses.
    Native {
        /// Our address.
        local: IpAddr,
        /// The peer's address.
        remote: IpAddr,
    },
    /// IP protocol 33 of a host that makes and checks the checksums.
    Hosted,
}

/// The ECN codepoint of what we send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnSending {
    /// ECT(0), unless the peer says that it cannot read marks.
    Ect0,
    /// Not ECN-capable.
    NotEct,
}

/// Which acknowledgements count as feedback of a CCID 3 or 4 receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackProfile {
    /// Those with Elapsed Time or Timestamp Echo, Receive Rate and Loss Intervals (RFC 4342 §6).
    Strict,
    /// Also those with Receive Rate and Loss Event Rate alone, once Send Loss Event Rate is agreed:
    /// Linux sends no others.
    Lenient,
}

/// Reaction when nothing valid arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// Wait indefinitely.
    Endure,
    /// Ask with Syncs, which a live peer answers whatever it has to send (RFC 4340 §7.5.4), then
    /// give up.
    Probe {
        /// Silence before the first Sync; 15 s is the least that RFC 8085 §3.5 recommends. Later
        /// ones follow every fifth of that: at a loss rate of 5 % in each direction five in a row
        /// go unanswered once in 100,000 times.
        after: Duration,
        /// Silence that ends the connection with "Aborted".
        give_up: Duration,
    },
}

impl ConnectionConfig {
    /// The rate control of a half-connection with this CCID.
    pub(super) fn rate_control(&self, ccid: Ccid) -> tfrc::Config {
        ccid.config(&self.tfrc, self.encapsulation, self.max_packet)
    }

    /// A sender for the preferred CCID.
    pub(super) fn data_sender(&self) -> DataSender {
        let ccid = self.wishes.ccids(Location::Local).first();
        DataSender::new(ccid, &self.rate_control(ccid), self.verification)
    }
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            service: ServiceCode::NONE,
            greeting: String::new(),
            encapsulation: Encapsulation::Udp,
            tfrc: tfrc::Config::default(),
            wishes: Wishes::default(),
            ecn: EcnSending::Ect0,
            feedback: FeedbackProfile::Lenient,
            verification: Verification::Records,
            skipped_numbers: SkippedNumbers::Never,
            max_packet: 1472,
            path_mtu: PathMtuDiscovery::Probe,
            send_queue: 64,
            boundaries: Boundaries::Kept,
            late: LatePolicy::Wait,
            receive_queue: 1024,
            connect_timeout: Duration::from_secs(60),
            respond_timeout: Duration::from_secs(480),
            first_data_within: None,
            close_timeout: Duration::from_secs(30),
            accept_close_within: Duration::from_millis(200),
            silence: Silence::Probe { after: Duration::from_secs(15), give_up: Duration::from_secs(60) },
        }
    }
}
