//! A recording in words and tables, for a terminal.
use crate::document::Recording;

/// The whole text.
#[must_use]
pub fn text(recording: &Recording) -> String {
    format!("{recording:#?}")
}
