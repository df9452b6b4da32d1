//! The metrics of a receiver, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use tfrc_net::EndpointStats;

use super::totals::{Counts, Gauges};

/// All metrics. `open` are the open connections by their numbers; `started_s` is the start of the
/// receiver, in seconds since 1970.
pub(super) fn text(
    counts: &Counts,
    open: &BTreeMap<u64, Gauges>,
    endpoint: &EndpointStats,
    started_s: f64,
) -> String {
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
    let name = "tfrc_recv_files_total";
    page.metric(
        name,
        "counter",
        "Sessions of files that have to be whole, by what came of the file: resumed is whole with a part of an earlier session.",
    );
    for (outcome, n) in [("whole", counts.whole), ("resumed", counts.resumed), ("failed", counts.torn)] {
        page.labelled(name, "outcome", outcome, n);
    }
    let name = "tfrc_recv_refused_packets_total";
    page.metric(name, "counter", "Packets of peers that were not let in, by reason.");
    page.labelled(name, "reason", "refused", endpoint.strangers.refused);
    page.labelled(name, "reason", "not_allowed", endpoint.strangers.not_allowed);
    for (name, help, n) in [
        ("received_datagrams", "Datagrams written out.", counts.datagrams),
        ("received_bytes", "Bytes of data written out.", counts.bytes),
        ("lost_datagrams", "Datagrams lost by the network.", counts.lost),
        ("late_datagrams", "Datagrams that came after their place had been given up.", counts.late),
        ("dropped_datagrams", "Datagrams that arrived and were not written out.", counts.dropped),
        ("malformed_packets", "Packets that were not DCCP.", endpoint.strangers.malformed),
    ] {
        page.single(&format!("tfrc_recv_{name}_total"), "counter", help, n);
    }
    type Value = fn(&Gauges) -> Option<f64>;
    let gauges: [(&str, &str, Value); 3] = [
        ("rate_bytes_per_second", "Data of an open connection that arrived in the last second.", |one| {
            Some(one.rate_bps / 8.0)
        }),
        ("rtt_seconds", "Round-trip time estimate R of the sender of an open connection.", |one| one.rtt_s),
        ("loss_event_rate", "Loss event rate p of an open connection.", |one| Some(one.loss_event_rate)),
    ];
    for (name, help, value) in gauges {
        let name = format!("tfrc_recv_connection_{name}");
        page.metric(&name, "gauge", help);
        for (number, one) in open {
            if let Some(value) = value(one) {
                let key = one.key.as_ref().map(|key| format!(",key=\"{key}\"")).unwrap_or_default();
                let peer = &one.peer;
                let _ = writeln!(page.0, "{name}{{connection=\"{number}\",peer=\"{peer}\"{key}}} {value}");
            }
        }
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
        let counts = Counts { open: 2, failed: 7, resumed: 3, bytes: u64::MAX, ..Counts::default() };
        let gauges = |rtt_s, key| Gauges {
            peer: "[::1]:4000".to_owned(),
            key,
            rate_bps: 2.5e6,
            rtt_s,
            loss_event_rate: 0.01,
        };
        let key = Some("SHA256:a+b/c".to_owned());
        let open = BTreeMap::from([(3, gauges(Some(0.04), None)), (8, gauges(None, key))]);
        let text = text(&counts, &open, &EndpointStats::default(), 1.5);
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
        assert_eq!(described.len(), 15);
        for line in [
            "tfrc_recv_open_connections 2",
            "tfrc_recv_connections_total{outcome=\"failed\"} 7",
            "tfrc_recv_files_total{outcome=\"resumed\"} 3",
            "tfrc_recv_files_total{outcome=\"failed\"} 0",
            "tfrc_recv_received_bytes_total 18446744073709551615",
            "tfrc_recv_start_time_seconds 1.500",
            "tfrc_recv_connection_rate_bytes_per_second{connection=\"8\",peer=\"[::1]:4000\",key=\"SHA256:a+b/c\"} 312500",
            "tfrc_recv_connection_rtt_seconds{connection=\"3\",peer=\"[::1]:4000\"} 0.04",
            "tfrc_recv_connection_loss_event_rate{connection=\"3\",peer=\"[::1]:4000\"} 0.01",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("rtt_seconds{connection=\"8\""), "unknown before the sender says it");
    }
}
