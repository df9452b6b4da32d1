//! When a measured value agrees with a published one: an equivalence test (the 95 % interval of the
//! mean against a band around the reference), never a test of difference, so that few runs cannot
//! agree by their uncertainty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tfrc_lab::formula::Printed;
use tfrc_lab::statistics::{Estimate, estimate};

/// Runs below which a cell has no verdict.
pub const FEWEST_RUNS: usize = 10;

/// Allowed difference between a value and its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Band {
    /// Only what rounding hides: for closed forms.
    Digits,
    /// A drop rate: ± the greater of 0.01 and a tenth.
    Drop,
    /// A positive quantity by its ratio: 1.25 to the published value, 1.10 to ns-2, either way.
    Rate,
    /// A share of a whole: ± 0.015.
    Share,
    /// A count that grows with time in a run without randomness: a factor of 1.05 either way.
    Trace,
    /// A utilisation: ± 0.03.
    Utilization,
}

/// Outcome of comparing one cell with one reference, the print or ns-2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// The whole interval lies in the band.
    Agrees,
    /// The whole interval lies outside.
    Disagrees,
    /// It would agree with the mechanism switched off as well: not counted.
    Uninformative,
    /// Neither: too few runs, or an interval across an edge.
    Undetermined,
}

impl Verdict {
    /// The word in tables and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::Uninformative => "uninformative",
            Self::Undetermined => "undetermined",
        }
    }
}

/// The verdict of a cell: that against the print and that against ns-2, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CellVerdict {
    /// It agrees with ns-2 and not with the print, or nothing is printed.
    AgreesWithNs2,
    /// It agrees with the print, whatever ns-2 says.
    AgreesWithPrint,
    /// It disagrees with each reference that there is.
    Disagrees,
    /// It would agree with the mechanism switched off as well: not counted.
    Uninformative,
    /// It agrees with none, and at least one comparison is open.
    Undetermined,
}

impl CellVerdict {
    /// The word in tables and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::AgreesWithNs2 => "agrees-with-ns2",
            Self::AgreesWithPrint => "agrees-with-print",
            Self::Disagrees => "disagrees",
            Self::Uninformative => "uninformative",
            Self::Undetermined => "undetermined",
        }
    }

    /// The one word for two comparisons; `None` if there is none. The print goes first, ns-2 stands
    /// for a print that is missed or missing, and an open comparison keeps the cell open.
    #[must_use]
    pub const fn of(print: Option<Verdict>, ns2: Option<Verdict>) -> Option<Self> {
        Some(match (print, ns2) {
            (None, None) => return None,
            (Some(Verdict::Agrees), _) => Self::AgreesWithPrint,
            (_, Some(Verdict::Agrees)) => Self::AgreesWithNs2,
            (Some(Verdict::Uninformative), _) | (_, Some(Verdict::Uninformative)) => Self::Uninformative,
            (Some(Verdict::Undetermined), _) | (_, Some(Verdict::Undetermined)) => Self::Undetermined,
            (Some(Verdict::Disagrees) | None, Some(Verdict::Disagrees) | None) => Self::Disagrees,
        })
    }
}

/// A value to compare with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reference {
    /// As printed, with what reading it off a curve may add to its error.
    Published { printed: Printed, read_off: f64 },
    /// From runs of ns-2: the mean and half the width of its 95 % interval, `None` if that is
    /// unknown.
    Ns2 { mean: f64, ci95: Option<f64> },
}

/// How a cell compares with one reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) verdict: Verdict,
    /// Distance of the mean from the reference, in widths of the band: 1 at its edge.
    pub(crate) distance: f64,
}

/// Number of runs behind an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// One value, whatever the seed.
    Deterministic,
    /// `with` runs with a value, `of` runs in all.
    Runs { with: usize, of: usize },
}

/// The factor within which a rate may differ from a published value.
const PUBLISHED_FACTOR: f64 = 1.25;
/// The factor within which it may differ from ns-2.
const NS2_FACTOR: f64 = 1.10;
/// The factor within which a trace may differ.
const TRACE_FACTOR: f64 = 1.05;

/// Compares the runs of a cell with a reference.
pub(crate) fn compare(
    values: &[f64],
    support: Support,
    reference: Reference,
    band: Band,
) -> Option<Comparison> {
    let measured = estimate(values);
    let mean = measured.mean?;
    let (low, high) = edges(reference, band);
    let centre = match reference {
        Reference::Published { printed, .. } => printed.value,
        Reference::Ns2 { mean, .. } => mean,
    };
    let distance = distance(mean, centre, low, high);
    let few = match support {
        Support::Deterministic => false,
        Support::Runs { with, of } => with < FEWEST_RUNS || with < of,
    };
    let verdict = if few || is_vague(reference, band) {
        Verdict::Undetermined
    } else {
        let (from, to) = interval(measured, support, low);
        if from >= low && to <= high {
            Verdict::Agrees
        } else if to < low || from > high {
            Verdict::Disagrees
        } else {
            Verdict::Undetermined
        }
    };
    Some(Comparison { verdict, distance })
}

/// Half the width of the 95 % interval over half the width of the band: 1/3 and less is precise by
/// the rule of seeds. Only widths go in, never where the mean lies. `None` if the reference is
/// vague or if fewer than two runs have a value: more seeds would not help.
pub(crate) fn width_over_band(values: &[f64], reference: Reference, band: Band) -> Option<f64> {
    let (low, high) = edges(reference, band);
    let measured = estimate(values);
    let (Some(_), Some(_), false) = (measured.mean, measured.ci95, is_vague(reference, band)) else {
        return None;
    };
    let many = Support::Runs { with: values.len(), of: values.len() };
    let (from, to) = interval(measured, many, low);
    let (interval, band) = match low > 0.0 && from > 0.0 {
        true => ((to / from).ln(), (high / low).ln()),
        false => (to - from, high - low),
    };
    Some(if interval == 0.0 { 0.0 } else { interval / band })
}

/// The band: what the mean may be.
fn edges(reference: Reference, band: Band) -> (f64, f64) {
    // Any value that rounds to the print may be meant, and a curve can be read only so well.
    let (low, high, factor) = match reference {
        Reference::Published { printed, read_off } => {
            let hidden = printed.half_unit + read_off;
            (printed.value - hidden, printed.value + hidden, PUBLISHED_FACTOR)
        }
        Reference::Ns2 { mean, .. } => (mean, mean, NS2_FACTOR),
    };
    match band {
        // The least room that a float needs.
        Band::Digits => (low - 1e-9 * low.abs(), high + 1e-9 * high.abs()),
        Band::Drop => {
            let room = |edge: f64| (0.1 * edge.abs()).max(0.01);
            (low - room(low), high + room(high))
        }
        // A value that rounds to zero may be zero; of an increment that is negative the far edge
        // lies further down.
        Band::Rate => match (low > 0.0, high > 0.0) {
            (true, _) => (low / factor, high * factor),
            (false, true) => ((low * factor).min(0.0), high * factor),
            (false, false) => (low * factor, high / factor),
        },
        Band::Trace => (low / TRACE_FACTOR, high * TRACE_FACTOR),
        Band::Share => (low - 0.015, high + 0.015),
        Band::Utilization => (low - 0.03, high + 0.03),
    }
}

/// Returns true if ns-2's mean is known less well than the band is wide, or without an interval:
/// nothing can be said by it.
pub(crate) fn is_vague(reference: Reference, band: Band) -> bool {
    let (low, high) = edges(reference, band);
    match reference {
        Reference::Published { .. } => false,
        Reference::Ns2 { ci95: None, .. } => true,
        Reference::Ns2 { mean, ci95: Some(ci95) } => mean + ci95 > high || mean - ci95 < low,
    }
}

/// The 95 % interval of the arithmetic mean. Where all is positive half its width over the mean is
/// taken as the logarithm of a factor, so that an interval has the shape of a band that is a factor
/// and never reaches zero.
fn interval(measured: Estimate, support: Support, low: f64) -> (f64, f64) {
    let mean = measured.mean.unwrap_or(f64::NAN);
    let half = match support {
        Support::Deterministic => 0.0,
        Support::Runs { .. } => measured.ci95.unwrap_or(f64::INFINITY),
    };
    if mean > 0.0 && low > 0.0 {
        let relative = half / mean;
        (mean * (-relative).exp(), mean * relative.exp())
    } else {
        (mean - half, mean + half)
    }
}

fn distance(mean: f64, centre: f64, low: f64, high: f64) -> f64 {
    let edge = if mean < centre { low } else { high };
    if mean == centre {
        0.0
    } else if mean > 0.0 && centre > 0.0 && edge > 0.0 {
        ((mean / centre).ln() / (edge / centre).ln()).abs()
    } else {
        ((mean - centre) / (edge - centre)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` runs about `mean` with this sample deviation.
    fn runs(mean: f64, deviation: f64, n: usize) -> Vec<f64> {
        let half = deviation * ((n - 1) as f64 / n as f64).sqrt();
        (0..n).map(|i| if i % 2 == 0 { mean + half } else { mean - half }).collect()
    }

    fn printed(text: &str) -> Reference {
        Reference::Published { printed: Printed::parse(text).expect("a number"), read_off: 0.0 }
    }

    fn verdict(values: &[f64], reference: Reference, band: Band) -> Verdict {
        let support = Support::Runs { with: values.len(), of: values.len() };
        compare(values, support, reference, band).expect("values").verdict
    }

    #[test]
    fn too_high_and_too_low() {
        let against = |mean| verdict(&runs(mean, 1.0, 10), printed("100.0"), Band::Rate);
        assert_eq!(against(100.0), Verdict::Agrees);
        assert_eq!(against(123.0), Verdict::Agrees);
        assert_eq!(against(125.0), Verdict::Undetermined);
        assert_eq!(against(127.0), Verdict::Disagrees);
        assert_eq!(against(81.0), Verdict::Agrees);
        assert_eq!(against(80.0), Verdict::Undetermined);
        assert_eq!(against(78.0), Verdict::Disagrees);
    }

    #[test]
    fn a_wide_interval_is_undetermined_even_about_the_value() {
        assert_eq!(verdict(&runs(100.0, 60.0, 10), printed("100"), Band::Rate), Verdict::Undetermined);
        assert_eq!(verdict(&runs(160.0, 100.0, 10), printed("100"), Band::Rate), Verdict::Undetermined);
    }

    #[test]
    fn few_seeds_and_missing_runs_are_undetermined() {
        assert_eq!(verdict(&runs(100.0, 0.1, 9), printed("100"), Band::Rate), Verdict::Undetermined);
        assert_eq!(verdict(&runs(900.0, 0.1, 9), printed("100"), Band::Rate), Verdict::Undetermined);
        let support = Support::Runs { with: 10, of: 12 };
        let compared = compare(&runs(100.0, 0.1, 10), support, printed("100"), Band::Rate).expect("values");
        assert_eq!(compared.verdict, Verdict::Undetermined);
        let once = compare(&[100.0], Support::Deterministic, printed("100"), Band::Rate).expect("a value");
        assert_eq!(once.verdict, Verdict::Agrees);
        assert_eq!(compare(&[], support, printed("100"), Band::Rate), None);
    }

    #[test]
    fn ns2_is_closer_and_must_be_known_well_enough() {
        let ns2 = |ci95| Reference::Ns2 { mean: 100.0, ci95: Some(ci95) };
        assert_eq!(verdict(&runs(108.0, 1.0, 10), ns2(0.0), Band::Rate), Verdict::Agrees);
        assert_eq!(verdict(&runs(112.0, 1.0, 10), ns2(0.0), Band::Rate), Verdict::Disagrees);
        assert_eq!(verdict(&runs(108.0, 1.0, 10), ns2(5.0), Band::Rate), Verdict::Agrees);
        assert_eq!(verdict(&runs(100.0, 1.0, 10), ns2(15.0), Band::Rate), Verdict::Undetermined);
        assert_eq!(verdict(&runs(200.0, 1.0, 10), ns2(15.0), Band::Rate), Verdict::Undetermined);
        // Without an interval ns-2's mean is vague, near or far.
        let unknown = Reference::Ns2 { mean: 100.0, ci95: None };
        assert_eq!(verdict(&runs(100.0, 1.0, 10), unknown, Band::Rate), Verdict::Undetermined);
        assert_eq!(verdict(&runs(300.0, 1.0, 10), unknown, Band::Rate), Verdict::Undetermined);
    }

    #[test]
    fn zero_and_coarse_prints() {
        // 0.01 stands for all from 0.005 to 0.015.
        let coarse = |mean| verdict(&runs(mean, 1e-4, 10), printed("0.01"), Band::Rate);
        assert_eq!(coarse(0.0045), Verdict::Agrees);
        assert_eq!(coarse(0.018), Verdict::Agrees);
        assert_eq!(coarse(0.0035), Verdict::Disagrees);
        assert_eq!(coarse(0.020), Verdict::Disagrees);
        // 0.00 stands for all below 0.005.
        let zero = |mean| verdict(&runs(mean, 0.0, 10), printed("0.00"), Band::Rate);
        assert_eq!(zero(0.0), Verdict::Agrees);
        assert_eq!(zero(0.006), Verdict::Agrees);
        assert_eq!(zero(0.007), Verdict::Disagrees);
        // Nothing measured where something was published.
        assert_eq!(verdict(&[0.0; 10], printed("17.7"), Band::Rate), Verdict::Disagrees);
        assert_eq!(
            verdict(&[0.0; 10], Reference::Ns2 { mean: 0.0, ci95: Some(0.0) }, Band::Rate),
            Verdict::Agrees
        );
    }

    #[test]
    fn absolute_bands() {
        let at = |mean, text, band| verdict(&runs(mean, 1e-4, 10), printed(text), band);
        assert_eq!(at(0.93, "0.900", Band::Utilization), Verdict::Agrees);
        assert_eq!(at(0.94, "0.900", Band::Utilization), Verdict::Disagrees);
        assert_eq!(at(0.514, "0.500", Band::Share), Verdict::Agrees);
        assert_eq!(at(0.517, "0.500", Band::Share), Verdict::Disagrees);
        // The printed digit allows half a unit more.
        assert_eq!(at(0.52, "0.50", Band::Share), Verdict::Undetermined);
        assert_eq!(at(0.519, "0.50", Band::Share), Verdict::Agrees);
        assert_eq!(at(0.009, "0.000", Band::Drop), Verdict::Agrees);
        assert_eq!(at(0.012, "0.000", Band::Drop), Verdict::Disagrees);
        assert_eq!(at(0.43, "0.400", Band::Drop), Verdict::Agrees);
        assert_eq!(at(0.45, "0.400", Band::Drop), Verdict::Disagrees);
        assert_eq!(at(209.254, "209.25", Band::Digits), Verdict::Agrees);
        assert_eq!(at(209.26, "209.25", Band::Digits), Verdict::Disagrees);
    }

    #[test]
    fn a_curve_read_off_allows_its_error() {
        let read =
            Reference::Published { printed: Printed::parse("0.50").expect("a number"), read_off: 0.05 };
        assert_eq!(verdict(&runs(0.72, 1e-3, 10), read, Band::Rate), Verdict::Disagrees);
        assert_eq!(verdict(&runs(0.66, 1e-3, 10), read, Band::Rate), Verdict::Agrees);
    }

    #[test]
    fn print_and_ns2_are_two_questions() {
        use CellVerdict as C;
        use Verdict::{Agrees, Disagrees, Undetermined, Uninformative};
        for (print, ns2, expected) in [
            (Some(Agrees), Some(Disagrees), Some(C::AgreesWithPrint)),
            (Some(Agrees), None, Some(C::AgreesWithPrint)),
            (Some(Disagrees), Some(Agrees), Some(C::AgreesWithNs2)),
            (Some(Undetermined), Some(Agrees), Some(C::AgreesWithNs2)),
            (None, Some(Agrees), Some(C::AgreesWithNs2)),
            (Some(Disagrees), Some(Undetermined), Some(C::Undetermined)),
            (Some(Undetermined), Some(Disagrees), Some(C::Undetermined)),
            (Some(Disagrees), Some(Disagrees), Some(C::Disagrees)),
            (Some(Disagrees), None, Some(C::Disagrees)),
            (None, Some(Disagrees), Some(C::Disagrees)),
            (Some(Uninformative), Some(Uninformative), Some(C::Uninformative)),
            (None, None, None),
        ] {
            assert_eq!(CellVerdict::of(print, ns2), expected, "{print:?} {ns2:?}");
        }
    }

    #[test]
    fn precision_looks_at_widths_alone() {
        let of = |mean, deviation, reference| {
            width_over_band(&runs(mean, deviation, 20), reference, Band::Rate)
                .expect("precise enough to tell")
        };
        let print = printed("100.000");
        // One relative width wherever the mean lies: 5/√20·2.093 % over ln 1.25.
        let expected = 0.05 / 20f64.sqrt() * 2.093 / 1.25f64.ln();
        for mean in [50.0, 100.0, 125.0, 1000.0] {
            assert!((of(mean, 0.05 * mean, print) / expected - 1.0).abs() < 1e-3, "{mean}");
        }
        let ns2 = Reference::Ns2 { mean: 100.0, ci95: Some(1.0) };
        assert!((of(100.0, 5.0, ns2) / of(100.0, 5.0, print) - 1.25f64.ln() / 1.10f64.ln()).abs() < 1e-3);
        let vague = Reference::Ns2 { mean: 100.0, ci95: None };
        assert_eq!(width_over_band(&runs(100.0, 5.0, 20), vague, Band::Rate), None);
        assert_eq!(width_over_band(&[1.0], print, Band::Rate), None);
        let share = width_over_band(&runs(0.5, 0.01, 20), printed("0.5000"), Band::Share).expect("a width");
        let absolute = 0.01 / 20f64.sqrt() * 2.093 / 0.01505;
        assert!((share / absolute - 1.0).abs() < 0.01, "{share} {absolute}");
    }

    #[test]
    fn increments_may_be_negative() {
        let at =
            |mean| verdict(&runs(mean, 1e-4, 10), Reference::Ns2 { mean: -1.0, ci95: Some(0.0) }, Band::Rate);
        assert_eq!(at(-1.05), Verdict::Agrees);
        assert_eq!(at(-0.95), Verdict::Agrees);
        assert_eq!(at(-1.2), Verdict::Disagrees);
        assert_eq!(at(1.0), Verdict::Disagrees);
    }

    #[test]
    fn distances_are_in_widths_of_the_band() {
        let at = |mean: f64| {
            compare(&[mean], Support::Deterministic, printed("100.000000"), Band::Rate)
                .expect("a value")
                .distance
        };
        assert!(
            (at(125.0) - 1.0).abs() < 1e-6 && (at(80.0) - 1.0).abs() < 1e-6,
            "{} {}",
            at(125.0),
            at(80.0)
        );
        assert!((at(156.25) - 2.0).abs() < 1e-6 && at(100.0) == 0.0);
    }
}
