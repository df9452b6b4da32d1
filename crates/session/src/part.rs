//! Words between two `tfrc`: the part of each, in its first packet, and the Close of a sender: the
//! length of the file that it has sent, that it has not sent all that it meant to, or that it meant
//! to send nothing. Other peers know no such words, and need none.

use std::fmt;

use crate::Connection;

/// The part of one end in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It takes the data.
    Receives,
    /// It takes the data, and a file until it is whole.
    ReceivesFiles,
    /// It takes the data, and a file with holes.
    ReceivesLossy,
    /// It has the data.
    Sends,
    /// It has a file, which it sends until it is whole if the other end takes it so.
    SendsFile,
    /// It has a file, of which it sends each byte once.
    SendsLossy,
}

/// The way of a file that both ends know the places of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWay {
    /// Lost bytes are sent again until the file is whole.
    Repaired,
    /// Lost bytes leave holes.
    WithHoles,
}

/// The word for what was not sent to its end, in a Close and in the counts that answer it.
pub(crate) const UNFINISHED: &str = "unfinished";
/// The word before the length of a file.
const FILE: &str = "file ";

/// The closing text of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosingWord {
    /// Its source had no data, such as an empty file: the receiver has all of it.
    Empty,
    /// It has sent a file of this many bytes, which is of use only if it is whole.
    File(u64),
    /// Its source, or itself, has failed, or a file was not sent to its end.
    Unfinished,
}

impl ClosingWord {
    /// The word in a peer's closing text; another text is not ours.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "empty" => Some(Self::Empty),
            UNFINISHED => Some(Self::Unfinished),
            _ => text.strip_prefix(FILE)?.parse().ok().map(Self::File),
        }
    }

    /// The word that the peer has closed with.
    pub fn of_peer(connection: &Connection) -> Option<Self> {
        connection.peer_closing_text().as_deref().and_then(Self::read)
    }
}

impl fmt::Display for ClosingWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty"),
            Self::File(bytes) => write!(f, "{FILE}{bytes}"),
            Self::Unfinished => f.write_str(UNFINISHED),
        }
    }
}

impl Part {
    const ALL: [Self; 6] = [
        Self::Receives,
        Self::ReceivesFiles,
        Self::ReceivesLossy,
        Self::Sends,
        Self::SendsFile,
        Self::SendsLossy,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Receives => "receives",
            Self::ReceivesFiles => "receives files",
            Self::ReceivesLossy => "receives files with holes",
            Self::Sends => "sends",
            Self::SendsFile => "sends file",
            Self::SendsLossy => "sends file with holes",
        }
    }

    /// The part in a peer's greeting; another text is not ours.
    fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.word() == text)
    }

    fn of_peer(connection: &Connection) -> Option<Self> {
        connection.peer_greeting().as_deref().and_then(Self::read)
    }

    const fn sends(self) -> bool {
        matches!(self, Self::Sends | Self::SendsFile | Self::SendsLossy)
    }

    /// True for two ends that both send, or both receive: no data can come of it.
    #[must_use]
    pub fn clashes(self, connection: &Connection) -> bool {
        Self::of_peer(connection).is_some_and(|peer| peer.sends() == self.sends())
    }

    /// The way of a file between this end and its peer, if both know how and one has one; `None`
    /// where its bytes go as a stream.
    #[must_use]
    pub fn file_way(self, connection: &Connection) -> Option<FileWay> {
        self.file_way_with(Self::of_peer(connection)?)
    }

    /// One end that takes holes is enough for them.
    fn file_way_with(self, peer: Self) -> Option<FileWay> {
        use Part::{Receives, ReceivesFiles, ReceivesLossy, Sends, SendsFile, SendsLossy};
        if self.sends() == peer.sends() {
            return None;
        }
        match (self, peer) {
            (Receives | Sends, _) | (_, Receives | Sends) => None,
            (ReceivesFiles | SendsFile, ReceivesFiles | SendsFile) => Some(FileWay::Repaired),
            (ReceivesLossy | SendsLossy, _) | (_, ReceivesLossy | SendsLossy) => Some(FileWay::WithHoles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_a_sender_and_a_receiver_of_files() {
        use Part::{Receives, ReceivesFiles, ReceivesLossy, Sends, SendsFile, SendsLossy};
        let ways = |sender: Part| {
            [Receives, ReceivesFiles, ReceivesLossy].map(|receiver| {
                let way = sender.file_way_with(receiver);
                assert_eq!(receiver.file_way_with(sender), way, "{sender:?} {receiver:?}");
                way
            })
        };
        let (repaired, holes) = (Some(FileWay::Repaired), Some(FileWay::WithHoles));
        assert_eq!(ways(Sends), [None; 3]);
        assert_eq!(ways(SendsFile), [None, repaired, holes]);
        assert_eq!(ways(SendsLossy), [None, holes, holes]);
        for part in Part::ALL {
            assert_eq!((part.file_way_with(part), Part::read(part.word())), (None, Some(part)));
        }
        assert_eq!(SendsFile.file_way_with(SendsLossy), None);
        assert_eq!(Part::read("receives everything"), None);
    }

    #[test]
    fn closing_words_read_back_as_written() {
        for word in
            [ClosingWord::Empty, ClosingWord::Unfinished, ClosingWord::File(0), ClosingWord::File(u64::MAX)]
        {
            assert_eq!(ClosingWord::read(&word.to_string()), Some(word));
        }
        for other in
            ["", "file", "file ", "file x", "file -1", "file 1 ", "file 18446744073709551616", "unfinished 3"]
        {
            assert_eq!(ClosingWord::read(other), None, "{other:?}");
        }
    }
}
