//! Why a quantity departs. Every cause names its line in the notes on ns-2 and the setting that closes it.

/// The cause of a departure of a table, for points and quantities that begin so.
const CAUSES: &[(&str, &str, &str, &str)] = &[
    (
        "bernoulli",
        "TFRC-SP 14 B, p = 0.2",
        "rate",
        "ns-2 keeps what the application cannot send yet (ns2-facts.md §1, `maxqueue_`) and makes up for it later, so that \
         its rate here is above the application's 5.6 kbit/s; our application keeps nothing. Not closed: the scenario \
         language has no backlog for a paced application.",
    ),
    (
        "scripted",
        "TFRC-SP 14 B",
        "",
        "ns-2's sender of 14 bytes is held back for seconds at the start, and keeps what the application gives meanwhile \
         (ns2-facts.md §1, `maxqueue_`); ours has its initial rate after one round trip. Not closed.",
    ),
    (
        "scripted",
        "TFRC",
        "",
        "Slow start: ns-2 has sent 13 packets after a second and 60 after two, ours fewer; from the first loss on the slopes \
         agree. Not closed: the cause in ns-2's slow start (ns2-facts.md §1) is not found yet.",
    ),
];

/// The cause of a departure, if one was found.
pub(super) fn of(table: &str, point: &str, quantity: &str) -> Option<&'static str> {
    CAUSES
        .iter()
        .find(|(t, p, q, _)| *t == table && point.starts_with(p) && quantity.starts_with(q))
        .map(|(_, _, _, cause)| *cause)
}
