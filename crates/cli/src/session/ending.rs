//! How a session ended, in words for people: each cause and Reset Code has its sentence here.

use std::fmt;

use tfrc_net::ConnectError;
use tfrc_report::record::{Outcome, Summary};
use tfrc_session::{Cause, Closed, ClosedBy, Connection, Part, RefusalReason, Trouble};
use tfrc_units::Duration;

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

/// The sentence for an end that was not agreed on.
pub(crate) fn why(closed: &Closed) -> String {
    match closed.cause {
        Cause::Agreed => "the peer ended the session".to_owned(),
        Cause::Application => "this end broke the connection off".to_owned(),
        Cause::CloseUnanswered(waited) => {
            format!("the peer did not answer the close for {}", seconds(waited))
        }
        Cause::HandshakeIncomplete(waited) => format!("the peer did not answer for {}", seconds(waited)),
        Cause::NoData(waited) => format!("the sender sent nothing for {}; see --idle", seconds(waited)),
        Cause::OutOfStep(lasted) => {
            format!("the two ends disagreed about sequence numbers for {}", seconds(lasted))
        }
        Cause::PeerAbsent => "nobody listens there: the network reports the port unreachable".to_owned(),
        Cause::PeerReset => reset(closed.code.wire(), closed.text.as_deref()),
        Cause::Protocol => format!("the peer broke a rule of the protocol: {}", rule(closed.code.wire())),
        Cause::Rule(rule) => format!("the peer broke a rule of the protocol: {rule}"),
        Cause::Replaced => {
            "the peer had fallen silent, and a new connection from its address took its place".to_owned()
        }
        Cause::Silence(lasted) => format!("the peer was silent for {}", seconds(lasted)),
        _ => "the connection broke off".to_owned(),
    }
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

/// The sentence for a Reset of the peer, by its code (RFC 4340 §5.6, RFC 6773 §3.8), with the
/// peer's own text.
fn reset(code: u8, text: Option<&str>) -> String {
    let sentence = match code {
        1 => "the peer ended the session without being asked",
        2 => "the peer gave the session up",
        3 => "the peer knows nothing of this session: it was restarted, or a translator changed the address",
        4 => "the peer received a packet that it did not expect",
        5 | 6 => "the peer cannot process an option of this end",
        7 => "the peer takes no connections: it refuses them",
        8 => "the peer serves another service code; see --service",
        9 => "the peer is busy with another connection",
        10 => "the peer does not recognise its own handshake: it took too long, or the address changed",
        11 => "the peer charges this end with ignoring congestion",
        12 => "the peer has another connection from this address and port",
        128.. => "the peer reset the connection for a reason of its congestion control",
        _ => "the peer broke the connection off and gave no reason",
    };
    text.map_or_else(|| sentence.to_owned(), |text| format!("{sentence} (it says \"{}\")", escaped(text)))
}

/// The rule of RFC 4340 that a peer broke, by the code of our Reset.
fn rule(code: u8) -> &'static str {
    match code {
        4 => "a packet of a type that does not belong here",
        5 => "an option that makes no sense",
        6 => "an option that this end must process and cannot",
        8 => "another service code",
        10 => "a wrong cookie",
        11 => "it acknowledges what was never sent",
        _ => "a packet that does not belong here",
    }
}

/// The peer's text with nothing in it that moves a terminal. The `dccp` crate has escaped it where
/// it entered already; this guards against a change there.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // It ends the quotation.
            '"' => out.push('\''),
            // Letters and signs of any language; no control, format or invisible characters.
            c if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// A time as people say it: whole seconds from 10 s on.
fn seconds(time: Duration) -> String {
    let time = time.as_secs_f64();
    if time >= 9.95 { format!("{time:.0} s") } else { format!("{time:.1} s") }
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
    fn every_reset_code_has_a_sentence_of_its_own_kind() {
        for code in 0..=255 {
            let sentence = reset(code, None);
            assert!(sentence.starts_with("the peer "), "{code}: {sentence}");
            assert!(!sentence.contains("Error") && sentence.is_ascii(), "{code}: {sentence}");
            assert!(sentence.contains(' ') && !sentence.ends_with('.'), "{code}: {sentence}");
            assert!(!rule(code).is_empty());
        }
        assert!(reset(9, None).contains("busy") && reset(8, None).contains("--service"));
    }

    #[test]
    fn texts_of_the_peer_do_not_move_a_terminal() {
        let evil = "\u{1b}]0;x\u{7}\u{1b}[2J\r\nerror: disk erased \u{202e}\u{9b}31m \"ok\" grün";
        let said = reset(2, Some(evil));
        assert!(said.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{said:?}");
        assert!(said.contains("'ok' grün") && said.contains("\\u{1b}[2J"), "{said}");
    }

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!((count(0), count(999), count(1_490_000)), ("0".into(), "999".into(), "1,490,000".into()));
        assert_eq!((counted(1, "byte"), counted(2, "byte")), ("1 byte".to_owned(), "2 bytes".to_owned()));
        assert_eq!(seconds(Duration::from_secs(60)), "60 s");
        assert_eq!(seconds(Duration::from_millis(3000)), "3.0 s");
    }
}
