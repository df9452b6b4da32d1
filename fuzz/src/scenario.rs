//! The scenario file: any text is a scenario or an error that says where.

use tfrc_scenario::Scenario;

/// Takes the bytes for a file.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = Scenario::parse("fuzz.toml", text) {
        assert!(!error.to_string().is_empty());
    }
}
