//! Timers of a connection.

use tfrc_units::{Duration, Instant};

use super::{Cause, Connection, Silence, State};
use crate::wire::{Reset, ResetCode};

/// How late a timer may be before the host's loop counts as wrong. A host that reads its clock
/// twice in a turn, or is held up between the two, makes no mistake.
const LATE: Duration = Duration::from_millis(500);
/// Unanswered questions go out this many times in the silence that leads to the first of them.
const REPEATED: u64 = 5;

/// The next time at which `handle_timeout` wants to be called. Late, early and repeated calls do no
/// harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The time of the timer.
    pub at: Instant,
    /// The purpose.
    pub reason: WakeReason,
}

/// Purpose of a timer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WakeReason {
    /// A Request, or an acknowledgement in PARTOPEN, is sent again, or the handshake is given up.
    Handshake,
    /// A Close or CloseReq is sent again, or given up.
    Close,
    /// A Close is accepted although the application has not said so.
    AcceptClose,
    /// A feature question is asked again, or sent on a packet of its own.
    Feature,
    /// The receiver's feedback timer (RFC 5348 §6.2).
    Feedback,
    /// The sender's nofeedback timer (RFC 5348 §4.4).
    NoFeedback,
    /// A client has sent no datagram yet.
    FirstData,
    /// The peer has been silent for long, or is asked if it is still there.
    Silence,
    /// The rate control lets the next datagram go (RFC 5348 §4.6).
    Pacing,
    /// The path MTU is to be probed or checked (RFC 8899).
    PathMtu,
    /// An endpoint forgets a connection that is over.
    TimeWait,
    /// An endpoint may have something to send at once.
    Transmit,
}

/// The connection's own timers; features and congestion control keep theirs.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    pub(super) handshake: Option<Instant>,
    /// When the handshake is given up.
    pub(super) handshake_limit: Option<Instant>,
    pub(super) close: Option<Instant>,
    pub(super) close_limit: Option<Instant>,
    pub(super) accept_close: Option<Instant>,
    /// The time until which feature options wait for a packet to carry them.
    pub(super) feature_ride: Option<Instant>,
    pub(super) silence: Option<Instant>,
    /// When a client that has sent no datagram is given up.
    pub(super) first_data: Option<Instant>,
}

impl Connection {
    /// When [`Connection::handle_timeout`] wants to be called next; `None` if nothing is waited
    /// for. The time of the next datagram in the send queue is one of these times.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wake> {
        if self.state == State::Closed {
            return None;
        }
        let flows = self.state.carries_data();
        let receiver = self.receiver.as_ref().and_then(|receiver| receiver.poll_timeout());
        [
            (self.timers.handshake, WakeReason::Handshake),
            (self.timers.handshake_limit, WakeReason::Handshake),
            (self.question_due(), WakeReason::Silence),
            (self.timers.close, WakeReason::Close),
            (self.timers.close_limit, WakeReason::Close),
            (self.timers.accept_close, WakeReason::AcceptClose),
            // The rest is served only while data may flow: a timer that nobody serves would come
            // again and again.
            (self.timers.feature_ride.filter(|_| flows), WakeReason::Feature),
            (self.features.poll_timeout().filter(|_| flows), WakeReason::Feature),
            (receiver.filter(|_| flows), WakeReason::Feedback),
            (self.sender.poll_timeout().filter(|_| flows), WakeReason::NoFeedback),
            (self.timers.silence.filter(|_| flows), WakeReason::Silence),
            (self.timers.first_data.filter(|_| flows), WakeReason::FirstData),
            (self.path.poll_timeout(self.round_trip()).filter(|_| flows), WakeReason::PathMtu),
            (self.datagram_due(), WakeReason::Pacing),
        ]
        .into_iter()
        .filter_map(|(at, reason)| at.map(|at| Wake { at, reason }))
        .min_by_key(|wake| wake.at)
    }

    /// Serves the timers that are due. Early, late and repeated calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        self.served = now;
        if self.state == State::Closed {
            return;
        }
        if self.state.carries_data() {
            self.sender.handle_timeout(now);
            if let Some(receiver) = &mut self.receiver {
                receiver.handle_timeout(now);
            }
            self.features.handle_timeout(now);
            self.silence_timeout(now);
            self.first_data_timeout(now);
            let rtt = self.round_trip();
            self.path.handle_timeout(now, rtt);
            self.follow_path();
        }
        self.question_timeout(now);
        self.handshake_timeout(now);
        self.close_timeout(now);
    }

    /// A connection made from a record at this time: earlier timers are not a mistake of the host.
    pub(crate) fn revived(&mut self, now: Instant) {
        self.served = self.advance(now);
    }

    /// With nothing due up to now the host owes nothing. The next change of state may uncover an
    /// expired timer of the handshake, which is not a mistake of the host.
    pub(super) fn note_nothing_due(&mut self) {
        if cfg!(debug_assertions) && self.poll_timeout().is_none_or(|wake| wake.at > self.now) {
            self.served = self.now;
        }
    }

    /// A host that lets a time of `poll_timeout` pass by [`LATE`] without `handle_timeout` has a
    /// mistake in its loop. A timer set in the past after a long sleep is not one.
    pub(super) fn assert_timeouts_served(&self) {
        debug_assert!(
            self.poll_timeout().is_none_or(|wake| {
                wake.reason == WakeReason::Pacing || wake.at + LATE >= self.now || wake.at <= self.served
            }),
            "poll_transmit at {:?}, but handle_timeout was last called at {:?}: {:?} has passed",
            self.now,
            self.served,
            self.poll_timeout()
        );
    }

    /// Notes a valid packet.
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
        self.probes = 0;
        self.answered(now);
        self.arm_silence();
    }

    pub(super) fn arm_silence(&mut self) {
        self.timers.silence = match self.config.silence {
            Silence::Probe { after, give_up } if self.state.is_established() => {
                let asked = after / REPEATED * u64::from(self.probes);
                Some(self.last_heard + (after + asked).min(give_up))
            }
            _ => None,
        };
    }

    fn silence_timeout(&mut self, now: Instant) {
        let Silence::Probe { give_up, .. } = self.config.silence else { return };
        if self.timers.silence.is_none_or(|at| now < at) {
            return;
        }
        if now.saturating_since(self.last_heard) >= give_up {
            self.break_off(Reset::new(ResetCode::Aborted), Cause::Silence(give_up), "the peer is silent");
            return;
        }
        self.probes += 1;
        self.due.question = self.seq.gsr();
        self.arm_silence();
    }
}

impl Connection {
    fn first_data_timeout(&mut self, now: Instant) {
        if expired(&mut self.timers.first_data, now)
            && let Some(patience) = self.config.first_data_within
        {
            self.break_off(Reset::new(ResetCode::Aborted), Cause::NoData(patience), "no data came");
        }
    }
}

/// Returns true if a timer has expired, and stops it then.
pub(super) fn expired(timer: &mut Option<Instant>, now: Instant) -> bool {
    if timer.is_none_or(|at| now < at) {
        return false;
    }
    *timer = None;
    true
}
