//! The sending half of the algorithm, with its record of the packets sent.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc::SentRecord;
use tfrc::config::RateCap;

use crate::config::{Config, or_default};
use crate::quantities::{self, RateChange, duration, instant, rate};
use crate::receiver::Report;

/// Packets remembered until a report covers them.
const REMEMBERED: usize = 16_384;

/// The sending half (RFC 5348 §4), for packets of your own: say when a packet goes, hand in the
/// reports that come back, and send as fast as `next_send` says.
///
/// Times are seconds since any epoch, the same in all calls; rates are bit/s.
#[pyclass(module = "tfrc")]
#[derive(Debug)]
pub(crate) struct Sender {
    core: tfrc::Sender,
    record: SentRecord<REMEMBERED>,
}

#[pymethods]
impl Sender {
    #[new]
    #[pyo3(signature = (config=None))]
    fn new(config: Option<&Config>) -> Self {
        Self { core: tfrc::Sender::new(&or_default(config)), record: SentRecord::starting_at(0) }
    }

    /// A round-trip time known from elsewhere, such as a handshake.
    fn on_rtt_sample(&mut self, now: f64, rtt_s: f64) -> PyResult<()> {
        self.core.on_rtt_sample(instant(now)?, duration(rtt_s)?);
        Ok(())
    }

    /// The time at which the next packet may go: `now` if at once, `None` after a stop.
    fn next_send(&self, now: f64) -> PyResult<Option<f64>> {
        Ok(quantities::next_send(now, self.core.next_send(instant(now)?)))
    }

    /// A packet with `size` bytes of data goes; returns its sequence number, which it must carry.
    fn on_sent(&mut self, now: f64, size: u32) -> PyResult<u64> {
        let now = instant(now)?;
        self.core.on_sent(now, size);
        Ok(self.record.on_sent(now))
    }

    /// Takes in a report of the receiver; returns false for a report that says nothing new: it
    /// names a packet that was never sent or is forgotten, or was overtaken by another report.
    fn on_report(&mut self, now: f64, report: &Report) -> PyResult<bool> {
        let now = instant(now)?;
        let feedback = self.record.feedback(&report.core()?);
        if let Some(feedback) = feedback {
            self.core.on_feedback(now, feedback);
        }
        Ok(feedback.is_some())
    }

    /// Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
    fn handle_timeout(&mut self, now: f64) -> PyResult<()> {
        self.core.handle_timeout(instant(now)?);
        Ok(())
    }

    /// The time at which `handle_timeout` wants to be called; `None` for no timer.
    fn poll_timeout(&self) -> Option<f64> {
        self.core.poll_timeout().map(|wake| wake.at.as_secs_f64())
    }

    /// The oldest change of the allowed rate not yet polled, of at most four.
    fn poll_event(&mut self) -> Option<RateChange> {
        self.core.poll_event().map(RateChange::from)
    }

    /// X, the allowed sending rate of data, bit/s.
    #[getter]
    fn allowed_rate_bps(&self) -> f64 {
        self.core.allowed_rate().bits_per_sec()
    }

    /// The rate that a media encoder should aim at, bit/s of data: the allowed rate, at least the
    /// floor and at most the cap; 0 after a stop.
    #[getter]
    fn target_rate_bps(&self) -> f64 {
        self.core.target_rate().bits_per_sec()
    }

    /// Replaces the application's limit on the sending rate, bit/s; `None` for no limit.
    #[pyo3(signature = (cap_bps))]
    fn set_cap(&mut self, cap_bps: Option<f64>) -> PyResult<()> {
        let cap = cap_bps.map(rate).transpose()?.map_or(RateCap::Unlimited, RateCap::AtMost);
        self.core.set_cap(cap).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Sets the least rate that the application can work with, bit/s. Only the target rate follows
    /// it: packets still leave at the allowed rate.
    fn set_floor(&mut self, floor_bps: f64) -> PyResult<()> {
        self.core.set_floor(rate(floor_bps)?);
        Ok(())
    }

    /// The reason of the stop by a circuit breaker or the stop rule that is in force; `None` if
    /// there is none.
    #[getter]
    fn stopped(&self) -> Option<&'static str> {
        self.core.stopped().map(|stopped| quantities::trip(stopped.trip))
    }

    /// Sends again after a stop; returns false if there was none, or if it must last longer.
    fn resume(&mut self, now: f64) -> PyResult<bool> {
        Ok(self.core.resume(instant(now)?).is_ok())
    }

    /// The rule that set the allowed rate last.
    #[getter]
    fn rate_reason(&self) -> &'static str {
        quantities::reason(self.core.rate_reason())
    }

    /// The time up to `now`, seconds, for which the flow has competed with others that keep the
    /// queue longer than `max_queue_delay`, which does not limit it then; 0 without a bound.
    fn competed_s(&self, now: f64) -> PyResult<f64> {
        Ok(self.core.competed(instant(now)?).as_secs_f64())
    }

    /// R, seconds; `None` before the first sample.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.core.rtt().map(|rtt| rtt.as_secs_f64())
    }

    /// p as last reported.
    #[getter]
    fn loss_event_rate(&self) -> f64 {
        self.core.loss_event_rate().get()
    }

    /// The sequence number of the next packet.
    #[getter]
    fn next_seq(&self) -> u64 {
        self.record.next_seq()
    }
}
