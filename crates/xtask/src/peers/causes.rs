//! Why a quantity departs. Every cause names its line in the notes on ns-2 and the setting that closes it.

/// The cause of a departure of a table, for points and quantities that begin so.
const CAUSES: &[(&str, &str, &str, &str)] = &[(
    "scripted",
    "TFRC-SP 14 B",
    "",
    "With 14 bytes ns-2's rate before the first report, 300 B/s (docs/ns2-facts.md §1, `InitRate_`), is above the four packets per \
         round-trip time that follow, and its gaps become two round-trip times for seconds; what the application gives meanwhile is \
         kept (`maxqueue_`). Not closed: only so small a packet on so long a path begins above its initial rate.",
)];

/// The cause of a departure, if one was found.
pub(super) fn of(table: &str, point: &str, quantity: &str) -> Option<&'static str> {
    CAUSES
        .iter()
        .find(|(t, p, q, _)| *t == table && point.starts_with(p) && quantity.starts_with(q))
        .map(|(_, _, _, cause)| *cause)
}
