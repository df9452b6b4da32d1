//! Words and units of columns and keys: `tcp_send_Kbps` is "TCP send" in kbit/s.

/// Ends of names that are units.
const UNITS: [(&str, &str); 12] = [
    ("_pkts_per_rtt", "packets per RTT"),
    ("_percent", "%"),
    ("_bytes", "bytes"),
    ("_pkts", "packets"),
    ("_Kbps", "kbit/s"),
    ("_kbps", "kbit/s"),
    ("_Mbps", "Mbit/s"),
    ("_KBps", "kB/s"),
    ("_kBps", "kB/s"),
    ("_bps", "bit/s"),
    ("_ms", "ms"),
    ("_s", "s"),
];

/// Parts of names that have other words.
const WORDS: [(&str, &str); 18] = [
    ("avg", "mean"),
    ("cov", "CoV"),
    ("DropTail", "drop-tail"),
    ("ecn", "ECN"),
    ("gtfrc", "gTFRC"),
    ("pkts", "packets"),
    ("red", "RED"),
    ("reno", "Reno"),
    ("rtt", "RTT"),
    ("rtts", "RTTs"),
    ("sp", "SP"),
    ("stddev", "standard deviation"),
    ("stnd", "standard"),
    ("tcp", "TCP"),
    ("tfrc", "TFRC"),
    ("timescale", "time scale"),
    ("tx", "send"),
    ("vs", "with"),
];

/// The words of a name, and its unit if it ends in one.
pub(super) fn of(name: &str) -> (String, Option<&'static str>) {
    let unit = UNITS.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
    let (stem, unit) = unit.map_or((name, None), |(stem, unit)| (stem, Some(unit)));
    let word = |part: &str| {
        let other = WORDS.iter().find(|(one, _)| *one == part);
        other.map_or_else(|| part.to_owned(), |(_, words)| (*words).to_owned())
    };
    (stem.split('_').map(word).collect::<Vec<String>>().join(" "), unit)
}

/// The title of an axis.
pub(super) fn axis(name: &str) -> String {
    match of(name) {
        (words, Some(unit)) => format!("{words} ({unit})"),
        (words, None) => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words_with_units() {
        for (name, words) in [
            ("timescale_s", "time scale (s)"),
            ("tcp_send_Kbps", "TCP send (kbit/s)"),
            ("red_TFRC_cov", "RED TFRC CoV"),
            ("TFRC_vs_TCP", "TFRC with TCP"),
            ("allowed_rate_pkts_per_rtt", "allowed rate (packets per RTT)"),
            ("drop_rate", "drop rate"),
        ] {
            assert_eq!(axis(name), words);
        }
    }
}
