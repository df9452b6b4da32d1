//! The native half of the Python package `tfrc`: its classes and functions, without the Python code
//! around them.
#![forbid(unsafe_code)]

mod advisor;
mod capture;
mod config;
mod custom;
mod equation;
mod exchange;
mod failure;
mod quantities;
mod receiver;
mod recording;
mod sender;
mod session;
mod simulation;
mod table;
mod waiting;

use pyo3::prelude::*;

/// The module `tfrc._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("TfrcError", py.get_type::<failure::TfrcError>())?;
    module.add("ScenarioError", py.get_type::<failure::ScenarioError>())?;
    module.add("SessionError", py.get_type::<failure::SessionError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<advisor::Advisor>()?;
    module.add_class::<capture::NativeCapture>()?;
    module.add_class::<config::Config>()?;
    module.add_class::<equation::Equation>()?;
    module.add_class::<exchange::FileCopy>()?;
    module.add_class::<quantities::RateChange>()?;
    module.add_class::<receiver::Receiver>()?;
    module.add_class::<receiver::Report>()?;
    module.add_class::<sender::Sender>()?;
    module.add_class::<session::Key>()?;
    module.add_class::<session::Listener>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<simulation::NativeSimulation>()?;
    module.add_class::<simulation::RunCache>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(capture::capture, module)?)?;
    module.add_function(wrap_pyfunction!(recording::code_version, module)?)?;
    module.add_function(wrap_pyfunction!(recording::emulated, module)?)?;
    module.add_function(wrap_pyfunction!(recording::emulation_job, module)?)?;
    module.add_function(wrap_pyfunction!(recording::identity, module)?)?;
    module.add_function(wrap_pyfunction!(recording::record, module)?)?;
    module.add_function(wrap_pyfunction!(recording::seed_of_run, module)?)?;
    module.add_function(wrap_pyfunction!(recording::user_cache, module)?)?;
    module.add_function(wrap_pyfunction!(session::connect, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::axes_of_points, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::colour_of, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::estimate, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::keys, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::points, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::quantities, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::run_one, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::toml_as_json, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::whole, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate, module)?)
}
