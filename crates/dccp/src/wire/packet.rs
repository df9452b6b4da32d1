//! The header of a packet, its fixed fields per type, and where options and application data lie
//! (RFC 4340 §5.1–5.7).

use alloc::vec::Vec;

use tfrc_units::{SeqNo24, SeqNo48};

use super::bytes::{u32_at, u64_at};
use super::checksum::{self, Integrity, PseudoHeader};
use super::{Reset, ResetCode, ServiceCode};

/// A packet, checked: it can be read without failing, and emitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender's DCCP port.
    pub source_port: u16,
    /// The receiver's DCCP port.
    pub destination_port: u16,
    /// CCVal, four bits that belong to the sending half-connection's CCID; CCID 3 counts quarter
    /// round-trip times here.
    pub ccval: u8,
    /// CsCov, four bits: 0 covers all application data, n > 0 the first 4(n − 1) bytes of it
    /// (RFC 4340 §9.2).
    pub coverage: u8,
    /// Type, sequence numbers and the type's own fields.
    pub header: Header,
    /// The option space, a multiple of four bytes.
    pub options: &'a [u8],
    /// The application data area: a datagram, a Reset's text, or filling.
    pub payload: &'a [u8],
}

/// The ten types with what each must carry; a combination that cannot be written here is not legal
/// on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "`seq` and `ack` are the Sequence and Acknowledgement Number everywhere")]
pub enum Header {
    /// A client asks for a connection.
    Request { seq: SeqNo48, service: ServiceCode },
    /// A server agrees.
    Response { seq: SeqNo48, ack: SeqNo48, service: ServiceCode },
    /// Application data.
    Data { seq: Sequence },
    /// An acknowledgement.
    Ack { numbers: SeqAck },
    /// Application data with an acknowledgement.
    DataAck { numbers: SeqAck },
    /// A server asks its client to close.
    CloseReq { seq: SeqNo48, ack: SeqNo48 },
    /// Either end closes.
    Close { seq: SeqNo48, ack: SeqNo48 },
    /// The connection is no more.
    Reset { seq: SeqNo48, ack: SeqNo48, reset: Reset },
    /// Are we in step?
    Sync { seq: SeqNo48, ack: SeqNo48 },
    /// Answers a Sync: we are synchronised.
    SyncAck { seq: SeqNo48, ack: SeqNo48 },
}

/// A Sequence Number as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// All 48 bits (X = 1).
    Long(SeqNo48),
    /// The low 24 bits (X = 0).
    Short(SeqNo24),
}

/// Sequence and Acknowledgement Number, both of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "`seq` and `ack` are the Sequence and Acknowledgement Number everywhere")]
pub enum SeqAck {
    /// All 48 bits (X = 1).
    Long { seq: SeqNo48, ack: SeqNo48 },
    /// The low 24 bits (X = 0).
    Short { seq: SeqNo24, ack: SeqNo24 },
}

/// The packet types by name (RFC 4340 §5.1, table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the registry's names; `Header` says what each is for")]
pub enum PacketType {
    Request,
    Response,
    Data,
    Ack,
    DataAck,
    CloseReq,
    Close,
    Reset,
    Sync,
    SyncAck,
}

/// Why a datagram is no DCCP packet. Such a datagram is dropped without an answer (RFC 4340 §8.5
/// step 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Not even a short header.
    #[error("{length} bytes are too few for a DCCP header of 12")]
    TooShort {
        /// Bytes available.
        length: usize,
    },
    /// An undefined type.
    #[error("byte 8: packet type {number} is reserved")]
    ReservedType {
        /// The number of the reserved type.
        number: u8,
    },
    /// Only Data, Ack and DataAck may carry 24-bit sequence numbers.
    #[error("byte 8: {kind:?} with 24-bit sequence numbers")]
    ShortNumbers {
        /// The type.
        kind: PacketType,
    },
    /// Data Offset points into the fixed header or past the end.
    #[error("byte 4: data offset of {offset} bytes, but it must lie in {minimum}..={length}")]
    DataOffset {
        /// Where it points, in bytes.
        offset: usize,
        /// End of the type's fixed header.
        minimum: usize,
        /// Length of the packet.
        length: usize,
    },
    /// The checksum is wrong.
    #[error("byte 6: wrong checksum")]
    Checksum,
    /// More application data should be covered than there is.
    #[error("byte 5: checksum coverage {coverage} for {payload} bytes of application data")]
    Coverage {
        /// The CsCov field.
        coverage: u8,
        /// Application data, in bytes.
        payload: usize,
    },
}

/// Why a packet cannot be emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The header must be a multiple of four bytes and at most 1020 long.
    #[error("a header of {length} bytes: it must be a multiple of 4 and at most 1020")]
    HeaderLength {
        /// Fixed fields and options, in bytes.
        length: usize,
    },
    /// CCVal or CsCov do not fit into four bits, or CsCov exceeds the data.
    #[error("CCVal {ccval} and CsCov {coverage} must be below 16, and CsCov cover no more than the data")]
    Nibble {
        /// The CCVal field.
        ccval: u8,
        /// The CsCov field.
        coverage: u8,
    },
}

/// Bytes before the type-specific fields with X = 1, and with X = 0.
const LONG: usize = 16;
const SHORT: usize = 12;
/// Offset of the Checksum field.
const CHECKSUM_AT: usize = 6;

impl<'a> Packet<'a> {
    /// Checks a datagram and finds its parts: step 1 of RFC 4340 §8.5, and the checksum as
    /// `integrity` says.
    ///
    /// # Errors
    /// [`ParseError`] says which byte is wrong; the datagram deserves no answer.
    /// RFC 6773 §4.
    #[inline]
    pub fn parse(bytes: &'a [u8], integrity: Integrity) -> Result<Self, ParseError> {
        let short = ParseError::TooShort { length: bytes.len() };
        let first = bytes.first_chunk::<SHORT>().ok_or(short)?;
        let [s1, s0, d1, d0, offset, nibbles, _, _, type_byte, ..] = *first;
        let number = (type_byte >> 1) & 0xF;
        let kind = PacketType::from_wire(number).ok_or(ParseError::ReservedType { number })?;
        let extended = type_byte & 1 == 1;
        if !extended && !kind.may_be_short() {
            return Err(ParseError::ShortNumbers { kind });
        }
        let offset = usize::from(offset) * 4;
        let fixed = kind.fixed_length(extended);
        let bad_offset = ParseError::DataOffset { offset, minimum: fixed, length: bytes.len() };
        if offset < fixed {
            return Err(bad_offset);
        }
        let (head, payload) = bytes.split_at_checked(offset).ok_or(bad_offset)?;
        let coverage = nibbles & 0xF;
        let covered = covered_length(coverage, offset, payload.len());
        if let Integrity::Native(pseudo) = integrity
            // RFC 4340 §9.1.
            && !checksum::verify(pseudo, bytes, covered.unwrap_or(bytes.len()))
        {
            return Err(ParseError::Checksum);
        }
        if covered.is_none() {
            return Err(ParseError::Coverage { coverage, payload: payload.len() });
        }
        let header = Header::parse(kind, extended, head).ok_or(bad_offset)?;
        Ok(Self {
            source_port: u16::from_be_bytes([s1, s0]),
            destination_port: u16::from_be_bytes([d1, d0]),
            ccval: nibbles >> 4,
            coverage,
            header,
            options: head.get(fixed..).unwrap_or_default(),
            payload,
        })
    }

    /// Appends the packet to `out`.
    ///
    /// # Errors
    /// [`EmitError`] if the options are too long or unpadded, or a four-bit field overflows; `out`
    /// is then unchanged.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>, integrity: Integrity) -> Result<(), EmitError> {
        let kind = self.header.kind();
        let length = kind.fixed_length(self.header.is_extended()) + self.options.len();
        let words = u8::try_from(length / 4).ok().filter(|_| length.is_multiple_of(4));
        let words = words.ok_or(EmitError::HeaderLength { length })?;
        let covered = covered_length(self.coverage, length, self.payload.len())
            .filter(|_| self.ccval < 16 && self.coverage < 16)
            .ok_or(EmitError::Nibble { ccval: self.ccval, coverage: self.coverage })?;
        let start = out.len();
        out.reserve(length + self.payload.len());
        let ([s1, s0], [d1, d0]) = (self.source_port.to_be_bytes(), self.destination_port.to_be_bytes());
        self.header.emit([s1, s0, d1, d0, words, (self.ccval << 4) | self.coverage, 0, 0], out);
        out.extend_from_slice(self.options);
        out.extend_from_slice(self.payload);
        // RFC 6773 §3.3.
        if let Integrity::Native(pseudo) = integrity {
            let sum = checksum::compute(pseudo, out.get(start..).unwrap_or_default(), covered);
            let field = out.get_mut(start + CHECKSUM_AT..).and_then(|rest| rest.first_chunk_mut::<2>());
            if let Some(field) = field {
                *field = sum.to_be_bytes();
            }
        }
        Ok(())
    }
}

/// Writes the checksum into a packet made with [`Integrity::Udp`], for IP protocol 33. What is no
/// packet stays as it is.
pub fn seal(packet: &mut [u8], pseudo: PseudoHeader) {
    let &[_, _, _, _, words, nibbles, ..] = &*packet else { return };
    let offset = usize::from(words) * 4;
    let Some(payload) = packet.len().checked_sub(offset) else { return };
    let Some(covered) = covered_length(nibbles & 0xF, offset, payload) else { return };
    let field = |packet: &mut [u8], sum: u16| {
        if let Some(field) = packet.get_mut(CHECKSUM_AT..).and_then(|rest| rest.first_chunk_mut::<2>()) {
            *field = sum.to_be_bytes();
        }
    };
    field(packet, 0);
    let sum = checksum::compute(pseudo, packet, covered);
    field(packet, sum);
}

/// Bytes that the checksum covers, or `None` if CsCov asks for more data than there is.
#[inline]
fn covered_length(coverage: u8, offset: usize, payload: usize) -> Option<usize> {
    let data = match coverage {
        0 => payload,
        n => usize::from(n - 1) * 4,
    };
    (data <= payload).then_some(offset + data)
}

impl Header {
    /// The type.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data { .. } => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
        }
    }

    /// Returns true if sequence numbers take 48 bits (X = 1).
    #[must_use]
    #[inline]
    pub const fn is_extended(&self) -> bool {
        !matches!(
            self,
            Self::Data { seq: Sequence::Short(_) }
                | Self::Ack { numbers: SeqAck::Short { .. } }
                | Self::DataAck { numbers: SeqAck::Short { .. } }
        )
    }

    /// The Sequence Number.
    #[must_use]
    #[inline]
    pub const fn sequence(&self) -> Sequence {
        match *self {
            Self::Data { seq } => seq,
            Self::Ack { numbers } | Self::DataAck { numbers } => match numbers {
                SeqAck::Long { seq, .. } => Sequence::Long(seq),
                SeqAck::Short { seq, .. } => Sequence::Short(seq),
            },
            Self::Request { seq, .. }
            | Self::Response { seq, .. }
            | Self::CloseReq { seq, .. }
            | Self::Close { seq, .. }
            | Self::Reset { seq, .. }
            | Self::Sync { seq, .. }
            | Self::SyncAck { seq, .. } => Sequence::Long(seq),
        }
    }

    /// The Acknowledgement Number; Request and Data have none.
    #[must_use]
    #[inline]
    pub const fn acknowledgement(&self) -> Option<Sequence> {
        match *self {
            Self::Request { .. } | Self::Data { .. } => None,
            Self::Ack { numbers } | Self::DataAck { numbers } => Some(match numbers {
                SeqAck::Long { ack, .. } => Sequence::Long(ack),
                SeqAck::Short { ack, .. } => Sequence::Short(ack),
            }),
            Self::Response { ack, .. }
            | Self::CloseReq { ack, .. }
            | Self::Close { ack, .. }
            | Self::Reset { ack, .. }
            | Self::Sync { ack, .. }
            | Self::SyncAck { ack, .. } => Some(Sequence::Long(ack)),
        }
    }

    /// From the bytes up to Data Offset; `None` if they are too few.
    #[inline]
    fn parse(kind: PacketType, extended: bool, head: &[u8]) -> Option<Self> {
        if !extended {
            // The numbers are the low bits of a word each; above them are the type and reserved
            // bits.
            let seq = SeqNo24::new(u32_at(head, 8)?);
            let ack = || u32_at(head, SHORT).map(SeqNo24::new);
            return Some(match kind {
                PacketType::Data => Self::Data { seq: Sequence::Short(seq) },
                PacketType::Ack => Self::Ack { numbers: SeqAck::Short { seq, ack: ack()? } },
                PacketType::DataAck => Self::DataAck { numbers: SeqAck::Short { seq, ack: ack()? } },
                _ => return None,
            });
        }
        let seq = SeqNo48::new(u64_at(head, 8)?);
        let ack = || u64_at(head, LONG).map(SeqNo48::new);
        Some(match kind {
            // RFC 4340 §5.2.
            PacketType::Request => Self::Request { seq, service: ServiceCode::new(u32_at(head, LONG)?) },
            // RFC 4340 §5.3.
            PacketType::Response => {
                Self::Response { seq, ack: ack()?, service: ServiceCode::new(u32_at(head, LONG + 8)?) }
            }
            PacketType::Data => Self::Data { seq: Sequence::Long(seq) },
            PacketType::Ack => Self::Ack { numbers: SeqAck::Long { seq, ack: ack()? } },
            PacketType::DataAck => Self::DataAck { numbers: SeqAck::Long { seq, ack: ack()? } },
            PacketType::CloseReq => Self::CloseReq { seq, ack: ack()? },
            PacketType::Close => Self::Close { seq, ack: ack()? },
            PacketType::Sync => Self::Sync { seq, ack: ack()? },
            PacketType::SyncAck => Self::SyncAck { seq, ack: ack()? },
            // RFC 4340 §5.6.
            PacketType::Reset => {
                let [code, data @ ..] = *head.get(LONG + 8..)?.first_chunk::<4>()?;
                Self::Reset { seq, ack: ack()?, reset: Reset { code: ResetCode::from_wire(code), data } }
            }
        })
    }

    /// Appends the header after `generic`, its first eight bytes.
    #[inline]
    fn emit(&self, generic: [u8; 8], out: &mut Vec<u8>) {
        // RFC 4340 §3.1.
        let type_bits = self.kind().wire() << 1;
        match (self.sequence(), self.acknowledgement()) {
            (Sequence::Long(seq), ack) => {
                let seq = (u64::from(type_bits | 1) << 56) | seq.get();
                match ack {
                    Some(Sequence::Long(ack)) => {
                        let words = [generic, seq.to_be_bytes(), ack.get().to_be_bytes()];
                        out.extend_from_slice(words.as_flattened());
                    }
                    _ => out.extend_from_slice([generic, seq.to_be_bytes()].as_flattened()),
                }
            }
            (Sequence::Short(seq), ack) => {
                let seq = (u32::from(type_bits) << 24) | seq.get();
                out.extend_from_slice(&generic);
                match ack {
                    Some(Sequence::Short(ack)) => {
                        out.extend_from_slice([seq.to_be_bytes(), ack.get().to_be_bytes()].as_flattened());
                    }
                    _ => out.extend_from_slice(&seq.to_be_bytes()),
                }
            }
        }
        match self {
            Self::Request { service, .. } | Self::Response { service, .. } => {
                out.extend_from_slice(&service.get().to_be_bytes());
            }
            Self::Reset { reset: Reset { code, data: [a, b, c] }, .. } => {
                out.extend_from_slice(&[code.wire(), *a, *b, *c]);
            }
            _ => {}
        }
    }
}

impl PacketType {
    /// All of them in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
    ];

    /// From its number, or `None` for a reserved one.
    #[must_use]
    #[inline]
    pub fn from_wire(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its number.
    #[must_use]
    #[inline]
    pub const fn wire(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Response => 1,
            Self::Data => 2,
            Self::Ack => 3,
            Self::DataAck => 4,
            Self::CloseReq => 5,
            Self::Close => 6,
            Self::Reset => 7,
            Self::Sync => 8,
            Self::SyncAck => 9,
        }
    }

    /// Returns true if it has an Acknowledgement Number.
    #[must_use]
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data)
    }

    /// Returns true if NDP Count takes it for a data packet; it does so for Request and Response
    /// too (RFC 4340 §7.7).
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }

    /// Returns true if its application data area is a datagram of an open connection; that of other
    /// packets is ignored (RFC 4340 §5.5, RFC 4340 §5.7).
    #[must_use]
    pub const fn carries_datagram(self) -> bool {
        // RFC 4340 §5.4.
        matches!(self, Self::Data | Self::DataAck)
    }

    const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Bytes before the options.
    #[must_use]
    #[inline]
    pub const fn fixed_length(self, extended: bool) -> usize {
        let ack = match (self.has_ack(), extended) {
            (false, _) => 0,
            (true, false) => 4,
            (true, true) => 8,
        };
        let own = if matches!(self, Self::Request | Self::Response | Self::Reset) { 4 } else { 0 };
        (if extended { LONG } else { SHORT }) + ack + own
    }
}
