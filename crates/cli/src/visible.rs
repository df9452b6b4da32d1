//! Texts on their way to a terminal, which may be gone.
//!
//! `eprintln!` and `println!` panic when their stream cannot be written, so that a window that is
//! shut would end the process before its session is closed: clippy refuses them in this crate.

use std::borrow::Cow;
use std::io::{self, Write};

use tfrc_scenario::text::moves_a_terminal;

/// A text in which nothing moves a terminal: control and format characters are written as `\u{1b}`.
/// Lines stay lines.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_shown = |c: char| c == '\n' || c == '\t' || !moves_a_terminal(c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_shown(c) { out.push(c) } else { out.extend(c.escape_unicode()) }
    }
    Cow::Owned(out)
}

/// Writes a line to standard error. A terminal that is gone, a closed pipe and a full disk lose it.
pub(crate) fn to_stderr(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A writer whose errors end nothing: what cannot be written is lost. It is for libraries that
/// answer an error with `eprintln!`.
#[derive(Debug)]
pub(crate) struct Lossy<W>(pub(crate) W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_gone_fails_nothing() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        assert!(Gone.write_all(b"word").is_err());
        let mut lossy = Lossy(Gone);
        assert!(lossy.write_all(b"word").is_ok() && lossy.flush().is_ok());
    }

    #[test]
    fn nothing_of_a_text_moves_a_terminal() {
        let plain = "ü 1 ≤ 2\n\tnode 'a'";
        assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(
            visible("a\u{1b}]0;x\u{7}\r\u{9b}\u{202e}b\n"),
            "a\\u{1b}]0;x\\u{7}\\u{d}\\u{9b}\\u{202e}b\n"
        );
    }
}
