//! Words between two `tfrc`: the part of each, in its first packet, and in the Close of a sender
//! that it has not sent all that it meant to, or meant to send nothing. Other peers know no such
//! words, and need none.

use super::Connection;

/// The part of one end in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Receives,
    Sends,
}

/// The closing text of a sender whose source, or which itself, has failed.
pub(crate) const UNFINISHED: &str = "unfinished";
/// The closing text of a sender whose source had no data, such as an empty file: the receiver has
/// all of it.
pub(crate) const EMPTY: &str = "empty";

impl Part {
    /// The word on the wire.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Receives => "receives",
            Self::Sends => "sends",
        }
    }

    /// A sentence for two ends with the same part: no data can come of it.
    pub(crate) fn clash(self, connection: &Connection) -> Option<&'static str> {
        let same = connection.peer_greeting().is_some_and(|greeting| greeting == self.word());
        same.then_some(match self {
            Self::Receives => "the peer receives, too: one end has to send, with tfrc send",
            Self::Sends => "the peer sends, too: one end has to receive, with tfrc recv",
        })
    }
}
