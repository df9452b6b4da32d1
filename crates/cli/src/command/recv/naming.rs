//! Names of files and arguments of programs that are made for each connection.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::SystemTime;

use crate::session::dated;

/// Facts about a connection that a name may contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming {
    /// The number of the connection since the start of the receiver, from 1.
    pub(super) number: u64,
    pub(super) address: IpAddr,
    /// When the connection began.
    pub(super) began: SystemTime,
}

/// A text with places for facts about a connection: `%n` its number, `%a` the peer's address, `%t`
/// the time of its beginning, `%%` a percent sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Address,
    Number,
    Text(String),
    Time,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A sentence about a `%` that stands for nothing.
    pub(super) fn new(written: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut letters = written.chars();
        while let Some(letter) = letters.next() {
            let piece = match letter {
                '%' => match letters.next() {
                    Some('a') => Piece::Address,
                    Some('n') => Piece::Number,
                    Some('t') => Piece::Time,
                    Some('%') => {
                        text.push('%');
                        continue;
                    }
                    other => {
                        return Err(format!("%{} means nothing", other.map_or(String::new(), String::from)));
                    }
                },
                letter => {
                    text.push(letter);
                    continue;
                }
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece);
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self(pieces))
    }

    /// A sentence about a name that cannot be that of a file, whatever fills it in.
    pub(super) fn fault(&self) -> Option<String> {
        let Some(Piece::Text(last)) = self.0.last() else { return self.fault_of_folder() };
        if last.ends_with(std::path::is_separator) || last.ends_with("/.") || last.ends_with("/..") {
            return Some("names a folder, and not a file in it".to_owned());
        }
        self.fault_of_folder()
    }

    /// A sentence about a folder before the first place of the name that is not there.
    fn fault_of_folder(&self) -> Option<String> {
        let Some(Piece::Text(first)) = self.0.first() else { return None };
        let folder = first.get(..=first.rfind(std::path::is_separator)?)?;
        (!std::path::Path::new(folder).is_dir()).then(|| format!("there is no folder {folder}"))
    }

    /// True if two connections at once may get the same name: their addresses and the second of
    /// their beginning do not distinguish them.
    pub(super) fn may_repeat(&self) -> bool {
        !self.0.contains(&Piece::Number)
    }

    /// True for a text that names a file of its own for each connection.
    pub(super) fn is_in(written: &str) -> bool {
        ["%n", "%a", "%t"].iter().any(|place| written.contains(place))
    }

    /// A letter behind a `%` that stands for nothing, in a text without a place: probably a
    /// mistyped one.
    pub(super) fn unknown_in(written: &str) -> Option<char> {
        let mut letters = written.chars();
        while letters.any(|letter| letter == '%') {
            if let Some(letter) = letters.next().filter(char::is_ascii_alphabetic) {
                return (!Self::is_in(written)).then_some(letter);
            }
        }
        None
    }

    /// The text for one connection.
    pub(super) fn fill(&self, naming: &Naming) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Address => out.push_str(&safe(naming.address)),
                Piece::Number => drop(write!(out, "{}", naming.number)),
                Piece::Text(text) => out.push_str(text),
                Piece::Time => out.push_str(&utc(naming.began)),
            }
        }
        out
    }
}

/// An address of digits, letters, points and hyphens alone, such as `192.0.2.7` or `2001-db8--1`.
/// It begins with a digit or a letter, so that no program takes it for an option.
fn safe(address: IpAddr) -> String {
    let written = address.to_canonical().to_string();
    let name = written.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    if name.starts_with('-') { format!("0{name}") } else { name }
}

/// A time in UTC to the second, such as `20260131T235959Z` (ISO 8601, the basic form).
fn utc(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(dated(time)).to_string().replace(['-', ':'], "")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn naming(address: &str) -> Naming {
        Naming { number: 12, address: address.parse().expect("an address"), began: UNIX_EPOCH }
    }

    #[test]
    fn patterns_are_filled_in() {
        let fill = |written: &str, address: &str| Pattern::new(written).map(|p| p.fill(&naming(address)));
        assert_eq!(fill("in-%n-%a.ts", "192.0.2.7").as_deref(), Ok("in-12-192.0.2.7.ts"));
        assert_eq!(fill("%a", "::ffff:192.0.2.7").as_deref(), Ok("192.0.2.7"));
        assert_eq!(fill("%a%%n", "2001:db8::1").as_deref(), Ok("2001-db8--1%n"));
        assert_eq!(fill("d/%t", "::1").as_deref(), Ok("d/19700101T000000Z"));
        assert_eq!((fill("%a", "::1").as_deref(), fill("%a", "::").as_deref()), (Ok("0--1"), Ok("0--")));
        assert_eq!(fill("plain", "::1").as_deref(), Ok("plain"));
        for bad in ["%", "50%", "%x%n", "% n"] {
            assert!(Pattern::new(bad).is_err(), "{bad}");
        }
        assert!(Pattern::is_in("in-%n") && Pattern::is_in("%a") && !Pattern::is_in("100%.ts"));
        assert_eq!(["x-%q.ts", "%%-%T"].map(Pattern::unknown_in), [Some('q'), Some('T')]);
        assert_eq!(["100%.ts", "x-%n-%q.ts", "%%q", "50%"].map(Pattern::unknown_in), [None; 4]);
    }

    #[test]
    fn names_that_cannot_be_are_found() {
        let fault = |written: &str| Pattern::new(written).expect("a pattern").fault();
        assert_eq!(fault("in-%n.ts"), None);
        assert_eq!(fault("/%n"), None);
        for folder in ["%n/", "in/%a/", "/tmp/%n/."] {
            assert!(fault(folder).is_some_and(|why| why.contains("names a folder")), "{folder}");
        }
        assert!(fault("not/there/%n.ts").is_some_and(|why| why.contains("no folder not/there/")));
        let repeats = |written: &str| Pattern::new(written).expect("a pattern").may_repeat();
        assert!(repeats("%a-%t") && !repeats("%a-%n"));
    }

    /// No address can lead out of the folder, or move a terminal.
    #[test]
    fn addresses_are_safe_in_names() {
        for address in ["192.0.2.7", "::", "fe80::1", "2001:db8:ffff:ffff:ffff:ffff:255.255.255.255"] {
            let safe = safe(address.parse().expect("an address"));
            assert!(safe.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)), "{safe}");
            assert!(!safe.contains("..") && !safe.starts_with('-'), "{safe}");
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, written) in [
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_767_225_599, "20251231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), written);
        }
    }
}
