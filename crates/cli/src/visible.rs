//! Texts of files and arguments on their way to a terminal.

use std::borrow::Cow;
use std::io::Write;

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

/// Writes a line to standard error. A terminal that is gone hears nothing.
pub(crate) fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

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
