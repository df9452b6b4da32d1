//! How a session ended, in words for people. `tfrc_session::why` has a sentence for each cause.

use std::fmt;

use tfrc_net::ConnectError;
use tfrc_report::record::{Outcome, Summary};
use tfrc_session::{Cause, Closed, ClosedBy, Connection, Part, RefusalReason, Trouble, why};

use crate::Failure;

/// The end of a session: the outcome, which decides the exit status, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
}

impl Ending {
    /// All data was delivered, or lost by the network and counted.
    pub(crate) fn complete(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Complete, reason: reason.into() }
    }

    /// The user wanted the end.
    pub(crate) fn stopped(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Stopped, reason: reason.into() }
    }

    /// An ending with exit status 1.
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failed, reason: reason.into() }
    }

    /// Exit status 1: the other end may still do what it has not confirmed.
    pub(crate) fn unconfirmed(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Unconfirmed, reason: reason.into() }
    }

    /// Adds a fact to the reason, after a semicolon.
    #[must_use]
    pub(crate) fn with(mut self, more: Option<String>) -> Self {
        if let Some(more) = more {
            self.reason.push_str("; ");
            self.reason.push_str(&more);
        }
        self
    }

    /// The ending of a session of which something could not be written: a failure. The reader of
    /// standard output may go when it likes.
    #[must_use]
    pub(crate) fn after(self, failure: Option<&Failure>) -> Self {
        match failure {
            None | Some(Failure::ClosedPipe) => self,
            Some(failure) if self.has_failed() => self.with(Some(failure.sentence())),
            Some(failure) => Self::failed(failure.sentence()).with(Some(self.reason)),
        }
    }

    /// The exit status, once the last line has been said.
    ///
    /// # Errors
    /// [`Failure::Session`].
    pub(crate) fn status(&self) -> Result<(), Failure> {
        if self.has_failed() { Err(Failure::Session) } else { Ok(()) }
    }

    /// Writes the end into the summary.
    pub(crate) fn note(&self, summary: &mut Summary) {
        summary.outcome = Some(self.outcome);
        summary.reason = Some(self.reason.clone());
    }

    /// The outcome in a word.
    pub(crate) const fn word(&self) -> &'static str {
        match self.outcome {
            Outcome::Complete => "complete",
            Outcome::Stopped => "stopped",
            Outcome::Unconfirmed => "unconfirmed",
            _ => "failed",
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed | Outcome::Unconfirmed)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word(), self.reason)
    }
}

/// True if one end asked for the end and the other agreed (RFC 4340 §8.3).
pub(crate) fn is_proper(closed: &Closed) -> bool {
    matches!(closed.by, ClosedBy::Us | ClosedBy::Peer) && closed.cause == Cause::Agreed
}

/// The sentence for a peer that has the same part as this end.
pub(crate) fn clash(part: Part, connection: &Connection) -> Option<&'static str> {
    part.clashes(connection).then_some(match part {
        Part::Receives | Part::ReceivesFiles | Part::ReceivesLossy => {
            "the peer receives, too: one end has to send, with tfrc send"
        }
        Part::Sends | Part::SendsFile | Part::SendsLossy => {
            "the peer sends, too: one end has to receive, with tfrc recv"
        }
    })
}

/// The sentence that a sender prints about the trouble of its receiver.
pub(crate) const fn at_receiver(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::DiskFull => "the receiver's disk is full",
        Trouble::Idle => "the receiver ended the session because no data came for its --idle-timeout",
        Trouble::Holes => "the receiver takes a file with holes",
        Trouble::Interrupted => "the receiver was interrupted",
        Trouble::NotWhole => "the receiver's file is not whole",
        Trouble::Other => "the receiver ended the session for a reason that this version does not know",
        Trouble::ReaderClosed => "the program that reads the receiver's output has closed it",
        Trouble::Unfinished => "the receiver heard that not all was sent",
        Trouble::WriteFailed => "the receiver cannot write its output",
    }
}

/// The sentence for an attempt to connect that failed.
pub(crate) fn why_not_connected(error: &ConnectError) -> String {
    match error {
        ConnectError::Refused(closed) => why(closed),
        other => other.to_string(),
    }
}

/// The sentence for a peer that was refused.
pub(crate) fn why_refused(reason: RefusalReason) -> String {
    let why = match reason {
        RefusalReason::Address => "its address is not in --allow",
        RefusalReason::Busy => {
            "as many connections as are served at once are open, or as many of this address"
        }
        RefusalReason::Ccid(ccid) => {
            return format!("it wants the congestion control CCID {ccid}, which is not spoken here");
        }
        RefusalReason::Closed => "no connections are taken now, or not on this DCCP port",
        RefusalReason::Cookie => "its cookie is not of this receiver, or too old",
        #[cfg(feature = "quic")]
        RefusalReason::Key(key) => return format!("its key {key} is not in --allow-key"),
        RefusalReason::Service => "it asks for another service code",
        RefusalReason::Stray => "its packets fit no connection",
        _ => "it was not let in",
    };
    why.to_owned()
}

/// The sentence for a file of which bytes are missing.
pub(crate) fn not_whole(missing: u64, length: u64) -> String {
    format!("not whole: {} of {} missing", count(missing), counted(length, "byte"))
}

/// A count with its thousands apart, such as `1,490,000`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and the word for what is counted, such as `1 byte` or `1,490,000 bytes`.
pub(crate) fn counted(n: u64, word: &str) -> String {
    format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((count(0), count(999), count(1_490_000)), ("0".into(), "999".into(), "1,490,000".into()));
        assert_eq!((counted(1, "byte"), counted(2, "byte")), ("1 byte".to_owned(), "2 bytes".to_owned()));
    }
}
