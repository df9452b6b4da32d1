//! The data receiver (RFC 5348 §6): measures, and reports about once per round-trip time.

mod counter_rtt;
mod meter;
#[cfg(test)]
pub(crate) mod tests;

use tfrc_units::{Duration, Ecn, Instant, Probability, Rate};

use crate::clock::HostClock;
use crate::config::{ClockGrain, Config, PacketSize, Settings};
use crate::count::PacketCount;
use crate::decision::{Wake, WakeReason};
use crate::equation::{Equation, InverseError};
use crate::history::{Change, FirstLoss, LossHistory, LossInterval, Seen};
use crate::rare::{Rare, Shared, rare, shared};
use crate::study::{
    EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses, HistoryWindow, Stamp,
};
use counter_rtt::CounterRtt;
use meter::ReceiveRate;

/// Kind of a packet: with or without data of the application. Only packets with data count in loss
/// intervals (RFC 4342 §6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// It carries data.
    Data,
    /// It uses up a sequence number but carries no data, such as a pure acknowledgement.
    NonData,
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Its sequence number, extended so that it does not wrap within a connection.
    pub seq: u64,
    /// Bytes of data, without headers.
    pub size: u32,
    /// The mark it came with; [`Ecn::Ce`] is a congestion event like a loss (§5.1).
    pub ecn: Ecn,
    /// R_i, the sender's estimate of the round-trip time on the packet; `None` if it carries none.
    /// Zero is shorter than the packet can say, and counts as one grain of the receiver's clock.
    pub rtt: Option<Duration>,
    /// The low four bits of a counter of quarter round-trip times; 0 if the protocol has none
    /// (RFC 4342 §8.1).
    pub window_counter: u8,
    /// The kind: data or no data.
    pub kind: PacketKind,
    /// Packets without data known to have been sent directly before it (NDP Count, RFC 4340 §7.7).
    /// Missing ones among them are not losses.
    pub non_data_before: u32,
}

/// The receiver's report to the sender (RFC 5348 §3.2.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// The highest sequence number received; the sender knows when it sent that packet.
    pub newest_seq: u64,
    /// t_delay: how long ago that packet arrived.
    pub elapsed: Duration,
    /// X_recv; zero in the very first report (§6.3).
    pub receive_rate: Rate,
    /// p.
    pub loss_event_rate: Probability,
    /// Loss events found since the beginning.
    pub loss_events: u64,
    /// Data packets up to `newest_seq`.
    pub packets: u64,
    /// Those of them that came with a mark or have not come; a late one may still.
    pub lost: u64,
    /// The reason of the report.
    pub reason: FeedbackReason,
}

impl Report {
    /// The packets lost, as [`Feedback`](crate::Feedback) takes them.
    #[must_use]
    pub const fn count(&self) -> PacketCount {
        PacketCount::Exact { packets: self.packets, lost: self.lost }
    }
}

/// Why a report is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedbackReason {
    /// The first packet has arrived (§6.3), or there is still no round-trip time to pace reports
    /// by.
    First,
    /// p has risen because of a new loss event (§6.1 step 4).
    NewLossEvent,
    /// A late packet has taken a loss event back (§6).
    LossEventRemoved,
    /// The feedback timer (§6.2) or the window counter (RFC 4342 §10.3).
    Regular,
    /// The sender asked for it, by the [`Stamp`] of a packet.
    Asked,
}

/// The receiving half. Feed every packet that arrives, valid and in the order of arrival, then poll
/// for feedback.
///
/// Work and memory per call are bounded: it keeps the last 32 runs of losses open to repair, 33
/// loss intervals and the last 16 arrivals.
// In the order of use: what each packet touches comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Receiver {
    /// One for all clones.
    rules: Shared<Measuring>,
    /// Made when it is first used: most senders send the round-trip time.
    counter_rtt: Option<Rare<CounterRtt>>,
    told_rtt: Option<Duration>,
    /// When the feedback timer expires; `None` before the first packet or without a round-trip
    /// time.
    timer: Option<Instant>,
    reports: u64,
    data_since_feedback: bool,
    /// The timer expired with nothing to report: the next packet is reported at once (§6.1 step 2).
    overdue: bool,
    due: Option<FeedbackReason>,
    history: LossHistory,
    meter: ReceiveRate,
    clock: HostClock,
    last_report: Instant,
    /// The window counter at the last report (RFC 4342 §10.3).
    last_counter: u64,
    /// R when the timer was last set: R_(m-1) at the next expiration.
    timer_rtt: Duration,
    /// Reports are at least this far apart, new loss events aside, and X_recv is measured over as
    /// long.
    least_period: Duration,
    previous_p: Probability,
}

/// The settings that a receiver needs: the full set takes three times the room.
#[derive(Debug, Clone, Copy)]
struct Measuring {
    equation: Equation,
    packet_size: PacketSize,
    first_interval: FirstInterval,
    estimator: Estimator,
    feedback: FeedbackTrigger,
    empty_report: EmptyReport,
    first_losses: FirstLosses,
    rtt_before_sample: Duration,
}

impl Measuring {
    const fn of(settings: &Settings) -> Self {
        let choices = settings.algorithm.choices();
        Self {
            equation: choices.equation,
            packet_size: settings.packet_size,
            first_interval: choices.first_interval,
            estimator: choices.estimator,
            feedback: choices.feedback,
            empty_report: choices.empty_report,
            first_losses: choices.first_losses,
            rtt_before_sample: settings.receiver_rtt_before_sample,
        }
    }
}

impl Receiver {
    /// A receiver that has seen nothing yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let settings = config.settings();
        Self {
            rules: shared(Measuring::of(settings)),
            history: LossHistory::new(settings),
            meter: ReceiveRate::new(settings.algorithm.choices().receive_rate),
            clock: HostClock::new(settings.clock_grain),
            told_rtt: None,
            counter_rtt: None,
            timer: None,
            timer_rtt: settings.receiver_rtt_before_sample,
            least_period: settings.feedback_floor,
            data_since_feedback: false,
            overdue: false,
            due: None,
            reports: 0,
            last_report: Instant::ZERO,
            previous_p: Probability::ZERO,
            last_counter: 0,
        }
    }

    /// One that cannot report more often than this, whatever the round-trip time.
    pub(crate) fn reporting_every(config: &Config, least_period: Duration) -> Self {
        Self { least_period: least_period.max(config.settings().feedback_floor), ..Self::new(config) }
    }

    /// Reads from each cache line or so, for a host of thousands of receivers that wants this one
    /// near before it is asked. The value says nothing.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn touch(&self) -> u64 {
        let parts = [self.told_rtt.is_some(), self.counter_rtt.is_some(), self.timer.is_some()];
        let parts = parts.iter().fold(0, |sum, part| sum ^ u64::from(*part));
        let times = self.timer_rtt.as_nanos() ^ self.last_report.as_nanos() ^ self.reports;
        parts ^ times ^ self.clock.touch() ^ self.history.touch() ^ self.meter.touch()
    }

    /// Reads where the next arrival will be kept: see [`Receiver::touch`].
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn touch_below(&self) -> u64 {
        self.meter.touch_below()
    }

    /// Says which sequence number comes first, so that the loss of the very first packet is noticed
    /// (RFC 5348 §6.3.1). Without it the first packet that arrives is taken for the first sent.
    /// `first_seq` is at least 1. Too late once a packet has arrived. Without effect with
    /// [`FirstLosses::Unknown`].
    pub fn expect(&mut self, now: Instant, first_seq: u64) {
        match self.rules.first_losses {
            FirstLosses::Counted => self.history.expect(now, first_seq),
            FirstLosses::Unknown => {}
        }
    }

    /// A round-trip time known from elsewhere (a handshake, an earlier connection), used until a
    /// packet carries one. Zero is shorter than the clock can show, and counts as one grain.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        if self.told_rtt.is_none() {
            self.learn_rtt(rtt);
        }
    }

    fn learn_rtt(&mut self, rtt: Duration) {
        if rtt.is_zero() {
            self.clock.stand_still();
        }
        self.told_rtt = Some(rtt.max(self.clock.grain()).max(Duration::from_nanos(1)));
    }

    /// States the grain of the host's clock, or leaves it to be measured from now on.
    pub const fn set_clock_grain(&mut self, grain: ClockGrain) {
        self.clock = HostClock::new(grain);
    }

    /// Takes in a packet (RFC 5348 §6.1).
    pub fn on_packet(&mut self, now: Instant, arrival: Arrival) {
        self.on_arrival(now, &arrival, &Stamp::NONE);
    }

    /// Takes in a packet that carries the sender's facts for a study, from [`Sender::stamp`].
    ///
    /// [`Sender::stamp`]: crate::Sender::stamp
    #[inline]
    pub fn on_stamped_packet(&mut self, now: Instant, arrival: Arrival, stamp: Stamp) {
        self.on_arrival(now, &arrival, &stamp);
        if stamp.wants_report && self.data_since_feedback {
            self.due = self.due.or(Some(FeedbackReason::Asked));
        }
    }

    fn on_arrival(&mut self, now: Instant, arrival: &Arrival, stamp: &Stamp) {
        self.clock.read(now);
        // §5.2, §6.2: R is the value in the packet with the highest number.
        if arrival.rtt != self.told_rtt
            && let Some(rtt) = arrival.rtt
            && self.history.highest().is_none_or(|(highest, _)| arrival.seq > highest)
        {
            self.learn_rtt(rtt);
        }
        let mut rtt = self.rtt();
        let counter_before = self.history.window_counter();
        // §6.1 step 1, and §5 as far as a new packet changes it.
        let change = if self.history.append(now, &seen(arrival, *stamp, rtt)) {
            Change::None
        } else {
            self.take(now, arrival, stamp, rtt)
        };
        if change == Change::Duplicate {
            return;
        }
        let counter = self.history.window_counter();
        if counter != counter_before {
            let by_counter = self.counter_rtt.get_or_insert_with(|| rare(CounterRtt::new()));
            by_counter.on_packet(now, counter, self.clock.grain());
            rtt = self.rtt();
        } else if arrival.kind == PacketKind::Data
            && let Some(by_counter) = &mut self.counter_rtt
        {
            by_counter.on_equal(now);
        }
        if arrival.kind == PacketKind::NonData && change == Change::None {
            return;
        }
        if arrival.kind == PacketKind::Data {
            self.meter.on_data(now, arrival.size, rtt);
            self.data_since_feedback = true;
        }
        if change == Change::NewLossEvent {
            self.set_window(now);
        }
        let reason = match change {
            Change::None => self.reason_to_report_now(now, counter),
            _ => self.reason_to_report(now, change, counter),
        };
        if reason.is_some() {
            self.due = reason;
        }
    }

    /// A packet that is not simply the next one.
    #[inline(never)]
    fn take(&mut self, now: Instant, arrival: &Arrival, stamp: &Stamp, rtt: Duration) -> Change {
        let arriving = if arrival.kind == PacketKind::Data { arrival.size } else { 0 };
        let (meter, rules) = (&self.meter, &self.rules);
        self.history.take(now, &seen(arrival, *stamp, rtt), |first| {
            first_interval(rules, meter, now, rtt, first, arriving)
        })
    }

    /// The record of packets and losses.
    pub(crate) const fn history(&self) -> &LossHistory {
        &self.history
    }

    /// Takes a packet into a copy of the loss history. The synthetic first interval stays the one
    /// found when there was a first loss event.
    pub(crate) fn work_out(&self, history: &mut LossHistory, at: Instant, arrival: &Arrival, stamp: Stamp) {
        let rtt = arrival.rtt.filter(|rtt| !rtt.is_zero()).unwrap_or_else(|| self.rtt());
        let seen = seen(arrival, stamp, rtt);
        if !history.append(at, &seen) {
            history.take(at, &seen, |first| {
                let known = self.history.first_interval_length();
                known.unwrap_or_else(|| first_interval(&self.rules, &self.meter, at, rtt, first, 0))
            });
        }
    }

    /// Data whose place in the loss history is for [`Receiver::replace_history`] to say.
    pub(crate) fn on_late_data(&mut self, now: Instant, size: u32) {
        let rtt = self.rtt();
        self.meter.on_data(now, size, rtt);
        self.data_since_feedback = true;
        self.due = self.reason_to_report_now(now, self.history.window_counter()).or(self.due);
    }

    /// The loss history, worked out anew.
    pub(crate) fn replace_history(&mut self, now: Instant, history: LossHistory) {
        let change = match history.loss_events().cmp(&self.history.loss_events()) {
            core::cmp::Ordering::Greater => Change::NewLossEvent,
            core::cmp::Ordering::Equal => Change::None,
            core::cmp::Ordering::Less => Change::LossEventRemoved,
        };
        self.history = history;
        if change != Change::None {
            self.set_window(now);
            self.due = self.reason_to_report(now, change, self.history.window_counter()).or(self.due);
        }
    }

    /// Lets time pass: the feedback timer may expire (RFC 5348 §6.2). Early, late and repeated
    /// calls do no harm.
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.expire(now);
    }

    fn expire(&mut self, now: Instant) {
        if self.data_since_feedback || self.reports_without_data() {
            self.due = self.due.or(Some(FeedbackReason::Regular));
        } else {
            self.overdue = true;
            self.restart(now);
        }
    }

    /// Returns true if the timer makes a report though no data has come since the last one.
    fn reports_without_data(&self) -> bool {
        self.history
            .highest()
            .is_some_and(|(_, arrived)| self.rules.empty_report.is_due(arrived, self.last_report))
    }

    /// Missing packets up to this one are lost by an external report, however few later ones have
    /// come.
    pub(crate) fn on_lost(&mut self, now: Instant, up_to: u64) {
        let rtt = self.rtt();
        let (meter, rules) = (&self.meter, &self.rules);
        let change =
            self.history.declare_lost(up_to, |first| first_interval(rules, meter, now, rtt, first, 0));
        if change == Change::NewLossEvent
            && let Some(reason) = self.reason_to_report(now, change, self.history.window_counter())
        {
            self.due = Some(reason);
        }
    }

    /// Over how long X_recv will be measured next.
    pub(crate) const fn window(&self) -> Duration {
        self.timer_rtt
    }

    /// Takes the report that falls due by `until` already now, if there is something to report.
    pub(crate) fn hurry(&mut self, until: Instant) {
        if self.data_since_feedback && self.timer.is_some_and(|at| at <= until) {
            self.due = self.due.or(Some(FeedbackReason::Regular));
        }
    }

    /// When [`Receiver::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wake> {
        self.timer.map(|at| Wake { at, reason: WakeReason::Feedback })
    }

    /// Returns true if [`Receiver::poll_feedback`] may have a report.
    #[inline]
    #[must_use]
    pub const fn is_report_due(&self) -> bool {
        self.due.is_some()
    }

    /// The report that is due, if any. Taking it restarts the feedback timer (RFC 5348 §6.2 steps 1
    /// to 4), so it must then be sent. `None` until data has arrived since the last report (§6.2):
    /// a loss that a packet without data reveals is reported with the next data.
    #[inline]
    pub fn poll_feedback(&mut self, now: Instant) -> Option<Report> {
        let reason = self.due?;
        if !self.data_since_feedback && !self.reports_without_data() {
            return None;
        }
        self.due = None;
        self.report(now, reason)
    }

    fn report(&mut self, now: Instant, reason: FeedbackReason) -> Option<Report> {
        let (newest_seq, arrived) = self.history.highest()?;
        self.clock.read(now);
        // §6.2 step 1.
        self.set_window(now);
        self.history.on_report(now);
        let p = self.history.loss_event_rate();
        self.previous_p = p;
        // §6.2 step 2, over R_(m-1). §6.3: the first report says zero, and the sender knows to
        // ignore that.
        let receive_rate = if self.reports == 0 {
            Rate::ZERO
        } else if self.data_since_feedback {
            self.meter.measure(now, self.timer_rtt)
        } else {
            self.rules.empty_report.receive_rate(self.meter.mean_size())
        };
        self.reports += 1;
        self.last_report = now;
        self.meter.on_report(now);
        self.data_since_feedback = false;
        self.overdue = false;
        self.last_counter = self.history.window_counter();
        let (packets, lost) = self.history.count(self.meter.packets());
        // §6.2 step 4, then §6.2 step 3.
        self.restart(now);
        Some(Report {
            newest_seq,
            elapsed: self.certain_hold(now.saturating_since(arrived)),
            receive_rate,
            loss_event_rate: p,
            loss_events: self.history.loss_events(),
            packets,
            lost,
            reason,
        })
    }

    /// t_delay of a packet that was held for so long by the host's clock: a time that has passed
    /// for certain. By a clock whose grain is more than an eighth of the round-trip time that is a
    /// grain less, as the packet may have come at the end of a grain.
    #[must_use]
    pub fn certain_hold(&self, by_clock: Duration) -> Duration {
        self.clock.passed(by_clock, self.rtt())
    }

    /// p as of now (§5); zero before the first loss event.
    #[must_use]
    pub fn loss_event_rate(&self) -> Probability {
        self.history.loss_event_rate()
    }

    /// Loss events found so far.
    #[must_use]
    pub const fn loss_events(&self) -> u64 {
        self.history.loss_events()
    }

    fn counter_rtt(&self) -> Option<Duration> {
        self.counter_rtt.as_ref().and_then(|by_counter| by_counter.estimate())
    }

    /// The round-trip time in use: the sender's word, else what the window counter shows, else the
    /// configured guess.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.told_rtt.or_else(|| self.counter_rtt()).unwrap_or(self.rules.rtt_before_sample)
    }

    /// The loss intervals, newest first, the open one included (RFC 4342 §8.6). As many as the
    /// estimator keeps, and one.
    pub fn loss_intervals(&self) -> impl Iterator<Item = LossInterval> + '_ {
        self.history.loss_intervals()
    }

    /// Number of the newest packets that are in no loss interval yet (RFC 4342 §8.6.1), at most 3.
    #[must_use]
    pub fn skip_length(&self) -> u64 {
        self.history.skip_length()
    }

    /// Returns the reason for a report if the packet just taken in calls for one (§6.1 steps 2 to
    /// 4; §6.3; RFC 4342 §10.3).
    #[inline(never)]
    fn reason_to_report(&mut self, now: Instant, change: Change, counter: u64) -> Option<FeedbackReason> {
        if change == Change::NewLossEvent {
            // §6.1 step 3, then §6.1 step 4.
            let p = self.history.loss_event_rate();
            let risen = p > self.previous_p;
            self.previous_p = p;
            if risen || self.rules.feedback.reports_every_loss_event() {
                return Some(FeedbackReason::NewLossEvent);
            }
        }
        if change == Change::LossEventRemoved {
            return Some(FeedbackReason::LossEventRemoved);
        }
        self.reason_to_report_now(now, counter)
    }

    /// Returns the reason for a report if the packet just taken in calls for one and changed no
    /// loss event.
    fn reason_to_report_now(&self, now: Instant, counter: u64) -> Option<FeedbackReason> {
        if self.reports == 0 && self.due.is_none() {
            return Some(FeedbackReason::First);
        }
        let is_due = match self.rules.feedback {
            FeedbackTrigger::WindowCounter => counter >= self.last_counter + 4,
            // §6.3: without a round-trip time to set the timer by, every packet is reported.
            _ if self.timer.is_none() => return Some(FeedbackReason::First),
            FeedbackTrigger::Timer => self.overdue,
            other => other.is_due(now.saturating_since(self.last_report), self.rtt()),
        };
        is_due.then_some(FeedbackReason::Regular)
    }

    /// The window of packets in which the equation, giving the present receive rate, expects as
    /// many loss events as a dynamic history window must hold.
    #[inline(never)]
    fn set_window(&mut self, now: Instant) {
        let Estimator::DynamicHistoryWindow { events, window: HistoryWindow::ByRate } = self.rules.estimator
        else {
            return;
        };
        let (rtt, rate) = (self.rtt(), self.meter.current(now, self.rtt()));
        let segment = self.rules.packet_size.equation_segment(self.meter.mean_size());
        let p = match self.rules.equation.loss_event_rate(segment, rtt, rate) {
            Ok(p) => p.get(),
            Err(InverseError::RateTooHigh) => 0.0,
            Err(_) => 1.0,
        };
        self.history.set_window(f64::from(events) / p);
    }

    /// True once [`Self::rtt`] is the sender's, or measured by its window counter (RFC 4342 §8.1),
    /// and not what the settings assume.
    #[must_use]
    pub fn knows_rtt(&self) -> bool {
        self.told_rtt.is_some() || self.counter_rtt().is_some()
    }

    fn restart(&mut self, now: Instant) {
        self.meter.on_expiration(now);
        // By a clock with a grain nothing is measured over less.
        self.timer_rtt = self.rtt().max(self.least_period).max(self.clock.stated());
        let after = match self.rules.feedback {
            FeedbackTrigger::Timer => Some(self.timer_rtt),
            other => other.timer(self.timer_rtt),
        };
        self.timer = after.filter(|_| self.knows_rtt()).map(|after| now + after);
    }
}

/// Converts an arrival into the packet that the history sees.
#[inline]
const fn seen(arrival: &Arrival, stamp: Stamp, rtt: Duration) -> Seen {
    Seen {
        seq: arrival.seq,
        ecn: arrival.ecn,
        is_data: matches!(arrival.kind, PacketKind::Data),
        non_data_before: arrival.non_data_before,
        window_counter: arrival.window_counter,
        size: arrival.size,
        stamp,
        rtt,
    }
}

/// The synthetic interval before the first loss event (RFC 5348 §6.3.1): where the equation gives
/// the highest receive rate so far, or what else is set, but at least half a packet per round-trip
/// time; exactly that if the very first packet was lost.
fn first_interval(
    rules: &Measuring,
    meter: &ReceiveRate,
    now: Instant,
    rtt: Duration,
    first: FirstLoss,
    arriving: u32,
) -> f64 {
    let size = rules.packet_size.equation_segment(meter.mean_size());
    let least = Rate::of(0.5 * size, rtt);
    // The packet that shows the loss has arrived too, with `arriving` bytes of data, but is not in
    // the meter yet.
    let present = || {
        let mut meter = meter.clone();
        meter.on_data(now, arriving, rtt);
        meter.current(now, rtt)
    };
    let received = match (first, rules.first_interval) {
        (FirstLoss::FirstPacket, _) => Rate::ZERO,
        (FirstLoss::Later, FirstInterval::AtMaximumReceiveRate) => meter.maximum(now, rtt),
        (FirstLoss::Later, FirstInterval::AtReceiveRate) => present(),
        (FirstLoss::Later, FirstInterval::AtHalfReceiveRate) => present() / 2.0,
    };
    // RFC 4828 §3: the sender takes the headers off.
    let target = rules.packet_size.with_headers(meter.mean_size(), received);
    rules.equation.loss_event_rate(size, rtt, target.max(least)).map_or(1.0, |p| 1.0 / p.get())
}
