//! A field of a CSV file.

use std::borrow::Cow;

/// A field, in quotes where commas, quotes or line ends ask for them (RFC 4180 §2). A text that a
/// spreadsheet would take for a formula begins with an apostrophe; a number stays one.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let mark = if is_formula { "'" } else { "" };
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
    } else if is_formula {
        Cow::Owned(format!("{mark}{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_formula_is_text_and_a_number_is_one() {
        for (text, written) in [
            ("a flow", "a flow"),
            ("one, two", "\"one, two\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("=1+2", "'=1+2"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@sum(a,b)", "\"'@sum(a,b)\""),
            ("-3.2", "-3.2"),
            ("+1e6", "+1e6"),
            ("-inf", "-inf"),
        ] {
            assert_eq!(field(text), written);
        }
    }
}
