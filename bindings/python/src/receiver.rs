//! The receiving half of the algorithm, and its reports.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc::study::Stamp;
use tfrc::{Arrival, FeedbackReason, PacketKind};

use crate::config::{Config, or_default};
use crate::quantities::{duration, ecn, instant, probability, rate};

/// A receiver's report to the sender (RFC 5348 §3.2.2). Rebuild it at the sender from the fields of
/// a packet of your own.
#[pyclass(frozen, get_all, eq, module = "tfrc")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    /// The highest sequence number received.
    newest_seq: u64,
    /// t_delay: how long ago that packet arrived, seconds.
    elapsed_s: f64,
    /// X_recv, the receive rate, bit/s; 0 in the first report.
    receive_rate_bps: f64,
    /// p, the loss event rate, 0 to 1.
    loss_event_rate: f64,
    /// Loss events found since the beginning.
    loss_events: u64,
    /// Data packets up to `newest_seq`.
    packets: u64,
    /// Those of them that were marked or have not come.
    lost: u64,
    /// Why now: `first`, `new-loss-event`, `loss-event-removed`, `regular` or `asked`.
    reason: String,
}

/// Reasons of a report, by their words.
const REASONS: [(&str, FeedbackReason); 5] = [
    ("asked", FeedbackReason::Asked),
    ("first", FeedbackReason::First),
    ("loss-event-removed", FeedbackReason::LossEventRemoved),
    ("new-loss-event", FeedbackReason::NewLossEvent),
    ("regular", FeedbackReason::Regular),
];

impl Report {
    /// The report as the core has it.
    pub(crate) fn core(&self) -> PyResult<tfrc::Report> {
        let Some((_, reason)) = REASONS.iter().find(|(word, _)| *word == self.reason) else {
            let words = REASONS.map(|(word, _)| word).join(", ");
            return Err(PyValueError::new_err(format!("reason {:?}: one of {words}", self.reason)));
        };
        Ok(tfrc::Report {
            newest_seq: self.newest_seq,
            elapsed: duration(self.elapsed_s)?,
            receive_rate: rate(self.receive_rate_bps)?,
            loss_event_rate: probability(self.loss_event_rate)?,
            loss_events: self.loss_events,
            packets: self.packets,
            lost: self.lost,
            reason: *reason,
        })
    }

    fn of(report: tfrc::Report) -> Self {
        let word = REASONS.iter().find(|(_, reason)| *reason == report.reason);
        Self {
            newest_seq: report.newest_seq,
            elapsed_s: report.elapsed.as_secs_f64(),
            receive_rate_bps: report.receive_rate.bits_per_sec(),
            loss_event_rate: report.loss_event_rate.get(),
            loss_events: report.loss_events,
            packets: report.packets,
            lost: report.lost,
            reason: word.map_or("regular", |(word, _)| word).to_owned(),
        }
    }
}

#[pymethods]
impl Report {
    #[new]
    #[pyo3(signature = (
        *, newest_seq, elapsed_s, receive_rate_bps, loss_event_rate, loss_events, packets, lost, reason="regular"
    ))]
    #[expect(clippy::too_many_arguments, reason = "fields by keyword")]
    fn new(
        newest_seq: u64,
        elapsed_s: f64,
        receive_rate_bps: f64,
        loss_event_rate: f64,
        loss_events: u64,
        packets: u64,
        lost: u64,
        reason: &str,
    ) -> PyResult<Self> {
        let reason = reason.to_owned();
        let report = Self {
            newest_seq,
            elapsed_s,
            receive_rate_bps,
            loss_event_rate,
            loss_events,
            packets,
            lost,
            reason,
        };
        report.core()?;
        Ok(report)
    }

    fn __repr__(&self) -> String {
        let Self { newest_seq, receive_rate_bps, loss_event_rate, reason, .. } = self;
        format!(
            "Report(newest_seq={newest_seq}, receive_rate_bps={receive_rate_bps}, \
             loss_event_rate={loss_event_rate}, reason='{reason}', …)"
        )
    }
}

/// The receiving half (RFC 5348 §5, §6): hand in each packet that arrives, then send the reports
/// that `poll_feedback` gives.
///
/// Times are seconds since any epoch, the same in all calls; rates are bit/s.
#[pyclass(module = "tfrc")]
#[derive(Debug)]
pub(crate) struct Receiver(tfrc::Receiver);

#[pymethods]
impl Receiver {
    #[new]
    #[pyo3(signature = (config=None))]
    fn new(config: Option<&Config>) -> Self {
        Self(tfrc::Receiver::new(&or_default(config)))
    }

    /// Says which sequence number comes first, at least 1, so that the loss of the first packet is
    /// noticed.
    fn expect(&mut self, now: f64, first_seq: u64) -> PyResult<()> {
        self.0.expect(instant(now)?, first_seq);
        Ok(())
    }

    /// A round-trip time known from elsewhere, used until a packet carries one.
    fn on_rtt_sample(&mut self, rtt_s: f64) -> PyResult<()> {
        self.0.on_rtt_sample(duration(rtt_s)?);
        Ok(())
    }

    /// A packet has arrived: its sequence number, its bytes of data, the sender's round-trip time
    /// estimate if the packet carries one, and a congestion mark (ECN CE), which counts as a loss.
    #[pyo3(signature = (now, seq, size, *, rtt_s=None, ce=false))]
    fn on_packet(&mut self, now: f64, seq: u64, size: u32, rtt_s: Option<f64>, ce: bool) -> PyResult<()> {
        let arrival = Arrival {
            seq,
            size,
            ecn: ecn(ce),
            rtt: rtt_s.map(duration).transpose()?,
            window_counter: 0,
            stamp: Stamp::NONE,
            kind: PacketKind::Data,
            non_data_before: 0,
        };
        self.0.on_packet(instant(now)?, arrival);
        Ok(())
    }

    /// Lets time pass: the feedback timer may expire. Early, late and repeated calls do no harm.
    fn handle_timeout(&mut self, now: f64) -> PyResult<()> {
        self.0.handle_timeout(instant(now)?);
        Ok(())
    }

    /// The time at which `handle_timeout` wants to be called; `None` for no timer.
    fn poll_timeout(&self) -> Option<f64> {
        self.0.poll_timeout().map(|wake| wake.at.as_secs_f64())
    }

    /// The report that is due, if any. It must then be sent.
    fn poll_feedback(&mut self, now: f64) -> PyResult<Option<Report>> {
        Ok(self.0.poll_feedback(instant(now)?).map(Report::of))
    }

    /// p as of now; 0 before the first loss event.
    #[getter]
    fn loss_event_rate(&self) -> f64 {
        self.0.loss_event_rate().get()
    }

    /// Loss events found so far.
    #[getter]
    fn loss_events(&self) -> u64 {
        self.0.loss_events()
    }

    /// The round-trip time in use, seconds.
    #[getter]
    fn rtt_s(&self) -> f64 {
        self.0.rtt().as_secs_f64()
    }
}
