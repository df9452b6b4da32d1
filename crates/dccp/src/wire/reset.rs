//! Reset Codes and their data (RFC 4340 §5.6).

use core::fmt;

use super::PacketType;

/// Why a connection is reset (RFC 4340 §5.6; code 12 from RFC 6773 §7.2, 13 from
/// RFC 9897, which this implementation does not speak).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResetCode {
    /// 0: no meaningful reason; also how a reserved code is read.
    Unspecified,
    /// 1: normal close.
    Closed,
    /// 2: the sender gave up for lack of progress.
    Aborted,
    /// 3: there is no such connection.
    NoConnection,
    /// 4: a valid packet of an unexpected type arrived.
    PacketError,
    /// 5: an option was erroneous enough to reset.
    OptionError,
    /// 6: an option marked Mandatory could not be processed.
    MandatoryError,
    /// 7: nobody listens on the port.
    ConnectionRefused,
    /// 8: the port serves another Service Code.
    BadServiceCode,
    /// 9: the server takes no more connections now.
    TooBusy,
    /// 10: the echoed Init Cookie was wrong or missing.
    BadInitCookie,
    /// 11: congestion control was abused.
    AggressionPenalty,
    /// 12: a UDP flow carries another connection already (RFC 6773 §3.8).
    EncapsulatedPortReuse,
    /// 13: a connection of several paths is broken off (RFC 9897, "Abrupt MP termination").
    AbruptMpTermination,
    /// 128 and above: its meaning depends on the CCID; CCID 3 defines none.
    CcidSpecific(u8),
}

impl ResetCode {
    /// From the wire; reserved codes read as [`ResetCode::Unspecified`].
    #[must_use]
    pub const fn from_wire(code: u8) -> Self {
        match code {
            1 => Self::Closed,
            2 => Self::Aborted,
            3 => Self::NoConnection,
            4 => Self::PacketError,
            5 => Self::OptionError,
            6 => Self::MandatoryError,
            7 => Self::ConnectionRefused,
            8 => Self::BadServiceCode,
            9 => Self::TooBusy,
            10 => Self::BadInitCookie,
            11 => Self::AggressionPenalty,
            12 => Self::EncapsulatedPortReuse,
            13 => Self::AbruptMpTermination,
            128..=255 => Self::CcidSpecific(code),
            _ => Self::Unspecified,
        }
    }

    /// As it goes on the wire.
    #[must_use]
    pub const fn wire(self) -> u8 {
        match self {
            Self::Unspecified => 0,
            Self::Closed => 1,
            Self::Aborted => 2,
            Self::NoConnection => 3,
            Self::PacketError => 4,
            Self::OptionError => 5,
            Self::MandatoryError => 6,
            Self::ConnectionRefused => 7,
            Self::BadServiceCode => 8,
            Self::TooBusy => 9,
            Self::BadInitCookie => 10,
            Self::AggressionPenalty => 11,
            Self::EncapsulatedPortReuse => 12,
            Self::AbruptMpTermination => 13,
            Self::CcidSpecific(code) => code,
        }
    }
}

/// The name the registry gives it.
impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Unspecified => "Unspecified",
            Self::Closed => "Closed",
            Self::Aborted => "Aborted",
            Self::NoConnection => "No Connection",
            Self::PacketError => "Packet Error",
            Self::OptionError => "Option Error",
            Self::MandatoryError => "Mandatory Error",
            Self::ConnectionRefused => "Connection Refused",
            Self::BadServiceCode => "Bad Service Code",
            Self::TooBusy => "Too Busy",
            Self::BadInitCookie => "Bad Init Cookie",
            Self::AggressionPenalty => "Aggression Penalty",
            Self::EncapsulatedPortReuse => "Encapsulated Port Reuse",
            Self::AbruptMpTermination => "Abrupt MP Termination",
            Self::CcidSpecific(code) => return write!(f, "CCID-specific code {code}"),
        };
        f.write_str(name)
    }
}

/// The Reset Code with its three data bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reset {
    /// The Reset Code.
    pub code: ResetCode,
    /// Data 1, 2 and 3; zero where the code gives them no meaning.
    pub data: [u8; 3],
}

impl Reset {
    /// A code whose data bytes mean nothing.
    #[must_use]
    pub const fn new(code: ResetCode) -> Self {
        Self { code, data: [0; 3] }
    }

    /// "Packet Error", naming the offending type.
    #[must_use]
    pub const fn packet_error(kind: PacketType) -> Self {
        Self { code: ResetCode::PacketError, data: [kind.wire(), 0, 0] }
    }

    /// "Option Error" or "Mandatory Error", naming the option and the first two bytes of its data.
    #[must_use]
    pub fn about_option(code: ResetCode, kind: u8, data: &[u8]) -> Self {
        let byte = |at| data.get(at).copied().unwrap_or(0);
        Self { code, data: [kind, byte(0), byte(1)] }
    }

    /// The CCID that the named option asks for, where it names one: the first of its list
    /// (RFC 4340 §10), or CCID 2 by its acknowledgement vectors, which no other CCID here needs
    /// (RFC 4341 §4).
    #[must_use]
    pub const fn refused_ccid(&self) -> Option<u8> {
        match (self.code, self.data) {
            (ResetCode::OptionError | ResetCode::MandatoryError, [32..=35, 1, ccid]) => Some(ccid),
            (ResetCode::OptionError | ResetCode::MandatoryError, [32..=35, 6, 1]) => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOO_BUSY: Reset = Reset::new(ResetCode::TooBusy);

    #[test]
    fn every_known_code_round_trips_and_reserved_ones_read_as_unspecified() {
        for code in (0..=13).chain(128..=255) {
            assert_eq!(ResetCode::from_wire(code).wire(), code);
        }
        for code in 14..128 {
            assert_eq!(ResetCode::from_wire(code), ResetCode::Unspecified);
        }
        assert_eq!(alloc::format!("{}", ResetCode::from_wire(13)), "Abrupt MP Termination");
    }

    #[test]
    fn data_bytes_say_what_offended() {
        assert_eq!(Reset::packet_error(PacketType::Data).data, [2, 0, 0]);
        assert_eq!(Reset::about_option(ResetCode::OptionError, 32, &[9]).data, [32, 9, 0]);
        let mandatory = |kind, data| Reset::about_option(ResetCode::MandatoryError, kind, data);
        assert_eq!(mandatory(32, &[1, 4, 3]).refused_ccid(), Some(4));
        assert_eq!(mandatory(34, &[6, 1]).refused_ccid(), Some(2), "Linux with CCID 2 alone");
        let others = [mandatory(34, &[3, 2]), mandatory(44, &[1, 2]), Reset { data: [32, 1, 3], ..TOO_BUSY }];
        assert!(others.iter().all(|reset| reset.refused_ccid().is_none()));
    }
}
