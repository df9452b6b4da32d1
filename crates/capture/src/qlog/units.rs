//! Units that a file uses in place of those of the drafts: its own times tell them.

use tfrc_units::Instant;

use super::event::{Event, Kind, whole};

/// The round-trip time that a transport assumes before it has measured, milliseconds (RFC 9002
/// §6.2.2).
const ASSUMED_MS: f64 = 333.0;
/// A round trip is at least the time since the newest packet went. Those of a file in seconds are
/// 1000 times as short; a few of all may be short for other reasons.
const SHORT: f64 = 0.02;
const FEWEST: u64 = 4;

/// Units of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Units {
    /// Seconds in a unit of round-trip times.
    pub(super) rtt_s: f64,
    /// Ranges of acknowledgements end before their last number.
    pub(super) ends_open: bool,
}

impl Units {
    /// Finds the units by the first events.
    pub(super) fn of(events: &[(Event, Instant)]) -> Self {
        Self { rtt_s: if is_in_seconds(events) { 1.0 } else { 1e-3 }, ends_open: are_ends_open(events) }
    }

    /// True for the round-trip time that nobody has measured.
    pub(super) fn is_assumed(self, rtt: f64) -> bool {
        (rtt * self.rtt_s * 1e3 - ASSUMED_MS).abs() < 1e-6
    }
}

fn is_in_seconds(events: &[(Event, Instant)]) -> bool {
    let mut metrics = events.iter().filter(|(event, _)| event.kind() == Kind::Metrics);
    let first = metrics.find_map(|(event, _)| event.data.smoothed_rtt.or(event.data.latest_rtt));
    if first.is_some_and(|rtt| (rtt * 1e3 - ASSUMED_MS).abs() < 1e-6) {
        return true;
    }
    let (mut sent, mut short, mut all): (Option<Instant>, u64, u64) = (None, 0, 0);
    for (event, at) in events {
        match event.kind() {
            Kind::Sent => sent = Some(*at),
            Kind::Metrics => {
                let (Some(rtt_ms), Some(sent)) = (event.data.latest_rtt, sent) else { continue };
                let since_ms = at.saturating_since(sent).as_secs_f64() * 1e3;
                // Times closer together than a microsecond say nothing.
                if since_ms > 1e-3 {
                    all += 1;
                    short += u64::from(rtt_ms < since_ms * SHORT);
                }
            }
            _ => {}
        }
    }
    short >= FEWEST && short * 2 > all
}

/// True if an acknowledgement names a number that has not been sent.
fn are_ends_open(events: &[(Event, Instant)]) -> bool {
    let (mut highest, mut begins) = ([None::<u64>; 3], [false; 3]);
    for (event, _) in events {
        let Some((space, Some(number))) = super::connection::space_and_number(event) else { continue };
        let (Some(highest), Some(begins)) = (highest.get_mut(space), begins.get_mut(space)) else { continue };
        match event.kind() {
            Kind::Sent => {
                *begins |= highest.is_none();
                *highest = (*highest).max(Some(whole(number)));
            }
            Kind::Received if *begins => {
                let acks = event.data.frames.as_ref().map_or(&[][..], |frames| &frames.ranges);
                let largest = acks.iter().map(|(_, last)| *last).max();
                if largest.is_some_and(|largest| {
                    highest.is_some_and(|highest| highest.checked_add(1) == Some(largest))
                }) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
