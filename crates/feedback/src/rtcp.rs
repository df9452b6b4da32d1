//! The frame around RTP's feedback messages (RFC 3550 §6.4, RFC 4585 §6.1).

use crate::reader::ByteReader;
use crate::{DecodeError, ErrorKind};
use tfrc_units::saturating;

/// PT of transport-layer feedback, which all messages here are.
pub(crate) const TRANSPORT_FEEDBACK: u8 = 205;

/// One RTCP packet of a compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtcpPacket<'a> {
    /// The packet type, PT.
    pub packet_type: u8,
    /// FMT of a feedback message, the count field of others.
    pub format: u8,
    /// The whole packet, to be given to a decoder.
    pub bytes: &'a [u8],
    /// The packet after its first four bytes, without padding.
    body: ByteReader<'a>,
}

impl<'a> RtcpPacket<'a> {
    fn decode(at: &mut ByteReader<'a>) -> Result<Self, DecodeError> {
        let start = *at;
        let first = at.u8()?;
        if first >> 6 != 2 {
            return Err(start.error(ErrorKind::Version(first >> 6)));
        }
        let packet_type = at.u8()?;
        let length = at;
        let whole = 4 * (usize::from(length.u16()?) + 1);
        let mut packet = start;
        let bytes = packet.take(whole)?;
        *length = packet;
        let padding = match bytes.last() {
            Some(last) if first & 0x20 != 0 => *last,
            _ => 0,
        };
        let body_length = (whole - 4)
            .checked_sub(usize::from(padding))
            .filter(|_| first & 0x20 == 0 || padding > 0)
            .ok_or(DecodeError { kind: ErrorKind::Padding(padding), offset: packet.offset() - 1 })?;
        let mut body = start;
        body.take(4)?;
        let offset = body.offset();
        let body = ByteReader::new(body.take(body_length)?, offset);
        Ok(Self { packet_type, format: first & 0x1F, bytes, body })
    }

    /// The body of a transport-layer feedback message of this format.
    pub(crate) fn feedback(bytes: &'a [u8], format: u8) -> Result<ByteReader<'a>, DecodeError> {
        let packet = Self::decode(&mut ByteReader::new(bytes, 0))?;
        if (packet.packet_type, packet.format) != (TRANSPORT_FEEDBACK, format) {
            let kind = ErrorKind::OtherMessage { packet_type: packet.packet_type, format: packet.format };
            return Err(DecodeError { kind, offset: 0 });
        }
        Ok(packet.body)
    }
}

/// The RTCP packets of a compound, in order. The first error ends it.
pub fn packets(datagram: &[u8]) -> impl Iterator<Item = Result<RtcpPacket<'_>, DecodeError>> {
    let mut rest = Some(ByteReader::new(datagram, 0));
    core::iter::from_fn(move || {
        let mut reader = rest.take().filter(|reader| !reader.rest().is_empty())?;
        let packet = RtcpPacket::decode(&mut reader);
        if packet.is_ok() {
            rest = Some(reader);
        }
        Some(packet)
    })
}

/// Writes the first eight bytes of a feedback message before `body`, whose length must be a
/// multiple of four and at most 256 KiB.
pub(crate) fn frame(format: u8, sender_ssrc: u32, body: &[u8]) -> Vec<u8> {
    let words = saturating::<u16>(body.len() / 4 + 1);
    let mut out = vec![0x80 | format, TRANSPORT_FEEDBACK];
    out.extend(words.to_be_bytes());
    out.extend(sender_ssrc.to_be_bytes());
    out.extend(body);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compound_is_taken_apart() {
        let mut datagram = frame(15, 7, &[1, 2, 3, 4]);
        datagram.extend(frame(11, 8, &[]));
        let all: Vec<_> = packets(&datagram).map(|p| p.map(|p| (p.format, p.bytes.len()))).collect();
        assert_eq!(all, [Ok((15, 12)), Ok((11, 8))]);
        datagram.push(0x80);
        let truncated = DecodeError { kind: ErrorKind::Truncated, offset: 21 };
        assert_eq!(packets(&datagram).last(), Some(Err(truncated)));
    }

    #[test]
    fn what_is_not_rtcp_is_refused() {
        let refused = |bytes: &[u8]| RtcpPacket::feedback(bytes, 15).err().map(|e| (e.kind, e.offset));
        assert_eq!(refused(&[]), Some((ErrorKind::Truncated, 0)));
        assert_eq!(refused(&[0x4F, 205, 0, 0]), Some((ErrorKind::Version(1), 0)));
        assert_eq!(refused(&[0x8F, 205, 0, 1, 0, 0, 0]), Some((ErrorKind::Truncated, 0)));
        let other = ErrorKind::OtherMessage { packet_type: 206, format: 15 };
        assert_eq!(refused(&[0x8F, 206, 0, 0]), Some((other, 0)));
        assert_eq!(refused(&[0xAF, 205, 0, 1, 0, 0, 0, 9]), Some((ErrorKind::Padding(9), 7)));
        assert_eq!(refused(&[0xAF, 205, 0, 1, 0, 0, 0, 0]), Some((ErrorKind::Padding(0), 7)));
        assert!(RtcpPacket::feedback(&[0xAF, 205, 0, 1, 0, 0, 0, 4], 15).is_ok_and(|r| r.rest().is_empty()));
    }
}
