//! The header of an RTP packet (RFC 3550 §5.1, RFC 8285).

/// Extensions of two bytes that are looked at: one of them is the transport-wide number.
const EXTENSIONS: usize = 2;
/// Profiles of the extension headers (RFC 8285 §4.2, §4.3).
const ONE_BYTE: u16 = 0xBEDE;
const TWO_BYTE: u16 = 0x1000;

/// Fields of an RTP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RtpHeader {
    pub(super) payload_type: u8,
    pub(super) seq: u16,
    pub(super) ssrc: u32,
    /// Extensions of two bytes: identifier and value.
    pub(super) numbers: [Option<(u8, u16)>; EXTENSIONS],
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|word| u16::from_be_bytes(*word))
}

/// Reads the header of a packet of version 2; `None` if it is cut.
pub(super) fn read(bytes: &[u8]) -> Option<RtpHeader> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let ssrc = u32::from_be_bytes(*bytes.get(8..)?.first_chunk::<4>()?);
    let mut header =
        RtpHeader { payload_type: second & 0x7F, seq: word(bytes, 2)?, ssrc, numbers: [None; EXTENSIONS] };
    let after = 12 + 4 * usize::from(first & 0x0F);
    if first & 0x10 != 0 {
        let (profile, words) = (word(bytes, after)?, word(bytes, after + 2)?);
        let content = bytes.get(after + 4..)?;
        let content = content.get(..4 * usize::from(words)).unwrap_or(content);
        match profile {
            ONE_BYTE => extensions(content, 1, &mut header.numbers),
            profile if profile & 0xFFF0 == TWO_BYTE => extensions(content, 2, &mut header.numbers),
            _ => {}
        }
    }
    Some(header)
}

/// Collects the extensions of two bytes; the headers of extensions have one or two bytes.
fn extensions(mut content: &[u8], form: usize, numbers: &mut [Option<(u8, u16)>; EXTENSIONS]) {
    let mut free = numbers.iter_mut();
    while let Some((first, rest)) = content.split_first() {
        if *first == 0 {
            content = rest;
            continue;
        }
        let (id, length, data) = match form {
            1 if first >> 4 == 15 => return,
            1 => (first >> 4, usize::from(first & 0x0F) + 1, rest),
            _ => match rest.split_first() {
                Some((length, data)) => (*first, usize::from(*length), data),
                None => return,
            },
        };
        let Some((data, rest)) = data.split_at_checked(length) else { return };
        if let (2, Some(value)) = (length, word(data, 0))
            && let Some(place) = free.next()
        {
            *place = Some((id, value));
        }
        content = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_forms_of_extensions() {
        let fixed = [0x90, 0xE0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 9];
        // Three bytes of identifier 2, two of identifier 4, padding.
        let one = [&fixed[..], &[0xBE, 0xDE, 0, 2, 0x22, 1, 2, 3, 0x41, 0xAB, 0xCD, 0]].concat();
        let two = [&fixed[..], &[0x10, 0, 0, 2, 2, 1, 7, 0, 4, 2, 0xAB, 0xCD]].concat();
        for bytes in [&one, &two] {
            let header = read(bytes).expect("whole");
            assert_eq!((header.payload_type, header.seq, header.ssrc), (0x60, 0x1234, 9));
            assert_eq!(header.numbers, [Some((4, 0xABCD)), None]);
        }
        assert_eq!(read(&fixed[..11]), None);
        assert_eq!(read(&fixed), None, "the extension is cut off");
    }
}
