//! A run, a scenario in a world: opened, changed and planned as the command line says; then watched
//! until its end, or until the user ends it. `sim`, `emu`, `link` and `demo` are made of it.

pub(crate) mod logs;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};

use tfrc_scenario::library::Opened;
use tfrc_scenario::{Document, Plan, Scenario, World};
use tfrc_sim::Seed;
use tfrc_units::Duration;
use tfrc_world::watch::{Look, Watch};

use crate::args::LiveArgs;
use crate::interrupt::Interrupt;
use crate::live::{self, Command, Keys};
use crate::reporter::{Reporter, ReporterConfig};
use crate::{Failure, page};

/// Opens the scenario of this name, once the files of these options are found fit.
///
/// # Errors
/// [`Failure::Usage`] for an option whose file could not be written or is that of the scenario, and
/// for a scenario that cannot be read.
pub(crate) fn open(name: &Path, outputs: &[(&str, &Option<PathBuf>)]) -> Result<Opened, Failure> {
    page::check_all(outputs)?;
    let opened = Opened::new(name)?;
    page::spare(&opened, name, outputs)?;
    Ok(opened)
}

/// Makes the changes that `--set` asks for.
pub(crate) fn set(document: &mut Document, changes: &[String]) {
    changes.iter().for_each(|change| document.set(change.as_str()));
}

/// Reads a scenario for a world, and says how the logs were read that it names.
///
/// # Errors
/// [`Failure::Scenario`] with the places of all mistakes.
pub(crate) fn plan(document: &Document, world: World) -> Result<Plan, Failure> {
    let plan = document.plan_for(world)?;
    logs::say(&plan.logs);
    Ok(plan)
}

/// The scenario at the first point of a plan, with another seed if one is given.
///
/// # Errors
/// [`Failure::Usage`] for a plan without points.
pub(crate) fn first(plan: Plan, seed: Option<u64>) -> Result<Scenario, Failure> {
    let Some(point) = plan.points.into_iter().next() else {
        return Err(Failure::usage("the scenario has no point", "see `[[sweep]]` in docs/scenarios.md"));
    };
    let seed = seed.map_or(point.scenario.seed, Seed);
    Ok(Scenario { seed, ..point.scenario })
}

/// From here on Ctrl-C and the end of the terminal end the run in order.
///
/// # Errors
/// [`Failure::Run`] if the system refuses.
pub(crate) fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::install().map_err(|error| Failure::io(&"signals", &error))
}

/// The reporter of a network's run; with a live view, if one is wanted and can be shown, come its
/// keys.
pub(crate) fn reporter(
    config: ReporterConfig,
    live: LiveArgs,
    title: &str,
    duration: Option<Duration>,
) -> (Reporter, Option<Keys>) {
    let duration_s = duration.map(Duration::as_secs_f64);
    let (view, keys) = live::network(live, config.format, title, duration_s).unzip();
    let mut reporter = Reporter::on(config, io::stdout(), io::stderr());
    if let Some(view) = view {
        reporter.set_live(view);
    }
    (reporter, keys)
}

/// The user's wish to end a run: Ctrl-C, the end of the terminal, or the key of a live view.
#[derive(Debug)]
pub(crate) struct Wish<'i> {
    interrupt: &'i Interrupt,
    keys: RefCell<Option<Keys>>,
    by_key: Cell<bool>,
}

impl<'i> Wish<'i> {
    pub(crate) const fn new(interrupt: &'i Interrupt, keys: Option<Keys>) -> Self {
        Self { interrupt, keys: RefCell::new(keys), by_key: Cell::new(false) }
    }

    /// Returns true from the moment on at which the user has the wish.
    pub(crate) fn is_given(&self) -> bool {
        if self.keys.borrow_mut().as_mut().is_some_and(|keys| keys.given() == Some(Command::End)) {
            self.by_key.set(true);
        }
        self.by_key.get() || self.interrupt.is_wished()
    }
}

/// Time between two records of a run in real time.
const EVERY: Duration = Duration::from_secs(1);

/// The course of a run in real time: each second a record of its flows and links, until the first
/// that cannot be written.
#[derive(Debug)]
pub(crate) struct Course<'r> {
    reporter: RefCell<&'r mut Reporter>,
    written: RefCell<Result<(), Failure>>,
}

impl<'r> Course<'r> {
    pub(crate) const fn new(reporter: &'r mut Reporter) -> Self {
        Self { reporter: RefCell::new(reporter), written: RefCell::new(Ok(())) }
    }

    /// The observer that writes the records; `line` may have a line about each for a person.
    pub(crate) fn watch<'w>(&'w self, mut line: impl FnMut(&Look) -> Option<String> + 'w) -> Watch<'w> {
        Watch::all(EVERY, move |look| {
            let mut reporter = self.reporter.borrow_mut();
            if let Some(line) = line(&look) {
                reporter.note(&line);
            }
            let mut written = self.written.borrow_mut();
            if written.is_ok() {
                *written = reporter.look(look);
            }
        })
    }

    /// Returns true while records can be written.
    pub(crate) fn is_written(&self) -> bool {
        self.written.borrow().is_ok()
    }

    /// The first failure to write a record.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.written.into_inner()
    }
}
