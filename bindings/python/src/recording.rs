//! One run with all that experiments measure of it, as arrays.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tfrc::config::PacketSize;
use tfrc_scenario::{FlowKind, World};
use tfrc_sim::Seed;
use tfrc_sim::link::FlowStats;
use tfrc_world::emulated::{EmulatedRun, EmulationJob};
use tfrc_world::quantities::{FLOW, FLOW_COUNTS, KERNEL_FLOW, LINK, LINK_COUNTS, Quantity};
use tfrc_world::recording::{Keep, LinkFlows, Looks, PacketDelays, Recording, Samples};
use tfrc_world::{Run, batch::seed_of, cache};

use crate::simulation::planned_for;

/// The parts of a run to keep, by the words of Python's half.
fn keep(words: &[String]) -> PyResult<Keep> {
    let mut keep = Keep::NOTHING;
    for word in words {
        match word.as_str() {
            "looks" => keep.looks = Looks::Taken,
            "link_flows" => keep.link_flows = LinkFlows::Counted,
            "delays" => keep.delays = PacketDelays::Measured,
            other => return Err(PyValueError::new_err(format!("keep {other:?}"))),
        }
    }
    Ok(keep)
}

/// A text of all that determines runs but the seed, the scenario's seed, and flows with revisions.
type Identity = (String, u64, Vec<(String, &'static str)>);

/// All that determines a scenario's runs but the seed, its own seed, and the revision of TFRC that
/// each flow runs; TFRC-SP has its own document and is not among them. Runs with the same first two
/// are the same.
#[pyfunction]
pub(crate) fn identity(
    py: Python<'_>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
) -> PyResult<Identity> {
    let (_, plan) = planned_for(py, kind, written, changes, World::Simulated)?;
    let point = plan.points.first().ok_or_else(|| PyValueError::new_err("no point"))?;
    let revisions = point.scenario.flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Tfrc(tfrc) if !matches!(tfrc.config.settings().packet_size, PacketSize::TfrcSp(_)) => {
            Some((flow.group.name.clone(), tfrc.revision.name()))
        }
        _ => None,
    });
    Ok((cache::identity(&point.scenario), point.scenario.seed.0, revisions.collect()))
}

/// Does the `run`-th run, counted from 1, of a scenario without sweeps and keeps its course. A
/// dictionary of arrays, as `tfrc.lab.Recording` describes them.
#[pyfunction]
pub(crate) fn record<'py>(
    py: Python<'py>,
    kind: &str,
    written: &str,
    changes: Vec<String>,
    run: u32,
    kept: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let keep = keep(&kept)?;
    let (_, plan) = planned_for(py, kind, written, changes, World::Simulated)?;
    let [point] = plan.points.as_slice() else {
        return Err(PyValueError::new_err("a run is of one point, and this scenario has sweeps"));
    };
    let mut scenario = point.scenario.clone();
    scenario.seed = Seed(seed_of(scenario.seed.0, run));
    let recording = py.detach(|| Run::of(&scenario).record(keep));
    let recording = recording.unwrap_or_else(|| unreachable!("nobody stops it"));
    let all = arrays(py, &recording, keep)?;
    all.set_item("kept", kept)?;
    Ok(all)
}

/// The seed of the `run`-th run, counted from 1, of the runs that begin with `seed`.
#[pyfunction]
#[pyo3(name = "seed_of")]
pub(crate) fn seed_of_run(seed: u64, run: u32) -> u64 {
    seed_of(seed, run)
}

/// The version of the code that decides results.
#[pyfunction]
pub(crate) fn code_version() -> &'static str {
    tfrc_world::code_version()
}

/// The folder in which the program keeps results of runs outside of a checkout, if it has one.
#[pyfunction]
pub(crate) fn user_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    cache::of_user(variable("XDG_CACHE_HOME"), variable("HOME"))
}

/// The job of the `run`-th emulated run of the scenario in a file, as `tfrc emu --job` reads it.
#[pyfunction]
pub(crate) fn emulation_job(
    py: Python<'_>,
    written: &str,
    changes: Vec<String>,
    run: u32,
    kept: Vec<String>,
) -> PyResult<String> {
    let keep = keep(&kept)?;
    let (opened, plan) = planned_for(py, "name", written, changes.clone(), World::Emulated)?;
    let point = plan.points.first().ok_or_else(|| PyValueError::new_err("no point"))?;
    let job = EmulationJob {
        name: written.to_owned(),
        text: std::fs::read_to_string(written)?,
        folder: opened.document.folder().to_owned(),
        traces: opened.document.traces(),
        set: changes,
        seed: seed_of(point.scenario.seed.0, run),
        looks: keep.looks,
        link_flows: keep.link_flows,
    };
    Ok(serde_json::json!(job).to_string())
}

/// An answer of `tfrc emu --job` as a dictionary as that of `record` with three more entries, the
/// limits that the run broke, how near it came to its network, and its kernel.
#[pyfunction]
pub(crate) fn emulated<'py>(
    py: Python<'py>,
    answer: &str,
    kept: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(format!("not an emulated run: {error}"));
    let run: EmulatedRun = serde_json::from_str(answer).map_err(wrong)?;
    let all = arrays(py, &run.recording, keep(&kept)?)?;
    all.set_item("violations", run.fidelity.violations())?;
    all.set_item("fidelity", serde_json::json!(run.fidelity).to_string())?;
    all.set_item("kernel", serde_json::json!(run.kernel).to_string())?;
    Ok(all)
}

/// The values of quantities of one thing.
fn row<T: ?Sized>(list: &[Quantity<T>], of: &T) -> impl Iterator<Item = f64> {
    list.iter().map(|quantity| (quantity.of)(of).unwrap_or(f64::NAN))
}

fn keys<T: ?Sized>(list: &[Quantity<T>]) -> impl Iterator<Item = &'static str> + '_ {
    list.iter().map(|quantity| quantity.key)
}

/// Rows of one length as an array of two dimensions.
fn table<T: numpy::Element>(py: Python<'_>, rows: usize, values: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    let columns = values.len().checked_div(rows).unwrap_or(0);
    Ok(values.into_pyarray(py).reshape([rows, columns])?.into_any())
}

/// States of several things at every look.
fn looks<'py, 'r>(
    py: Python<'py>,
    of: impl Iterator<Item = &'r Samples> + Clone,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = of.clone().count();
    let values = of.flat_map(|samples| samples.values().iter().map(|x| x.unwrap_or(f64::NAN))).collect();
    table(py, rows, values)
}

/// The counts of a flow at a link: packets and bytes that arrived, were dropped, marked, had low
/// drop precedence, and of these were dropped.
fn counts(flow: &FlowStats) -> [u64; 10] {
    let all = [flow.arrivals, flow.dropped, flow.marked, flow.in_profile, flow.in_profile_dropped];
    let mut numbers = [0; 10];
    for (pair, count) in numbers.chunks_exact_mut(2).zip(all) {
        pair.copy_from_slice(&[count.packets, count.bytes]);
    }
    numbers
}

/// A recording as Python's half reads it.
fn arrays<'py>(py: Python<'py>, recording: &Recording, keep: Keep) -> PyResult<Bound<'py, PyDict>> {
    let (flows, links) = (&recording.flows, &recording.links);
    let (of_flows, of_links) = (&recording.outcome.flows, &recording.outcome.links);
    let all = PyDict::new(py);
    let groups: Vec<(&str, usize, usize)> =
        recording.groups.iter().map(|(name, first, count)| (name.as_str(), *first, *count)).collect();
    all.set_item("groups", groups)?;
    all.set_item("flow_ids", of_flows.iter().map(|flow| flow.id.as_str()).collect::<Vec<_>>())?;
    all.set_item("link_ids", of_links.iter().map(|link| link.id.as_str()).collect::<Vec<_>>())?;
    let flow_keys = keys(&FLOW).chain(keys(&FLOW_COUNTS)).chain(keys(&KERNEL_FLOW));
    all.set_item("flow_keys", flow_keys.collect::<Vec<_>>())?;
    all.set_item("link_keys", keys(&LINK).chain(keys(&LINK_COUNTS)).collect::<Vec<_>>())?;
    all.set_item("packet_hops", recording.outcome.packet_hops)?;
    all.set_item("from_ns", recording.from.as_nanos())?;
    all.set_item("to_ns", recording.to.as_nanos())?;
    let of_flow = of_flows.iter().zip(flows).flat_map(|(summary, record)| {
        row(&FLOW, summary).chain(row(&FLOW_COUNTS, &record.counts)).chain(row(&KERNEL_FLOW, summary))
    });
    all.set_item("of_flows", table(py, flows.len(), of_flow.collect())?)?;
    let of_link = of_links
        .iter()
        .zip(links)
        .flat_map(|(outcome, record)| row(&LINK, outcome).chain(row(&LINK_COUNTS, &record.stats)));
    all.set_item("of_links", table(py, links.len(), of_link.collect())?)?;
    let bins = |of: fn(&tfrc_world::recording::FlowRecord) -> &[u64]| {
        table(py, flows.len(), flows.iter().flat_map(|flow| of(flow).iter().copied()).collect())
    };
    all.set_item("sent", bins(|flow| flow.sent.bins())?)?;
    all.set_item("received", bins(|flow| flow.received.bins())?)?;
    let ends = flows.iter().scan(0_u64, |end, flow| {
        *end += flow.losses().count() as u64;
        Some(*end)
    });
    all.set_item("loss_ends", PyArray1::from_iter(py, ends))?;
    let losses = || flows.iter().flat_map(|flow| flow.losses());
    all.set_item("loss_at_ns", PyArray1::from_iter(py, losses().map(|loss| loss.at.as_nanos())))?;
    all.set_item("loss_interval", PyArray1::from_iter(py, losses().map(|loss| loss.interval)))?;
    all.set_item("loss_mean", PyArray1::from_iter(py, losses().map(|loss| loss.mean)))?;
    if keep.looks == Looks::Taken {
        all.set_item("allowed_bps", looks(py, flows.iter().map(|flow| &flow.allowed))?)?;
        all.set_item("p", looks(py, flows.iter().map(|flow| &flow.p))?)?;
        all.set_item("rtt_s", looks(py, flows.iter().map(|flow| &flow.rtt))?)?;
        all.set_item("queue", looks(py, links.iter().map(|link| &link.queue))?)?;
    }
    if keep.link_flows == LinkFlows::Counted {
        let of_flow = links.iter().flat_map(|link| {
            (0..flows.len()).flat_map(|flow| link.flows.get(flow).map(counts).unwrap_or_default())
        });
        let numbers: Vec<u64> = of_flow.collect();
        let shaped = numbers.into_pyarray(py).reshape([links.len(), flows.len(), 10])?;
        all.set_item("link_flows", shaped)?;
    }
    Ok(all)
}
