//! The points of an experiment: its simulations in each of its rows, in either world.

use super::error::ExperimentError;
use super::file::{Cell, Experiment, at};
use super::syntax::{Profile, World};
use tfrc_lab::formula::{self, OfRun};
use tfrc_lab::recording::{Keep, Recording};
use tfrc_scenario::{Document, Scenario};

/// Part of an experiment that is wanted.
pub(super) struct Part<'p> {
    pub(super) world: World,
    pub(super) profile: Profile,
    /// Changes of the scenario after all others.
    pub(super) set: &'p [String],
    /// Returns true if a simulation is wanted, by its name.
    pub(super) has_sim: &'p dyn Fn(&str) -> bool,
    /// Returns true if a row is wanted, by its name.
    pub(super) has_row: &'p dyn Fn(&str) -> bool,
    /// Returns true if a column is measured in a row.
    pub(super) has_cell: &'p dyn Fn(&Cell, &str) -> bool,
}

/// One simulation of an experiment in one row.
#[derive(Debug)]
pub(super) struct Point {
    /// Number of the experiment.
    pub(super) experiment: usize,
    /// Numbers of the simulation, the row and the columns measured in it.
    pub(super) sim: usize,
    pub(super) row: usize,
    pub(super) cells: Vec<usize>,
    /// The samples and counts that their formulas need.
    pub(super) keep: Keep,
    pub(super) document: Document,
    pub(super) scenario: Box<Scenario>,
}

impl Experiment {
    /// Reads and checks the points of a part; `number` is that of the experiment.
    pub(super) fn points(&self, number: usize, part: &Part<'_>) -> Result<Vec<Point>, ExperimentError> {
        let mut points = Vec::new();
        for (row_number, row) in self.published.rows.iter().enumerate() {
            for (sim_number, sim) in self.sims.iter().enumerate() {
                let is_left_out = sim.rows.as_ref().is_some_and(|rows| !rows.contains(&row.name));
                if is_left_out || !(part.has_row)(&row.name) || !(part.has_sim)(&sim.name) {
                    continue;
                }
                let measured = |cell: &&(usize, &Cell)| {
                    cell.1.sims.contains(&sim_number)
                        && cell.1.value.is_some()
                        && (part.has_cell)(cell.1, &row.name)
                };
                let cells: Vec<(usize, &Cell)> =
                    self.cells.iter().enumerate().filter(|cell| measured(&cell)).collect();
                if cells.is_empty() {
                    continue;
                }
                let (document, scenario, _) = self.scenario(part.world, sim, part.profile, row, part.set)?;
                self.check_names(sim_number, &scenario)?;
                let formulas = cells.iter().filter_map(|(_, cell)| cell.value.as_ref());
                points.push(Point {
                    experiment: number,
                    sim: sim_number,
                    row: row_number,
                    keep: formula::needs(formulas.map(|(formula, _)| formula)),
                    cells: cells.into_iter().map(|(cell, _)| cell).collect(),
                    document,
                    scenario: Box::new(scenario),
                });
            }
        }
        Ok(points)
    }

    /// The values of a point's columns in a run, whichever world it was recorded in.
    pub(super) fn values(
        &self,
        point: &Point,
        recording: &Recording,
    ) -> Result<Vec<Option<f64>>, ExperimentError> {
        let row = &self.published.rows[point.row];
        let keys: Vec<(String, String)> =
            self.published.keys.iter().cloned().zip(row.keys.iter().cloned()).collect();
        let scope = OfRun { recording, keys: &keys };
        let formulas = point.cells.iter().filter_map(|cell| self.cells[*cell].value.as_ref());
        formulas
            .map(|(formula, place)| formula.value(&scope).map_err(|wrong| at(&self.file, place, wrong)))
            .collect()
    }
}
