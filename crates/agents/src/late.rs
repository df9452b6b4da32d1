//! Agents on a host that acts late, as a measured one does.

use std::collections::VecDeque;

use tfrc_scenario::MeasuredHost;
use tfrc_sim::traffic::Traffic;
use tfrc_sim::{Context, Packet, Stream, TimerKey};
use tfrc_units::{Duration, Instant};

use crate::{Any, Payload};

/// Packets that have arrived and were not handled yet.
const ARRIVED: TimerKey = TimerKey::Third;
/// Timers that were due and were not handled yet.
const DUE: TimerKey = TimerKey::Fourth;

/// An agent and the host under it: the agent sees each packet and each of its timers later than
/// they come. Packets stay in order.
#[derive(Debug)]
pub struct LateAgent {
    agent: Any,
    lateness: Lateness,
    stream: Stream,
    arrived: VecDeque<(Instant, Packet<Payload>)>,
    /// The agent's first and second timer, if they were due.
    due: [bool; 2],
}

impl LateAgent {
    /// `stream` draws how late the host is. Agents have two timers, the first and the second.
    #[must_use]
    pub fn new(agent: Any, host: MeasuredHost, stream: Stream) -> Self {
        let lateness = Lateness::of(host, &agent);
        Self { agent, lateness, stream, arrived: VecDeque::new(), due: [false; 2] }
    }

    /// The agent that acts late.
    #[must_use]
    pub const fn agent(&self) -> &Any {
        &self.agent
    }

    /// The agent, to change it.
    pub const fn agent_mut(&mut self) -> &mut Any {
        &mut self.agent
    }

    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        packet: Packet<Payload>,
        context: &mut Context<'_, Payload>,
    ) {
        let at = now + quantile(self.lateness.packets, self.stream.uniform());
        let at = self.arrived.back().map_or(at, |(last, _)| at.max(*last));
        self.arrived.push_back((at, packet));
        if self.arrived.len() == 1 {
            context.set_timer(ARRIVED, at);
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        match key {
            ARRIVED => {
                while let Some((_, packet)) = self.arrived.pop_front_if(|(at, _)| *at <= now) {
                    self.agent.on_packet(now, &packet, context);
                }
                if let Some((at, _)) = self.arrived.front() {
                    context.set_timer(ARRIVED, *at);
                }
            }
            DUE => {
                let [first, second] = std::mem::take(&mut self.due);
                if first {
                    self.agent.on_timer(now, TimerKey::First, context);
                }
                if second {
                    self.agent.on_timer(now, TimerKey::Second, context);
                }
            }
            TimerKey::First | TimerKey::Second => {
                let [first, second] = &mut self.due;
                *(if key == TimerKey::First { first } else { second }) = true;
                if context.timer(DUE).is_none() {
                    let late = quantile(self.lateness.timers, self.stream.uniform());
                    context.set_timer(DUE, now + late);
                }
            }
        }
    }
}

/// How late a part of a host acts: quantiles in microseconds, at the shares of [`SHARES`].
#[derive(Debug, Clone, Copy)]
struct Lateness {
    /// On a packet that is due at it.
    packets: &'static Quantiles,
    /// On a timer that is due.
    timers: &'static Quantiles,
}

impl Lateness {
    /// TCP and its kin are of the kernel; every rate control is a process.
    const fn of(host: MeasuredHost, agent: &Any) -> Self {
        let MeasuredHost::EmuVm618 = host;
        match agent {
            Any::Traffic(Traffic::TcpSink(_) | Traffic::WebClient(_)) => {
                Self { packets: &DATA_TO_ACK, timers: &ACK_TO_DATA }
            }
            Any::Traffic(_) => Self { packets: &ACK_TO_DATA, timers: &ACK_TO_DATA },
            _ => Self { packets: &DATA_TO_ACK, timers: &PACED },
        }
    }
}

/// Returns the value of the distribution at a share: on straight lines between its quantiles.
fn quantile(of: &Quantiles, share: f64) -> Duration {
    let place = SHARES.partition_point(|known| *known <= share).clamp(1, SHARES.len() - 1);
    let around = |list: &[f64]| list.get(place - 1).copied().zip(list.get(place).copied());
    let Some(((from, to), (low, high))) = around(&SHARES).zip(around(of)) else { return Duration::ZERO };
    Duration::from_secs_f64((low + (high - low) * (share - from) / (to - from)) * 1e-6)
}

type Quantiles = [f64; SHARES.len()];

const SHARES: [f64; 11] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0];

/// From an acknowledgement that is due at the kernel's sender to the data that it releases.
const ACK_TO_DATA: Quantiles = [12.0, 17.0, 23.0, 28.0, 30.0, 34.0, 46.0, 60.0, 71.0, 98.0, 400.0];
/// From data that are due at the kernel's receiver to the acknowledgement that they release. It is
/// longer as the reading program takes part.
const DATA_TO_ACK: Quantiles = [3.0, 32.0, 41.0, 45.0, 53.0, 68.0, 95.0, 140.0, 190.0, 370.0, 600.0];
/// From the time of a packet by its pace to its sending by a process, above the least.
const PACED: Quantiles = [0.0, 0.3, 4.0, 8.0, 16.0, 39.0, 84.0, 152.0, 217.0, 460.0, 1500.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_quantiles() {
        let us = |share| quantile(&PACED, share).as_nanos();
        assert_eq!([us(0.0), us(0.1), us(0.5)], [0, 8_000, 39_000]);
        assert!((61_499..=61_501).contains(&us(0.625)), "{}", us(0.625));
        assert!((1_498_000..=1_500_000).contains(&us(0.999_99)), "{}", us(0.999_99));
        for one in [&ACK_TO_DATA, &DATA_TO_ACK, &PACED] {
            assert!(one.is_sorted() && one.first() < one.last());
        }
    }
}
