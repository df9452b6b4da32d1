//! Congestion controls and queues written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use tfrc_scenario::{Plan, World};
use tfrc_sim::queue::{Admission, Discipline, QueuedPacket, Taken};
use tfrc_units::{Instant, Rate};
use tfrc_world::agent::{Acknowledged, Allowance, Controller, Lost};
use tfrc_world::custom::Registry;

/// Python's callables that make controllers or queues, by their names.
type Makers = Vec<(String, Py<PyAny>)>;

/// Makers of controllers, and of queues.
pub(crate) type Code = (Makers, Makers);

/// The first exception that a callback raised: the run that it was in ends, and raises it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The value of a call, `None` if one has failed.
    fn value<T>(&self, result: PyResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }
}

/// Controllers and queues of Python's for the runs of a plan.
pub(crate) struct Custom {
    pub(crate) registry: Registry,
    raised: Raised,
}

impl Custom {
    /// `None` without any code.
    pub(crate) fn new((agents, queues): Code) -> Option<Self> {
        if agents.is_empty() && queues.is_empty() {
            return None;
        }
        let (mut registry, raised) = (Registry::default(), Raised::default());
        for (name, make) in agents {
            let (raised, called) = (raised.clone(), format!("controller `{name}`"));
            registry = registry.controller(&name, move || Agent::new(&make, &called, raised.clone()));
        }
        for (name, make) in queues {
            let (raised, called) = (raised.clone(), format!("queue `{name}`"));
            registry = registry.queue(&name, move |_| Queue::new(&make, &called, raised.clone()));
        }
        Some(Self { registry, raised })
    }

    /// The world for which a scenario is planned with this code.
    pub(crate) const fn world(custom: Option<&Self>) -> World {
        if custom.is_some() { World::Extended } else { World::Simulated }
    }

    /// Refuses a plan that names code which is not here.
    pub(crate) fn check(&self, plan: &Plan) -> PyResult<()> {
        let checked = plan.points.iter().try_for_each(|point| self.registry.check(&point.scenario));
        checked.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// True once a callback has raised an exception.
    pub(crate) fn has_raised(&self) -> bool {
        self.raised.is_set()
    }

    /// Raises the exception of a callback.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.raised.take().map_or(Ok(()), Err)
    }
}

/// The bound methods of an object that a callable makes, in the order of their names; `called` is
/// the object's name in the scenario.
fn methods<const N: usize>(
    make: &Py<PyAny>,
    called: &str,
    names: [&str; N],
    raised: &Raised,
) -> Option<[Py<PyAny>; N]> {
    let found = Python::attach(|py| -> PyResult<Vec<Py<PyAny>>> {
        let object = make.bind(py).call0()?;
        let method = |name: &&str| {
            let missing = || {
                let all = names.join(", ");
                PyAttributeError::new_err(format!("the {called} has no `{name}`: its methods are {all}"))
            };
            object.getattr_opt(*name)?.map(Bound::unbind).ok_or_else(missing)
        };
        names.iter().map(method).collect()
    });
    raised.value(found)?.try_into().ok()
}

/// A controller; without methods once one has failed.
#[derive(Debug)]
struct Agent {
    methods: Option<[Py<PyAny>; 5]>,
    raised: Raised,
}

impl Agent {
    fn new(make: &Py<PyAny>, called: &str, raised: Raised) -> Self {
        let names = ["start", "on_ack", "on_loss", "on_timeout", "window"];
        Self { methods: methods(make, called, names, &raised), raised }
    }

    fn call<R>(&mut self, method: usize, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> Option<R> {
        let method = self.methods.as_ref()?.get(method)?;
        let value = self.raised.value(Python::attach(|py| call(method.bind(py))));
        if value.is_none() {
            self.methods = None;
        }
        value
    }
}

impl Controller for Agent {
    fn start(&mut self, now: Instant) {
        self.call(0, |start| start.call1((seconds(now),)).map(drop));
    }

    fn acknowledged(&mut self, now: Instant, packet: &Acknowledged) {
        let Acknowledged { rtt, outstanding, marked, .. } = *packet;
        let arguments = (seconds(now), rtt.as_secs_f64(), outstanding, marked);
        self.call(1, |on_ack| on_ack.call1(arguments).map(drop));
    }

    fn lost(&mut self, now: Instant, loss: &Lost) {
        let Lost { packets, outstanding, begins_event } = *loss;
        self.call(2, |on_loss| on_loss.call1((seconds(now), packets, outstanding, begins_event)).map(drop));
    }

    fn timed_out(&mut self, now: Instant) {
        self.call(3, |on_timeout| on_timeout.call1((seconds(now),)).map(drop));
    }

    fn allowance(&mut self, now: Instant) -> Allowance {
        let read = |window: &Bound<'_, PyAny>| {
            let answer = window.call1((seconds(now),))?;
            let bits = |rate| (0.0..f64::INFINITY).contains(&rate).then(|| Rate::from_bits_per_sec(rate));
            let allowance = match (answer.extract::<f64>(), answer.extract::<(f64, f64)>()) {
                (Ok(window), _) if window.is_finite() => Some(Allowance { window, rate: None }),
                (_, Ok((window, rate))) if !window.is_nan() => {
                    bits(rate).map(|rate| Allowance { window, rate: Some(rate) })
                }
                _ => None,
            };
            allowance.ok_or_else(|| {
                let text = format!("window returned {answer}: return packets, or (packets, bit/s)");
                PyValueError::new_err(text)
            })
        };
        self.call(4, read).unwrap_or(Allowance { window: 1.0, rate: None })
    }
}

/// A queue; without methods once one has failed, and then it drops every packet.
#[derive(Debug)]
struct Queue {
    methods: Option<[Py<PyAny>; 2]>,
    raised: Raised,
}

/// The answer of a queue that is asked for a packet.
#[derive(FromPyObject)]
enum Answer {
    Number(u64),
    Treated(u64, String),
}

impl Queue {
    fn new(make: &Py<PyAny>, called: &str, raised: Raised) -> Self {
        Self { methods: methods(make, called, ["enqueue", "dequeue"], &raised), raised }
    }
}

impl Discipline for Queue {
    fn arrive(&mut self, now: Instant, packet: &QueuedPacket) -> Admission {
        let Some([enqueue, _]) = &self.methods else { return Admission::Drop };
        let QueuedPacket { number, flow, size, ecn } = *packet;
        let arguments = (seconds(now), number, flow.0, size, ecn.is_capable());
        let accepted = Python::attach(|py| enqueue.bind(py).call1(arguments)?.is_truthy());
        match self.raised.value(accepted) {
            Some(true) => Admission::Accept,
            Some(false) => Admission::Drop,
            None => {
                self.methods = None;
                Admission::Drop
            }
        }
    }

    fn take(&mut self, now: Instant) -> Option<Taken> {
        let [_, dequeue] = self.methods.as_ref()?;
        let answer = Python::attach(|py| -> PyResult<Option<Taken>> {
            let answer = dequeue.bind(py).call1((seconds(now),))?;
            if answer.is_none() {
                return Ok(None);
            }
            let wrong = |_: PyErr| {
                let text = format!("dequeue returned {answer}: return a number, (number, word) or None");
                PyValueError::new_err(text)
            };
            Ok(Some(match answer.extract().map_err(wrong)? {
                Answer::Number(number) => Taken::Send(number),
                Answer::Treated(number, word) => match word.as_str() {
                    "drop" => Taken::Drop(number),
                    "mark" => Taken::Mark(number),
                    "send" => Taken::Send(number),
                    other => {
                        let text = format!("dequeue cannot {other:?} a packet: drop, mark or send");
                        return Err(PyValueError::new_err(text));
                    }
                },
            }))
        });
        let value = self.raised.value(answer);
        if value.is_none() {
            self.methods = None;
        }
        value.flatten()
    }

    fn mistaken(&mut self, number: u64) {
        let text = format!("dequeue returned {number}, which is not in the queue (any more)");
        self.raised.value::<()>(Err(PyValueError::new_err(text)));
        self.methods = None;
    }
}

fn seconds(now: Instant) -> f64 {
    now.saturating_since(Instant::ZERO).as_secs_f64()
}
