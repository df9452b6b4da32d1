//! Why a quantity departs. Every cause names its line in the notes on ns-2 and the setting that closes it.

/// The cause of a departure of a table, for points and quantities that begin so.
const CAUSES: &[(&str, &str, &str, &str)] = &[];

/// The cause of a departure, if one was found.
pub(super) fn of(table: &str, point: &str, quantity: &str) -> Option<&'static str> {
    CAUSES
        .iter()
        .find(|(t, p, q, _)| *t == table && point.starts_with(p) && quantity.starts_with(q))
        .map(|(_, _, _, cause)| *cause)
}
