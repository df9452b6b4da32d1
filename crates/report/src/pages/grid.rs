//! One time axis for all curves of a page: intervals of every flow brought onto the cells of the
//! first.

use tfrc_world::results::Interval;

/// The most cells of a page; a longer run has several intervals merged into each.
pub(super) const MOST_CELLS: usize = 1500;

/// One point of the time axis: what happened in `from..to`, drawn at `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridPoint {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Nothing was measured here; every curve has a hole.
    pub(super) gap: bool,
}

/// How the intervals that share a cell make one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    Largest,
    /// Mean weighted by time.
    Mean,
    /// As the mean, and each value that of the half second that ends with its cell: a tenth of a
    /// second holds too few packets of a flow.
    Smoothed,
}

/// The cells of a run, and how many intervals each holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    pub(super) cells: Vec<GridPoint>,
    pub(super) merged: usize,
}

impl Grid {
    /// The axis that suits `intervals`, all of one flow and in the order of their times.
    pub(super) fn over(intervals: &[&Interval]) -> Self {
        let mut spans: Vec<GridPoint> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            let (from, to) = span(interval);
            match spans.last() {
                Some(last) if to <= last.to => continue,
                // A hole of more than half an interval is a hole; less is the jitter of a clock.
                Some(last) if from - last.to > 0.5 * (to - from) => {
                    spans.push(GridPoint { from: last.to, to: f64::midpoint(last.to, from), gap: true });
                }
                _ => {}
            }
            spans.push(GridPoint { from, to, gap: false });
        }
        let merged = spans.len().div_ceil(MOST_CELLS).max(1);
        if merged == 1 {
            return Self { cells: spans, merged };
        }
        let mut cells: Vec<GridPoint> = Vec::with_capacity(MOST_CELLS * 2);
        let mut held = 0;
        for span in spans {
            match cells.last_mut() {
                Some(cell) if !cell.gap && !span.gap && held < merged => {
                    cell.to = span.to;
                    held += 1;
                }
                _ => {
                    cells.push(span);
                    held = 1;
                }
            }
        }
        Self { cells, merged }
    }

    /// One value for each cell from the intervals of one flow, sorted by time; `None` where nothing
    /// is known.
    pub(super) fn column(
        &self,
        intervals: &[&Interval],
        get: fn(&Interval) -> Option<f64>,
        merge: Merge,
    ) -> Vec<Option<f64>> {
        if merge == Merge::Smoothed {
            return self.smoothed(intervals, get);
        }
        // Per cell: the sum of value × weight, the sum of weights, the largest value.
        let mut sums: Vec<Option<(f64, f64, f64)>> = vec![None; self.cells.len()];
        for interval in intervals {
            let Some(value) = get(interval).filter(|v| v.is_finite()) else { continue };
            let (from, to) = span(interval);
            let first = self.cells.partition_point(|c| c.to <= from);
            for (cell, sum) in self.cells.iter().zip(&mut sums).skip(first) {
                if cell.from >= to {
                    break;
                }
                let overlap = to.min(cell.to) - from.max(cell.from);
                let shorter = (to - from).min(cell.to - cell.from);
                // Neighbours that overlap by the jitter of a clock are not mixed.
                if cell.gap || overlap < 0.1 * shorter {
                    continue;
                }
                let (total, weight, largest) = sum.unwrap_or((0.0, 0.0, f64::NEG_INFINITY));
                *sum = Some((total + value * overlap, weight + overlap, largest.max(value)));
            }
        }
        sums.into_iter()
            .map(|sum| {
                sum.map(|(total, weight, largest)| match merge {
                    Merge::Largest => largest,
                    Merge::Mean | Merge::Smoothed => total / weight,
                })
            })
            .collect()
    }

    /// The column of [`Merge::Smoothed`].
    fn smoothed(&self, intervals: &[&Interval], get: fn(&Interval) -> Option<f64>) -> Vec<Option<f64>> {
        let values = self.column(intervals, get, Merge::Mean);
        let mean = |last: usize| {
            values[last]?;
            let from = self.cells[last].to - SMOOTHING_S;
            let first = self.cells[..last].partition_point(|cell| cell.from < from - 1e-6);
            let parts = self.cells[first..=last].iter().zip(&values[first..=last]);
            let known = parts.filter_map(|(cell, value)| Some(((*value)?, cell.to - cell.from)));
            let (sum, time) = known.fold((0.0, 0.0), |(sum, time), (v, t)| (sum + v * t, time + t));
            Some(sum / time)
        };
        (0..values.len()).map(mean).collect()
    }
}

/// Rates of packets are shown as means over this time, seconds.
const SMOOTHING_S: f64 = 0.5;

/// Start and end of an interval; one that claims no length has a nanosecond.
fn span(interval: &Interval) -> (f64, f64) {
    let length = if interval.interval_s > 1e-9 { interval.interval_s } else { 1e-9 };
    (interval.t_s - length, interval.t_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_s: f64, interval_s: f64, rate: f64) -> Interval {
        Interval { t_s, interval_s, send_rate_bps: Some(rate), ..Interval::default() }
    }

    fn rates(grid: &Grid, intervals: &[Interval], merge: Merge) -> Vec<Option<f64>> {
        grid.column(&intervals.iter().collect::<Vec<_>>(), |i| i.send_rate_bps, merge)
    }

    #[test]
    fn a_short_run_is_drawn_as_measured_in_spite_of_jitter() {
        let run = [at(1.0, 1.0, 10.0), at(2.003, 1.0, 20.0), at(2.99, 1.0, 30.0)];
        let grid = Grid::over(&run.iter().collect::<Vec<_>>());
        assert_eq!(grid.merged, 1);
        assert_eq!(rates(&grid, &run, Merge::Mean), [Some(10.0), Some(20.0), Some(30.0)]);
    }

    #[test]
    fn a_hole_in_the_measurement_is_a_hole_in_the_curve() {
        let run = [at(1.0, 1.0, 10.0), at(5.0, 1.0, 20.0)];
        let grid = Grid::over(&run.iter().collect::<Vec<_>>());
        assert_eq!(grid.cells.iter().map(|c| c.to).collect::<Vec<_>>(), [1.0, 2.5, 5.0]);
        assert_eq!(rates(&grid, &run, Merge::Mean), [Some(10.0), None, Some(20.0)]);
    }

    #[test]
    fn another_flow_is_brought_onto_the_cells_of_the_first() {
        let first = [at(1.0, 1.0, 0.0), at(2.0, 1.0, 0.0), at(3.0, 1.0, 0.0)];
        let grid = Grid::over(&first.iter().collect::<Vec<_>>());
        // One long interval covers two cells; two short ones share the third.
        let other = [at(2.0, 2.0, 7.0), at(2.5, 0.5, 2.0), at(3.0, 0.5, 4.0)];
        assert_eq!(rates(&grid, &other, Merge::Mean), [Some(7.0), Some(7.0), Some(3.0)]);
        assert_eq!(rates(&grid, &other, Merge::Largest), [Some(7.0), Some(7.0), Some(4.0)]);
    }

    #[test]
    fn a_long_run_is_thinned_and_keeps_its_mean_and_its_peak() {
        let run: Vec<Interval> = (1..=30_000u32)
            .map(|i| at(f64::from(i) * 0.1, 0.1, if i == 12_345 { 1000.0 } else { f64::from(i % 2) }))
            .collect();
        let grid = Grid::over(&run.iter().collect::<Vec<_>>());
        assert_eq!(grid.merged, 20);
        assert_eq!(grid.cells.len(), MOST_CELLS);
        let mean = rates(&grid, &run, Merge::Mean);
        assert!(mean.iter().flatten().filter(|v| (**v - 0.5).abs() < 1e-6).count() >= MOST_CELLS - 1);
        let peak = rates(&grid, &run, Merge::Largest).into_iter().flatten().fold(0.0, f64::max);
        assert_eq!(peak.to_bits(), 1000f64.to_bits());
    }

    #[test]
    fn rates_of_packets_are_means_over_half_a_second() {
        let run: Vec<Interval> =
            (1..=20u32).map(|i| at(f64::from(i) * 0.1, 0.1, if i % 5 == 0 { 10.0 } else { 0.0 })).collect();
        let all: Vec<&Interval> = run.iter().collect();
        let smooth = Grid::over(&all).column(&all, |i| i.send_rate_bps, Merge::Smoothed);
        assert!(smooth.iter().skip(4).all(|v| v.is_some_and(|v| (v - 2.0).abs() < 1e-9)), "{smooth:?}");
        // Longer intervals stay as they are.
        let run = [at(1.0, 1.0, 3.0), at(2.0, 1.0, 5.0)];
        let all: Vec<&Interval> = run.iter().collect();
        let longer = Grid::over(&all).column(&all, |i| i.send_rate_bps, Merge::Smoothed);
        assert_eq!(longer, [Some(3.0), Some(5.0)]);
    }

    #[test]
    fn what_is_unknown_or_not_a_number_is_left_out() {
        let run = [at(1.0, 1.0, f64::NAN), at(2.0, 0.0, 5.0), at(2.0, 1.0, 6.0)];
        let grid = Grid::over(&run.iter().collect::<Vec<_>>());
        let column = rates(&grid, &run, Merge::Mean);
        assert_eq!(column.first(), Some(&None));
    }
}
