//! Base64 (RFC 4648 §4), as much as keys and fingerprints need.

use tfrc_units::saturating;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 2);
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word.iter_mut().skip(1).zip(chunk).for_each(|(to, from)| *to = *from);
        let word = u32::from_be_bytes(word);
        let digits = (0..4).map(|i| saturating::<usize>(word >> (18 - 6 * i) & 63));
        let digits = digits.take(chunk.len() + 1);
        text.extend(digits.filter_map(|digit| LETTERS.get(digit).map(|letter| char::from(*letter))));
    }
    text
}

/// Reads bytes written without padding, or with. `None` for other characters, a length that no
/// bytes have, or bits beyond the last byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut word, mut bits) = (0_u32, 0_u32);
    for letter in text.trim_end_matches('=').bytes() {
        let digit = u32::try_from(LETTERS.iter().position(|known| *known == letter)?).ok()?;
        word = word << 6 | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 255).ok()?);
        }
    }
    (bits < 6 && word & ((1 << bits) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 §10, without padding.
    #[test]
    fn the_vectors_of_the_rfc() {
        let vectors = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"];
        for (length, text) in vectors.into_iter().enumerate() {
            let bytes = b"foobar".get(..length).expect("short");
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        assert_eq!(decode("Zg==").as_deref(), Some(&b"f"[..]));
        for other in ["Z", "Zh", "Zm9v!", "Zm 9", "Zm9vY"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
