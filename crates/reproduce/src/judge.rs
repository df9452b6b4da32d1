//! From measured values to verdicts: cells, claims, the experiment.
//!
//! Cells and claims are held against each reference first, then counted, and the counts give the
//! experiment its word. Nothing is run here: equal samples give equal verdicts.

use std::collections::BTreeMap;

use super::cell::{cell_result, ns2_mean};
use super::claims::Values;
use super::emulation::EmulatedTable;
use super::file::{Claim, Experiment};
use super::results::{
    CellResult, ClaimResult, Claims, Count, ExperimentResult, ExperimentVerdict, Over, Tally,
    UndecidedResult, VariantCell, VariantResult, is_informative,
};
use super::syntax::{Profile, VerdictRule, World};
use super::verdict::{CellVerdict, FEWEST_RUNS, Verdict};
use super::{undecided, welch};
use tfrc_lab::statistics::{Estimate, estimate, median};

/// The values of one cell in one row: those of the runs that have one, and how many runs there
/// were.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f64>,
    pub(crate) runs: usize,
    /// Computed once, without any seed.
    pub(crate) fixed: bool,
    /// The cap that ended the seeds before the cells were as precise as the paper's rule asks.
    pub(crate) cap: Option<Cap>,
}

/// Cap that ended the seeds of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    /// The packet hops of the experiment.
    Hops,
    /// The greatest number of seeds.
    Seeds,
}

/// Samples by row and column, both by number.
pub(crate) type Samples = BTreeMap<(usize, usize), Sample>;

/// Measurements of an experiment.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) profiles: BTreeMap<Profile, Samples>,
    /// In the order of the experiment's variants; not run, if empty.
    pub(crate) variants: Vec<Samples>,
    /// Packet hops of all runs as published.
    pub(crate) packet_hops: u64,
    /// Values of the emulated side.
    pub(crate) emulated: Option<EmulatedTable>,
}

/// Nine tenths of the informative cells must agree.
const ENOUGH: f64 = 0.9;

/// All that can be said of an experiment.
pub(crate) fn judge(experiment: &Experiment, measured: &Measured, runs: u32) -> ExperimentResult {
    let cells = cells(experiment, measured);
    let none = Samples::new();
    let emulated = measured.emulated.as_ref();
    let of_claim = |claim: &Claim| {
        claim_result(experiment, measured.profiles.get(&claim.profile).unwrap_or(&none), emulated, claim)
    };
    let claims: Vec<ClaimResult> = experiment.claims.iter().map(of_claim).collect();
    let tally = tally(&cells, &claims);
    let fixed = experiment.computed.is_some() || experiment.deterministic;
    let is_open = |claim: &ClaimResult| claim.counts() && claim.holds.is_none();
    let support = match experiment.world {
        World::Emu if claims.iter().any(is_open) => Seeds::Missing,
        World::Emu => Seeds::Enough,
        World::Sim if fixed || runs as usize >= FEWEST_RUNS => Seeds::Enough,
        World::Sim => Seeds::TooFew,
    };
    let verdicts = verdicts(&tally, support);
    let undecided = undecided::judge(experiment, measured);
    let verdict = match undecided.iter().any(UndecidedResult::is_earned) {
        true if rest(experiment, &cells, &claims, support) != ExperimentVerdict::Disagrees => {
            ExperimentVerdict::Undecidable
        }
        _ => verdicts.both,
    };
    ExperimentResult {
        runs,
        packet_hops: measured.packet_hops,
        verdict_print: verdicts.print,
        verdict_ns2: verdicts.ns2,
        verdict,
        reason: reason(&tally, support)
            + &match (experiment.world, emulated) {
                (World::Emu, Some(table)) => format!("; recorded on {}", table.about.words()),
                _ => String::new(),
            },
        tally,
        cells,
        claims,
        variants: variants(experiment, measured),
        undecided,
        emulation: emulated.map(EmulatedTable::about_all),
        ..not_run(experiment, "")
    }
}

/// The verdict of what is not undecided.
fn rest(
    experiment: &Experiment,
    cells: &[CellResult],
    claims: &[ClaimResult],
    seeds: Seeds,
) -> ExperimentVerdict {
    let parts = &experiment.undecided;
    let is_open = |cell: &&CellResult| parts.iter().any(|part| part.has_cell(experiment, cell));
    let cells: Vec<CellResult> = cells.iter().filter(|cell| !is_open(cell)).cloned().collect();
    let is_open = |number: usize| parts.iter().any(|part| part.claims.contains(&number));
    let claims = claims.iter().enumerate().filter(|(number, _)| !is_open(*number));
    let claims: Vec<ClaimResult> = claims.map(|(_, claim)| claim.clone()).collect();
    verdicts(&tally(&cells, &claims), seeds).both
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
        packet_hops: 0,
        verdict_print: None,
        verdict_ns2: None,
        verdict: ExperimentVerdict::NotRun,
        reason: reason.to_owned(),
        tally: Tally::default(),
        cells: Vec::new(),
        claims: Vec::new(),
        variants: Vec::new(),
        undecided: Vec::new(),
        emulation: None,
    }
}

/// Number of seeds, held against what a verdict takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seeds {
    Enough,
    /// Emulated runs are missing or invalid, so that a claim has no value.
    Missing,
    TooFew,
}

/// The verdicts of an experiment.
struct Verdicts {
    print: Option<Verdict>,
    ns2: Option<Verdict>,
    both: ExperimentVerdict,
}

/// The verdicts by the counts.
fn verdicts(tally: &Tally, seeds: Seeds) -> Verdicts {
    let of = |count, claims| match (of_counts(count, claims), seeds) {
        (Some(_), Seeds::TooFew | Seeds::Missing) => Some(Verdict::Undetermined),
        (verdict, _) => verdict,
    };
    let print = of(tally.print, tally.claims_of_print);
    let ns2 = of(tally.ns2, tally.claims_of_ns2);
    // Cells known only from ns-2 may lower the verdict of the print, and never raise it.
    let lowered = match (print, of(tally.ns2_alone, Claims::default())) {
        (Some(Verdict::Agrees), Some(alone)) => Some(alone),
        (print, _) => print,
    };
    let both = match CellVerdict::of(lowered, ns2) {
        Some(CellVerdict::AgreesWithPrint) => ExperimentVerdict::AgreesWithPrint,
        Some(CellVerdict::AgreesWithNs2) => ExperimentVerdict::AgreesWithNs2,
        Some(CellVerdict::Disagrees) => ExperimentVerdict::Disagrees,
        Some(CellVerdict::Undetermined | CellVerdict::Uninformative) | None => {
            ExperimentVerdict::Undetermined
        }
    };
    Verdicts { print, ns2, both }
}

/// The verdict against one reference: nine tenths of the cells must agree and all of its claims
/// hold. `None` if there is neither a cell nor a claim.
pub(super) fn of_counts(cells: Count, claims: Claims) -> Option<Verdict> {
    let counted = cells.total();
    let share = |part: usize| part as f64 / counted as f64;
    if counted == 0 && claims.of == 0 {
        None
    } else if claims.held < claims.of || (counted > 0 && share(cells.disagree) > 1.0 - ENOUGH + 1e-9) {
        Some(Verdict::Disagrees)
    } else if counted == 0 || share(cells.agree) >= ENOUGH - 1e-9 {
        Some(Verdict::Agrees)
    } else {
        Some(Verdict::Undetermined)
    }
}

/// The counts in words.
fn reason(tally: &Tally, seeds: Seeds) -> String {
    let of = |name: &str, cells: Count, claims: Claims| {
        let mut parts = Vec::new();
        if cells.total() > 0 {
            parts.push(format!(
                "{} of {} cells agree, {} disagree, {} undetermined",
                cells.agree,
                cells.total(),
                cells.disagree,
                cells.undetermined
            ));
        }
        if claims.of > 0 {
            parts.push(format!("{} of {} claims hold", claims.held, claims.of));
        }
        (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
    };
    let mut parts: Vec<String> =
        [of("print", tally.print, tally.claims_of_print), of("ns-2", tally.ns2, tally.claims_of_ns2)]
            .into_iter()
            .flatten()
            .collect();
    if tally.uninformative > 0 {
        parts.push(format!("{} cells are uninformative", tally.uninformative));
    }
    match seeds {
        Seeds::Enough => {}
        Seeds::Missing => parts.push("claims have no value for want of valid runs".to_owned()),
        Seeds::TooFew => parts.push(format!("fewer than {FEWEST_RUNS} seeds")),
    }
    parts.join("; ")
}

fn tally(cells: &[CellResult], claims: &[ClaimResult]) -> Tally {
    let count = |verdict: &dyn Fn(&CellResult) -> Option<Verdict>| {
        let of = |wanted| cells.iter().filter(|cell| verdict(cell) == Some(wanted)).count();
        Count {
            agree: of(Verdict::Agrees),
            disagree: of(Verdict::Disagrees),
            undetermined: of(Verdict::Undetermined),
        }
    };
    let ratios = |over: Over| {
        let counted = cells.iter().filter(|cell| is_informative(cell) && cell.ratio_over == Some(over));
        median(counted.filter_map(|cell| cell.ratio).collect()).map(|ratio| (ratio, over))
    };
    let ratio = ratios(Over::Print).or_else(|| ratios(Over::Ns2));
    let claims_of = |is_of: fn(&ClaimResult) -> bool| {
        let of = || claims.iter().filter(|claim| is_of(claim));
        Claims { held: of().filter(|claim| claim.holds == Some(true)).count(), of: of().count() }
    };
    Tally {
        print: count(&|cell| cell.verdict_print),
        ns2: count(&|cell| cell.verdict_ns2),
        ns2_alone: count(&|cell| cell.verdict_ns2.filter(|_| cell.verdict_print.is_none())),
        uninformative: cells.iter().filter(|cell| cell.verdict == Some(CellVerdict::Uninformative)).count(),
        claims_held: claims.iter().filter(|claim| claim.holds == Some(true)).count(),
        claims: claims.iter().filter(|claim| claim.counts()).count(),
        claims_of_print: claims_of(ClaimResult::is_of_print),
        claims_of_ns2: claims_of(ClaimResult::is_of_ns2),
        median_ratio: ratio.map(|(ratio, _)| ratio),
        median_ratio_over: ratio.map(|(_, over)| over),
    }
}

fn cells(experiment: &Experiment, measured: &Measured) -> Vec<CellResult> {
    let none = Samples::new();
    let of = |profile| measured.profiles.get(&profile).unwrap_or(&none);
    let (published, rfc) = (of(Profile::AsPublished), of(Profile::Rfc));
    let mut cells: Vec<CellResult> = published
        .iter()
        .map(|((row, column), sample)| {
            let rfc = rfc.get(&(*row, *column)).map(|sample| estimate(&sample.values));
            cell_result(experiment, *row, &experiment.cells[*column], sample, rfc.and_then(|e| e.mean))
        })
        .collect();
    if experiment.verdicts == VerdictRule::Welch {
        welch::judge(&experiment.ns2_runs, published, &mut cells);
    }
    if let Some(table) = &measured.emulated {
        add_emulated(experiment, table, &mut cells);
    }
    cells
}

/// Adds the emulated values to the cells, in their order.
fn add_emulated(experiment: &Experiment, table: &EmulatedTable, cells: &mut Vec<CellResult>) {
    for (row, one) in experiment.published.rows.iter().enumerate() {
        for cell in &experiment.cells {
            let Some(value) = table.get(&one.name, &cell.column) else { continue };
            let place = cells.iter().position(|found| found.row == one.name && found.column == cell.column);
            let found = match place {
                Some(place) => &mut cells[place],
                None => {
                    // It has no simulated side, and is not judged.
                    let mut alone = cell_result(experiment, row, cell, &Sample::default(), None);
                    (alone.verdict, alone.verdict_print, alone.verdict_ns2) = (None, None, None);
                    (alone.distance, alone.note) = (None, None);
                    let over = value.mean.zip(alone.published.filter(|x| *x != 0.0));
                    alone.ratio = over.map(|(mean, published)| mean / published);
                    alone.ratio_over = alone.ratio.map(|_| Over::Print);
                    cells.push(alone);
                    let Some(last) = cells.last_mut() else { continue };
                    last
                }
            };
            (found.emulated, found.emulated_ci95) = (value.mean, value.ci95);
            (found.emulated_runs, found.emulated_note) = (Some(value.runs), value.note.clone());
        }
    }
    let place = |cell: &CellResult| {
        let row = experiment.published.rows.iter().position(|row| row.name == cell.row);
        (row, experiment.cells.iter().position(|one| one.column == cell.column))
    };
    cells.sort_by_cached_key(place);
}

/// A claim on these samples or, in the emulated world, on its table; on the published table and on
/// ns-2's.
pub(super) fn claim_result(
    experiment: &Experiment,
    samples: &Samples,
    emulated: Option<&EmulatedTable>,
    claim: &Claim,
) -> ClaimResult {
    // What the names in it stand for was checked when it was read.
    let value = |values: &Values<'_>| {
        let decidable = claim.undecidable.is_none();
        decidable.then(|| claim.value.value(values).ok().flatten()).flatten()
    };
    let alone = emulated.and_then(|table| value(&of_emulated(experiment, table)));
    let (here, emulated) = match claim.world {
        World::Emu => (alone, None),
        World::Sim => (value(&Values { emulated, ..of_samples(experiment, samples) }), alone),
    };
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
        world: claim.world,
        holds_in_emulation: holds(emulated),
        value_in_emulation: emulated,
        undecidable: claim.undecidable.clone().or_else(|| {
            // An emulated claim of a simulated experiment does not lower its verdict for want of
            // runs.
            let is_open = experiment.world == World::Sim && claim.world == World::Emu && here.is_none();
            is_open.then(|| "no valid emulated runs are recorded".to_owned())
        }),
        between: claim.between,
        value: here,
        value_in_source: source,
        value_in_ns2: ns2,
    }
}

/// The means as a table.
fn of_samples<'a>(experiment: &'a Experiment, samples: &'a Samples) -> Values<'a> {
    let mean = move |row: usize, column: &str| {
        let at = experiment.cells.iter().position(|cell| cell.column == column)?;
        estimate(&samples.get(&(row, at))?.values).mean
    };
    Values { get: Box::new(mean), ..Values::of_table(&experiment.published) }
}

/// The emulated means as a table.
fn of_emulated<'a>(experiment: &'a Experiment, table: &'a EmulatedTable) -> Values<'a> {
    let mean =
        move |row: usize, column: &str| table.get(&experiment.published.rows.get(row)?.name, column)?.mean;
    Values { get: Box::new(mean), ..Values::of_table(&experiment.published) }
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
            let ns2 = ns2_mean(experiment, name, &cell.column);
            let over = |x: Option<f64>| mean.zip(x.filter(|x| *x != 0.0)).map(|(mean, x)| mean / x);
            let ratio = over(print.or(ns2));
            VariantCell {
                row: name.clone(),
                column: cell.column.clone(),
                measured: mean,
                ci95,
                to_unchanged: over(before),
                ratio,
                ratio_over: ratio.map(|_| if print.is_some() { Over::Print } else { Over::Ns2 }),
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
