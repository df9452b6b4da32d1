//! Questions that the source leaves open: two set-ups that fit every sentence of it and fall on
//! different sides of the print.

use super::cell::cell_result;
use super::error::ExperimentError;
use super::file::{Cell, Claim, Experiment, VariantRun};
use super::judge::{Measured, Samples, claim_result, of_counts};
use super::reading::Reading;
use super::results::{CellResult, Claims, Count, SetupTally, SideClaim, UndecidedResult};
use super::syntax::Profile;
use super::verdict::Verdict;
use tfrc_scenario::hint;

/// Parts of an experiment that a variant decides otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Undecided {
    pub(crate) text: String,
    /// The other set-up.
    pub(crate) variant: usize,
    pub(crate) claims: Vec<usize>,
    pub(crate) columns: Vec<usize>,
    pub(crate) rows: Option<Vec<String>>,
}

impl Undecided {
    fn has_row(&self, row: &str) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.iter().any(|one| one == row))
    }

    /// Returns true if a cell is one of the parts.
    pub(super) fn has_cell(&self, experiment: &Experiment, cell: &CellResult) -> bool {
        self.has_row(&cell.row)
            && self.columns.iter().any(|column| experiment.cells[*column].column == cell.column)
    }
}

impl Reading<'_> {
    /// The tables `[[undecided]]`, checked against the columns, claims and variants.
    pub(super) fn undecided(
        &self,
        cells: &[Cell],
        claims: &[Claim],
        variants: &[VariantRun],
    ) -> Result<Vec<Undecided>, ExperimentError> {
        let found = |names: &[&str], wanted: &toml::Spanned<String>, kind: &str| {
            names.iter().position(|name| name == wanted.get_ref()).ok_or_else(|| {
                let message = format!("there is no {kind} `{}`", wanted.get_ref());
                self.file.invalid(wanted.span(), message, "here", hint(wanted.get_ref(), names))
            })
        };
        let mut list = Vec::new();
        for raw in &self.raw.undecided {
            let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            let variant = found(&names, &raw.variant, "variant")?;
            if variants[variant].profile != Profile::AsPublished {
                return Err(self.file.invalid(
                    raw.variant.span(),
                    "a variant of the rfc profile",
                    "here",
                    "both set-ups are as published",
                ));
            }
            let names: Vec<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
            let claims =
                raw.claims.iter().map(|one| found(&names, one, "claim")).collect::<Result<Vec<_>, _>>()?;
            let names: Vec<&str> = cells.iter().map(|cell| cell.column.as_str()).collect();
            let columns = match (&raw.columns, &raw.rows) {
                (Some(columns), _) => {
                    columns.iter().map(|one| found(&names, one, "column")).collect::<Result<Vec<_>, _>>()?
                }
                (None, Some(_)) => (0..cells.len()).collect(),
                (None, None) => Vec::new(),
            };
            if claims.is_empty() && columns.is_empty() {
                return Err(self.file.invalid(
                    raw.variant.span(),
                    "nothing is undecided",
                    "between the set-up as published and this one",
                    "give claims = [\"TEXT\"], columns = [\"NAME\"] or rows = [\"NAME\"]",
                ));
            }
            let rows = self.rows(raw.rows.as_deref())?;
            list.push(Undecided { text: raw.text.clone(), variant, claims, columns, rows });
        }
        Ok(list)
    }
}

/// The two set-ups of each undecided part; nothing where variants were not run.
pub(super) fn judge(experiment: &Experiment, measured: &Measured) -> Vec<UndecidedResult> {
    let none = Samples::new();
    let main = measured.profiles.get(&Profile::AsPublished).unwrap_or(&none);
    let pairs = experiment.undecided.iter().filter_map(|part| {
        let (variant, samples) =
            (experiment.variants.get(part.variant)?, measured.variants.get(part.variant)?);
        // Runs that the variant leaves alone are as published.
        let untouched = |(_, column): &(usize, usize)| {
            let sims = experiment.sims.get(experiment.cells[*column].sims.clone());
            let Some((sims, only)) = sims.zip(variant.only.as_ref()) else { return false };
            sims.iter().all(|sim| !only.contains(&sim.name))
        };
        let mut other = samples.clone();
        other.extend(main.iter().filter(|(key, _)| untouched(key)).map(|(key, one)| (*key, one.clone())));
        let keys: Vec<(usize, usize)> = samples.keys().copied().collect();
        Some(UndecidedResult {
            text: part.text.clone(),
            variant: variant.name.clone(),
            as_published: side(experiment, part, main, &keys),
            otherwise: side(experiment, part, &other, &keys),
        })
    });
    pairs.collect()
}

/// The parts in one set-up: the cells that both have.
fn side(experiment: &Experiment, part: &Undecided, samples: &Samples, keys: &[(usize, usize)]) -> SetupTally {
    let mut cells = Count::default();
    for key @ (row, column) in keys {
        let name = &experiment.published.rows[*row].name;
        let Some(sample) = samples.get(key).filter(|_| part.columns.contains(column) && part.has_row(name))
        else {
            continue;
        };
        match cell_result(experiment, *row, &experiment.cells[*column], sample, None).verdict_print {
            Some(Verdict::Agrees) => cells.agree += 1,
            Some(Verdict::Disagrees) => cells.disagree += 1,
            Some(Verdict::Undetermined) => cells.undetermined += 1,
            Some(Verdict::Uninformative) | None => {}
        }
    }
    let claims: Vec<SideClaim> = part
        .claims
        .iter()
        .map(|number| claim_result(experiment, samples, None, &experiment.claims[*number]))
        .map(|claim| SideClaim { text: claim.text, value: claim.value, holds: claim.holds })
        .collect();
    let held = claims.iter().filter(|claim| claim.holds == Some(true)).count();
    SetupTally { verdict: of_counts(cells, Claims { held, of: claims.len() }), cells, claims }
}
