//! Verdicts of a whole table against runs of ns-2: Welch's comparison of two means for each cell,
//! corrected over the table after Holm.

use super::judge::Samples;
use super::results::CellResult;
use super::table::SeedValues;
use super::verdict::{CellVerdict, FEWEST_RUNS, Verdict};
use tfrc_lab::statistics::{Welch, told_apart};

/// Means no further apart than this share of ns-2's are not called different, however narrow their
/// intervals.
const CLOSE: f64 = 0.05;
/// A difference whose whole interval lies within this share of ns-2's mean is none that counts.
const EQUIVALENT: f64 = 0.10;
/// One minus the confidence of the intervals, and the error allowed to a whole table.
const ALPHA: f64 = 0.01;

/// Judges the cells of one table, which are in the order of their samples.
pub(super) fn judge(ns2: &SeedValues, samples: &Samples, cells: &mut [CellResult]) {
    let mut judged = Vec::new();
    for (cell, sample) in cells.iter_mut().zip(samples.values()) {
        let Some(theirs) = ns2.get(&(cell.row.clone(), cell.column.clone())).filter(|runs| !runs.is_empty())
        else {
            continue;
        };
        let few = theirs.len().min(sample.values.len()) < FEWEST_RUNS || sample.values.len() < sample.runs;
        match Welch::compare(theirs, &sample.values, ALPHA).filter(|_| !few) {
            Some(compared) => judged.push((cell, compared)),
            None => {
                settle(cell, Verdict::Undetermined);
                cell.note = Some(format!("fewer than {FEWEST_RUNS} seeds, or runs without a value"));
            }
        }
    }
    let compared: Vec<Welch> = judged.iter().map(|(_, compared)| *compared).collect();
    for ((cell, compared), verdict) in judged.into_iter().zip(verdicts(&compared)) {
        cell.difference = Some(compared.half_width);
        cell.distance = Some((compared.ratio - 1.0).abs() / CLOSE);
        settle(cell, verdict);
        if verdict == Verdict::Undetermined {
            cell.note = Some("the interval of the difference is too wide".to_owned());
        }
    }
}

fn settle(cell: &mut CellResult, verdict: Verdict) {
    cell.verdict_ns2 = Some(verdict);
    cell.verdict = CellVerdict::of(None, Some(verdict));
}

/// The verdicts of comparisons that stand in one table. Holm's correction is for the verdict
/// `disagrees` alone: with it a larger table would agree more easily.
fn verdicts(compared: &[Welch]) -> Vec<Verdict> {
    let apart = told_apart(compared, ALPHA);
    let of = |(one, apart): (&Welch, bool)| {
        let difference = (one.ratio - 1.0).abs();
        if difference + one.half_width <= EQUIVALENT {
            Verdict::Agrees
        } else if apart && difference > CLOSE {
            Verdict::Disagrees
        } else {
            Verdict::Undetermined
        }
    };
    compared.iter().zip(apart).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict() {
        let one = |ratio, half_width, p| verdicts(&[Welch { ratio, half_width, p }])[0];
        assert_eq!(one(1.04, 0.01, 1e-9), Verdict::Agrees, "told apart but close");
        assert_eq!(one(1.018, 0.083, 0.5), Verdict::Undetermined, "reaches 10.1 %");
        assert_eq!(one(1.08, 0.019, 1e-9), Verdict::Agrees, "the whole interval is within 10 %");
        assert_eq!(one(1.08, 0.09, 0.02), Verdict::Undetermined, "not told apart, and too wide");
        assert_eq!(one(1.08, 0.07, 0.002), Verdict::Disagrees);
        assert_eq!(one(0.92, 0.07, 0.002), Verdict::Disagrees);
        assert_eq!(one(1.045, 0.06, 0.002), Verdict::Undetermined, "told apart, but close");
        assert_eq!(one(2.00, 0.50, 1e-6), Verdict::Disagrees, "far however wide");
        assert_eq!(one(1.01, 0.11, 0.8), Verdict::Undetermined, "close by luck");
        // In a larger table a difference is harder to find, and nothing agrees for that reason.
        let c = |p| Welch { ratio: 1.07, half_width: 0.06, p };
        assert_eq!(verdicts(&[c(0.006), c(0.006)]), [Verdict::Undetermined; 2]);
        assert_eq!(verdicts(&[c(0.006), c(0.004)]), [Verdict::Disagrees; 2]);
    }
}
