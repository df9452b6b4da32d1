//! Differences of CCID 4 from CCID 3 (RFC 5622): its place in the settings of the rate control, the
//! Dropped Packets option, and how long loss intervals lasted as the sender sees it.
//!
//! A receiver without a round-trip time judges by the window counter which loss intervals are
//! short. CCVal steps by at most five, so an interval whose packets show only k and k + 5 may have
//! lasted for any time and is taken for a short one, as is one whose packets in between are lost
//! (RFC 5622 §8.4): then p is too high, which harms no other flow. RTT Estimate options (RFC 6323)
//! avoid that, and the sender uses its own send times.

use alloc::vec::Vec;

use arrayvec::ArrayVec;

use tfrc::Config;
use tfrc::config::{NominalSegment, PacketSize, TfrcSp};
use tfrc::history::ReportedInterval;
use tfrc_units::{Duration, Instant, SeqNo48, f64_from_u64, saturating};

use super::Ccid;
use super::sent::SentLog;
use crate::connection::Encapsulation;
use crate::wire::{DroppedPackets, LossInterval, LossIntervals, PacketType};

/// IPv4 without options, and UDP.
const IP: usize = 20;
const UDP: usize = 8;
/// IPv4 and TCP without options, which the MSS of a path leaves out of its MTU.
const IP_AND_TCP: usize = 40;

/// H, what a data packet has besides its data: 36 bytes, or 32 without `extended` sequence numbers
/// (RFC 5622 §5), and those of UDP where there is UDP (RFC 6773).
const fn header_bytes(encapsulation: Encapsulation, extended: bool) -> usize {
    below(encapsulation) + PacketType::Data.fixed_length(extended)
}

const fn below(encapsulation: Encapsulation) -> usize {
    match encapsulation {
        Encapsulation::Udp => IP + UDP,
        Encapsulation::Native { .. } | Encapsulation::Hosted => IP,
    }
}

/// The MSS of a path that carries `max_packet` bytes of DCCP: its MTU less 40 (RFC 4828 §3).
pub(crate) fn path_mss(encapsulation: Encapsulation, max_packet: usize) -> u32 {
    let mss = (max_packet + below(encapsulation)).saturating_sub(IP_AND_TCP).max(1);
    saturating::<u32>(mss)
}

impl Ccid {
    /// The settings of a half-connection with this CCID: CCID 4 is TFRC-SP with the headers that
    /// its packets have and the MSS of a path that carries `max_packet` bytes of DCCP
    /// (RFC 4828 §3); CCID 3 never is. The rest is as in `base`, of TFRC-SP the Min Interval and
    /// the rule for short intervals; with a study's rule the headers too.
    pub(crate) fn config(self, base: &Config, encapsulation: Encapsulation, max_packet: usize) -> Config {
        let mut settings = *base.settings();
        let cut = |bytes: usize| saturating::<u32>(bytes);
        settings.packet_size = match (self, settings.packet_size) {
            (Self::Three, PacketSize::TfrcSp(_)) => PacketSize::Own,
            (Self::Three, other) => other,
            (Self::Four, set) => {
                let wished = if let PacketSize::TfrcSp(wished) = set { wished } else { TfrcSp::default() };
                let header = if wished.short_intervals.goes_by_reports() {
                    // A study's rule charges the headers that the study has.
                    wished.header
                } else {
                    // Short sequence numbers are never sent.
                    cut(header_bytes(encapsulation, true))
                };
                PacketSize::TfrcSp(TfrcSp {
                    nominal: NominalSegment::PathMss(path_mss(encapsulation, max_packet)),
                    header,
                    ..wished
                })
            }
        };
        settings.validate().unwrap_or(*base)
    }
}

/// The Drop Counts of these intervals: never above the Loss Length (§8.7).
pub(crate) fn drop_counts(
    intervals: impl Iterator<Item = tfrc::history::LossInterval>,
) -> impl Iterator<Item = u32> {
    intervals
        .take(LossIntervals::MAX_INTERVALS)
        // RFC 5622 §8.7.
        .map(|interval| saturating::<u32>(interval.lost.min(interval.loss_length)))
}

/// A value for each loss interval of a report.
pub(crate) type PerInterval<T> = ArrayVec<T, { LossIntervals::MAX_INTERVALS }>;

/// When the loss intervals began that were reported last: their first packets are acknowledged and
/// soon forgotten.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalTimes {
    /// Newest first, as many as one report holds at most.
    starts: Vec<(SeqNo48, Instant)>,
}

impl IntervalTimes {
    /// The intervals of a report that acknowledges `ack`, each with its losses and its duration in
    /// round-trip times between the sending of its first packet and of the next one's.
    ///
    /// A Drop Count above the Loss Length counts as that, and so does a missing one (§8.7). What
    /// cannot be timed is taken for short: that happens only when a receiver reports losses before
    /// what it has long acknowledged as received.
    pub(crate) fn measure(
        &mut self,
        ack: SeqNo48,
        skip: u8,
        intervals: &[LossInterval],
        dropped: Option<&DroppedPackets<'_>>,
        log: &SentLog,
        rtt: Duration,
    ) -> PerInterval<ReportedInterval> {
        let mut counts = dropped.into_iter().flat_map(DroppedPackets::iter);
        let mut end = ack.add(1).sub(u64::from(skip));
        let mut ended = self.sent_at(ack, log);
        let (mut measured, mut starts) = (PerInterval::new(), PerInterval::<(SeqNo48, Instant)>::new());
        for interval in intervals.iter().take(LossIntervals::MAX_INTERVALS) {
            let start = end.sub(u64::from(interval.lossless_length) + u64::from(interval.loss_length));
            let began = self.sent_at(start, log);
            // Only the time before the first loss event has no lossy part. It is as long as it is.
            let round_trips = match (interval.loss_length, began, ended) {
                (0, _, _) => f64::INFINITY,
                (_, Some(began), Some(ended)) => round_trips(ended.saturating_since(began), rtt),
                _ => 0.0,
            };
            measured.push(ReportedInterval {
                length: f64::from(interval.data_length.max(1)),
                lost: u64::from(counts.next().unwrap_or(u32::MAX).min(interval.loss_length)),
                round_trips,
            });
            starts.extend(began.filter(|_| interval.loss_length > 0).map(|at| (start, at)));
            (end, ended) = (start, began);
        }
        self.starts.clear();
        self.starts.extend(starts);
        measured
    }

    fn sent_at(&self, seq: SeqNo48, log: &SentLog) -> Option<Instant> {
        let known = || self.starts.iter().find(|(start, _)| *start == seq).map(|(_, at)| *at);
        log.get(seq).map(|sent| sent.at).or_else(known)
    }
}

fn round_trips(lasted: Duration, rtt: Duration) -> f64 {
    if rtt.is_zero() { f64::INFINITY } else { f64_from_u64(lasted.as_nanos()) / f64_from_u64(rtt.as_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ccid::sent::{Sent, SentKind};
    use crate::wire::Nonce;
    use core::net::{IpAddr, Ipv4Addr};
    use tfrc::Settings;
    use tfrc::study::Revision;

    const NATIVE: Encapsulation = Encapsulation::Native {
        local: IpAddr::V4(Ipv4Addr::LOCALHOST),
        remote: IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn headers_are_those_of_the_text() {
        // RFC 5622 §5, and eight bytes more in UDP.
        assert_eq!(header_bytes(NATIVE, true), 36);
        assert_eq!(header_bytes(NATIVE, false), 32);
        assert_eq!(header_bytes(Encapsulation::Udp, true), 44);
        assert_eq!(header_bytes(Encapsulation::Udp, false), 40);
    }

    #[test]
    fn each_identifier_has_its_packet_size() {
        let base = Config::default();
        assert_eq!(Ccid::Three.config(&base, NATIVE, 1480), base);
        let four = Ccid::Four.config(&base, Encapsulation::Udp, 1472);
        let PacketSize::TfrcSp(sp) = four.settings().packet_size else { panic!("not TFRC-SP") };
        assert_eq!((sp.nominal.bytes(), sp.header), (1460, 44));
        assert_eq!(sp.min_interval, TfrcSp::default().min_interval);
        assert_eq!(Ccid::Three.config(&four, NATIVE, 1480), base);
        // A path of 576 bytes leaves TCP 536.
        let PacketSize::TfrcSp(sp) = Ccid::Four.config(&four, NATIVE, 556).settings().packet_size else {
            panic!("not TFRC-SP")
        };
        assert_eq!((sp.nominal.bytes(), sp.header), (536, 36));
        let study =
            Settings { packet_size: PacketSize::TfrcSp(Revision::Ns2.tfrc_sp()), ..Settings::default() };
        let study = Ccid::Four.config(&study.validate().expect("sound"), Encapsulation::Udp, 1472);
        assert_eq!(study.settings().packet_size.data_share(32.0), 0.5);
    }

    fn interval(lossless_length: u32, loss_length: u32, data_length: u32) -> LossInterval {
        LossInterval { lossless_length, nonce: Nonce::Zero, loss_length, data_length }
    }

    /// Packets 0 to 44 of the example of §8.7.1, one every 10 ms.
    fn log() -> SentLog {
        let mut log = SentLog::default();
        for n in 0..45 {
            let at = Instant::ZERO + Duration::from_millis(10 * n);
            log.push(SeqNo48::new(n), Sent { at, kind: SentKind::Data(0) });
        }
        log
    }

    fn measure(
        times: &mut IntervalTimes,
        counts: Option<&[u32]>,
        log: &SentLog,
    ) -> PerInterval<ReportedInterval> {
        let example = [interval(10, 1, 10), interval(8, 5, 10), interval(8, 1, 8), interval(10, 0, 15)];
        let (mut space, mut count_space) = (Vec::new(), Vec::new());
        let intervals = LossIntervals::encode(2, &example, &mut space);
        let dropped = counts.map(|counts| DroppedPackets::encode(counts, &mut count_space));
        let reported: Vec<LossInterval> = intervals.iter().collect();
        times.measure(SeqNo48::new(44), intervals.skip_length, &reported, dropped.as_ref(), log, RTT)
    }

    #[test]
    fn the_example_is_timed_by_what_was_sent() {
        let mut times = IntervalTimes::default();
        let measured = measure(&mut times, Some(&[1, 4, 1, 0]), &log());
        let lost: Vec<u64> = measured.iter().map(|i| i.lost).collect();
        let lengths: Vec<f64> = measured.iter().map(|i| i.length).collect();
        let round_trips: Vec<f64> = measured.iter().map(|i| i.round_trips).collect();
        assert_eq!((lost, lengths), ([1, 4, 1, 0].to_vec(), [10.0, 10.0, 8.0, 15.0].to_vec()));
        // They begin with packets 32, 19 and 10; the newest is as old as the packet acknowledged.
        assert_eq!(round_trips, [1.2, 1.3, 0.9, f64::INFINITY]);
    }

    #[test]
    fn times_outlast_the_log() {
        let (mut times, mut log) = (IntervalTimes::default(), log());
        let before = measure(&mut times, None, &log);
        log.forget_before(SeqNo48::new(44));
        assert_eq!(measure(&mut times, None, &log), before);
        let never_seen = measure(&mut IntervalTimes::default(), None, &log);
        let round_trips: Vec<f64> = never_seen.iter().map(|i| i.round_trips).collect();
        assert_eq!(round_trips, [0.0, 0.0, 0.0, f64::INFINITY]);
    }

    #[test]
    fn counts_are_clamped_and_missing_ones_made_up() {
        // §8.7: five is the longest lossy part; what no count covers has lost all of it.
        for (counts, expected) in [
            (None, [1, 5, 1, 0]),
            (Some(&[9, 9, 9, 9][..]), [1, 5, 1, 0]),
            (Some(&[0, 3]), [0, 3, 1, 0]),
            (Some(&[1, 1, 1, 0, 7, 7]), [1, 1, 1, 0]),
        ] {
            let measured = measure(&mut IntervalTimes::default(), counts, &log());
            assert_eq!(measured.iter().map(|i| i.lost).collect::<Vec<_>>(), expected, "{counts:?}");
        }
    }
}
