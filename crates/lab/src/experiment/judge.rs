//! From measured values to verdicts: cells, claims, the experiment.

use std::collections::BTreeMap;

use super::claims::{Values, median};
use super::expression::{Given, Scope};
use super::file::{Cell, Claim, Experiment};
use super::raw::{Against, Profile};
use super::results::{
    CellResult, ClaimResult, ExperimentResult, ExperimentVerdict, Tally, VariantCell, VariantResult,
    is_informative,
};
use super::table::Table;
use super::verdict::{Band, FEWEST_RUNS, Reference, Support, Verdict, any, compare};
use crate::batch::{Estimate, estimate};

/// The values of one cell in one row: those of the runs that have one, and how many runs there were.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f64>,
    pub(crate) runs: usize,
    /// Computed once, without any seed.
    pub(crate) fixed: bool,
}

/// Samples by row and column, both by number.
pub(crate) type Samples = BTreeMap<(usize, usize), Sample>;

/// What was measured of an experiment.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) profiles: BTreeMap<Profile, Samples>,
    /// In the order of the experiment's variants; not run, if empty.
    pub(crate) variants: Vec<Samples>,
}

/// Nine tenths of the informative cells must agree.
const ENOUGH: f64 = 0.9;

/// All that can be said of an experiment.
pub(crate) fn judge(experiment: &Experiment, measured: &Measured, runs: u32) -> ExperimentResult {
    let cells = cells(experiment, measured);
    let claims: Vec<ClaimResult> =
        experiment.claims.iter().map(|claim| of_claim(experiment, measured, claim)).collect();
    let tally = tally(&cells, &claims);
    let fixed = experiment.computed.is_some() || experiment.deterministic;
    let (verdict, reason) = verdict(&tally, &claims, fixed || runs as usize >= FEWEST_RUNS);
    ExperimentResult {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        world: experiment.world,
        must_agree: experiment.must_agree,
        runs,
        verdict,
        reason,
        tally,
        cells,
        claims,
        variants: variants(experiment, measured),
    }
}

/// An experiment that was not run, or not to its end.
pub(crate) fn not_run(experiment: &Experiment, reason: &str) -> ExperimentResult {
    ExperimentResult {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        world: experiment.world,
        must_agree: experiment.must_agree,
        runs: 0,
        verdict: ExperimentVerdict::NotRun,
        reason: reason.to_owned(),
        tally: Tally::default(),
        cells: Vec::new(),
        claims: Vec::new(),
        variants: Vec::new(),
    }
}

/// The verdict of an experiment and its reason.
fn verdict(tally: &Tally, claims: &[ClaimResult], enough_runs: bool) -> (ExperimentVerdict, String) {
    let counted = tally.agree + tally.disagree + tally.undetermined;
    let share = |part: usize| part as f64 / counted as f64;
    let needed: Vec<&ClaimResult> = claims.iter().filter(|claim| claim.is_needed()).collect();
    let failed = needed.iter().filter(|claim| claim.holds != Some(true)).count();
    let mut parts = Vec::new();
    if counted > 0 {
        let uninformative = match tally.uninformative {
            0 => String::new(),
            n => format!(", {n} uninformative"),
        };
        parts.push(format!(
            "{} of {counted} cells agree, {} disagree, {} undetermined{uninformative}",
            tally.agree, tally.disagree, tally.undetermined
        ));
    }
    if !claims.is_empty() {
        let excused = claims.len() - needed.len();
        let excused =
            if excused == 0 { String::new() } else { format!(" ({excused} fail in the reference too)") };
        parts.push(format!("{} of {} claims hold{excused}", tally.claims_held, claims.len()));
    }
    let verdict = if !enough_runs {
        parts.push(format!("fewer than {FEWEST_RUNS} seeds"));
        ExperimentVerdict::Undetermined
    } else if failed > 0 || (counted > 0 && share(tally.disagree) > 1.0 - ENOUGH + 1e-9) {
        ExperimentVerdict::Disagrees
    } else if counted == 0 || share(tally.agree) >= ENOUGH - 1e-9 {
        ExperimentVerdict::Agrees
    } else {
        ExperimentVerdict::Undetermined
    };
    (verdict, parts.join("; "))
}

fn tally(cells: &[CellResult], claims: &[ClaimResult]) -> Tally {
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == Some(verdict)).count();
    let ratios = cells.iter().filter(|cell| is_informative(cell)).filter_map(|cell| cell.ratio);
    Tally {
        agree: count(Verdict::Agrees),
        disagree: count(Verdict::Disagrees),
        undetermined: count(Verdict::Undetermined),
        uninformative: count(Verdict::Uninformative),
        claims_held: claims.iter().filter(|claim| claim.holds == Some(true)).count(),
        claims: claims.len(),
        median_ratio: median(ratios.collect()),
    }
}

fn cells(experiment: &Experiment, measured: &Measured) -> Vec<CellResult> {
    let none = Samples::new();
    let of = |profile| measured.profiles.get(&profile).unwrap_or(&none);
    let (published, rfc) = (of(Profile::AsPublished), of(Profile::Rfc));
    published
        .iter()
        .map(|((row, column), sample)| {
            let rfc = rfc.get(&(*row, *column)).map(|sample| estimate(&sample.values));
            one(experiment, *row, &experiment.cells[*column], sample, rfc.and_then(|e| e.mean))
        })
        .collect()
}

fn one(experiment: &Experiment, row: usize, cell: &Cell, sample: &Sample, rfc: Option<f64>) -> CellResult {
    let row = experiment.published.rows[row].name.as_str();
    let printed = experiment.published.get(row, &cell.column);
    let ns2 = experiment.ns2.as_ref().and_then(|table| of_ns2(table, row, &cell.column));
    let Estimate { mean, ci95 } = estimate(&sample.values);
    let support = support(experiment, sample);
    let only_ns2 = cell.against == Against::Ns2 || cell.ns2_only_rows.iter().any(|name| name == row);
    let print = printed
        .filter(|_| !only_ns2)
        .map(|printed| Reference::Published { printed, read_off: cell.read_off });
    // A column that the source does not have is a probe, unless it is there to be compared with ns-2.
    let is_probe = !experiment.published.columns.contains(&cell.column) && cell.against != Against::Ns2;
    let runs_of_ns2 = ns2
        .filter(|_| !is_probe && cell.against != Against::Published && cell.band != Band::Digits)
        .map(|(mean, ci95)| Reference::Ns2 { mean, ci95 });
    let comparisons: Vec<_> = [print, runs_of_ns2]
        .into_iter()
        .flatten()
        .filter_map(|reference| compare(&sample.values, support, reference, cell.band))
        .collect();
    let compared = any(&comparisons);
    let mut verdict = compared.map(|c| c.verdict);
    let mut note = None;
    let beside = Beside { measured: mean, published: printed.map(|p| p.value), ns2: ns2.map(|n| n.0) };
    let referred = print.is_some() || runs_of_ns2.is_some();
    if let (Some((rule, reason)), true) = (&cell.uninformative, referred)
        && rule.value(&beside).is_ok_and(|value| value.is_some_and(|x| x != 0.0))
    {
        verdict = Some(Verdict::Uninformative);
        note = Some(reason.clone());
    } else if referred && mean.is_none() {
        verdict = Some(Verdict::Undetermined);
        note = Some("no run has a value".to_owned());
    } else if verdict == Some(Verdict::Undetermined) {
        note = match support {
            Support::Runs { of, .. } if of < FEWEST_RUNS => Some(format!("fewer than {FEWEST_RUNS} seeds")),
            Support::Runs { with, of } if with < of => Some(format!("{} runs have no value", of - with)),
            _ if print.is_none() && ns2.is_some_and(|(mean, ci95)| ci95 > 0.1 * mean.abs()) => {
                Some("ns-2's own interval is too wide".to_owned())
            }
            _ => Some("the interval crosses the edge of the band".to_owned()),
        };
    }
    let reference = printed.map(|p| p.value).or(ns2.map(|n| n.0)).filter(|x| *x != 0.0);
    CellResult {
        row: row.to_owned(),
        column: cell.column.clone(),
        published: printed.map(|p| p.value),
        ns2: ns2.map(|n| n.0),
        measured: mean,
        rfc_profile: rfc,
        ci95,
        ratio: mean.zip(reference).map(|(mean, reference)| mean / reference),
        distance: compared.map(|c| c.distance).filter(|d| d.is_finite()),
        band: cell.band,
        verdict,
        note,
    }
}

/// The mean of ns-2's runs and half the width of its interval.
fn of_ns2(table: &Table, row: &str, column: &str) -> Option<(f64, f64)> {
    let mean = table.get(row, column)?.value;
    let ci95 = table.get(row, &format!("{column}_ci95")).map_or(0.0, |printed| printed.value);
    Some((mean, ci95))
}

fn support(experiment: &Experiment, sample: &Sample) -> Support {
    let same = sample.values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits());
    if sample.fixed || (experiment.deterministic && same && sample.values.len() == sample.runs) {
        Support::Deterministic
    } else {
        Support::Runs { with: sample.values.len(), of: sample.runs }
    }
}

/// What a rule of uninformative cells may look at.
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

fn of_claim(experiment: &Experiment, measured: &Measured, claim: &Claim) -> ClaimResult {
    let none = Samples::new();
    let samples = measured.profiles.get(&claim.profile).unwrap_or(&none);
    let here = of_samples(experiment, samples);
    // What the names in it stand for was checked when it was read.
    let value = |values: &Values<'_>| claim.value.value(values).ok().flatten();
    let here = value(&here);
    let source = value(&Values::of_table(&experiment.published));
    let ns2 = experiment.ns2.as_ref().and_then(|table| value(&Values::of_table(table)));
    let [low, high] = claim.between;
    let holds = |x: Option<f64>| x.map(|x| (low..=high).contains(&x));
    ClaimResult {
        text: claim.text.clone(),
        holds: holds(here),
        holds_in_source: holds(source),
        holds_in_ns2: holds(ns2),
        evidence: claim.evidence.clone(),
        formula: claim.value.text().to_owned(),
        profile: claim.profile,
        between: claim.between,
        value: here,
        value_in_source: source,
        value_in_ns2: ns2,
    }
}

/// The means as a table.
fn of_samples<'a>(experiment: &'a Experiment, samples: &'a Samples) -> Values<'a> {
    Values {
        get: Box::new(|row, column| {
            let at = experiment.cells.iter().position(|cell| cell.column == column)?;
            estimate(&samples.get(&(row, at))?.values).mean
        }),
        ..Values::of_table(&experiment.published)
    }
}

fn variants(experiment: &Experiment, measured: &Measured) -> Vec<VariantResult> {
    let none = Samples::new();
    let all = experiment.variants.iter().zip(&measured.variants);
    all.map(|(variant, samples)| {
        let unchanged = measured.profiles.get(&variant.profile).unwrap_or(&none);
        let cells = samples.iter().map(|((row, column), sample)| {
            let name = &experiment.published.rows[*row].name;
            let cell = &experiment.cells[*column];
            let Estimate { mean, ci95 } = estimate(&sample.values);
            let before = unchanged.get(&(*row, *column)).and_then(|sample| estimate(&sample.values).mean);
            let print = experiment.published.get(name, &cell.column).map(|printed| printed.value);
            let ns2 = experiment.ns2.as_ref().and_then(|table| of_ns2(table, name, &cell.column));
            let over = |x: Option<f64>| mean.zip(x.filter(|x| *x != 0.0)).map(|(mean, x)| mean / x);
            VariantCell {
                row: name.clone(),
                column: cell.column.clone(),
                measured: mean,
                ci95,
                to_unchanged: over(before),
                ratio: over(print.or(ns2.map(|n| n.0))),
            }
        });
        VariantResult {
            name: variant.name.clone(),
            about: variant.about.clone(),
            set: variant.set.clone(),
            profile: variant.profile,
            runs: variant.runs,
            cells: cells.collect(),
        }
    })
    .collect()
}
