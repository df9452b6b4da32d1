//! Closing texts (RFC 4340 §5.6): ours cut to a length, the peer's made safe to show.

use alloc::string::String;
use core::fmt::Write;

/// The longest text of a peer that is kept, in bytes, escapes included.
const LONGEST: usize = 1024;

/// The longest beginning of at most `limit` bytes that ends between characters.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// A text of the peer up to the first byte that is not UTF-8, of at most [`LONGEST`] bytes.
/// Characters that a terminal or a log would act on are escaped. An escape is kept whole
/// or not at all.
pub(super) fn visible(bytes: &[u8]) -> String {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bytes
            .get(..error.valid_up_to())
            .and_then(|fine| core::str::from_utf8(fine).ok())
            .unwrap_or_default(),
    };
    let mut out = String::new();
    for character in text.chars() {
        let end = out.len();
        // Writing to a String does not fail.
        let _ = if acts(character) {
            write!(out, "{}", character.escape_unicode())
        } else {
            out.write_char(character)
        };
        if out.len() > LONGEST {
            out.truncate(end);
            break;
        }
    }
    out
}

/// Returns true for control characters (C0, DEL, C1), line and paragraph separators, and the marks,
/// embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9)
/// from text.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("grün", 3), "gr");
        assert_eq!(cut("grün", 4), "grü");
        assert_eq!(cut("x", 200), "x");
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        assert_eq!(visible("12 received, grün".as_bytes()), "12 received, grün");
        assert_eq!(visible(b"ok\xFFno"), "ok");
        assert_eq!(visible(b"\x1b]0;x\x07\r\nerror\x7f"), "\\u{1b}]0;x\\u{7}\\u{d}\\u{a}error\\u{7f}");
        assert_eq!(visible("\u{9b}2J\u{202e}x\u{2028}".as_bytes()), "\\u{9b}2J\\u{202e}x\\u{2028}");
        for n in 0..0x2100 {
            let Some(character) = char::from_u32(n) else { continue };
            let shown = visible(character.encode_utf8(&mut [0; 4]).as_bytes());
            assert!(
                !shown.chars().any(|shown| shown.is_control() || ('\u{2028}'..='\u{202e}').contains(&shown))
            );
        }
    }

    #[test]
    fn escapes_do_not_make_it_long() {
        let text: Vec<u8> = core::iter::repeat_n(0x1b, 5000).collect();
        let shown = visible(&text);
        assert!(
            shown.len() <= LONGEST && shown.len() > LONGEST - 6 && shown.ends_with("\\u{1b}"),
            "{}",
            shown.len()
        );
        assert_eq!(visible(&[b'a'; 5000]).len(), LONGEST);
    }
}
