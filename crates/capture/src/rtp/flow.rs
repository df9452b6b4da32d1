//! A flow of RTP: its streams, and the feedback on them.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use tfrc_units::{Instant, saturating};

use super::header::RtpHeader;
use crate::bounded::{Samples, Series};
use crate::document::{Queueing, RtpFlow, RtpRow, RtpStream};

/// Streams and transport-wide numberings of a flow that are followed.
const STREAMS: usize = 8;
const NUMBERINGS: usize = 2;
/// Packets that wait for feedback, in each numbering.
const WAITING: usize = 2048;
/// Rows that are kept, and the least time of a row, seconds.
const ROWS: usize = 400;
const ROW_S: f64 = 0.5;
/// A flow is RTP if a stream has this many packets whose numbers follow each other.
const FEWEST: u64 = 8;
/// Numbers that follow each other differ by less than this.
const NEAR: u16 = 1000;

/// The numbers by which feedback names packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Numbering {
    /// Those of an extension of the transport.
    Transport(u8),
    /// RTP's, of a stream.
    Stream(u32),
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    at: Instant,
    size: u16,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unreported,
    Missing,
    Came,
}

/// Packets of one numbering.
#[derive(Debug, Default)]
struct Record {
    newest: Option<u64>,
    sent: VecDeque<Sent>,
    /// Numbers that followed the one before.
    steps: u64,
}

impl Record {
    /// The number that does not wrap.
    fn unwrapped(&self, seq: u16) -> u64 {
        let newest = self.newest.unwrap_or(1 << 16 | u64::from(seq));
        let ahead = seq.wrapping_sub(saturating::<u16>(newest & 0xFFFF)).cast_signed();
        newest.saturating_add_signed(i64::from(ahead))
    }

    fn on_packet(&mut self, at: Instant, seq: u16, size: usize) {
        let number = self.unwrapped(seq);
        if self.newest.is_some_and(|newest| number <= newest) {
            return;
        }
        self.steps += u64::from(self.newest.is_some_and(|newest| number - newest <= 16));
        self.newest = Some(number);
        if self.sent.len() == WAITING {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { number, at, size: saturating::<u16>(size), state: State::Unreported });
    }

    fn find(&mut self, seq: u16) -> Option<&mut Sent> {
        self.newest?;
        let number = self.unwrapped(seq);
        let place = self.sent.binary_search_by_key(&number, |sent| sent.number).ok()?;
        self.sent.get_mut(place)
    }
}

/// A stream's own numbers, as they pass the tap.
#[derive(Debug, Default)]
struct Stream {
    payload_type: u8,
    packets: u64,
    near: u64,
    highest: Option<u16>,
    missing: u64,
    late: u64,
}

impl Stream {
    /// Returns the packets missing before this one.
    fn on_packet(&mut self, header: &RtpHeader) -> u64 {
        self.packets += 1;
        self.payload_type = header.payload_type;
        let Some(highest) = self.highest else {
            self.highest = Some(header.seq);
            return 0;
        };
        let ahead = header.seq.wrapping_sub(highest);
        if ahead == 0 || ahead > u16::MAX - NEAR {
            self.near += u64::from(ahead != 0);
            self.late += 1;
            self.missing = self.missing.saturating_sub(u64::from(ahead != 0));
            return 0;
        }
        self.highest = Some(header.seq);
        if ahead >= NEAR {
            return 0;
        }
        self.near += 1;
        self.missing += u64::from(ahead) - 1;
        u64::from(ahead) - 1
    }
}

/// Sums of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    sent: u64,
    came: u64,
    missing_before: u64,
    lost: u64,
    queueing: Option<f64>,
    held: Option<f64>,
}

/// A flow.
#[derive(Debug)]
pub(super) struct Flow {
    first_packet: u64,
    from: SocketAddr,
    to: SocketAddr,
    packets: u64,
    bytes: u64,
    begins: Option<Instant>,
    ends: Instant,
    streams: BTreeMap<u32, Stream>,
    records: BTreeMap<Numbering, Record>,
    feedback: Option<&'static str>,
    reports: u64,
    /// Datagrams of RTCP against the flow.
    control: u64,
    unreadable: u64,
    came: u64,
    lost: u64,
    /// The least delay, by two clocks that need not agree, seconds.
    least: Option<f64>,
    queueing: Samples,
    held: Samples,
    row_from: Option<Instant>,
    row: Sums,
    rows: Series<RtpRow>,
}

impl Flow {
    pub(super) const fn new(first_packet: u64, from: SocketAddr, to: SocketAddr) -> Self {
        Self {
            first_packet,
            from,
            to,
            packets: 0,
            bytes: 0,
            begins: None,
            ends: Instant::ZERO,
            streams: BTreeMap::new(),
            records: BTreeMap::new(),
            feedback: None,
            reports: 0,
            control: 0,
            unreadable: 0,
            came: 0,
            lost: 0,
            least: None,
            queueing: Samples::new(),
            held: Samples::new(),
            row_from: None,
            row: Sums { sent: 0, came: 0, missing_before: 0, lost: 0, queueing: None, held: None },
            rows: Series::new(ROWS),
        }
    }

    /// An RTP packet of `size` bytes of UDP passes the tap.
    pub(super) fn on_packet(&mut self, at: Instant, header: &RtpHeader, size: usize) {
        self.end_row(at);
        self.packets += 1;
        self.bytes += size as u64;
        self.row.sent += size as u64;
        self.begins.get_or_insert(at);
        self.ends = at;
        if self.streams.contains_key(&header.ssrc) || self.streams.len() < STREAMS {
            let missing = self.streams.entry(header.ssrc).or_default().on_packet(header);
            self.row.missing_before += missing;
            let record = self.records.entry(Numbering::Stream(header.ssrc)).or_default();
            record.on_packet(at, header.seq, size);
        }
        for (id, seq) in header.numbers.into_iter().flatten() {
            let numbering = Numbering::Transport(id);
            if self.records.contains_key(&numbering) || self.numberings().count() < NUMBERINGS {
                self.records.entry(numbering).or_default().on_packet(at, seq, size);
            }
        }
    }

    fn numberings(&self) -> impl Iterator<Item = (Numbering, u64)> + '_ {
        let all = self.records.iter().map(|(numbering, record)| (*numbering, record.steps));
        all.filter(|(numbering, _)| matches!(numbering, Numbering::Transport(_)))
    }

    /// The extension whose values count the packets of the transport.
    pub(super) fn transport_wide(&self) -> Option<Numbering> {
        self.numberings().max_by_key(|(_, steps)| *steps).map(|(numbering, _)| numbering)
    }

    /// A datagram of RTCP against the flow.
    pub(super) const fn on_control(&mut self) {
        self.control += 1;
    }

    /// Datagrams of RTP and RTCP.
    pub(super) const fn datagrams(&self) -> u64 {
        self.packets + self.control
    }

    /// RTCP that is encrypted or damaged.
    pub(super) const fn on_unreadable(&mut self) {
        self.unreadable += 1;
    }

    pub(super) fn begin_report(&mut self, at: Instant, kind: &'static str) {
        self.end_row(at);
        self.reports += 1;
        self.feedback = Some(kind);
        self.row.held = None;
    }

    /// A report says of a packet that it has not come (`None`), or that it came, and when by the
    /// receiver's clock, seconds.
    pub(super) fn on_status(
        &mut self,
        at: Instant,
        numbering: Numbering,
        seq: u16,
        status: Option<Option<f64>>,
    ) {
        let Some(sent) = self.records.get_mut(&numbering).and_then(|record| record.find(seq)) else { return };
        let before = sent.state;
        match status {
            None if before == State::Unreported => {
                sent.state = State::Missing;
                self.lost += 1;
                self.row.lost += 1;
            }
            Some(arrival) if before != State::Came => {
                sent.state = State::Came;
                let held = at.saturating_since(sent.at).as_secs_f64();
                let (size, sent_at) = (u64::from(sent.size), sent.at);
                self.came += 1;
                self.row.came += size;
                if before == State::Missing {
                    self.lost -= 1;
                    self.row.lost = self.row.lost.saturating_sub(1);
                }
                // The newest packet of the report is the last one.
                self.row.held = Some(held);
                self.held.push(held);
                let Some(arrival) = arrival else { return };
                let delay = arrival - sent_at.as_secs_f64();
                let least = self.least.map_or(delay, |least| least.min(delay));
                self.least = Some(least);
                self.queueing.push(delay - least);
                self.row.queueing = Some(self.row.queueing.unwrap_or(0.0).max(delay - least));
            }
            _ => {}
        }
    }

    fn end_row(&mut self, at: Instant) {
        let from = *self.row_from.get_or_insert(at);
        let time = at.saturating_since(from).as_secs_f64();
        if time < ROW_S {
            return;
        }
        let row = std::mem::take(&mut self.row);
        self.row_from = Some(at);
        let rate = |bytes: u64| bytes as f64 * 8.0 / time;
        self.rows.push(RtpRow {
            time_s: at.as_secs_f64(),
            sent_bps: rate(row.sent),
            received_bps: self.feedback.map(|_| rate(row.came)),
            missing_before_tap: row.missing_before,
            lost: self.feedback.map(|_| row.lost),
            queueing_s: row.queueing,
            answered_s: row.held,
        });
    }

    /// The result; `None` if the numbers are not those of RTP.
    pub(super) fn finish(self) -> Option<RtpFlow> {
        let is_rtp = |stream: &Stream| stream.packets > FEWEST && stream.near * 5 >= stream.packets * 4;
        if !self.streams.values().any(is_rtp) {
            return None;
        }
        let duration = self.begins.map_or(0.0, |begins| self.ends.saturating_since(begins).as_secs_f64());
        let streams = self.streams.iter().map(|(ssrc, stream)| RtpStream {
            ssrc: format!("{ssrc:08x}"),
            payload_type: stream.payload_type,
            packets: stream.packets,
            missing_before_tap: stream.missing,
            late: stream.late,
        });
        Some(RtpFlow {
            from: self.from.to_string(),
            to: self.to.to_string(),
            first_packet: self.first_packet,
            packets: self.packets,
            bytes: self.bytes,
            duration_s: duration,
            rate_bps: (duration > 0.0).then(|| self.bytes as f64 * 8.0 / duration),
            streams: streams.collect(),
            feedback: self.feedback.map(str::to_owned),
            reports: self.reports,
            unreadable_rtcp: self.unreadable,
            reported: self.came + self.lost,
            lost: self.feedback.map(|_| self.lost),
            answered_s: self.held.median(),
            queueing: self.feedback.map(|_| Queueing {
                by: "feedback".to_owned(),
                samples: self.queueing.count(),
                median_s: self.queueing.median(),
                most_s: self.queueing.most(),
            }),
            series: self.rows.items().to_vec(),
        })
    }
}
