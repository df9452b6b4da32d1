//! The verdicts of one cell: its references, how precise it is, and what each comparison says.

use super::file::{Cell, Experiment};
use super::judge::{Cap, Sample};
use super::results::{CellResult, Over};
use super::syntax::{Against, VerdictRule};
use super::verdict::{
    Band, CellVerdict, Comparison, FEWEST_RUNS, Reference, Support, Verdict, compare, is_vague,
    width_over_band,
};
use tfrc_lab::formula::{Given, Scope};
use tfrc_lab::statistics::{Estimate, estimate};

/// The values that a cell is compared with.
struct References {
    print: Option<Reference>,
    ns2: Option<Reference>,
}

/// The references of a cell in a row, by its name.
fn references(experiment: &Experiment, row: &str, cell: &Cell) -> References {
    let only_ns2 = cell.against == Against::Ns2 || cell.ns2_only_rows.iter().any(|name| name == row);
    let printed = experiment.published.get(row, &cell.column).filter(|_| !only_ns2);
    // A column that the source does not have is a probe, unless it is there to be compared with
    // ns-2.
    let is_probe = !experiment.published.columns.contains(&cell.column) && cell.against != Against::Ns2;
    // Welch's test needs all cells at once.
    let is_alone = experiment.verdicts == VerdictRule::Bands;
    let has_ns2 = is_alone && !is_probe && cell.against != Against::Published && cell.band != Band::Digits;
    References {
        print: printed.map(|printed| Reference::Published { printed, read_off: cell.read_off }),
        ns2: of_ns2(experiment, row, cell).filter(|_| has_ns2),
    }
}

/// The mean of ns-2's runs with half the width of its interval, 0 for a column without randomness.
fn of_ns2(experiment: &Experiment, row: &str, cell: &Cell) -> Option<Reference> {
    let table = experiment.ns2.as_ref()?;
    let mean = table.get(row, &cell.column)?.value;
    let told = || table.get(row, &format!("{}_ci95", cell.column)).map(|printed| printed.value);
    let ci95 = match (&cell.ns2_exact, experiment.ns2_runs.get(&(row.to_owned(), cell.column.clone()))) {
        (Some(_), _) => Some(0.0),
        (None, Some(runs)) => estimate(runs).ci95,
        (None, None) => told(),
    };
    Some(Reference::Ns2 { mean, ci95 })
}

/// The mean of ns-2's runs.
pub(super) fn ns2_mean(experiment: &Experiment, row: &str, column: &str) -> Option<f64> {
    experiment.ns2.as_ref()?.get(row, column).map(|printed| printed.value)
}

/// The reason why a cell is uninformative, if it is.
fn uninformative<'a>(
    experiment: &Experiment,
    row: &str,
    cell: &'a Cell,
    measured: Option<f64>,
) -> Option<&'a str> {
    let (rule, reason) = cell.uninformative.as_ref()?;
    let published = experiment.published.get(row, &cell.column).map(|printed| printed.value);
    let beside = Beside { measured, published, ns2: ns2_mean(experiment, row, &cell.column) };
    let holds = rule.value(&beside).is_ok_and(|value| value.is_some_and(|x| x != 0.0));
    holds.then_some(reason.as_str())
}

/// Returns true if a cell is as precise as a rule of seeds asks: half the width of its interval is
/// at most `1/part` of half the width of its narrowest band. A cell that is not judged, or that no
/// seed can mend, is.
pub(crate) fn is_precise(
    experiment: &Experiment,
    row: usize,
    cell: &Cell,
    sample: &Sample,
    part: f64,
) -> bool {
    let row = experiment.published.rows[row].name.as_str();
    if sample.values.len() < sample.runs
        || support(experiment, sample) == Support::Deterministic
        || uninformative(experiment, row, cell, estimate(&sample.values).mean).is_some()
    {
        return true;
    }
    let References { print, ns2 } = references(experiment, row, cell);
    let widths = [print, ns2]
        .into_iter()
        .flatten()
        .filter_map(|reference| width_over_band(&sample.values, reference, cell.band));
    widths.fold(0.0, f64::max) * part <= 1.0
}

/// Returns true if the verdict of a cell against the print or ns-2 is undetermined, and more seeds
/// could settle it.
pub(crate) fn is_open(experiment: &Experiment, row: usize, cell: &Cell, sample: &Sample) -> bool {
    let row = experiment.published.rows[row].name.as_str();
    let support = support(experiment, sample);
    if support == Support::Deterministic
        || sample.values.len() < sample.runs
        || uninformative(experiment, row, cell, estimate(&sample.values).mean).is_some()
    {
        return false;
    }
    let References { print, ns2 } = references(experiment, row, cell);
    [print, ns2].into_iter().flatten().any(|reference| {
        width_over_band(&sample.values, reference, cell.band).is_some()
            && compare(&sample.values, support, reference, cell.band)
                .is_some_and(|compared| compared.verdict == Verdict::Undetermined)
    })
}

/// A cell with its verdicts.
pub(super) fn cell_result(
    experiment: &Experiment,
    row: usize,
    cell: &Cell,
    sample: &Sample,
    rfc: Option<f64>,
) -> CellResult {
    let row = experiment.published.rows[row].name.as_str();
    let published = experiment.published.get(row, &cell.column).map(|printed| printed.value);
    let ns2_value = ns2_mean(experiment, row, &cell.column);
    let Estimate { mean, ci95 } = estimate(&sample.values);
    let support = support(experiment, sample);
    let References { print, ns2 } = references(experiment, row, cell);
    let against = |reference: Option<Reference>| -> Option<Comparison> {
        let unknown = Comparison { verdict: Verdict::Undetermined, distance: f64::INFINITY };
        reference.map(|one| compare(&sample.values, support, one, cell.band).unwrap_or(unknown))
    };
    let (mut of_print, mut of_ns2) = (against(print), against(ns2));
    let mut note = None;
    if let Some(reason) = uninformative(experiment, row, cell, mean).filter(|_| print.or(ns2).is_some()) {
        for comparison in [&mut of_print, &mut of_ns2].into_iter().flatten() {
            comparison.verdict = Verdict::Uninformative;
        }
        note = Some(reason.to_owned());
    }
    let [verdict_print, verdict_ns2] = [of_print, of_ns2].map(|one| one.map(|c| c.verdict));
    let verdict = CellVerdict::of(verdict_print, verdict_ns2);
    if verdict == Some(CellVerdict::Undetermined) {
        let open = |reference: Option<Reference>, verdict| {
            reference.filter(|_| verdict == Some(Verdict::Undetermined))
        };
        let open = open(print, verdict_print).or(open(ns2, verdict_ns2));
        note = Some(why_open(sample, support, cell.band, open));
    }
    let (reference, over) = match (print.is_some() || ns2.is_none(), published) {
        (true, Some(printed)) => (Some(printed), Over::Print),
        _ => (ns2_value, Over::Ns2),
    };
    let ratio = mean.zip(reference.filter(|x| *x != 0.0)).map(|(mean, reference)| mean / reference);
    let distances = [of_print, of_ns2].into_iter().flatten().map(|c| c.distance);
    CellResult {
        row: row.to_owned(),
        column: cell.column.clone(),
        published,
        ns2: ns2_value,
        measured: mean,
        emulated: None,
        emulated_ci95: None,
        emulated_runs: None,
        emulated_note: None,
        rfc_profile: rfc,
        ci95,
        ratio,
        ratio_over: ratio.map(|_| over),
        distance: distances.reduce(f64::min).filter(|d| d.is_finite()),
        band: cell.band,
        runs: sample.runs,
        verdict_print,
        verdict_ns2,
        verdict,
        difference: None,
        note,
    }
}

/// Why the comparison with a reference is undetermined.
fn why_open(sample: &Sample, support: Support, band: Band, open: Option<Reference>) -> String {
    let edge = "the interval crosses the edge of the band";
    match support {
        _ if sample.values.is_empty() => "no run has a value".to_owned(),
        Support::Runs { of, .. } if of < FEWEST_RUNS => format!("fewer than {FEWEST_RUNS} seeds"),
        Support::Runs { with, of } if with < of => format!("{} runs have no value", of - with),
        _ => match (open, sample.cap) {
            (Some(Reference::Ns2 { ci95: None, .. }), _) => "ns-2's value has no interval".to_owned(),
            (Some(reference), _) if is_vague(reference, band) => "ns-2's own interval is too wide".to_owned(),
            (_, None) => edge.to_owned(),
            (_, Some(Cap::Seeds)) => format!("{edge} at the cap of {} seeds", sample.runs),
            (_, Some(Cap::Hops)) => format!("{edge} at {} seeds, the cap on packet hops", sample.runs),
        },
    }
}

fn support(experiment: &Experiment, sample: &Sample) -> Support {
    let same = sample.values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits());
    if sample.fixed || (experiment.deterministic && same && sample.values.len() == sample.runs) {
        Support::Deterministic
    } else {
        Support::Runs { with: sample.values.len(), of: sample.runs }
    }
}

/// Values that a rule of uninformative cells may look at.
struct Beside {
    measured: Option<f64>,
    published: Option<f64>,
    ns2: Option<f64>,
}

impl Scope for Beside {
    fn variable(&self, name: &str) -> Option<f64> {
        match name {
            "measured" => self.measured,
            "published" => self.published,
            _ => self.ns2,
        }
    }

    fn call(&self, _: &str, _: &[Given<'_>]) -> Result<Option<f64>, (String, String)> {
        Ok(None)
    }
}
