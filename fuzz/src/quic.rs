//! The messages and headers of sessions over QUIC: what is read can be sent again and means the
//! same.

use tfrc_quic::frame::{HEADER, Message, Reader, header, number};

/// Takes the bytes for a control stream, in pieces whose length the first byte gives, and for a
/// datagram whose predecessor had the number of the first eight.
pub fn check(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else { return };
    let mut reader = Reader::default();
    'pieces: for piece in stream.chunks(usize::from(*first).max(1)) {
        reader.push(piece);
        loop {
            match reader.read() {
                Ok(Some(message)) => assert_eq!(again(&message), Some(message)),
                Ok(None) => break,
                Err(_) => break 'pieces,
            }
        }
    }
    if let Some((highest, datagram)) = data.split_first_chunk() {
        let highest = u64::from_be_bytes(*highest);
        let Some((found, rest)) = number(datagram, highest) else { return };
        assert_eq!(Some(rest), datagram.get(HEADER..));
        assert_eq!(datagram.get(..HEADER), Some(&header(found)[..]));
        let near = found.abs_diff(highest) <= 1 << 31;
        // Below zero and above the end there is no nearer one.
        let has_both_sides = (1 << 32..u64::MAX - (1 << 32)).contains(&highest);
        assert!(near || !has_both_sides, "{found} of {highest}");
    }
}

fn again(message: &Message) -> Option<Message> {
    let mut reader = Reader::default();
    reader.push(&message.encode());
    reader.read().ok().flatten()
}
