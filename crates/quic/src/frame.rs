//! The bytes inside of a session: messages on the control streams, and the header of a datagram.
//! `docs/quic.md` describes them.

/// Bytes before the data of a datagram: the low half of its number, most significant byte first.
pub const HEADER: usize = 4;

/// Bytes of a text, at most.
pub const LONGEST_TEXT: usize = 200;

/// Bytes of a message's body, at most; a longer one ends the session.
const LONGEST_BODY: usize = 1024;

/// Bytes before a body: the type and the length.
const BEFORE_BODY: usize = 3;

/// A message on a control stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// The sender of the message agrees to the end that its peer has asked for.
    Agreed {
        /// Datagrams that it has sent.
        sent: u64,
        /// Its last words.
        text: String,
    },
    /// It asks for the end: it has sent all that it will.
    Close {
        /// Datagrams that it has sent.
        sent: u64,
        /// Its last words.
        text: String,
    },
    /// Datagrams that have arrived and were dropped, because its application reads too slowly.
    Dropped {
        /// Their number since the beginning.
        datagrams: u64,
    },
    /// Its first message: its part in the session.
    Hello {
        /// The word of its application.
        greeting: String,
    },
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A body is too short or too long for its type.
    #[error("a message of type {kind} with {length} bytes")]
    Length {
        /// The type.
        kind: u8,
        /// The length of the body, bytes.
        length: usize,
    },
    /// A text has other characters than those of ASCII that are printed.
    #[error("a text with a character that cannot be shown")]
    Text,
}

const HELLO: u8 = 0;
const CLOSE: u8 = 1;
const AGREED: u8 = 2;
const DROPPED: u8 = 3;

impl Message {
    /// The bytes of the message. A text is cut at [`LONGEST_TEXT`], and characters that cannot be
    /// shown become `?`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let counted = |count: &u64, text: &str| [&count.to_be_bytes(), shown(text).as_bytes()].concat();
        let (kind, body) = match self {
            Self::Hello { greeting } => (HELLO, shown(greeting).into_bytes()),
            Self::Close { sent, text } => (CLOSE, counted(sent, text)),
            Self::Agreed { sent, text } => (AGREED, counted(sent, text)),
            Self::Dropped { datagrams } => (DROPPED, datagrams.to_be_bytes().to_vec()),
        };
        let length: u16 = tfrc_units::saturating(body.len());
        let mut bytes = vec![kind];
        bytes.extend(length.to_be_bytes());
        bytes.extend(body);
        bytes
    }
}

/// Reads a control stream as it comes.
#[derive(Debug, Default)]
pub struct Reader {
    waiting: Vec<u8>,
}

impl Reader {
    /// Takes in the next bytes of the stream. It never keeps more than one message and these.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next message that is complete. Types of later versions are passed over.
    ///
    /// # Errors
    /// [`FrameError`]; nothing after that can be read.
    pub fn read(&mut self) -> Result<Option<Message>, FrameError> {
        while let Some((&[kind, high, low], rest)) = self.waiting.split_first_chunk::<BEFORE_BODY>() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length > LONGEST_BODY {
                return Err(FrameError::Length { kind, length });
            }
            let Some(body) = rest.get(..length) else { break };
            let message = message(kind, body)?;
            self.waiting.drain(..BEFORE_BODY + length);
            if message.is_some() {
                return Ok(message);
            }
        }
        Ok(None)
    }
}

fn message(kind: u8, body: &[u8]) -> Result<Option<Message>, FrameError> {
    let wrong = FrameError::Length { kind, length: body.len() };
    let counted = || -> Result<(u64, String), FrameError> {
        let (count, rest) = body.split_first_chunk().ok_or(wrong)?;
        Ok((u64::from_be_bytes(*count), text(rest, wrong)?))
    };
    Ok(Some(match kind {
        HELLO => Message::Hello { greeting: text(body, wrong)? },
        CLOSE => counted().map(|(sent, text)| Message::Close { sent, text })?,
        AGREED => counted().map(|(sent, text)| Message::Agreed { sent, text })?,
        DROPPED => match body.try_into() {
            Ok(count) => Message::Dropped { datagrams: u64::from_be_bytes(count) },
            Err(_) => return Err(wrong),
        },
        _ => return Ok(None),
    }))
}

fn text(bytes: &[u8], wrong: FrameError) -> Result<String, FrameError> {
    if bytes.len() > LONGEST_TEXT {
        return Err(wrong);
    }
    let shown = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let text = std::str::from_utf8(bytes).ok().filter(|_| shown);
    text.map(str::to_owned).ok_or(FrameError::Text)
}

/// A text as it may go.
fn shown(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).take(LONGEST_TEXT).collect()
}

/// The header of the datagram with this number.
#[must_use]
pub fn header(number: u64) -> [u8; HEADER] {
    let [.., a, b, c, d] = number.to_be_bytes();
    [a, b, c, d]
}

/// The number of a datagram and its data, where the highest number so far is `highest`: of the
/// numbers with the header's low half the one that is nearest. `None` for one without a header.
#[must_use]
pub fn number(datagram: &[u8], highest: u64) -> Option<(u64, &[u8])> {
    let (header, data) = datagram.split_first_chunk::<HEADER>()?;
    let low = u64::from(u32::from_be_bytes(*header));
    let guess = highest & !LOW | low;
    let number = if guess.saturating_add(HALF) < highest {
        guess.saturating_add(LOW + 1)
    } else if guess > highest.saturating_add(HALF) && guess > LOW {
        guess - (LOW + 1)
    } else {
        guess
    };
    Some((number, data))
}

const LOW: u64 = 0xffff_ffff;
const HALF: u64 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], step: usize) -> Result<Vec<Message>, FrameError> {
        let mut reader = Reader::default();
        let mut read = Vec::new();
        for chunk in bytes.chunks(step) {
            reader.push(chunk);
            while let Some(message) = reader.read()? {
                read.push(message);
            }
        }
        Ok(read)
    }

    #[test]
    fn messages_come_back_in_pieces_of_any_length() {
        let text = || "received 3 bytes 4".to_owned();
        let messages = [
            Message::Hello { greeting: "sends".to_owned() },
            Message::Dropped { datagrams: 7 },
            Message::Close { sent: u64::MAX, text: text() },
            Message::Agreed { sent: 0, text: String::new() },
        ];
        let mut bytes: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
        for step in 1..=bytes.len() {
            assert_eq!(all(&bytes, step).as_deref(), Ok(&messages[..]), "{step}");
        }
        // A type of a later version is passed over.
        bytes.extend([9, 0, 2, 1, 1]);
        bytes.extend(Message::Dropped { datagrams: 8 }.encode());
        assert_eq!(all(&bytes, 7).map(|read| read.len()), Ok(5));
    }

    #[test]
    fn the_bytes_of_the_page() {
        let close = Message::Close { sent: 3, text: "empty".to_owned() };
        assert_eq!(close.encode(), b"\x01\x00\x0d\0\0\0\0\0\0\0\x03empty");
        assert_eq!(header(0x1_0203_0405), [2, 3, 4, 5]);
    }

    #[test]
    fn texts_that_move_a_terminal_are_refused_and_never_sent() {
        let evil = Message::Hello { greeting: "\u{1b}[2Jgrün\n".to_owned() };
        assert_eq!(all(&evil.encode(), 5), Ok(vec![Message::Hello { greeting: "?[2Jgr?n?".to_owned() }]));
        assert_eq!(all(b"\x00\x00\x01\x1b", 9), Err(FrameError::Text));
        assert!(all(&[&[0, 0, 201][..], &[b'a'; 201]].concat(), 300).is_err());
        let long = Message::Hello { greeting: "a".repeat(500) };
        assert_eq!(long.encode().len(), BEFORE_BODY + LONGEST_TEXT);
        assert_eq!(all(&[77, 0xff, 0xff], 3), Err(FrameError::Length { kind: 77, length: 65_535 }));
        assert_eq!(all(&[3, 0, 7, 0, 0, 0, 0, 0, 0, 0], 10), Err(FrameError::Length { kind: 3, length: 7 }));
    }

    proptest! {
        #[test]
        fn a_number_is_the_nearest(highest in 0..u64::MAX / 2, near in -(1_i64 << 31) + 1..1 << 31) {
            let expected = highest.saturating_add_signed(near);
            let bytes = header(expected);
            if highest.checked_add_signed(near).is_some() {
                prop_assert_eq!(number(&bytes, highest), Some((expected, &[][..])));
            }
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, step in 1_usize..64) {
            let mut reader = Reader::default();
            for chunk in bytes.chunks(step) {
                reader.push(chunk);
                while let Ok(Some(message)) = reader.read() {
                    prop_assert_eq!(all(&message.encode(), 64), Ok(vec![message]));
                }
                prop_assert!(reader.waiting.len() <= bytes.len());
            }
        }
    }
}
