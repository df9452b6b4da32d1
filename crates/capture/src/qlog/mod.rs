//! qlog of QUIC (draft-ietf-quic-qlog-main-schema): one end's own record of its packets.

mod connection;
mod event;
mod model;
mod records;
mod units;

use std::collections::BTreeMap;
use std::io::Read;

use tfrc_units::{Instant, u64_from_f64};

use crate::CaptureError;
use crate::document::{QuicConnection, Recording};
use connection::Connection;
use event::{Event, Head, Kind, Trace};
use units::Units;

/// Connections that are analysed.
const CONNECTIONS: usize = 32;
/// Events that are looked at before the first is used: they show the units.
const LOOK: usize = 2048;
/// Longest time of a file, milliseconds: 31 years.
const LONGEST: f64 = 1e12;
/// The greatest number of unreadable records that the fault names; the rest are counted.
const BAD: u64 = 3;

/// True if a file with these first bytes may be a qlog.
pub(crate) fn is_qlog(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(0x1E | b'{'))
}

/// Reads a qlog.
///
/// # Errors
/// [`CaptureError::NotQlog`] if it is JSON of another kind, and the system's error.
pub(crate) fn read(input: impl Read) -> Result<Recording, CaptureError> {
    let mut table = Table::default();
    let (form, fault) = records::read(input, &mut table)?;
    Ok(table.finish(form, fault))
}

/// Meaning of `time` (`time_format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Times {
    /// All since one moment.
    #[default]
    Absolute,
    /// Each since the event before.
    Delta,
}

/// The connections of a file.
#[derive(Debug, Default)]
struct Table {
    head: Head,
    times: Times,
    /// Side and name by the trace, and the number of the trace.
    side: Option<String>,
    group: Option<String>,
    trace: u64,
    /// Time of the latest event, and of the first one, milliseconds.
    latest: f64,
    begins: Option<f64>,
    ends: f64,
    packets: u64,
    other: BTreeMap<String, u64>,
    bad: Vec<String>,
    bad_count: u64,
    /// Events before the units are known.
    waiting: Vec<(Event, Instant)>,
    units: Option<Units>,
    places: BTreeMap<(u64, String), usize>,
    connections: Vec<Connection>,
    left_out: u64,
}

impl records::Sink for Table {
    fn on_head(&mut self, head: Head) {
        if let Some(trace) = &head.trace {
            self.on_trace(trace);
        }
        self.head = head;
    }

    fn on_trace(&mut self, trace: &Trace) {
        if trace.vantage_point.is_none() && trace.common_fields.is_none() {
            self.flush();
            self.units = None;
            self.trace += 1;
            self.latest = 0.0;
            self.begins = None;
            (self.side, self.group, self.times) = (None, None, Times::Absolute);
            return;
        }
        self.side = trace.vantage_point.as_ref().and_then(|point| point.kind.clone());
        let common = trace.common_fields.clone().unwrap_or_default();
        self.group = common.group_id.map(String::from);
        if common.time_format.is_some_and(|format| format.starts_with("delta")) {
            self.times = Times::Delta;
        }
    }

    fn on_event(&mut self, mut event: Event) {
        event.shorten();
        self.latest = match self.times {
            Times::Absolute => event.time,
            Times::Delta => self.latest + event.time,
        };
        let begins = *self.begins.get_or_insert(self.latest);
        let since = self.latest - begins;
        let since = if since.is_finite() { since.clamp(0.0, LONGEST) } else { 0.0 };
        self.ends = self.ends.max(since);
        let at = Instant::from_nanos(u64_from_f64(since * 1e6));
        match event.kind() {
            Kind::Other => {
                if self.other.contains_key(&event.name) || self.other.len() < 64 {
                    *self.other.entry(event.name).or_default() += 1;
                }
                return;
            }
            Kind::Sent | Kind::Received => self.packets += 1,
            Kind::Lost | Kind::Metrics => {}
        }
        if self.units.is_some() {
            self.use_event(&event, at);
            return;
        }
        self.waiting.push((event, at));
        if self.waiting.len() >= LOOK {
            self.flush();
        }
    }

    fn on_bad(&mut self, number: u64, at: u64, why: &str) {
        self.bad_count += 1;
        if self.bad_count <= BAD {
            self.bad.push(format!("record {number} at byte {at}: {why}"));
        }
    }
}

impl Table {
    /// Uses the events that wait.
    fn flush(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.units = Some(Units::of(&waiting));
        for (event, at) in &waiting {
            self.use_event(event, *at);
        }
    }

    fn use_event(&mut self, event: &Event, at: Instant) {
        let Some(units) = self.units else { return };
        let group = event.group_id.clone().map(String::from).or_else(|| self.group.clone());
        let key = (self.trace, group.unwrap_or_default());
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => match self.place(&key, event) {
                Some(place) => {
                    // A hostile file may have a group for each event.
                    if self.places.len() < 2 * CONNECTIONS {
                        self.places.insert(key, place);
                    }
                    place
                }
                None => {
                    self.left_out += u64::from(matches!(event.kind(), Kind::Sent | Kind::Received));
                    return;
                }
            },
        };
        if let Some(connection) = self.connections.get_mut(place) {
            connection.on_event(at, event, units);
        }
    }

    /// Place of a group that is seen for the first time. quinn names a client's events anew when
    /// the server has chosen its connection ID: events that follow a handshake's first packets, and
    /// are no first packets themselves, belong to that connection.
    fn place(&mut self, key: &(u64, String), event: &Event) -> Option<usize> {
        let begins_anew = connection::is_first(event);
        let goes_on = self.connections.iter().rposition(|c| c.trace() == self.trace && c.is_initial());
        if let Some(place) = goes_on.filter(|_| !begins_anew) {
            if let Some(connection) = self.connections.get_mut(place) {
                connection.rename(&key.1);
            }
            return Some(place);
        }
        if self.connections.len() >= CONNECTIONS {
            return None;
        }
        self.connections.push(Connection::new(self.trace, &key.1, self.side.as_deref()));
        Some(self.connections.len() - 1)
    }

    fn finish(mut self, form: &str, fault: records::Fault) -> Recording {
        self.flush();
        let version = match (&self.head.qlog_version, &self.head.file_schema) {
            (Some(version), _) => version.clone(),
            (None, Some(schema)) => format!("of {schema}"),
            (None, None) => "without its first record".to_owned(),
        };
        let mut faults: Vec<String> = fault.into_iter().collect();
        if self.bad_count > 0 {
            let more = if self.bad_count > BAD { " ..." } else { "" };
            faults.push(format!("{} bad records: {}{more}", self.bad_count, self.bad.join("; ")));
        }
        let connections = self.connections.into_iter().map(Connection::finish);
        let quic: Vec<QuicConnection> = connections.filter(|c| c.sent + c.received > 0).collect();
        Recording {
            format: format!("qlog {version}, {form}"),
            links: Vec::new(),
            packets: self.packets,
            cut_packets: 0,
            duration_s: self.ends / 1e3,
            begins_s: 0.0,
            fault: (!faults.is_empty()).then(|| faults.join("; ")),
            other: self.other,
            left_out: self.left_out,
            connections: Vec::new(),
            rtp: Vec::new(),
            quic,
        }
    }
}
