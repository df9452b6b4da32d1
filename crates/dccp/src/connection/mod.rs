//! One connection: handshake, data, acknowledgements, close (RFC 4340 §7, 8).
//!
//! A host uses it by the [contract](crate#the-contract) of this crate.

mod application;
pub(crate) mod build;
mod close;
mod config;
mod ecn;
mod event;
mod handshake;
mod ledger;
mod options;
mod outgoing;
mod pace;
mod pmtu;
mod progress;
mod queue;
mod receive;
mod refused;
mod seq;
pub mod standing;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod text;
mod timers;
mod transmit;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tfrc::Report;
use tfrc_units::{Duration, Instant, SeqNo48};

pub use crate::ccid::{SkippedNumbers, Verification};
pub use close::UNCONFIRMED;
pub use config::{ConnectionConfig, EcnSending, Encapsulation, FeedbackProfile, Silence};
pub use ecn::EcnFault;
pub use event::{Cause, Closed, ClosedBy, Event, PathError};
pub use outgoing::{Boundaries, DropReason, LatePolicy, SendError};
pub use pmtu::PathMtuDiscovery;
pub use queue::Received;
pub(crate) use standing::Standing;
pub use state::State;
pub use stats::Stats;
pub use timers::{Wake, WakeReason};
pub use transmit::Transmit;

use crate::ccid::{Ccid, DataReceiver, DataSender, Skipper, path_mss};
use crate::feature::{Feature, Location, Negotiation, Role};
use crate::limiter::RateLimiter;
use crate::wire::{Integrity, PseudoHeader, Reset};
use ecn::{ArrivingEcn, EcnTrial};
use event::Notice;
use ledger::Ledger;
use outgoing::SendQueue;
use pace::ReadPace;
use pmtu::PathMtu;
use progress::Progress;
use queue::ReceiveQueue;
use refused::Refused;
use seq::{SeqSpace, Windows};
use standing::Question;
use timers::Timers;

/// A DCCP connection, sans-IO. Clients are made by [`Connection::client`], servers by an
/// [`Endpoint`](crate::Endpoint).
///
/// Memory is bounded: the receive queue by its limit, the record of sent packets by 2^16 entries,
/// the record of the peer's packets by 512 runs. Work per call is bounded by the size of a packet.
#[derive(Debug, Clone)]
pub struct Connection {
    config: Arc<ConnectionConfig>,
    role: Role,
    state: State,
    ports: Ports,
    seq: SeqSpace,
    features: Negotiation,
    sender: DataSender,
    skipper: Skipper,
    receiver: Option<Box<DataReceiver>>,
    ledger: Ledger,
    timers: Timers,
    path: PathMtu,
    now: Instant,
    /// The latest call of `handle_timeout`.
    served: Instant,
    /// When the packet with number GSR arrived.
    gsr_arrived: Instant,
    /// When the last valid packet arrived.
    last_heard: Instant,
    /// True if the handshake was ever completed.
    established: bool,
    backoff: Duration,
    /// Close or CloseReq packets sent so far.
    closes_sent: u8,
    handshake_rtt: Option<Duration>,
    /// Packets without data sent since the last one with data.
    non_data_run: u64,
    /// The latest Timestamp received and not yet echoed, and when.
    echo: Option<(u32, Instant)>,
    due: Due,
    report: Option<Report>,
    /// Datagrams that wait to be sent.
    outgoing: SendQueue,
    /// The number of the newest datagram that was sent and not taken back.
    newest_datagram: SeqNo48,
    ending: Ending,
    init_cookies: Vec<Vec<u8>>,
    /// The number of our first packet that is no Response; a client that acknowledges less is in
    /// PARTOPEN.
    first_since_response: Option<SeqNo48>,
    last_nudge: Option<Instant>,
    probes: u32,
    question: Question,
    progress: Progress,
    /// Syncs, and in REQUEST Resets, in answer to packets that are not valid: anybody can send such
    /// packets, so the answers have a limit of their own.
    invalid_limiter: RateLimiter,
    /// Limits SyncAcks.
    sync_limiter: RateLimiter,
    queue: ReceiveQueue,
    /// The read rate of the queue, once it was half full.
    pace: Option<Box<ReadPace>>,
    ecn_watch: ArrivingEcn,
    ecn_trial: EcnTrial,
    /// Datagrams refused for want of room, once there are any.
    refused: Option<Box<Refused>>,
    closing_text: String,
    /// Texts of the peer's application, if it has sent some.
    notes: Option<Box<Notes>>,
    outcome: Option<WireEnding>,
    notices: VecDeque<Notice>,
    /// How it ended, until that is polled.
    closed: Option<Box<Closed>>,
    stats: Stats,
}

/// DCCP ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) local: u16,
    pub(crate) remote: u16,
}

/// Packets that must be sent.
#[derive(Debug, Clone, Default)]
struct Due {
    /// A Request or a Response, as the state has it.
    handshake: bool,
    /// An Ack is due.
    ack: bool,
    /// A Sync that acknowledges this packet, which was not valid.
    sync: Option<SeqNo48>,
    /// A Sync that asks if the peer is still there. It acknowledges GSR, so that it is valid at the
    /// peer, and has a place of its own: packets that are not valid cannot keep it from going.
    question: Option<SeqNo48>,
    /// A SyncAck for the Sync with this number.
    sync_ack: Option<SeqNo48>,
    /// A Close or a CloseReq, as the state has it.
    close: bool,
    /// A Reset that ends the connection, or, with a number to acknowledge, one in REQUEST that does
    /// not.
    reset: Option<Box<DueReset>>,
}

/// Texts of an application, safe to show.
#[derive(Debug, Clone, Default)]
struct Notes {
    /// Of its Request or Response.
    greeting: String,
    /// Of its Close.
    closing: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DueReset {
    reset: Reset,
    ack: Option<SeqNo48>,
    text: String,
}

/// The application's wish for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// None, or it is being carried out.
    None,
    /// Close goes when the send queue is empty.
    AfterQueue,
}

/// How it ended on the wire: what an endpoint needs to answer stragglers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WireEnding {
    /// We sent a Reset; a retransmitted Close is answered with it again, under the next number.
    SentReset { reset: Reset, text: String },
    /// The peer sent a Reset: we hold TIMEWAIT.
    ReceivedReset,
}

/// Answers per second to invalid packets, and as many to valid Syncs (RFC 4340 §7.5.4).
const ANSWERS_PER_SECOND: u32 = 8;
/// The longest closing text, in bytes.
const MAX_TEXT: usize = 200;

impl Connection {
    fn new(
        config: Arc<ConnectionConfig>,
        role: Role,
        state: State,
        ports: Ports,
        iss: SeqNo48,
        now: Instant,
    ) -> Self {
        Self {
            role,
            state,
            ports,
            seq: SeqSpace::new(iss),
            features: Negotiation::new(role, config.wishes, iss),
            sender: config.data_sender(),
            skipper: Skipper::new(config.skipped_numbers, 0),
            receiver: None,
            ledger: Ledger::new(0),
            timers: Timers::default(),
            path: PathMtu::new(config.path_mtu, config.max_packet),
            now,
            served: now,
            gsr_arrived: now,
            last_heard: now,
            established: false,
            backoff: Duration::ZERO,
            closes_sent: 0,
            handshake_rtt: None,
            non_data_run: 0,
            echo: None,
            due: Due::default(),
            report: None,
            outgoing: SendQueue::new(config.late),
            newest_datagram: iss,
            ending: Ending::None,
            init_cookies: Vec::new(),
            first_since_response: None,
            last_nudge: None,
            probes: 0,
            question: Question::default(),
            progress: Progress::new(now),
            invalid_limiter: RateLimiter::new(ANSWERS_PER_SECOND),
            sync_limiter: RateLimiter::new(ANSWERS_PER_SECOND),
            queue: ReceiveQueue::new(config.receive_queue),
            pace: None,
            ecn_watch: ArrivingEcn::default(),
            ecn_trial: EcnTrial::default(),
            refused: None,
            closing_text: String::new(),
            notes: None,
            outcome: None,
            notices: VecDeque::new(),
            closed: None,
            stats: Stats::default(),
            config,
        }
    }

    /// Secret that determines which numbers are left out on purpose.
    pub(crate) fn set_secret(&mut self, secret: u64) {
        self.skipper = Skipper::new(self.config.skipped_numbers, secret);
    }

    /// Time never goes back; if it does, the latest time counts.
    fn advance(&mut self, now: Instant) -> Instant {
        debug_assert!(now >= self.now, "time goes back from {:?} to {now:?}", self.now);
        self.now = self.now.max(now);
        self.note_nothing_due();
        self.now
    }

    fn windows(&self) -> Windows {
        Windows {
            remote: self.features.value(Feature::SequenceWindow, Location::Remote),
            local: self.features.value(Feature::SequenceWindow, Location::Local),
        }
    }

    /// The CCID that governs the data that the end at `location` sends; `None` until that is
    /// agreed.
    fn ccid(&self, location: Location) -> Option<Ccid> {
        Ccid::from_value(self.features.value(Feature::Ccid, location))
    }

    /// Both halves begin with the preferred CCID; the ends may have agreed on another.
    fn follow_ccid(&mut self, now: Instant) {
        if let Some(ccid) = self.ccid(Location::Local).filter(|ccid| *ccid != self.sender.ccid()) {
            self.sender.begin_with(now, ccid, &self.config.rate_control(ccid));
            self.follow_path();
        }
        let agreed = self.ccid(Location::Remote);
        if self.receiver.as_ref().is_some_and(|receiver| agreed.is_some_and(|ccid| ccid != receiver.ccid())) {
            self.receiver = None;
            self.report = None;
        }
    }

    /// The nominal segment of TFRC-SP is that of the path (RFC 4828 §3).
    fn follow_path(&mut self) {
        self.sender.set_path_mss(path_mss(self.config.encapsulation, self.path.current()));
    }

    /// The round-trip time; without a sample the guess of RFC 4340 §3.4.
    fn round_trip(&self) -> Duration {
        self.sender.rtt_or_default()
    }

    fn sending_integrity(&self) -> Integrity {
        self.integrity(|local, remote| (local, remote))
    }

    fn receiving_integrity(&self) -> Integrity {
        self.integrity(|local, remote| (remote, local))
    }

    fn integrity<T>(&self, order: T) -> Integrity
    where
        T: FnOnce(core::net::IpAddr, core::net::IpAddr) -> (core::net::IpAddr, core::net::IpAddr),
    {
        match self.config.encapsulation {
            Encapsulation::Udp | Encapsulation::Hosted => Integrity::Udp,
            Encapsulation::Native { local, remote } => {
                let (source, destination) = order(local, remote);
                // Addresses of two IP versions have no pseudo-header; such a connection is refused
                // when it is made.
                PseudoHeader::new(source, destination).map_or(Integrity::Udp, Integrity::Native)
            }
        }
    }
}
