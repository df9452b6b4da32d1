//! The rates of all flows over time, and what the comparisons of the papers make of them.
//!
//! Coefficient of variation and equivalence ratio are those of Floyd, Handley, Padhye, Widmer 2000,
//! §4.1: of the rate at which a flow sends, in stretches of 0.2 s, headers included. (Departures
//! from a full bottleneck would not distinguish two flows: their rates add up to the link's, so
//! that they deviate alike.)

use tfrc_emu::Snapshot;
use tfrc_sim::traffic::Amount;
use tfrc_units::Duration;
use tfrc_world::statistics;
use tfrc_world::world::relayed::Flows;

use super::tcp_settings;
use crate::session::as_f64;

/// Samples (of 0.1 s) in a stretch.
const STRETCH: usize = 2;

/// The bytes that each flow has sent at each sample.
#[derive(Debug, Default)]
pub(super) struct Contest {
    samples: Vec<ContestSample>,
}

#[derive(Debug)]
struct ContestSample {
    at: Duration,
    /// The TFRC flow first.
    bytes: Vec<u64>,
}

impl Contest {
    /// Adds what the relay has seen so far of the first `competing` flows. Flows that start after
    /// the first look are not compared.
    pub(super) fn look(&mut self, snapshot: &Snapshot<Flows>, competing: usize) {
        let own = std::iter::once(snapshot.there.entered.bytes);
        let header = u64::from(tcp_settings().data_size(0));
        let on_wire = |sent: Amount| sent.bytes + sent.packets * header;
        let bytes = own.chain(snapshot.flows.sent().take(competing).map(on_wire)).collect();
        self.add(snapshot.elapsed, bytes);
    }

    fn add(&mut self, at: Duration, bytes: Vec<u64>) {
        if self.samples.last().is_none_or(|last| last.at < at) {
            self.samples.push(ContestSample { at, bytes });
        }
    }

    /// The coefficient of variation of a flow's rate: standard deviation over mean. The TFRC flow
    /// is 0. `None` for a flow that was not there from the first look on.
    pub(super) fn variation(&self, flow: usize) -> Option<f64> {
        let compared = flow == 0 || self.others().contains(&flow);
        compared.then(|| statistics::variation(&self.rates(flow))).flatten()
    }

    /// The TFRC flow's coefficient of variation over the mean of the others'.
    pub(super) fn variation_ratio(&self) -> Option<f64> {
        let others: Vec<f64> = self.others().filter_map(|flow| self.variation(flow)).collect();
        let others = statistics::mean(&others)?;
        self.variation(0).map(|own| own / others).filter(|ratio| ratio.is_finite())
    }

    /// The lesser rate over the greater, of the TFRC flow and another, averaged over all stretches
    /// in which one of them sent, and over the others.
    pub(super) fn equivalence(&self) -> Option<f64> {
        let own = self.rates(0);
        let others = self.others();
        let with = |flow| statistics::equivalence(own.iter().copied().zip(self.rates(flow)));
        statistics::mean(&others.filter_map(with).collect::<Vec<f64>>())
    }

    fn others(&self) -> std::ops::Range<usize> {
        1..self.samples.first().map_or(1, |sample| sample.bytes.len())
    }

    /// Bytes a second in each stretch.
    fn rates(&self, flow: usize) -> Vec<f64> {
        let ends: Vec<&ContestSample> = self.samples.iter().step_by(STRETCH).collect();
        ends.windows(2)
            .map(|pair| {
                let count = |sample: &ContestSample| sample.bytes.get(flow).copied().unwrap_or(0);
                let bytes = count(pair[1]).saturating_sub(count(pair[0]));
                as_f64(bytes) / pair[1].at.saturating_sub(pair[0].at).as_secs_f64()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample each 0.1 s; `stretches` has the bytes that each flow sends in stretches of 0.2 s.
    fn contest(stretches: &[[u64; 3]]) -> Contest {
        let mut contest = Contest::default();
        let (mut total, mut tenths) = ([0; 3], 0);
        contest.add(Duration::ZERO, total.to_vec());
        for sent in stretches {
            for _ in 0..STRETCH {
                tenths += 1;
                for (total, sent) in total.iter_mut().zip(sent) {
                    *total += sent / 2;
                }
                contest.add(Duration::from_millis(100 * tenths), total.to_vec());
            }
        }
        contest
    }

    fn near(value: Option<f64>, wanted: f64) {
        assert!(value.is_some_and(|v| (v - wanted).abs() < 1e-12), "{value:?} is not {wanted}");
    }

    #[test]
    fn by_hand() {
        // TFRC: mean 1000, deviation 200. Others: mean 1000, deviation 600; mean 500, deviation
        // 500.
        let contest = contest(&[[800, 1600, 0], [1200, 400, 1000], [800, 1600, 0], [1200, 400, 1000]]);
        near(contest.variation(0), 0.2);
        near(contest.variation(1), 0.6);
        near(contest.variation(2), 1.0);
        near(contest.variation_ratio(), 0.2 / 0.8);
        let (first, second) = (f64::midpoint(0.5, 1.0 / 3.0), f64::midpoint(0.0, 1000.0 / 1200.0));
        near(contest.equivalence(), f64::midpoint(first, second));
    }

    #[test]
    fn where_nobody_sent_there_is_nothing_to_compare() {
        let contest = contest(&[[0, 0, 0], [1000, 500, 500], [0, 0, 0]]);
        near(contest.equivalence(), 0.5);
        assert_eq!(Contest::default().equivalence(), None);
        assert_eq!(Contest::default().variation_ratio(), None);
    }

    #[test]
    fn a_late_sample_makes_a_longer_stretch_and_no_other_rate() {
        let mut contest = Contest::default();
        for ms in [0, 100, 200, 200, 300, 550] {
            contest.add(Duration::from_millis(ms), vec![ms * 10]);
        }
        near(contest.variation(0), 0.0);
        assert_eq!(contest.rates(0).len(), 2);
    }
}
