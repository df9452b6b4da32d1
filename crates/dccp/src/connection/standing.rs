//! Asks a connection that has fallen silent if its peer is still there, because another client
//! wants its place. The questions have the same numbers and times over any carrier.

use tfrc_units::{Duration, Instant};

use super::{Cause, Connection};
use crate::wire::{Reset, ResetCode};

/// State of a connection whose place another client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The peer was heard from lately, or has answered.
    There,
    /// The peer is being asked.
    Asked,
    /// The peer has left two Syncs unanswered and has not been heard from since.
    Gone,
}

/// The Syncs that ask.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Question {
    /// Sent since the peer was last heard from.
    asked: u8,
    /// The time of the next one; after the last one, the deadline for an answer.
    next: Instant,
    /// The earliest time of the next question, after an answer.
    rest: Instant,
}

/// Questions that must go unanswered: Syncs, over DCCP.
pub const ASKED: u8 = 2;
/// A peer heard from within this time, or four round-trip times, is there.
pub const LATELY: Duration = Duration::from_secs(1);
/// An answer must come within two round-trip times, and no less than this.
const LEAST_SPACING: Duration = Duration::from_millis(250);
/// After an answer the peer is not asked again for this long. Both Syncs of a question go
/// unanswered at 5 % loss in each direction once in a hundred times; with this rest an idle client
/// behind a translator, whose neighbour asks without end, is not worn down within seconds.
pub const REST: Duration = Duration::from_secs(5);

impl Connection {
    /// The time of the last valid packet.
    pub(crate) const fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// Checks if the peer is there; begins to ask if it has been silent.
    pub(crate) fn standing(&mut self, now: Instant) -> Standing {
        let now = self.advance(now);
        let silent = now.saturating_since(self.last_heard);
        match self.question {
            Question { asked: ASKED, next, .. } if now >= next => Standing::Gone,
            Question { asked: 1.., .. } => Standing::Asked,
            Question { rest, .. } if now < rest || silent < LATELY.max(self.round_trip() * 4) => {
                Standing::There
            }
            Question { .. } => {
                self.ask(now);
                Standing::Asked
            }
        }
    }

    /// Ends this connection because another client has taken its place.
    pub(crate) fn give_way(&mut self, now: Instant) {
        self.advance(now);
        let text = "another client from the same address has the place now";
        self.break_off(Reset::new(ResetCode::Aborted), Cause::Replaced, text);
    }

    /// The time at which the second Sync is due.
    pub(super) fn question_due(&self) -> Option<Instant> {
        (1..ASKED).contains(&self.question.asked).then_some(self.question.next)
    }

    pub(super) fn question_timeout(&mut self, now: Instant) {
        if self.question_due().is_some_and(|due| due <= now) {
            self.ask(now);
        }
    }

    /// A valid packet answers a question.
    pub(super) fn answered(&mut self, now: Instant) {
        if self.question.asked > 0 {
            self.question = Question { rest: now + REST, ..Question::default() };
        }
    }

    fn ask(&mut self, now: Instant) {
        self.question.asked += 1;
        self.question.next = now + (self.round_trip() * 2).max(LEAST_SPACING);
        self.due.question = self.seq.gsr();
    }
}
