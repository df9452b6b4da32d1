//! The data receiver of a half-connection: measures, and writes feedback (RFC 4342 §6, 8, 10;
//! RFC 6323).

use alloc::vec::Vec;

use tfrc::equation::Equation;
use tfrc::study::{FeedbackTrigger, LossEventTiming};
use tfrc::{Arrival, PacketKind, Receiver, Report};
use tfrc_units::{Duration, Ecn, Instant, saturating, u64_from_f64};

use super::Ccid;
use super::ccid4::drop_counts;
use super::intervals::{rate_to_wire, to_wire};
use super::receiver_rtt::ReceiverRtt;
use crate::wire::{DroppedPackets, LossIntervals, Opt, OptionList, OptionsFull, RttEstimate};

/// The receiving side of CCID 3 and 4.
#[derive(Debug, Clone)]
pub(crate) struct DataReceiver {
    tfrc: Receiver,
    ccid: Ccid,
    rtt: Option<ReceiverRtt>,
    /// CCVal of the newest data packet: what packets without data are taken to have.
    last_counter: u8,
    /// Where options are encoded, again and again.
    space: Vec<u8>,
}

/// Where the receiver gets the round-trip time from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RttSource {
    /// RTT Estimate options: loss events and feedback follow time (RFC 6323, RFC 5348).
    Reports {
        /// The handshake's round-trip time, until the sender reports one.
        handshake: Option<Duration>,
    },
    /// CCVal: loss events and feedback follow the window counter (RFC 4342 §10.2, 10.3).
    WindowCounter,
}

/// A packet as the connection saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionPacket {
    /// Extended sequence number.
    pub(crate) number: u64,
    /// The length of its datagram, `None` if it carries none.
    pub(crate) datagram: Option<usize>,
    pub(crate) ecn: Ecn,
    pub(crate) ccval: u8,
    pub(crate) rtt: Option<RttEstimate>,
    pub(crate) non_data_before: u64,
}

impl DataReceiver {
    /// Expects `first` as the first packet; `config` is that of a half-connection with this CCID.
    pub(crate) fn new(
        now: Instant,
        ccid: Ccid,
        config: &tfrc::Config,
        source: RttSource,
        first: u64,
    ) -> Self {
        let mut settings = *config.settings();
        let choices = settings.algorithm.choices_mut();
        // The sender converts the first interval to its own equation.
        choices.equation = Equation::default();
        let rtt = match source {
            RttSource::Reports { .. } => Some(ReceiverRtt::new()),
            RttSource::WindowCounter => {
                choices.loss_event_timing = LossEventTiming::WindowCounter;
                choices.feedback = FeedbackTrigger::WindowCounter;
                None
            }
        };
        let config = settings.validate().unwrap_or(*config);
        let mut tfrc = Receiver::new(&config);
        tfrc.expect(now, first);
        if let RttSource::Reports { handshake: Some(handshake) } = source {
            tfrc.on_rtt_sample(handshake);
        }
        Self { tfrc, ccid, rtt, last_counter: 0, space: Vec::new() }
    }

    /// The CCID in force.
    pub(crate) const fn ccid(&self) -> Ccid {
        self.ccid
    }

    /// Takes in a valid packet that is not a duplicate.
    pub(crate) fn on_packet(&mut self, now: Instant, seen: &ConnectionPacket) {
        if seen.datagram.is_some() {
            self.last_counter = seen.ccval;
        }
        let rtt = match (&mut self.rtt, seen.rtt) {
            (Some(receiver_rtt), Some(estimate)) => Some(receiver_rtt.on_option(now, estimate)),
            _ => None,
        };
        self.tfrc.on_packet(
            now,
            Arrival {
                seq: seen.number,
                size: seen.datagram.map_or(0, saturating::<u32>),
                ecn: seen.ecn,
                rtt,
                window_counter: self.last_counter,
                kind: if seen.datagram.is_some() { PacketKind::Data } else { PacketKind::NonData },
                // RFC 4342 §6.1.1.
                non_data_before: saturating::<u32>(seen.non_data_before),
            },
        );
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.tfrc.handle_timeout(now);
    }

    /// When the feedback timer expires.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.poll_timeout().map(|wake| wake.at)
    }

    /// The report that is due; once taken it must be sent.
    pub(crate) fn poll_feedback(&mut self, now: Instant) -> Option<Report> {
        self.tfrc.poll_feedback(now)
    }

    /// Writes a report's options except Elapsed Time. The packet acknowledges `unreported`
    /// packets more than the loss history knows.
    pub(crate) fn push_feedback(
        &mut self,
        report: &Report,
        unreported: u64,
        list: &mut OptionList,
    ) -> Result<(), OptionsFull> {
        let rate = u64_from_f64(report.receive_rate.bytes_per_sec() + 0.5);
        // RFC 4342 §8.3.
        list.push(&Opt::ReceiveRate(saturating::<u32>(rate)))?;
        // RFC 4342 §8.4.
        list.push(&Opt::LossEventRate(rate_to_wire(report.loss_event_rate)))?;
        let space = &mut self.space;
        let skip = saturating::<u8>(self.tfrc.skip_length().saturating_add(unreported));
        let intervals = to_wire(self.tfrc.loss_intervals());
        // RFC 4342 §8.6.
        list.push(&Opt::LossIntervals(LossIntervals::encode_each(skip, intervals, space)))?;
        match self.ccid {
            Ccid::Three => Ok(()),
            Ccid::Four => {
                let counts = drop_counts(self.tfrc.loss_intervals());
                // RFC 5622 §8.7.
                list.push(&Opt::DroppedPackets(DroppedPackets::encode_each(counts, space)))
            }
        }
    }

    /// Bytes that `push_feedback` writes at most.
    pub(crate) fn feedback_length(&self) -> usize {
        const RATES: usize = 6 + 6;
        const HEAD: usize = 3;
        const CELL: usize = 9;
        const COUNT_HEAD: usize = 2;
        const COUNT: usize = 3;
        let intervals = self.tfrc.loss_intervals().take(LossIntervals::MAX_INTERVALS).count();
        let counts = match self.ccid {
            Ccid::Three => 0,
            Ccid::Four => COUNT_HEAD + COUNT * intervals,
        };
        RATES + HEAD + CELL * intervals + counts
    }

    /// The state machine underneath, to look at.
    pub(crate) const fn tfrc(&self) -> &Receiver {
        &self.tfrc
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Encapsulation;

    const RTT: Duration = Duration::from_millis(100);

    /// p after two loss events of three losses each, 40 packets and ten round-trip times apart,
    /// when all that CCVal shows of the time between is k and k + 5.
    fn after_a_pause(source: RttSource) -> f64 {
        let config = Ccid::Four.config(&tfrc::Config::default(), Encapsulation::Udp, 1472);
        let mut receiver = DataReceiver::new(Instant::ZERO, Ccid::Four, &config, source, 1);
        for number in (1..=140).filter(|n| !matches!(n, 81..=83 | 121..=123)) {
            let (ccval, at) = if number <= 100 { (0, number / 10) } else { (5, 1000 + number / 10) };
            let seen = ConnectionPacket {
                number,
                datagram: Some(14),
                ecn: Ecn::NotEct,
                ccval,
                rtt: Some(RttEstimate::from_rtt(Some(RTT))),
                non_data_before: 0,
            };
            receiver.on_packet(Instant::ZERO + Duration::from_millis(at), &seen);
        }
        assert_eq!(receiver.tfrc().loss_events(), 2);
        receiver.tfrc().loss_event_rate().get()
    }

    /// RFC 5622 §8.4: the window counter takes this long interval for a short one, and its three
    /// losses all count; p is then too high, never too low.
    #[test]
    fn the_window_counter_may_take_a_long_interval_for_a_short_one() {
        let by_counter = after_a_pause(RttSource::WindowCounter);
        let by_time = after_a_pause(RttSource::Reports { handshake: None });
        assert!(by_counter > by_time * 1.5, "by counter {by_counter}, by time {by_time}");
    }
}
