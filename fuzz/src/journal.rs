//! Journals: whatever a file holds, `replay` ends with a result or an error, and a journal that was
//! cut off is replayed to the same counts or fewer.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use tfrc_net::journal::{JournalEnd, replay};

/// The bytes of a block before its body: kind, time, length.
const HEAD: usize = 13;

/// The blocks with the check values that they should have, as far as there are blocks.
fn sealed(journal: &[u8]) -> Vec<u8> {
    let Some(line) = journal.iter().position(|byte| *byte == b'\n') else { return journal.to_vec() };
    let (first, mut rest) = journal.split_at(line + 1);
    let (mut out, mut chain) = (first.to_vec(), 0);
    while let Some((head, after)) = rest.split_first_chunk::<HEAD>() {
        let length = head.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
        let Some((body, after)) =
            usize::try_from(length).ok().and_then(|length| after.split_at_checked(length))
        else {
            break;
        };
        let mut hasher = SipHasher24::new_with_keys(0x7466_7263, chain);
        hasher.write(head);
        hasher.write(body);
        chain = hasher.finish();
        out.extend_from_slice(head);
        out.extend_from_slice(body);
        out.extend(chain.to_le_bytes());
        rest = after.get(8..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// The bytes as they are, and with their blocks sealed again; whole, and cut off.
pub fn check(data: &[u8]) {
    let _ = std::hint::black_box(replay(data).is_ok());
    let sealed = sealed(data);
    let Ok(whole) = replay(sealed.as_slice()) else { return };
    let part = sealed.get(..sealed.len() * 3 / 4).and_then(|part| replay(part).ok());
    if let Some(part) = part {
        assert!(matches!(part.end, JournalEnd::CutOff { .. }), "{part:?}");
        assert!(part.inputs <= whole.inputs && part.transmitted <= whole.transmitted, "{part:?} {whole:?}");
    }
}
