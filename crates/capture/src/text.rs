//! A recording in words and tables, for a terminal.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use tfrc_units::{Duration, Rate};

use crate::describe::percent;
use crate::document::{
    Carrier, ConnectionSeen, Direction, LossEvent, LossesSeen, Queueing, QuicConnection, Rates, Recording,
    ReportSeen, RtpFlow, Stretch, Tap,
};

/// Rows of a table.
const ROWS: usize = 14;
/// Gaps and loss events that are listed.
const LISTED: usize = 8;
/// Width of the first column.
const WIDTH: usize = 13;

/// The whole text.
#[must_use]
pub fn text(recording: &Recording) -> String {
    let mut out = String::new();
    let is_qlog = recording.links.is_empty() && recording.format.starts_with("qlog");
    let links = if is_qlog { String::new() } else { format!(", {}", recording.links.join(", ")) };
    let (format, packets) = (&recording.format, counted(recording.packets, "packet"));
    line(&mut out, 0, "file", format_args!("{format}{links}, {packets} in {}", time(recording.duration_s)));
    if let Some(fault) = &recording.fault {
        let used = if is_qlog { "the rest is used" } else { "what came before is used" };
        line(&mut out, 0, "fault", format_args!("{fault}; {used}"));
    }
    if recording.cut_packets > 0 {
        let cut = recording.cut_packets;
        line(
            &mut out,
            0,
            "cut",
            format_args!("of {} only the beginning was kept (snap length)", counted(cut, "packet")),
        );
    }
    if !recording.other.is_empty() {
        let name = if is_qlog { "not used" } else { "not read" };
        line(&mut out, 0, name, others(recording));
    }
    if recording.left_out > 0 {
        line(
            &mut out,
            0,
            "left out",
            format_args!("{} packets of further connections: 256 are analysed", recording.left_out),
        );
    }
    for seen in &recording.connections {
        out.push('\n');
        connection(&mut out, seen);
    }
    for flow in &recording.rtp {
        out.push('\n');
        rtp(&mut out, flow);
    }
    for connection in &recording.quic {
        out.push('\n');
        quic(&mut out, connection);
    }
    out
}

/// The packets that are not of DCCP, in words.
#[must_use]
pub fn others(recording: &Recording) -> String {
    let kinds = recording.other.iter().map(|(kind, packets)| format!("{packets} {kind}"));
    kinds.collect::<Vec<_>>().join(", ")
}

fn line(out: &mut String, indent: usize, name: &str, text: impl Display) {
    let width = WIDTH - indent.min(WIDTH);
    let _ = writeln!(out, "{:indent$}{name:<width$} {text}", "");
}

fn connection(out: &mut String, seen: &ConnectionSeen) {
    let carrier = match (seen.carrier, seen.udp_ports) {
        (Carrier::Udp, Some([from, to])) => format!("DCCP in UDP, ports {from} and {to}"),
        _ => "DCCP".to_owned(),
    };
    let service = seen.service.as_ref().map_or(String::new(), |service| format!(", service {service}"));
    let _ = writeln!(
        out,
        "{} -> {}: {carrier}{service}, {} from packet {} on",
        seen.client,
        seen.server,
        counted(seen.packets, "packet"),
        seen.first_packet
    );
    let tap = match seen.tap {
        Tap::Client => "at the client",
        Tap::Server => "at the server",
        Tap::Middle => "between client and server",
        Tap::Unknown => "unknown: give --side",
    };
    line(out, 2, "tap", format_args!("{tap} ({})", seen.tap_found_by));
    line(out, 2, "R", round_trips(seen));
    if let Some(end) = &seen.end {
        line(out, 2, "end", end);
    }
    if seen.syncs > 0 {
        line(out, 2, "Sync", format_args!("{}: the ends were out of step", counted(seen.syncs, "packet")));
    }
    if seen.out_of_step > 0 {
        let packets = counted(seen.out_of_step, "packet");
        line(out, 2, "out of step", format_args!("{packets} with numbers far off, not analysed"));
    }
    for (n, said) in dialogue(seen).iter().enumerate() {
        line(out, 2, if n == 0 { "negotiation" } else { "" }, said);
    }
    match seen.directions.iter().find(|direction| direction.packets == 0) {
        Some(silent) => line(out, 2, "no answer", format_args!("no packet of the {} is here", silent.from)),
        None => seen.unanswered.iter().for_each(|change| line(out, 2, "no answer", change)),
    }
    for broken in &seen.broken {
        let times = if broken.times > 1 { format!(", {} times", broken.times) } else { String::new() };
        let (section, text, by) = (&broken.section, &broken.text, &broken.by);
        line(out, 2, "broken", format_args!("{section}: {text}; {by}, packet {}{times}", broken.packet));
    }
    for direction in seen.directions.iter().filter(|direction| direction.data_packets > 0) {
        self::direction(out, direction, direction.rates.series.as_slice());
    }
    for direction in &seen.directions {
        // The negotiation has its lines.
        let options = direction.options.iter().filter(|option| !(32..=35).contains(&option.number));
        for (n, option) in options.enumerate() {
            let name = if n == 0 { "options" } else { "" };
            let (from, packets) = (&direction.from, counted(option.times, "packet"));
            let text =
                format!("{from}: {} ({}) in {packets}, last {}", option.name, option.number, option.last);
            line(out, 2, name, text);
        }
    }
}

/// The negotiation, a line for all that an end says in a packet with one intention.
fn dialogue(seen: &ConnectionSeen) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for said in &seen.dialogue {
        let (intention, feature) = said.text.split_once(": ").unwrap_or(("says", &said.text));
        let head = format!("packet {}: {} {intention}: ", said.packet, said.from);
        match lines.iter_mut().find(|(known, _)| *known == head) {
            Some((_, features)) => features.push(feature),
            None => lines.push((head, vec![feature])),
        }
    }
    lines.into_iter().map(|(head, features)| head + &features.join(", ")).collect()
}

fn round_trips(seen: &ConnectionSeen) -> String {
    let rtt = &seen.rtt;
    let mut parts = Vec::new();
    match (rtt.r_s, &rtt.r_by) {
        (Some(r), Some(by)) => parts.push(format!("{} by {by}", time(r))),
        _ => parts.push("unknown".to_owned()),
    }
    let methods = [("handshake", rtt.handshake_s), ("timestamp echo", rtt.echo_s)];
    let others = methods.into_iter().filter(|(name, _)| Some(*name) != rtt.r_by.as_deref());
    parts.extend(others.filter_map(|(name, value)| value.map(|value| format!("{name} {}", time(value)))));
    if let (Some(median), Some(least)) = (rtt.acknowledgement_s, rtt.acknowledgement_least_s) {
        parts.push(format!("acknowledgements {} (least {})", time(median), time(least)));
    }
    for (from, value) in ["client", "server"].into_iter().zip(rtt.ccval_s) {
        parts.extend(value.map(|value| format!("CCVal of the {from} {}", time(value))));
    }
    parts.join("; ")
}

fn direction(out: &mut String, data: &Direction, stretches: &[Stretch]) {
    let ccid = data.ccid.map_or("CCID unknown".to_owned(), |ccid| format!("CCID {ccid}"));
    let _ = writeln!(
        out,
        "  data of the {}: {ccid}, {} data packets of {} in all, {} bytes in {}, {}",
        data.from,
        data.data_packets,
        data.packets,
        data.data_bytes,
        time(data.duration_s),
        rate(data.rate_bps)
    );
    match &data.losses {
        Some(losses) => self::losses(out, losses),
        None => line(out, 4, "losses", "after the tap, which is at the sender: only reports show them"),
    }
    let reports = &data.reports;
    if reports.count > 0 {
        let spacing = reports.spacing_s.map_or("-".to_owned(), time);
        line(out, 4, "reports", format_args!("{}, {spacing} apart in the median", reports.count));
        if let (Some(rule), Some(agreeing)) = (&reports.rule, reports.agreeing) {
            line(
                out,
                4,
                "p reported",
                format_args!("follows {rule}; {} of the reports agree", percent(agreeing)),
            );
        }
        let _ = writeln!(
            out,
            "    {:>9} {:>12} {:>10} {:>12} {:>10} {:>10} {:>10} {:>14}",
            "time s", "1/p reported", "p", "1/p RFC 5348", "p", "with §5.5", "Linux 6.1", "X_recv"
        );
        thinned(&reports.series).for_each(|report| report_row(out, report));
    }
    self::rates(out, &data.rates, data.queueing.as_ref());
    if data.rates.share_median.is_some() {
        let _ = writeln!(
            out,
            "    {:>9} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9} {:>9}  limit",
            "time s", "sent", "allowed", "balanced", "equation", "2 X_recv", "R", "queueing"
        );
        thinned(stretches).for_each(|stretch| stretch_row(out, stretch));
    }
}

/// Shares of the allowed rates.
fn rates(out: &mut String, rates: &Rates, queueing: Option<&Queueing>) {
    if let (Some(median), Some(most)) = (rates.share_median, rates.share_most) {
        line(
            out,
            4,
            "sent/allowed",
            format_args!(
                "median {median:.2}, most {most:.2}; more than allowed in {} of {} stretches; limit: {}",
                rates.above,
                rates.stretches,
                limits(&rates.limits)
            ),
        );
        if let Some(median) = rates.balanced_share_median {
            let limits = limits(&rates.balanced_limits);
            line(out, 4, "balanced", format_args!("sent/allowed median {median:.2}; limit: {limits}"));
        }
        if let Some(queueing) = queueing {
            line(out, 4, "queueing", queueing_text(queueing));
        }
    }
}

/// Stretches by the term that limited them.
fn limits(limits: &BTreeMap<String, u64>) -> String {
    limits.iter().map(|(limit, n)| format!("{limit} {n}")).collect::<Vec<_>>().join(", ")
}

fn queueing_text(queueing: &Queueing) -> String {
    let [median, most] = [queueing.median_s, queueing.most_s].map(|s| s.map_or("-".to_owned(), time));
    let ways =
        if matches!(queueing.by.as_str(), "round trips" | "latest_rtt") { "both ways" } else { "one way" };
    format!("median {median}, most {most} above the least, {ways} by {}", queueing.by)
}

fn losses(out: &mut String, losses: &LossesSeen) {
    let LossesSeen { gaps, data, acknowledgements, marked, late, duplicates, .. } = losses;
    let by = if losses.ndp_counts { "by NDP Count" } else { "NDP Count is not used: all count as data" };
    line(
        out,
        4,
        "losses",
        format_args!(
            "{}, {} ({by}) in {}; {marked} marked, {late} late, {duplicates} twice",
            counted(*data, "data packet"),
            counted(*acknowledgements, "acknowledgement"),
            counted(*gaps, "gap"),
        ),
    );
    line(out, 4, "loss events", events(losses.events, &losses.first_events));
}

/// Loss events, the first of them with number and time.
fn events(count: u64, first: &[LossEvent]) -> String {
    let listed = first.iter().take(LISTED);
    let listed =
        listed.map(|event| format!("packet {} at {:.2} s", event.at, event.found_s)).collect::<Vec<_>>();
    let more = if count > listed.len() as u64 && !listed.is_empty() { ", ..." } else { "" };
    let listed = if listed.is_empty() { String::new() } else { format!(": {}{more}", listed.join(", ")) };
    format!("{count} by RFC 5348{listed}")
}

/// The items at equal distances, the last one among them.
fn thinned<T>(items: &[T]) -> impl Iterator<Item = &T> {
    let step = items.len().div_ceil(ROWS).max(1);
    let skip = items.len().saturating_sub(1) % step;
    items.iter().skip(skip).step_by(step)
}

fn rtp(out: &mut String, flow: &RtpFlow) {
    let (packets, rate) = (counted(flow.packets, "packet"), rate(flow.rate_bps));
    let _ = writeln!(
        out,
        "{} -> {}: RTP, {packets} from packet {} on, {} bytes in {}, {rate}",
        flow.from,
        flow.to,
        flow.first_packet,
        flow.bytes,
        time(flow.duration_s)
    );
    for stream in &flow.streams {
        let text = format!(
            "SSRC {}, payload type {}, {}; before the tap {} missing, {} late or twice",
            stream.ssrc,
            stream.payload_type,
            counted(stream.packets, "packet"),
            stream.missing_before_tap,
            stream.late
        );
        line(out, 2, "stream", text);
    }
    let unreadable = flow.unreadable_rtcp;
    match (&flow.feedback, flow.lost) {
        (Some(kind), Some(lost)) => {
            let reports = counted(flow.reports, "report");
            let share = percent(lost as f64 / flow.reported.max(1) as f64);
            let answered = flow.answered_s.map_or("-".to_owned(), time);
            line(
                out,
                2,
                "feedback",
                format_args!("{kind}, {reports}, {answered} after the packets in the median"),
            );
            line(
                out,
                2,
                "losses",
                format_args!("{lost} of {} packets after the tap, {share}", flow.reported),
            );
        }
        _ if unreadable > 0 => line(
            out,
            2,
            "feedback",
            format_args!(
                "{unreadable} RTCP datagrams are encrypted (SRTCP) or damaged: headers, rates and gaps alone"
            ),
        ),
        _ => line(out, 2, "feedback", "none that has an arrival for each packet: rates and gaps alone"),
    }
    if let Some(queueing) = &flow.queueing {
        line(out, 2, "queueing", queueing_text(queueing));
    }
    let _ = writeln!(
        out,
        "  {:>9} {:>14} {:>14} {:>8} {:>8} {:>9} {:>9}",
        "time s", "sent", "received", "missing", "lost", "queueing", "answered"
    );
    for row in thinned(&flow.series) {
        let _ = writeln!(
            out,
            "  {:>9.2} {:>14} {:>14} {:>8} {:>8} {:>9} {:>9}",
            row.time_s,
            self::rate(Some(row.sent_bps)),
            self::rate(row.received_bps),
            row.missing_before_tap,
            row.lost.map_or("-".to_owned(), |lost| lost.to_string()),
            row.queueing_s.map_or("-".to_owned(), time),
            row.answered_s.map_or("-".to_owned(), time),
        );
    }
}

fn quic(out: &mut String, seen: &QuicConnection) {
    let _ = writeln!(
        out,
        "QUIC {}: {} sent, {} bytes in {}, {}; {} came",
        if seen.name.is_empty() { "without a name" } else { &seen.name },
        counted(seen.sent, "packet"),
        seen.sent_bytes,
        time(seen.duration_s),
        rate(seen.rate_bps),
        counted(seen.received, "packet"),
    );
    line(out, 4, "side", format_args!("{} ({})", seen.side, seen.side_found_by));
    let named = [("smoothed", seen.smoothed_s), ("latest", seen.latest_s), ("least", seen.least_s)];
    let named = named.map(|(name, value)| format!("{name} {}", value.map_or("-".to_owned(), time)));
    line(out, 4, "R", named.join(", "));
    let share = percent(seen.lost as f64 / seen.sent.max(1) as f64);
    let reasons: Vec<_> = seen.lost_by.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(", by {}", reasons.join(", ")) };
    let (lost, spurious) = (seen.lost, seen.spurious);
    line(
        out,
        4,
        "losses",
        format_args!("{lost} of {} packets, {share}{reasons}; {spurious} came after all", seen.sent),
    );
    let p = seen.inverse_p.map_or(String::new(), |inverse| {
        format!("; at the end p {}, 1/p {inverse:.0} packets", percent(1.0 / inverse))
    });
    line(out, 4, "loss events", events(seen.events, &seen.first_events) + &p);
    if let Some(marked) = seen.marked {
        line(out, 4, "ECN", format_args!("{} sent came there with CE", counted(marked, "packet")));
    }
    let marked = seen.received_marked.map_or(String::new(), |n| format!(", {n} with CE"));
    let numbers = counted(seen.missing, "number");
    line(out, 4, "came", format_args!("{numbers} missing: lost, or left out by the peer{marked}"));
    if let Some(window) = seen.window_bytes {
        line(out, 4, "window", format_args!("{window:.0} bytes in the median"));
    }
    for note in &seen.notes {
        line(out, 4, "note", note);
    }
    rates(out, &seen.rates, seen.queueing.as_ref());
    if seen.rates.series.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "    {:>9} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9} {:>9} {:>9} {:>5}  limit",
        "time s", "sent", "allowed", "balanced", "equation", "2 X_recv", "window", "R", "queueing", "lost"
    );
    for row in thinned(&seen.rates.series) {
        let _ = writeln!(
            out,
            "    {:>9.2} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9} {:>9} {:>9} {:>5}  {}",
            row.time_s,
            rate(Some(row.sent_bps)),
            rate(Some(row.allowed_bps)),
            rate(Some(row.balanced_bps)),
            rate(row.equation_bps),
            rate(row.twice_receive_rate_bps),
            row.window_bytes.map_or("-".to_owned(), |window| window.to_string()),
            time(row.r_s),
            row.queueing_s.map_or("-".to_owned(), time),
            row.lost.unwrap_or(0),
            limit(row),
        );
    }
}

fn report_row(out: &mut String, report: &ReportSeen) {
    let packets = |value: Option<f64>| value.map_or("-".to_owned(), |packets| format!("{packets:.1}"));
    let _ = writeln!(
        out,
        "    {:>9.2} {:>12} {:>10} {:>12} {:>10} {:>10} {:>10} {:>14}",
        report.time_s,
        report.inverse_p.map_or("none".to_owned(), |packets| format!("{packets:.0}")),
        report.inverse_p.map_or("0 %".to_owned(), |packets| percent(1.0 / packets)),
        packets(report.inverse_p_rfc5348),
        report.inverse_p_rfc5348.map_or("-".to_owned(), |packets| percent(1.0 / packets)),
        packets(report.inverse_p_discounted),
        packets(report.inverse_p_linux),
        rate(report.receive_rate_bps),
    );
}

fn stretch_row(out: &mut String, stretch: &Stretch) {
    let _ = writeln!(
        out,
        "    {:>9.2} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9} {:>9}  {}",
        stretch.time_s,
        rate(Some(stretch.sent_bps)),
        rate(Some(stretch.allowed_bps)),
        rate(Some(stretch.balanced_bps)),
        rate(stretch.equation_bps),
        rate(stretch.twice_receive_rate_bps),
        time(stretch.r_s),
        stretch.queueing_s.map_or("-".to_owned(), time),
        limit(stretch),
    );
}

/// The terms that limited both profiles.
fn limit(stretch: &Stretch) -> String {
    match stretch.limit == stretch.balanced_limit {
        true => stretch.limit.clone(),
        false => format!("{}; balanced: {}", stretch.limit, stretch.balanced_limit),
    }
}

/// A number of things.
fn counted(n: u64, thing: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {thing}{ending}")
}

fn time(seconds: f64) -> String {
    Duration::from_secs_f64(seconds).to_string()
}

fn rate(bps: Option<f64>) -> String {
    bps.map_or("-".to_owned(), |bps| Rate::from_bits_per_sec(bps).to_string())
}
