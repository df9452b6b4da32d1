//! Runs of ns-2.35, played to a loss history.

use tfrc_units::{Duration, Ecn, Instant};

use crate::history::{LossHistory, Seen};
use crate::study::Stamp;

/// Packets and reports of one run, with `printLoss_` 1. Times are in microseconds.
pub(super) struct Trace<'a> {
    /// Sequence numbers that arrived, when they were sent, and the sender's rounds.
    pub(super) arrived: &'a [(u64, u64, u32)],
    /// Reports: when, and p as printed, to five digits.
    pub(super) reported: &'a [(u64, f64)],
    /// From sending to arrival.
    pub(super) way: u64,
    /// The round-trip time that packets carry.
    pub(super) rtt: u64,
    /// Payload of a packet, in bytes.
    pub(super) size: u32,
    /// The synthetic first interval of that run, in packets.
    pub(super) first_interval: f64,
}

impl Trace<'_> {
    /// Has the history see the packets, and compares its p with each report from the tenth loss
    /// event on: the first event of ns-2 begins a packet early, and then there is no trace of it.
    /// Returns the number of reports compared.
    pub(super) fn play(&self, history: &mut LossHistory) -> usize {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let mut arrived = self.arrived.iter().peekable();
        let mut compared = 0;
        for (report, p) in self.reported {
            while let Some((seq, sent, round)) =
                arrived.next_if(|(_, sent, _)| sent + self.way <= report + 10)
            {
                let seen = Seen {
                    seq: *seq,
                    ecn: Ecn::NotEct,
                    is_data: true,
                    non_data_before: 0,
                    window_counter: 0,
                    size: self.size,
                    stamp: Stamp { sent_at: Some(at(*sent)), round: *round, ..Stamp::NONE },
                    rtt: Duration::from_micros(self.rtt),
                };
                history.on_packet(at(sent + self.way), &seen, |_| self.first_interval);
            }
            history.on_report(at(*report));
            let ours = history.loss_event_rate().get();
            if history.loss_events() > 9 {
                assert!((ours - p).abs() < 6e-6, "at {report} us: {ours}, ns-2 has {p}");
                compared += 1;
            }
        }
        assert_eq!(arrived.next(), None);
        compared
    }
}
