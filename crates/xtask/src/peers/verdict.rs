//! When a quantity of two simulators agrees: Welch's comparison of two means of runs, corrected over a table after Holm.

/// Means no further apart than this share agree.
const CLOSE: f64 = 0.05;
/// An interval that reaches further than this share to either side says nothing.
const BLURRED: f64 = 0.10;
/// One minus the confidence of the intervals, and the error allowed to a whole table.
const ALPHA: f64 = 0.01;

/// What the runs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The means are close, or not told apart.
    Agrees,
    /// The means differ, and by more than what counts as close.
    Departs,
    /// The runs scatter too much to say.
    Inconclusive,
}

impl Verdict {
    /// The word in tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Departs => "departs",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Two means, compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    /// Mean of the runs of ns-2.
    pub(super) theirs: f64,
    /// Mean of our runs.
    pub(super) ours: f64,
    /// Half the width of the 99 % interval of the difference, as a share of ns-2's mean.
    pub(super) half_width: f64,
    /// How likely so large a difference is if there is none.
    pub(super) p: f64,
}

impl Comparison {
    /// Compares; `None` for fewer than two runs on a side, or a mean of ns-2 of zero.
    pub(super) fn of(theirs: &[f64], ours: &[f64]) -> Option<Self> {
        let (m1, v1) = moments(theirs)?;
        let (m2, v2) = moments(ours)?;
        if m1 == 0.0 {
            return None;
        }
        let (e1, e2) = (v1 / theirs.len() as f64, v2 / ours.len() as f64);
        let error = (e1 + e2).sqrt();
        if error == 0.0 {
            // Runs without scatter: any difference is one.
            let p = if m1 == m2 { 1.0 } else { 0.0 };
            return Some(Self { theirs: m1, ours: m2, half_width: 0.0, p });
        }
        let freedom =
            (e1 + e2).powi(2) / (e1 * e1 / (theirs.len() - 1) as f64 + e2 * e2 / (ours.len() - 1) as f64);
        Some(Self {
            theirs: m1,
            ours: m2,
            half_width: quantile(ALPHA, freedom) * error / m1.abs(),
            p: two_sided((m2 - m1).abs() / error, freedom),
        })
    }

    /// Ours over theirs.
    pub(super) fn ratio(&self) -> f64 {
        self.ours / self.theirs
    }
}

/// The verdicts of the cells of one table.
pub(super) fn judge(cells: &[Comparison]) -> Vec<Verdict> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|&a, &b| cells[a].p.total_cmp(&cells[b].p));
    let mut told_apart = vec![false; cells.len()];
    for (rank, &cell) in order.iter().enumerate() {
        if cells[cell].p > ALPHA / (cells.len() - rank) as f64 {
            break;
        }
        told_apart[cell] = true;
    }
    cells
        .iter()
        .zip(told_apart)
        .map(|(cell, apart)| match (cell.ratio() - 1.0).abs() <= CLOSE {
            false if apart => Verdict::Departs,
            _ if cell.half_width > BLURRED => Verdict::Inconclusive,
            _ => Verdict::Agrees,
        })
        .collect()
}

/// Mean and unbiased variance.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    Some((mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)))
}

/// The probability that Student's t is further from zero than `t` on either side.
fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// What Student's t exceeds on either side with probability `alpha`, by bisection.
pub(crate) fn quantile(alpha: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, freedom) > alpha { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function I_x(a, b) by its continued fraction, evaluated from the front.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() + log_gamma(a + b) - log_gamma(a) - log_gamma(b)).exp() / a;
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function: Stirling's series after moving the argument above 30.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 30.0 {
        shift += x.ln();
        x += 1.0;
    }
    let square = x * x;
    (x - 0.5) * x.ln() - x
        + 0.5 * (2.0 * std::f64::consts::PI).ln()
        + (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / x
        - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(theirs: f64, ours: f64, half_width: f64, p: f64) -> Comparison {
        Comparison { theirs, ours, half_width, p }
    }

    /// Student's table: 1 % on both sides.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1.0, 63.657), (2.0, 9.925), (5.0, 4.032), (10.0, 3.169), (18.0, 2.878), (1e6, 2.576)]
        {
            let t = quantile(0.01, freedom);
            assert!((t / expected - 1.0).abs() < 2e-4, "{freedom}: {t}");
            assert!((two_sided(t, freedom) - 0.01).abs() < 1e-9);
        }
        // With one degree of freedom the distribution is Cauchy's, with two it has a closed form.
        assert!((two_sided(1.0, 1.0) - 0.5).abs() < 1e-9);
        assert!((two_sided(2.0, 2.0) - (1.0 - 2.0 / 6f64.sqrt())).abs() < 1e-9);
    }

    /// Two samples worked by hand: means 3 and 5, variances 2.5 and 10, so t = 2/√2.5 and 5.88 degrees of freedom.
    #[test]
    fn welch_on_a_made_up_sample() {
        let seen = Comparison::of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 3.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((seen.theirs, seen.ours), (3.0, 5.0));
        let freedom = 2.5f64.powi(2) / (0.25 / 4.0 + 4.0 / 4.0);
        assert!((seen.p - two_sided(2.0 / 2.5f64.sqrt(), freedom)).abs() < 1e-12);
        assert!((0.25..0.26).contains(&seen.p), "{}", seen.p);
        assert!((seen.half_width * 3.0 / 2.5f64.sqrt() - quantile(0.01, freedom)).abs() < 1e-9);
        assert!(
            Comparison::of(&[1.0], &[1.0, 2.0]).is_none()
                && Comparison::of(&[0.0, 0.0], &[1.0, 2.0]).is_none()
        );
    }

    #[test]
    fn each_verdict() {
        let one = |c| judge(&[c])[0];
        assert_eq!(one(cell(100.0, 104.0, 0.01, 1e-9)), Verdict::Agrees, "told apart but close");
        assert_eq!(one(cell(100.0, 108.0, 0.09, 0.02)), Verdict::Agrees, "not told apart");
        assert_eq!(one(cell(100.0, 108.0, 0.07, 0.002)), Verdict::Departs);
        assert_eq!(one(cell(100.0, 92.0, 0.07, 0.002)), Verdict::Departs);
        assert_eq!(one(cell(100.0, 200.0, 0.50, 1e-6)), Verdict::Departs, "far however wide");
        assert_eq!(one(cell(100.0, 108.0, 0.11, 0.05)), Verdict::Inconclusive);
        assert_eq!(one(cell(100.0, 101.0, 0.11, 0.8)), Verdict::Inconclusive, "close by luck");
    }

    /// Two alike p of 0.006: alone each tells the means apart, together the smaller must be below 0.005.
    #[test]
    fn holm_goes_down_the_table() {
        let c = |p| cell(100.0, 107.0, 0.06, p);
        assert_eq!(judge(&[c(0.006)]), [Verdict::Departs]);
        assert_eq!(judge(&[c(0.006), c(0.006)]), [Verdict::Agrees; 2]);
        assert_eq!(judge(&[c(0.006), c(0.004)]), [Verdict::Departs; 2], "the second is judged against 0.01");
        assert_eq!(
            judge(&[c(0.004), c(0.5), c(0.001)]),
            [Verdict::Departs, Verdict::Agrees, Verdict::Departs]
        );
        assert!(judge(&[]).is_empty());
    }

    /// Samples without scatter.
    #[test]
    fn scripted_runs_need_no_scatter() {
        let same = Comparison::of(&[4.0, 4.0], &[4.0, 4.0]).unwrap();
        let other = Comparison::of(&[4.0, 4.0], &[5.0, 5.0]).unwrap();
        assert_eq!(judge(&[same, other]), [Verdict::Agrees, Verdict::Departs]);
    }
}
