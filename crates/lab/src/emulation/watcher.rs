//! The observer of an emulation: it records what a simulated run records.

use std::sync::mpsc;

use tfrc_emu::{FlowTraffic, Observer, WireEngine};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_units::{Duration, Instant};

use super::flow::{FlowFigures, FlowState};
use crate::metric::{BIN, Series};
use crate::progress::Progress;
use crate::recording::{Keep, LOOK, LinkFlows, Looks, Samples};

/// State of all flows and links at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) flows: Vec<FlowFigures>,
    pub(super) links: Vec<LinkStats>,
    /// Packets that wait at each link now.
    pub(super) waiting: Vec<u64>,
    pub(super) link_flows: Vec<Vec<(FlowId, FlowStats)>>,
}

/// Records an emulated run on the engine's thread.
#[derive(Debug)]
pub(super) struct Watcher {
    states: Vec<FlowState>,
    keep: Keep,
    from: Instant,
    to: Instant,
    next_bin: Instant,
    next_tell: Instant,
    tell: mpsc::Sender<Moment>,
    last: Vec<(u64, u64)>,
    pub(super) sent: Vec<Series>,
    pub(super) received: Vec<Series>,
    pub(super) allowed: Vec<Samples>,
    pub(super) p: Vec<Samples>,
    pub(super) rtt: Vec<Samples>,
    pub(super) queues: Vec<Samples>,
    /// At the end of the warm-up, and at the end.
    pub(super) before: Option<Moment>,
    pub(super) after: Option<Moment>,
}

/// Time between two reports while the run goes on.
const TELL: Duration = Duration::from_secs(1);

impl Watcher {
    /// Calls `tell` each second.
    pub(super) fn new(
        states: Vec<FlowState>,
        keep: Keep,
        (from, to): (Instant, Instant),
        tell: mpsc::Sender<Moment>,
    ) -> Self {
        let count = states.len();
        Self {
            states,
            keep,
            from,
            to,
            next_bin: Instant::ZERO + BIN,
            next_tell: Instant::ZERO,
            tell,
            last: vec![(0, 0); count],
            sent: vec![Series::default(); count],
            received: vec![Series::default(); count],
            allowed: vec![Samples::default(); count],
            p: vec![Samples::default(); count],
            rtt: vec![Samples::default(); count],
            queues: Vec::new(),
            before: None,
            after: None,
        }
    }

    /// The figures of the flows now: packets and bytes sent as the wire has them.
    fn figures(&self, engine: &WireEngine, traffic: &[FlowTraffic]) -> Vec<FlowFigures> {
        let mut dropped = vec![0; self.states.len()];
        for link in engine.link_ids() {
            for (flow, stats) in engine.flow_stats(link) {
                let place: usize = tfrc_units::saturating(flow.0);
                if let Some(count) = dropped.get_mut(place) {
                    *count += stats.dropped.packets;
                }
            }
        }
        let figures = self.states.iter().map(FlowState::get).zip(traffic).zip(dropped);
        figures.map(|((figures, traffic), dropped)| on_the_wire(figures, *traffic, dropped)).collect()
    }

    fn moment(&self, at: Instant, engine: &WireEngine, traffic: &[FlowTraffic]) -> Moment {
        let links = engine.link_ids().filter_map(|id| engine.link_stats(id)).collect();
        let waiting = |id| engine.queue_state(id).map_or(0, |state| state.waiting.packets);
        let link_flows = match self.keep.link_flows {
            LinkFlows::Counted => engine.link_ids().map(|id| engine.flow_stats(id)).collect(),
            LinkFlows::None => Vec::new(),
        };
        Moment {
            at,
            flows: self.figures(engine, traffic),
            links,
            waiting: engine.link_ids().map(waiting).collect(),
            link_flows,
        }
    }
}

/// Packets and bytes of a flow by the engine's count of them.
fn on_the_wire(mut figures: FlowFigures, traffic: FlowTraffic, dropped: u64) -> FlowFigures {
    let Some(overhead) = figures.wire_overhead else { return figures };
    let Progress { sent_packets, sent_bytes, received_packets, dropped: lost, .. } = &mut figures.progress;
    *sent_packets = traffic.entered.packets;
    *sent_bytes = traffic.entered.bytes.saturating_sub(traffic.entered.packets * u64::from(overhead));
    *received_packets = traffic.delivered.packets;
    *lost = Some(dropped);
    figures
}

impl Observer for Watcher {
    fn look(&mut self, now: Instant, engine: &WireEngine, traffic: &[FlowTraffic]) {
        if self.after.is_some() {
            return;
        }
        if now > Instant::ZERO && self.keep.looks == Looks::Taken {
            self.queues.resize_with(engine.link_ids().count(), Samples::default);
            for (link, samples) in engine.link_ids().zip(&mut self.queues) {
                samples.push(engine.queue_state(link).map(|state| state.waiting.packets as f64));
            }
            for (place, state) in self.states.iter().enumerate() {
                let progress = state.get().progress;
                self.allowed[place].push(progress.allowed_bps);
                self.p[place].push(progress.p);
                self.rtt[place].push(progress.smoothed_rtt.map(Duration::as_secs_f64));
            }
        }
        if now >= self.next_bin {
            let places = self.states.iter().zip(traffic).zip(self.sent.iter_mut().zip(&mut self.received));
            for (((state, traffic), (sent, received)), last) in places.zip(&mut self.last) {
                let progress = on_the_wire(state.get(), *traffic, 0).progress;
                sent.push(progress.sent_bytes.saturating_sub(last.0));
                received.push(progress.received_bytes.saturating_sub(last.1));
                *last = (progress.sent_bytes, progress.received_bytes);
            }
            self.next_bin += BIN;
        }
        if self.before.is_none() && now >= self.from {
            self.before = Some(self.moment(now, engine, traffic));
        }
        if now >= self.next_tell || now >= self.to {
            let moment = self.moment(now, engine, traffic);
            if now >= self.to {
                self.after = Some(moment.clone());
            }
            // Nobody may listen.
            let _ = self.tell.send(moment);
            self.next_tell += TELL;
        }
    }

    fn step(&self) -> Duration {
        match self.keep.looks {
            Looks::Taken => LOOK,
            Looks::None => BIN,
        }
    }
}
