//! Verdicts of a whole table against runs of ns-2: Welch's comparison of two means for each cell,
//! corrected over the table after Holm.

use super::judge::Samples;
use super::results::CellResult;
use super::table::SeedValues;
use super::verdict::{CellVerdict, FEWEST_RUNS, Verdict};
use tfrc_lab::statistics::{Welch, told_apart};

/// Means no further apart than this share of ns-2's agree.
const CLOSE: f64 = 0.05;
/// An interval of the difference that reaches further than this share to either side says nothing.
const BLURRED: f64 = 0.10;
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

/// The verdicts of comparisons that stand in one table.
fn verdicts(compared: &[Welch]) -> Vec<Verdict> {
    let apart = told_apart(compared, ALPHA);
    let of = |(one, apart): (&Welch, bool)| match (one.ratio - 1.0).abs() <= CLOSE {
        false if apart => Verdict::Disagrees,
        _ if one.half_width > BLURRED => Verdict::Undetermined,
        _ => Verdict::Agrees,
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
        assert_eq!(one(1.08, 0.09, 0.02), Verdict::Agrees, "not told apart");
        assert_eq!(one(1.08, 0.07, 0.002), Verdict::Disagrees);
        assert_eq!(one(0.92, 0.07, 0.002), Verdict::Disagrees);
        assert_eq!(one(2.00, 0.50, 1e-6), Verdict::Disagrees, "far however wide");
        assert_eq!(one(1.08, 0.11, 0.05), Verdict::Undetermined);
        assert_eq!(one(1.01, 0.11, 0.8), Verdict::Undetermined, "close by luck");
        let c = |p| Welch { ratio: 1.07, half_width: 0.06, p };
        assert_eq!(verdicts(&[c(0.006), c(0.006)]), [Verdict::Agrees; 2]);
        assert_eq!(verdicts(&[c(0.006), c(0.004)]), [Verdict::Disagrees; 2]);
    }
}
