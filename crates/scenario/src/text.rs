//! Texts that somebody else wrote: what of them is shown.

use std::ops::Range;

/// Bytes around a mistake that are shown where its line is longer.
const AROUND: usize = 200;
/// Longest line that is shown whole.
const LONGEST_LINE: usize = 2000;
/// Longest sentence about a mistake.
const LONGEST_SENTENCE: usize = 1000;

/// True for characters that move a cursor, change the order of others or cannot be seen: controls,
/// format characters and separators of lines (Unicode categories Cc, Cf, Zl and Zp).
#[must_use]
pub fn moves_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// A text as it is shown around a mistake at `place`, and the place in it: nothing moves a
/// terminal, and of a very long line only what is near the mistake is there.
#[must_use]
pub fn shown(text: &str, place: Range<usize>) -> (String, Range<usize>) {
    let place = place.start.min(text.len())..place.end.clamp(place.start.min(text.len()), text.len());
    let line_start = text.get(..place.start).and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
    let line_end = text.get(place.end..).and_then(|t| t.find('\n')).map_or(text.len(), |at| place.end + at);
    if line_end - line_start <= LONGEST_LINE {
        return (harmless(text), place);
    }
    let start = text.floor_char_boundary(place.start.saturating_sub(AROUND).max(line_start));
    let end = text.ceil_char_boundary((place.start + AROUND).min(line_end));
    let part = text.get(start..end).unwrap_or_default();
    let from = (place.start - start).min(part.len());
    let to = (place.end.min(end) - start).clamp(from, part.len());
    (harmless(part), from..to)
}

/// The text with a harmless character of the same length in place of each that moves a terminal.
#[must_use]
pub fn harmless(text: &str) -> String {
    let replaced = |c: char| match (moves_a_terminal(c), c.len_utf8()) {
        _ if c == '\n' || c == '\t' || c == '\r' => c,
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '¿',
        (true, 3) => '\u{fffd}',
        (true, _) => '\u{1f7e5}',
    };
    text.chars().map(replaced).collect()
}

/// A sentence about a mistake, which may quote a text of any length.
#[must_use]
pub fn sentence(text: &str) -> String {
    if text.len() <= LONGEST_SENTENCE {
        return harmless(text);
    }
    let start = text.get(..text.floor_char_boundary(LONGEST_SENTENCE)).unwrap_or_default();
    format!("{} …", harmless(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_where_they_are() {
        for (text, place) in [("a\u{1b}[2Jb = 1\n", 5..6), ("\u{9b}\u{202e}\u{e0001}x", 9..10)] {
            let (safe, there) = shown(text, place.clone());
            assert_eq!((safe.len(), &there), (text.len(), &place));
            assert_eq!(safe.get(there), text.get(place));
            assert!(!safe.chars().any(|c| c != '\n' && moves_a_terminal(c)), "{safe:?}");
        }
    }

    #[test]
    fn of_a_long_line_the_mistake_is_shown() {
        let text = format!("first = 1\nkey = \"{}\" wrong {}\n", "ä".repeat(1_000_000), "z".repeat(1000));
        let at = text.find("wrong").expect("there");
        let (part, place) = shown(&text, at..at + 5);
        assert_eq!(part.get(place), Some("wrong"));
        assert!(part.len() < 1000, "{}", part.len());
        let (part, place) = shown(&text, 16..2_000_000);
        assert!(part.len() < 1000 && place.end <= part.len(), "{place:?}");
        let (part, place) = shown("ab", 7..9);
        assert_eq!((part.as_str(), place), ("ab", 2..2));
        assert!(sentence(&text).len() < 1100 && sentence("x\u{1b}") == "x?");
    }
}
