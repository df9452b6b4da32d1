//! The sender-side variant of the algorithm, fed packet by packet or with arrays.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc::advisor::{Ack, Hold, Losses, Taken};
use tfrc::config::RateCap;

use crate::config::{Config, or_default};
use crate::quantities::{self, Floats, RateChange, duration, ecn, instant, rate};

/// Packets remembered until a report has covered them.
const REMEMBERED: usize = 16_384;

/// Rate control at the sender alone (RFC 5348 §7), for transports whose receivers say which packets
/// came: RTP with transport-wide feedback or RFC 8888, QUIC, SRT.
///
/// `report_interval_s` is the longest usual time between two reports while packets arrive, 0 if
/// every packet or two are reported at once. Send as `next_send` says and call `on_sent`; of each
/// report pass every packet to `on_acked` or `on_lost`, then call `on_report` once. The last 16,384
/// packets are remembered.
///
/// `losses` is `"order"` if the advisor finds the losses, as every packet is one that reports speak
/// of, and `"transport"` if the transport passes each lost packet to `on_lost`, and a packet of
/// which it says nothing counts neither as arrived nor as lost.
///
/// Times are seconds since any epoch, the same in all calls, except `arrived_at`, which is the
/// receiver's; rates are bit/s.
#[pyclass(module = "tfrc")]
#[derive(Debug)]
pub(crate) struct Advisor(tfrc::Advisor<REMEMBERED>);

#[pymethods]
impl Advisor {
    #[new]
    #[pyo3(signature = (config=None, *, report_interval_s=0.0, losses="order"))]
    fn new(config: Option<&Config>, report_interval_s: f64, losses: &str) -> PyResult<Self> {
        let interval = duration(report_interval_s)?;
        let mut advisor = tfrc::Advisor::with_capacity(&or_default(config), interval);
        advisor.set_losses(match losses {
            "order" => Losses::ByOrder,
            "transport" => Losses::ByTransport,
            _ => return Err(PyValueError::new_err(format!("losses='{losses}': 'order' or 'transport'"))),
        });
        Ok(Self(advisor))
    }

    /// A round-trip time known from elsewhere, such as a handshake.
    fn on_rtt_sample(&mut self, now: f64, rtt_s: f64) -> PyResult<()> {
        self.0.on_rtt_sample(instant(now)?, duration(rtt_s)?);
        Ok(())
    }

    /// The time at which the next packet may go: `now` if at once, `None` after a stop.
    fn next_send(&self, now: f64) -> PyResult<Option<f64>> {
        Ok(quantities::next_send(now, self.0.next_send(instant(now)?)))
    }

    /// A packet with `size` bytes of data went at `sent_at`: now, or earlier if the transport
    /// reports a departure only along with the packet's fate. `id` is the transport's number for
    /// it, above all before.
    fn on_sent(&mut self, sent_at: f64, id: u64, size: u32) -> PyResult<()> {
        self.0.on_sent(instant(sent_at)?, id, size);
        Ok(())
    }

    /// Packets have gone: `on_sent` for each place of three arrays of equal length, of float64,
    /// uint64 and uint32.
    fn on_sent_many(
        &mut self,
        sent_at: Floats<'_>,
        id: PyReadonlyArray1<'_, u64>,
        size: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<()> {
        let (sent_at, id, size) = (sent_at.as_array(), id.as_array(), size.as_array());
        equal_lengths(&[sent_at.len(), id.len(), size.len()])?;
        for ((sent_at, id), size) in sent_at.iter().zip(id).zip(size) {
            self.0.on_sent(instant(*sent_at)?, *id, *size);
        }
        Ok(())
    }

    /// A report says that a packet has arrived: when, by the receiver's clock, if the report says,
    /// and if with a congestion mark (ECN CE). Takes effect at `on_report`. Returns `"new"`,
    /// `"duplicate"` or `"unknown"`.
    #[pyo3(signature = (id, arrived_at=None, *, ce=false))]
    fn on_acked(&mut self, id: u64, arrived_at: Option<f64>, ce: bool) -> PyResult<&'static str> {
        let arrived_at = arrived_at.map(instant).transpose()?;
        Ok(word(self.0.on_acked(Ack { id, arrived_at, ecn: ecn(ce) })))
    }

    /// A report says that packets have arrived: `on_acked` for each place of an array of uint64,
    /// with an array of arrival times (NaN where the report does not say) and one of marks, if
    /// there are any. Returns the number of packets that are news.
    #[pyo3(signature = (id, arrived_at=None, *, ce=None))]
    fn on_acked_many(
        &mut self,
        id: PyReadonlyArray1<'_, u64>,
        arrived_at: Option<Floats<'_>>,
        ce: Option<PyReadonlyArray1<'_, bool>>,
    ) -> PyResult<usize> {
        let id = id.as_array();
        let arrived_at = arrived_at.as_ref().map(|times| times.as_array());
        let ce = ce.as_ref().map(|marks| marks.as_array());
        let lengths = [arrived_at.as_ref().map(|a| a.len()), ce.as_ref().map(|a| a.len())];
        equal_lengths(&lengths.into_iter().flatten().chain([id.len()]).collect::<Vec<_>>())?;
        let mut news = 0;
        for (place, id) in id.iter().enumerate() {
            let at = arrived_at.as_ref().map(|times| times[place]).filter(|at| !at.is_nan());
            let mark = ce.as_ref().is_some_and(|marks| marks[place]);
            let ack = Ack { id: *id, arrived_at: at.map(instant).transpose()?, ecn: ecn(mark) };
            news += usize::from(self.0.on_acked(ack) == Taken::New);
        }
        Ok(news)
    }

    /// A report says that all packets from `first` to `last` have arrived, when is not known.
    /// Returns how many of them are news.
    #[pyo3(signature = (first, last, *, ce=false))]
    fn on_acked_range(&mut self, first: u64, last: u64, ce: bool) -> u64 {
        self.0.on_acked_range(first, last, ecn(ce))
    }

    /// The transport has given this packet up for lost; with `losses="order"` along with all older
    /// ones not heard of. Returns `"new"`, `"duplicate"` or `"unknown"`.
    fn on_lost(&mut self, id: u64) -> &'static str {
        word(self.0.on_lost(id))
    }

    /// No report has covered the packets from `first` to `last`, though a later one has come: they
    /// count neither as arrived nor as lost.
    fn on_unreported(&mut self, first: u64, last: u64) {
        self.0.on_unreported(first, last);
    }

    /// A report covers the packets from `first` to `last`: those that it does not acknowledge are
    /// missing. Needed where `on_unreported` was called for some of them because a later report had
    /// overtaken this one.
    fn on_covered(&mut self, first: u64, last: u64) {
        self.0.on_covered(first, last);
    }

    /// The packets that were declared lost and that left at `since` or later have all arrived:
    /// their losses are taken back. Returns how many there are.
    fn on_losses_undone(&mut self, since: f64) -> PyResult<u64> {
        Ok(self.0.on_losses_undone(instant(since)?))
    }

    /// The report has been passed completely. `hold_s` is how long its newest packet had been there
    /// when the report was sent; `None` if the report does not say. A transport that knows the
    /// round-trip time instead, smoothed or that of the newest packet, gives `rtt_s`.
    #[pyo3(signature = (now, hold_s=None, *, rtt_s=None))]
    fn on_report(&mut self, now: f64, hold_s: Option<f64>, rtt_s: Option<f64>) -> PyResult<()> {
        let hold = match (hold_s, rtt_s) {
            (None, None) => Hold::Unknown,
            (Some(hold), None) => Hold::Known(duration(hold)?),
            (None, Some(rtt)) => Hold::RoundTrip(duration(rtt)?),
            (Some(_), Some(_)) => return Err(PyValueError::new_err("hold_s or rtt_s, not both")),
        };
        self.0.on_report(instant(now)?, hold);
        Ok(())
    }

    /// Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
    fn handle_timeout(&mut self, now: f64) -> PyResult<()> {
        self.0.handle_timeout(instant(now)?);
        Ok(())
    }

    /// The time at which `handle_timeout` wants to be called; `None` for no timer.
    fn poll_timeout(&self) -> Option<f64> {
        self.0.poll_timeout().map(|wake| wake.at.as_secs_f64())
    }

    /// The oldest change of the allowed rate not yet polled, of at most four.
    fn poll_event(&mut self) -> Option<RateChange> {
        self.0.poll_event().map(RateChange::from)
    }

    /// X, the allowed sending rate of data, bit/s; 0 after a stop.
    #[getter]
    fn allowed_rate_bps(&self) -> f64 {
        self.0.allowed_rate().bits_per_sec()
    }

    /// The rate that a media encoder should aim at, bit/s of data: the allowed rate, at least the
    /// floor and at most the cap; 0 after a stop.
    #[getter]
    fn target_rate_bps(&self) -> f64 {
        self.0.target_rate().bits_per_sec()
    }

    /// Replaces the application's limit on the sending rate, bit/s; `None` for no limit.
    #[pyo3(signature = (cap_bps))]
    fn set_cap(&mut self, cap_bps: Option<f64>) -> PyResult<()> {
        let cap = cap_bps.map(rate).transpose()?.map_or(RateCap::Unlimited, RateCap::AtMost);
        self.0.set_cap(cap).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Sets the least rate that the application can work with, bit/s. Only the target rate follows
    /// it: packets still leave at the allowed rate.
    fn set_floor(&mut self, floor_bps: f64) -> PyResult<()> {
        self.0.set_floor(rate(floor_bps)?);
        Ok(())
    }

    /// The reason of the stop by a circuit breaker or the stop rule that is in force; `None` if
    /// there is none.
    #[getter]
    fn stopped(&self) -> Option<&'static str> {
        self.0.stopped().map(|stopped| quantities::trip(stopped.trip))
    }

    /// Sends again after a stop; returns false if there was none, or if it must last longer.
    fn resume(&mut self, now: f64) -> PyResult<bool> {
        Ok(self.0.resume(instant(now)?).is_ok())
    }

    /// The rule that set the allowed rate last.
    #[getter]
    fn rate_reason(&self) -> &'static str {
        quantities::reason(self.0.sender().rate_reason())
    }

    /// The time up to `now`, seconds, for which the flow has competed with others that keep the
    /// queue longer than `max_queue_delay`, which does not limit it then; 0 without a bound.
    fn competed_s(&self, now: f64) -> PyResult<f64> {
        Ok(self.0.sender().competed(instant(now)?).as_secs_f64())
    }

    /// R, seconds; `None` before the first sample.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt().map(|rtt| rtt.as_secs_f64())
    }

    /// p as of the latest report; 0 before the first loss event.
    #[getter]
    fn loss_event_rate(&self) -> f64 {
        self.0.loss_event_rate().get()
    }

    /// Loss events found so far.
    #[getter]
    fn loss_events(&self) -> u64 {
        self.0.loss_events()
    }

    /// Packets that fell out of the record before a report had reached as far as them.
    #[getter]
    fn forgotten(&self) -> u64 {
        self.0.forgotten()
    }
}

/// The word for the effect of an acknowledgement.
const fn word(taken: Taken) -> &'static str {
    match taken {
        Taken::New => "new",
        Taken::Duplicate => "duplicate",
        Taken::Unknown => "unknown",
    }
}

fn equal_lengths(lengths: &[usize]) -> PyResult<()> {
    match lengths.iter().all(|length| *length == lengths[0]) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("arrays of different lengths: {lengths:?}"))),
    }
}
