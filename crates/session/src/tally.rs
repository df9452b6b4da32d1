//! The receiver's counts, as they travel in the closing Reset (docs/decisions/0002, 0008).

use std::fmt;
use std::str::FromStr;

use crate::part::UNFINISHED;

/// The counts of a receiver at the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Datagrams written out whole; where nothing is written, those handed out.
    pub received: u64,
    /// Bytes written out; where nothing is written, those handed out.
    pub bytes: u64,
    /// Datagrams that came after their place had been given up.
    pub late: u64,
    /// Datagrams that came in time and were not written out.
    pub dropped: u64,
    /// Loss events after the first.
    pub loss_events: u64,
    /// Datagrams sent after the first loss event.
    pub of_packets: u64,
    /// Why the receiver ended the session, if it was the receiver.
    pub trouble: Option<Trouble>,
}

/// Why a receiver ends a session before its sender does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The device that holds the file is full.
    DiskFull,
    /// None: bytes of a file are missing, and this receiver takes it so, as --lossy says or as it
    /// writes to no file.
    Holes,
    /// No data came for the time that the receiver allows.
    Idle,
    /// The user ended the receiver.
    Interrupted,
    /// Bytes of a file are missing.
    NotWhole,
    /// A reason that this version has no word for.
    Other,
    /// The program that read the receiver's output has closed it.
    ReaderClosed,
    /// None of the receiver's: the sender said that it had not sent all that it meant to.
    Unfinished,
    /// The system refused to write for another reason.
    WriteFailed,
}

impl Trouble {
    const ALL: [Self; 9] = [
        Self::DiskFull,
        Self::Holes,
        Self::Idle,
        Self::Interrupted,
        Self::NotWhole,
        Self::Other,
        Self::ReaderClosed,
        Self::Unfinished,
        Self::WriteFailed,
    ];

    /// The trouble behind an error of a write.
    #[must_use]
    pub fn of(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{BrokenPipe, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded => Self::DiskFull,
            BrokenPipe => Self::ReaderClosed,
            _ => Self::WriteFailed,
        }
    }

    /// The word on the wire.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::DiskFull => "disk-full",
            Self::Holes => "holes",
            Self::Idle => "idle",
            Self::Interrupted => "interrupted",
            Self::NotWhole => "not-whole",
            Self::Other => "other",
            Self::ReaderClosed => "reader-closed",
            Self::Unfinished => UNFINISHED,
            Self::WriteFailed => "write-failed",
        }
    }
}

impl Tally {
    /// True if the receiver could not do its part: not for words about what has been sent, or lost.
    #[must_use]
    pub fn is_receivers(&self) -> bool {
        use Trouble::{Holes, NotWhole, Unfinished};
        self.trouble.is_some_and(|trouble| !matches!(trouble, Holes | NotWhole | Unfinished))
    }

    /// Loss events per packet, slow start excluded; `None` if it never ended.
    #[must_use]
    pub fn loss_event_rate(&self) -> Option<f64> {
        (self.of_packets > 0).then(|| self.loss_events as f64 / self.of_packets as f64)
    }

    /// These counts as far as they are possible after `sent` datagrams with `bytes` bytes in them.
    /// A peer may claim anything; received, late and dropped datagrams are never more than were
    /// sent.
    #[must_use]
    pub fn bounded(self, sent: u64, bytes: u64) -> Self {
        let received = self.received.min(sent);
        let late = self.late.min(sent - received);
        Self {
            received,
            bytes: self.bytes.min(bytes),
            late,
            dropped: self.dropped.min(sent - received - late),
            loss_events: self.loss_events.min(sent),
            of_packets: self.of_packets.min(sent),
            trouble: self.trouble,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, bytes, late, dropped, loss_events, of_packets, trouble } = self;
        write!(f, "received {received} bytes {bytes} late {late} dropped {dropped} ")?;
        write!(f, "loss-events {loss_events} of {of_packets}")?;
        match trouble {
            Some(trouble) => write!(f, " ended {}", trouble.word()),
            None => Ok(()),
        }
    }
}

impl FromStr for Tally {
    type Err = ();

    /// Reads what its `Display` writes; any other text is not ours. A trouble of a
    /// newer version is one all the same.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let mut number = |name: &str| {
            let value = (words.next() == Some(name)).then(|| words.next()).flatten().ok_or(())?;
            value.parse().map_err(|_| ())
        };
        let mut tally = Self {
            received: number("received")?,
            bytes: number("bytes")?,
            late: number("late")?,
            dropped: number("dropped")?,
            loss_events: number("loss-events")?,
            of_packets: number("of")?,
            trouble: None,
        };
        match (words.next(), words.next(), words.next()) {
            (None, ..) => {}
            (Some("ended"), Some(word), None) => {
                let known = Trouble::ALL.into_iter().find(|trouble| trouble.word() == word);
                tally.trouble = Some(known.unwrap_or(Trouble::Other));
            }
            _ => return Err(()),
        }
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALLY: Tally = Tally {
        received: 90,
        bytes: 9000,
        late: 3,
        dropped: 1,
        loss_events: 2,
        of_packets: 50,
        trouble: Some(Trouble::DiskFull),
    };
    const MOST: Tally = Tally {
        received: u64::MAX,
        bytes: u64::MAX,
        late: u64::MAX,
        dropped: u64::MAX,
        loss_events: u64::MAX,
        of_packets: u64::MAX,
        trouble: Some(Trouble::ReaderClosed),
    };

    #[test]
    fn reads_back_as_written() {
        for trouble in Trouble::ALL.into_iter().map(Some).chain([None]) {
            let tally = Tally { trouble, ..TALLY };
            let text = tally.to_string();
            assert_eq!(text.parse(), Ok(tally));
            assert!(Tally { trouble, ..MOST }.to_string().len() <= 200, "it must fit into a closing text");
        }
        let text = TALLY.to_string();
        let others = ["", "bye", "received x bytes 0 late 0 dropped 0 loss-events 0 of 0", "received 1"];
        for other in others.into_iter().map(str::to_owned).chain([format!("{text} more"), format!("{text} ")])
        {
            assert_eq!(other.parse::<Tally>(), Err(()), "{other:?}");
        }
        let newer = format!("{} ended moonrise", Tally { trouble: None, ..TALLY });
        assert_eq!(newer.parse(), Ok(Tally { trouble: Some(Trouble::Other), ..TALLY }));
    }

    /// A receiver that claims 2^64 - 1 of 76 datagrams received.
    #[test]
    fn claims_are_bounded_by_what_was_sent() {
        let bounded = MOST.bounded(76, 100_016);
        assert_eq!((bounded.received, bounded.late, bounded.dropped, bounded.bytes), (76, 0, 0, 100_016));
        assert_eq!((bounded.loss_events, bounded.of_packets), (76, 76));
        let late = Tally { received: 70, ..MOST }.bounded(76, 100_016);
        assert_eq!((late.received, late.late, late.dropped), (70, 6, 0));
        assert_eq!(TALLY.bounded(100, 9000), TALLY, "what is possible stays");
        assert_eq!((TALLY.loss_event_rate(), Tally::default().loss_event_rate()), (Some(0.04), None));
    }
}
