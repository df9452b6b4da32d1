//! The experiments of the literature.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use tfrc_lab::batch::Shard;
use tfrc_lab::cache::{self, Cache};
use tfrc_lab::document;
use tfrc_reproduce::{
    Experiment, ExperimentList, Experiments, Hooks, Prepared, Publication, Results, Wanted, World, library,
};

use crate::failure::{ExperimentError, raised};
use crate::waiting::while_waiting;

/// Experiments that were run, with their results.
#[pyclass(frozen, name = "NativeResults", module = "tfrc._native")]
#[derive(Debug)]
pub(crate) struct NativeResults {
    /// Keeps the package's own files for as long as figures may need them.
    _library: Experiments,
    experiments: Vec<Experiment>,
    results: Results,
    warnings: Vec<String>,
}

/// Opens the experiments that `folder` has, those of a checkout, or the package's own.
fn open(
    py: Python<'_>,
    folder: Option<PathBuf>,
    wanted: &[String],
) -> PyResult<(Experiments, Vec<Experiment>)> {
    let experiments = Experiments::find(folder.as_deref())?;
    let loaded =
        library::load(experiments.root(), wanted).map_err(|error| raised::<ExperimentError>(py, &error))?;
    Ok((experiments, loaded))
}

/// The list of `tfrc reproduce list --json`, a line of JSON.
#[pyfunction]
pub(crate) fn experiments(py: Python<'_>, folder: Option<PathBuf>, wanted: Vec<String>) -> PyResult<String> {
    let (_, loaded) = open(py, folder, &wanted)?;
    Ok(document::text(&ExperimentList::of(&loaded)))
}

/// The folder in which the program keeps results of runs outside of a checkout, if it has one.
#[pyfunction]
pub(crate) fn user_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    cache::of_user(variable("XDG_CACHE_HOME"), variable("HOME"))
}

/// Runs experiments. `progress` is called with the numbers of runs done and known of.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    folder: Option<PathBuf>,
    wanted: Vec<String>,
    quick: bool,
    jobs: usize,
    cache: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<NativeResults> {
    let refused = |error| raised::<ExperimentError>(py, &error);
    let (library, experiments) = open(py, folder, &wanted)?;
    let wanted = Wanted { quick, jobs, world: World::Sim, shard: Shard::WHOLE };
    let prepared = Prepared::new(&experiments, wanted).map_err(refused)?;
    let (done, total) = (AtomicUsize::new(0), AtomicUsize::new(prepared.total()));
    let warnings = Mutex::new(Vec::new());
    let cache = cache.map(|folder| Cache::new(folder, Vec::new()));
    let tell = |_: Python<'_>| match &progress {
        Some(progress) => {
            progress.call1((done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))).map(drop)
        }
        None => Ok(()),
    };
    let results = while_waiting(py, tell, |stop| {
        let hooks = Hooks {
            done: &|_| {
                done.fetch_add(1, Ordering::Relaxed);
            },
            more: &|runs| {
                total.fetch_add(runs, Ordering::Relaxed);
            },
            warn: &|text| warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned()),
            stop: &|| stop.load(Ordering::Relaxed),
            emulated: None,
        };
        prepared.run(cache.as_ref(), &hooks)
    })?
    .map_err(refused)?;
    let warnings = warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(NativeResults { _library: library, experiments, results, warnings })
}

impl NativeResults {
    fn publication(&self) -> Publication<'_> {
        Publication { experiments: &self.experiments, results: &self.results, commit: None }
    }
}

#[pymethods]
impl NativeResults {
    /// The document of `tfrc reproduce --json`, a line of JSON.
    #[getter]
    fn text(&self) -> String {
        document::text(&self.results)
    }

    /// Sentences about what was odd and does no harm to the results.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The figure of the only experiment as SVG.
    fn svg(&self) -> PyResult<String> {
        let drawn = self.publication().figure().map_err(|error| PyOSError::new_err(error.to_string()))?;
        drawn
            .ok_or_else(|| PyValueError::new_err("a figure is of one experiment that has measured something"))
    }

    /// Writes the report: `index.html`, tables and figures.
    fn write(&self, folder: PathBuf) -> PyResult<()> {
        Ok(self.publication().write(&folder)?)
    }
}
