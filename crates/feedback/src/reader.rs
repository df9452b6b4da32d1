//! Reading fields in network byte order, remembering where.

use crate::{DecodeError, ErrorKind};

/// The rest of the input, and its offset from the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> ByteReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, offset }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) const fn error(&self, kind: ErrorKind) -> DecodeError {
        DecodeError { kind, offset: self.offset }
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| self.error(ErrorKind::Truncated))?;
        self.rest = rest;
        self.offset += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| self.error(ErrorKind::Truncated))?;
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn u24(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A variable-length integer of QUIC: two bits for the length, 1, 2, 4 or 8 bytes
    /// (RFC 9000 §16).
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let first = *self.rest.first().ok_or_else(|| self.error(ErrorKind::Truncated))?;
        let bytes = self.take(1 << (first >> 6))?;
        let value = bytes.iter().fold(0u64, |value, byte| (value << 8) | u64::from(*byte));
        let bits = 8 * bytes.len() - 2;
        Ok(value & ((1 << bits) - 1))
    }
}

/// Appends the shortest variable-length integer of QUIC; values of 2^62 and more are cut to the
/// largest.
pub(crate) fn push_varint(out: &mut Vec<u8>, value: u64) {
    let value = value.min((1 << 62) - 1);
    let (length, prefix) = match value {
        0..=0x3F => (1, 0u64),
        0x40..=0x3FFF => (2, 1),
        0x4000..=0x3FFF_FFFF => (4, 2),
        _ => (8, 3),
    };
    let tagged = value | (prefix << (8 * length - 2));
    out.extend(tagged.to_be_bytes().iter().skip(8 - length));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 9000 §A.1.
    #[test]
    fn varints() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            assert_eq!(ByteReader::new(bytes, 0).varint(), Ok(value));
            let cut = bytes.get(..bytes.len() - 1).unwrap_or_default();
            assert_eq!(
                ByteReader::new(cut, 7).varint(),
                Err(DecodeError { kind: ErrorKind::Truncated, offset: 7 })
            );
        }
        let mut out = Vec::new();
        push_varint(&mut out, 15_293);
        push_varint(&mut out, 37);
        assert_eq!(out, [0x7b, 0xbd, 0x25]);
    }
}
