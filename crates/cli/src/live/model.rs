//! The run so far, as far as it is shown: made of records, without a clock or a terminal. Of a long
//! run only the part that is drawn is kept.

use std::collections::VecDeque;

use tfrc_report::record::{EventKind, Record};
use tfrc_world::results::Interval;

/// A rate is drawn as its mean over this time: a sample of 0.1 s holds too few packets.
const SMOOTHING_S: f64 = 0.5;

/// The longest time that is drawn; of a longer run the last part is.
const LONGEST_S: f64 = 60.0;

/// Subject of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum View {
    /// Flows that compete for a bottleneck; the run's own is that of TFRC.
    Contest,
    /// A network: its first link, and its flows.
    Network,
    /// A receiver: each of its connections is a flow.
    Receiver,
    /// A sender: its rate, the reported receive rate, and the allowed rate.
    Sender,
}

/// Settings of a [`Model`].
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// Subject of the view.
    pub view: View,
    /// The command, such as `tfrc demo`.
    pub title: String,
    /// The length of the run in seconds, if it has one.
    pub duration_s: Option<f64>,
    /// The most packets that wait in the bottleneck's queue, if that is known.
    pub queue_limit: Option<f64>,
    /// The state of the controls; `None` if the network cannot be changed.
    pub controls: Option<Controls>,
}

/// State of the network that keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Controls {
    /// The rate of the bottleneck.
    pub rate: LinkRate,
    /// Random losses.
    pub loss: LinkLoss,
    /// TCP flows that can still be started.
    pub spare_tcps: usize,
}

/// Rate of the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkRate {
    /// Half of the first rate.
    Halved,
    /// The rate at the start.
    Whole,
}

/// Random losses of the bottleneck, in addition to its queue's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkLoss {
    /// None.
    Off,
    /// 2 % of all packets.
    On,
}

/// A curve: seconds since the start, and values.
pub type Curve = VecDeque<(f64, f64)>;

/// The run so far.
#[derive(Debug)]
pub struct Model {
    pub(super) config: ModelConfig,
    pub(super) flows: Vec<Flow>,
    /// The rate that the others are compared with, bit/s: an equal share of the bottleneck for each
    /// flow that has begun, or the allowed rate of a sender.
    pub(super) reference: Curve,
    pub(super) link_rate_bps: Option<f64>,
    /// The most packets that waited in each interval.
    pub(super) queue: Curve,
    /// Round-trip times of the run's own flow, seconds.
    pub(super) rtt: Curve,
    /// Times of loss events of the run's own flow.
    pub(super) losses: VecDeque<f64>,
    pub(super) loss_event_rate: Option<f64>,
    /// The most packets that waited since the last line.
    pub(super) longest_queue: f64,
    /// Packets that the sender dropped late, and all that it sent or dropped.
    pub(super) late: (u64, u64),
    /// The latest note for the user.
    pub(super) note: Option<String>,
    /// Flows there have been.
    numbers: usize,
    seconds: f64,
}

/// The rate of one flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    /// Number among all flows there have been, from 0; it determines the colour.
    #[cfg_attr(not(feature = "live"), expect(dead_code, reason = "a chart alone has colours"))]
    pub(super) number: usize,
    /// Means over [`SMOOTHING_S`], bit/s.
    pub(super) rate: Curve,
    /// Bits and seconds of the latest samples.
    recent: VecDeque<(f64, f64)>,
    /// Bits and seconds since the last line.
    pub(super) since_line: (f64, f64),
    state: FlowState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlowState {
    /// It has not sent yet.
    Awaited,
    Ended,
    Running,
}

impl Flow {
    fn new(name: &str, number: usize, state: FlowState) -> Self {
        Self {
            name: name.to_owned(),
            number,
            rate: Curve::new(),
            recent: VecDeque::new(),
            since_line: (0.0, 0.0),
            state,
        }
    }

    /// True if it is to be shown by name: it has begun, and has not ended.
    pub(super) fn is_running(&self) -> bool {
        self.state == FlowState::Running
    }

    /// The latest mean, bit/s.
    pub(super) fn now(&self) -> f64 {
        self.rate.back().map_or(0.0, |(_, rate)| *rate)
    }

    fn add(&mut self, interval: &Interval) {
        let bps = interval.goodput_bps.or(interval.send_rate_bps).unwrap_or(0.0);
        self.add_rate(interval.t_s, interval.interval_s, bps);
    }

    /// Takes the mean rate of a time that ends at `t_s`.
    fn add_rate(&mut self, t_s: f64, interval_s: f64, bps: f64) {
        let sample = (bps * interval_s, interval_s);
        self.since_line = (self.since_line.0 + sample.0, self.since_line.1 + sample.1);
        self.recent.push_back(sample);
        let time = |samples: &VecDeque<(f64, f64)>| samples.iter().map(|(_, time)| time).sum::<f64>();
        while time(&self.recent) > SMOOTHING_S + 1e-6 && self.recent.len() > 1 {
            self.recent.pop_front();
        }
        let bits: f64 = self.recent.iter().map(|(bits, _)| bits).sum();
        self.rate.push_back((t_s, bits / time(&self.recent).max(1e-9)));
    }
}

impl Model {
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new(config: ModelConfig) -> Self {
        let own = match config.view {
            View::Contest => Flow::new("TFRC", 0, FlowState::Running),
            View::Network => Flow::new("link", 0, FlowState::Running),
            View::Sender => Flow::new("sent", 0, FlowState::Running),
            View::Receiver => Flow::new("all", 0, FlowState::Awaited),
        };
        Self {
            config,
            flows: vec![own],
            reference: Curve::new(),
            link_rate_bps: None,
            queue: Curve::new(),
            rtt: Curve::new(),
            losses: VecDeque::new(),
            loss_event_rate: None,
            longest_queue: 0.0,
            late: (0, 0),
            note: None,
            numbers: 1,
            seconds: 0.0,
        }
    }

    /// Takes one record; records that are not drawn change nothing.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Interval(interval) => match (&interval.flow, &interval.link) {
                (None, None) => self.own(interval),
                (Some(name), _) => self.other(name, interval),
                (None, Some(_)) => {}
            },
            Record::Event(event) => match (event.event, &event.flow) {
                (EventKind::LossEvent, flow) if flow.is_none() || self.is_receiver() => {
                    self.losses.push_back(event.t_s);
                }
                (EventKind::Closed, Some(name)) => {
                    let ended = self.flows.iter_mut().filter(|flow| flow.name == *name);
                    ended.for_each(|flow| flow.state = FlowState::Ended);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Brings a receiver's view to a moment, seconds since the start: the sum of its connections,
    /// without connections that ended before the drawn time.
    pub fn advance(&mut self, t_s: f64) {
        self.seconds = t_s;
        let open = self.flows.iter().skip(1).filter(|flow| flow.is_running());
        let (count, sum) = open.fold((0, 0.0), |(count, sum), flow| (count + 1, sum + flow.now()));
        if let Some(all) = self.flows.first_mut() {
            if count > 1 {
                all.state = FlowState::Running;
            }
            if all.is_running() {
                all.rate.push_back((t_s, sum));
            }
        }
        self.forget();
        let mut place = 0;
        self.flows.retain(|flow| {
            place += 1;
            place == 1 || flow.state != FlowState::Ended || !flow.rate.is_empty()
        });
    }

    /// Sets how many datagrams wait at the sender.
    pub fn set_waiting(&mut self, datagrams: usize) {
        self.queue.push_back((self.seconds, datagrams as f64));
    }

    /// Sets the latest note for the user.
    pub fn set_note(&mut self, note: &str) {
        self.note = Some(note.to_owned());
    }

    /// Sets the state of the controls.
    pub const fn set_controls(&mut self, controls: Controls) {
        self.config.controls = Some(controls);
    }

    /// Seconds from the start to the latest interval.
    #[must_use]
    pub const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The time that is drawn, in seconds: the whole of a short run, the last part of a long one.
    #[must_use]
    pub fn span(&self) -> (f64, f64) {
        match self.config.duration_s {
            Some(duration) if duration <= LONGEST_S => (0.0, duration.max(self.seconds)),
            _ => ((self.seconds - LONGEST_S).max(0.0), self.seconds.max(LONGEST_S)),
        }
    }

    /// The flows that run; the run's own is the first.
    pub(super) fn running(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.is_running())
    }

    /// Connections of a receiver that are open.
    #[cfg(feature = "live")]
    pub(super) fn open(&self) -> usize {
        self.flows.iter().skip(1).filter(|flow| flow.is_running()).count()
    }

    fn is_receiver(&self) -> bool {
        self.config.view == View::Receiver
    }

    /// The greatest rate to be drawn, bit/s; the link's is one.
    pub(super) fn greatest_rate(&self) -> f64 {
        let rates = self.flows.iter().flat_map(|flow| &flow.rate).map(|(_, rate)| *rate);
        let most = rates.fold(0.0, f64::max);
        let reference = self.reference.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let reference = match self.config.view {
            // A sender with little data is allowed much more; its own rate would be a line at zero.
            View::Sender if most > 0.0 => reference.min(1.5 * most),
            _ => reference,
        };
        most.max(reference).max(self.link_rate_bps.unwrap_or(0.0))
    }

    fn own(&mut self, interval: &Interval) {
        self.seconds = interval.t_s;
        if let Some(flow) = self.flows.first_mut() {
            flow.add(interval);
        }
        self.link_rate_bps = interval.link_rate_bps.or(self.link_rate_bps);
        self.loss_event_rate = interval.loss_event_rate.or(self.loss_event_rate);
        if self.config.view == View::Sender {
            self.sender(interval);
        } else if let Some(rate) = self.link_rate_bps {
            let flows = self.running().count().max(1);
            self.reference.push_back((self.seconds, rate / flows as f64));
        }
        if let Some(packets) = interval.queue_packets {
            self.queue.push_back((self.seconds, packets));
            self.longest_queue = self.longest_queue.max(packets);
        }
        if let Some(rtt) = interval.rtt_s {
            self.rtt.push_back((self.seconds, rtt));
        }
        self.forget();
    }

    /// The part of a sender's interval that a contest does not have.
    fn sender(&mut self, interval: &Interval) {
        if let Some(allowed) = interval.allowed_rate_bps {
            self.reference.push_back((self.seconds, allowed));
        }
        if let Some(received) = interval.receive_rate_bps {
            let flow = self.flow("received");
            flow.state = FlowState::Running;
            flow.add_rate(interval.t_s, interval.interval_s, received);
        }
        let dropped = interval.late_dropped_packets.unwrap_or(0);
        let (late, handed_over) = self.late;
        self.late = (late + dropped, handed_over + dropped + interval.sent_packets.unwrap_or(0));
    }

    fn other(&mut self, name: &str, interval: &Interval) {
        let begins = self.is_receiver() || interval.sent_packets.is_some_and(|sent| sent > 0);
        if self.is_receiver() {
            self.loss_event_rate = interval.loss_event_rate.or(self.loss_event_rate);
            self.rtt.extend(interval.rtt_s.map(|rtt| (interval.t_s, rtt)));
        }
        let flow = self.flow(name);
        if flow.is_running() || begins {
            flow.state = FlowState::Running;
            flow.add(interval);
        }
    }

    /// The flow of this name, which has ended or never been there before it is asked for.
    fn flow(&mut self, name: &str) -> &mut Flow {
        let place = self.flows.iter().position(|flow| flow.name == name && flow.state != FlowState::Ended);
        let place = place.unwrap_or_else(|| {
            self.flows.push(Flow::new(name, self.numbers, FlowState::Awaited));
            self.numbers += 1;
            self.flows.len() - 1
        });
        &mut self.flows[place]
    }

    /// Drops what is before the time that is drawn.
    fn forget(&mut self) {
        let (from, _) = self.span();
        let curves = self.flows.iter_mut().map(|flow| &mut flow.rate);
        for curve in curves.chain([&mut self.reference, &mut self.queue, &mut self.rtt]) {
            while curve.front().is_some_and(|(at, _)| *at < from) {
                curve.pop_front();
            }
        }
        while self.losses.front().is_some_and(|at| *at < from) {
            self.losses.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(duration_s: Option<f64>) -> Model {
        Model::new(ModelConfig {
            view: View::Contest,
            title: "tfrc demo".to_owned(),
            duration_s,
            queue_limit: None,
            controls: None,
        })
    }

    fn interval(t_s: f64, flow: Option<&str>, bps: f64) -> Record {
        Record::Interval(Interval {
            t_s,
            interval_s: 0.1,
            flow: flow.map(str::to_owned),
            sent_packets: Some(u64::from(bps > 0.0)),
            goodput_bps: Some(bps),
            link_rate_bps: flow.is_none().then_some(2e6),
            ..Interval::default()
        })
    }

    #[test]
    fn the_fair_share_counts_the_flows_that_have_begun() {
        let mut model = model(Some(20.0));
        for (t, tcp) in [(0.1, 0.0), (0.2, 1e6), (0.3, 0.0)] {
            model.take(&interval(t, None, 1e6));
            model.take(&interval(t, Some("tcp-1"), tcp));
        }
        let fair: Vec<f64> = model.reference.iter().map(|(_, rate)| *rate).collect();
        assert_eq!(fair, [2e6, 2e6, 1e6]);
        assert_eq!(model.running().count(), 2);
    }

    #[test]
    fn rates_are_means_over_half_a_second() {
        let mut model = model(Some(20.0));
        for n in 1..=7_u32 {
            model.take(&interval(f64::from(n) / 10.0, None, f64::from(n) * 1e5));
        }
        // Samples 3 to 7.
        assert!((model.flows[0].now() - 5e5).abs() < 1.0, "{:?}", model.flows[0].rate);
    }

    #[test]
    fn a_long_run_is_drawn_from_its_last_minute_and_forgets_the_rest() {
        let mut model = model(None);
        assert_eq!(model.span(), (0.0, LONGEST_S));
        for n in 1..=900_u32 {
            model.take(&interval(f64::from(n) / 10.0, None, 1e6));
        }
        assert_eq!(model.span(), (30.0, 90.0));
        assert!((600..=602).contains(&model.reference.len()), "{}", model.reference.len());
    }
}
