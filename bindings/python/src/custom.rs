//! Congestion controls and queues written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc_sim::queue::{Admission, Discipline, QueuedPacket, Taken};
use tfrc_units::{Instant, Rate};
use tfrc_world::agent::{Acknowledged, Allowance, Controller, Lost};
use tfrc_world::custom::Registry;

/// Python's callables that make controllers or queues, by their names.
type Makers = Vec<(String, Py<PyAny>)>;

/// The first exception that a callback raised: the run that it was in ends, and raises it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
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

/// Controllers and queues of Python's for a simulation; exceptions of theirs go to `raised`.
pub(crate) fn registry(agents: Makers, queues: Makers, raised: &Raised) -> Registry {
    let mut registry = Registry::default();
    for (name, make) in agents {
        let raised = raised.clone();
        registry = registry.controller(&name, move || Agent::new(&make, raised.clone()));
    }
    for (name, make) in queues {
        let raised = raised.clone();
        registry = registry.queue(&name, move |_| Queue::new(&make, raised.clone()));
    }
    registry
}

/// The bound methods of an object that a callable makes, in the order of their names.
fn methods<const N: usize>(make: &Py<PyAny>, names: [&str; N], raised: &Raised) -> Option<[Py<PyAny>; N]> {
    let found = Python::attach(|py| -> PyResult<Vec<Py<PyAny>>> {
        let object = make.bind(py).call0()?;
        names.iter().map(|name| Ok(object.getattr(*name)?.unbind())).collect()
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
    fn new(make: &Py<PyAny>, raised: Raised) -> Self {
        let names = ["start", "on_ack", "on_loss", "on_timeout", "window"];
        Self { methods: methods(make, names, &raised), raised }
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
    fn new(make: &Py<PyAny>, raised: Raised) -> Self {
        Self { methods: methods(make, ["enqueue", "dequeue"], &raised), raised }
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
