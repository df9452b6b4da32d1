//! Texts from files: how much is read, and what of it is shown.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// Bytes of a text file that is read whole, at most.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes of a file of results, at most.
const MOST_RESULTS: u64 = 256 << 20;
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

/// The text of a file or a pipe, of at most 16 MiB.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::FileTooLarge`] for a longer one, or a device without end.
pub fn read(path: &Path) -> io::Result<String> {
    read_at_most(path, MOST_BYTES)
}

/// The text of a file of results, of at most 256 MiB.
///
/// # Errors
/// As [`read`].
pub fn read_results(path: &Path) -> io::Result<String> {
    read_at_most(path, MOST_RESULTS)
}

/// The text of a file that another file names. A pipe or a device, which might block indefinitely,
/// is refused.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_file(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    read(path)
}

fn read_at_most(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    // One byte more shows that the file is too long, whatever its size is said to be.
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let message = format!("it has more than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// A text as it is shown around a mistake at `place`, and the place in it: nothing moves a
/// terminal, and of a very long line only what is near the mistake is there.
pub(crate) fn shown(text: &str, place: Range<usize>) -> (String, Range<usize>) {
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
pub(crate) fn harmless(text: &str) -> String {
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
pub(crate) fn sentence(text: &str) -> String {
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

    #[test]
    fn what_has_no_end_is_not_read() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a"), "text").expect("written");
        assert_eq!(read_file(dir.path().join("a")).expect("read"), "text");
        assert!(read_file(dir.path()).is_err());
        #[cfg(unix)]
        {
            let endless = read(Path::new("/dev/zero")).expect_err("endless");
            assert_eq!(endless.kind(), io::ErrorKind::FileTooLarge);
            assert!(read_file("/dev/zero").is_err_and(|error| error.to_string() == "it is not a file"));
        }
    }
}
