//! A field of a CSV file.

use std::borrow::Cow;

/// A field, in quotes where commas, quotes or line ends ask for them (RFC 4180 §2).
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
