//! The datagrams of a file, octet by octet (docs/file-transfer.md).

use std::ops::Range;

/// Octets before the data of a datagram: kind, length, offset.
pub(crate) const HEADER: usize = 11;
/// Octets of a hash: BLAKE3.
pub(crate) const HASH: usize = 32;
/// No file is longer, and no offset larger: the largest number of [`put_number`].
pub(crate) const MOST_BYTES: u64 = (1 << 62) - 1;
/// Octets of a datagram that names missing ranges, at most: it goes through any path.
const MISSING: usize = 1200;

const DATA: u8 = 1;
const END: u8 = 2;
const LACKS: u8 = 3;
const WHOLE: u8 = 4;
const DIFFERS: u8 = 5;

/// The sender's word after the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// Number of the question: an answer repeats it.
    pub(crate) round: u32,
    /// Bytes of the file.
    pub(crate) length: u64,
    /// BLAKE3 of the file.
    pub(crate) hash: [u8; HASH],
}

/// A datagram of a file, in one direction or the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// Bytes of the file at an offset.
    Data { offset: u64, bytes: &'a [u8] },
    /// All bytes that were asked for have been sent. What is missing?
    End(End),
    /// These ranges are missing, in order; if there are none, the receiver still reads what it has.
    Lacks { round: u32, ranges: Vec<Range<u64>> },
    /// The file is whole: its hash agrees.
    Whole,
    /// All bytes are here, and their hash is another one.
    Differs,
}

/// Writes a datagram of data into a buffer.
pub(crate) fn put_data(buffer: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    buffer.push(DATA);
    buffer.extend(tfrc_units::saturating::<u16>(bytes.len()).to_be_bytes());
    buffer.extend(offset.to_be_bytes());
    buffer.extend_from_slice(bytes);
}

impl End {
    /// The datagram.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { round, length, hash } = self;
        [&[END][..], &round.to_be_bytes(), &length.to_be_bytes(), hash].concat()
    }
}

/// The datagram that names these ranges, as many as it holds, and none that is empty.
pub(crate) fn lacks(round: u32, limit: usize, ranges: impl Iterator<Item = Range<u64>>) -> Vec<u8> {
    let mut datagram = [&[LACKS][..], &round.to_be_bytes()].concat();
    let mut before = 0;
    for range in ranges {
        let length = datagram.len();
        put_number(&mut datagram, range.start - before);
        put_number(&mut datagram, range.end - range.start);
        if datagram.len() > limit.min(MISSING) {
            datagram.truncate(length);
            break;
        }
        before = range.end;
    }
    datagram
}

/// The datagram of a receiver that has compared the hashes.
pub(crate) fn verdict(agrees: bool) -> Vec<u8> {
    vec![if agrees { WHOLE } else { DIFFERS }]
}

/// Reads a datagram; `None` for one that is not of this page, such as a piece of one that was cut
/// on a path that has become narrow.
pub(crate) fn read(datagram: &[u8]) -> Option<Message<'_>> {
    let (kind, rest) = datagram.split_first()?;
    match *kind {
        DATA => {
            let (length, rest) = rest.split_first_chunk()?;
            let (offset, bytes) = rest.split_first_chunk()?;
            let offset = u64::from_be_bytes(*offset);
            let end = offset.checked_add(u64::try_from(bytes.len()).ok()?)?;
            let fits = usize::from(u16::from_be_bytes(*length)) == bytes.len() && end <= MOST_BYTES;
            fits.then_some(Message::Data { offset, bytes })
        }
        END => {
            let (round, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let end = End {
                round: u32::from_be_bytes(*round),
                length: u64::from_be_bytes(*length),
                hash: rest.try_into().ok()?,
            };
            (end.length <= MOST_BYTES).then_some(Message::End(end))
        }
        LACKS => {
            let (round, mut rest) = rest.split_first_chunk()?;
            let (mut ranges, mut before) = (Vec::new(), 0_u64);
            // A range takes two octets at least: their number is bounded by the datagram.
            while !rest.is_empty() {
                let start = before.checked_add(take_number(&mut rest)?)?;
                let end = start.checked_add(take_number(&mut rest)?)?;
                ranges.push(start..end);
                before = end;
            }
            Some(Message::Lacks { round: u32::from_be_bytes(*round), ranges })
        }
        WHOLE => rest.is_empty().then_some(Message::Whole),
        DIFFERS => rest.is_empty().then_some(Message::Differs),
        _ => None,
    }
}

/// Writes a number in 1, 2, 4 or 8 octets, as RFC 9000 §16 does; at most [`MOST_BYTES`].
fn put_number(buffer: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => buffer.extend(&number.to_be_bytes()[7..]),
        0x40..0x4000 => buffer.extend(&(number | 0x4000).to_be_bytes()[6..]),
        0x4000..0x4000_0000 => buffer.extend(&(number | 0x8000_0000).to_be_bytes()[4..]),
        _ => buffer.extend((number | 0xC000_0000_0000_0000).to_be_bytes()),
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let (number, left) = rest.split_at_checked(1 << (first >> 6))?;
    *rest = left;
    let first = u64::from(first & 0x3F);
    Some(number.iter().skip(1).fold(first, |number, octet| number << 8 | u64::from(*octet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_read_back_as_written() {
        let mut data = Vec::new();
        put_data(&mut data, 77, b"bytes");
        assert_eq!(read(&data), Some(Message::Data { offset: 77, bytes: b"bytes" }));
        assert_eq!(data.len(), HEADER + 5);
        let end = End { round: 3, length: MOST_BYTES, hash: [9; HASH] };
        assert_eq!(read(&end.encode()), Some(Message::End(end)));
        assert_eq!(
            (read(&verdict(true)), read(&verdict(false))),
            (Some(Message::Whole), Some(Message::Differs))
        );
        let ranges = vec![0..1, 63..127, 1000..20_000, 1 << 30..(1 << 30) + 1, 1 << 40..MOST_BYTES];
        let named = lacks(7, 1200, ranges.clone().into_iter());
        assert_eq!(read(&named), Some(Message::Lacks { round: 7, ranges }));
        assert_eq!(read(&lacks(7, 1200, [].into_iter())), Some(Message::Lacks { round: 7, ranges: vec![] }));
    }

    /// The example of docs/file-transfer.md.
    #[test]
    fn ranges_are_written_as_the_page_says() {
        let octets = [3, 0, 0, 0, 2, 0x80, 0x02, 0x02, 0xa0, 0x45, 0x24, 0x4a, 0x48, 0x45, 0x24];
        let ranges = [131_744..133_060, 135_692..137_008];
        assert_eq!(lacks(2, 1200, ranges.into_iter()), octets);
    }

    /// A piece of a datagram, a longer one, offsets beyond the end of all files.
    #[test]
    fn other_datagrams_are_not_read() {
        let mut data = Vec::new();
        put_data(&mut data, 77, b"bytes");
        let end = End { round: 3, length: 5, hash: [9; HASH] }.encode();
        for whole in [data, end, verdict(true)] {
            for length in 0..whole.len() {
                assert_eq!(read(&whole[..length]), None, "{length} of {whole:?}");
            }
            assert_eq!(read(&[&whole[..], &[0]].concat()), None);
        }
        for offset in [1 << 63, u64::MAX, MOST_BYTES - 4] {
            let mut data = Vec::new();
            put_data(&mut data, offset, b"bytes");
            assert_eq!(read(&data), None, "{offset}");
        }
        assert_eq!(read(&End { round: 0, length: MOST_BYTES + 1, hash: [0; HASH] }.encode()), None);
        assert_eq!(read(&[LACKS, 0, 0, 0, 1, 0xFF, 0]), None, "half a number");
        assert_eq!((read(&[]), read(&[0]), read(&[6, 1])), (None, None, None));
    }

    #[test]
    fn as_many_ranges_are_named_as_fit() {
        let many = (0..10_000).map(|n| n * 131_600..n * 131_600 + 1316);
        for limit in [100, 1200, 9000] {
            let named = lacks(1, limit, many.clone());
            assert!(named.len() <= limit.min(MISSING) && named.len() + 7 > limit.min(MISSING), "{limit}");
            let Some(Message::Lacks { ranges, .. }) = read(&named) else { panic!("{named:?}") };
            assert!(ranges.into_iter().eq(many.clone().take((named.len() - 5) / 6 + 1)) || limit == 0);
        }
    }
}
