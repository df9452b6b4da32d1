//! The metrics of a receiver, in the text format of Prometheus.

use std::fmt::Write;

use tfrc_net::EndpointStats;

use super::totals::Counts;

/// All metrics. `started_s` is the start of the receiver, in seconds since 1970.
pub(super) fn text(counts: &Counts, endpoint: &EndpointStats, started_s: f64) -> String {
    let mut page = Page(String::new());
    page.metric("tfrc_build_info", "gauge", "Version of the program.");
    page.labelled("tfrc_build_info", "version", env!("CARGO_PKG_VERSION"), 1);
    page.metric("tfrc_recv_start_time_seconds", "gauge", "Start of the receiver, in seconds since 1970.");
    let _ = writeln!(page.0, "tfrc_recv_start_time_seconds {started_s:.3}");
    page.single("tfrc_recv_open_connections", "gauge", "Connections that are being served.", counts.open);
    let name = "tfrc_recv_connections_total";
    page.metric(name, "counter", "Connections that have ended, by outcome.");
    for (outcome, n) in
        [("complete", counts.complete), ("failed", counts.failed), ("stopped", counts.stopped)]
    {
        page.labelled(name, "outcome", outcome, n);
    }
    let name = "tfrc_recv_refused_packets_total";
    page.metric(name, "counter", "Packets of peers that were not let in, by reason.");
    page.labelled(name, "reason", "refused", endpoint.strangers.refused);
    page.labelled(name, "reason", "not_allowed", endpoint.strangers.not_allowed);
    for (name, help, n) in [
        ("received_datagrams", "Datagrams written out.", counts.datagrams),
        ("received_bytes", "Bytes of data written out.", counts.bytes),
        ("lost_datagrams", "Datagrams lost by the network, of connections that have ended.", counts.lost),
        (
            "late_datagrams",
            "Datagrams that came after their place had been given up, of connections that have ended.",
            counts.late,
        ),
        (
            "dropped_datagrams",
            "Datagrams that arrived and were not written out, of connections that have ended.",
            counts.dropped,
        ),
        ("malformed_packets", "Packets that were not DCCP.", endpoint.strangers.malformed),
    ] {
        page.single(&format!("tfrc_recv_{name}_total"), "counter", help, n);
    }
    page.0
}

struct Page(String);

impl Page {
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.metric(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn labelled(&mut self, name: &str, label: &str, value: &str, n: u64) {
        let _ = writeln!(self.0, "{name}{{{label}=\"{value}\"}} {n}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conventions that `promtool check metrics` holds a text to: each metric has its help and
    /// type once and before its values, and counters end in `_total`.
    #[test]
    fn each_metric_is_described_before_its_values() {
        let counts = Counts { open: 2, failed: 7, bytes: u64::MAX, ..Counts::default() };
        let text = text(&counts, &EndpointStats::default(), 1.5);
        let mut described: Vec<(&str, &str)> = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                assert!(described.iter().all(|(old, _)| *old != name), "{name} twice");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                described.push((name, kind));
            } else if !line.starts_with("# HELP ") {
                let name = line.split(['{', ' ']).next().expect("a name");
                assert_eq!(described.last().map(|(name, _)| *name), Some(name), "{line}");
                assert!(line.rsplit(' ').next().is_some_and(|n| n.parse::<f64>().is_ok()), "{line}");
            }
        }
        assert_eq!(described.len(), 11);
        for line in [
            "tfrc_recv_open_connections 2",
            "tfrc_recv_connections_total{outcome=\"failed\"} 7",
            "tfrc_recv_received_bytes_total 18446744073709551615",
            "tfrc_recv_start_time_seconds 1.500",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
    }
}
