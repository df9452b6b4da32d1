//! The throughput equation, of numbers and of arrays.

use numpy::{IntoPyArray, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use tfrc::equation::EquationForm;

use crate::quantities::{duration, probability, rate};

/// The TCP throughput equation of RFC 5348 §3.1.
///
/// `form` is `"tfrc"` (RFC 5348), `"timeout-term-capped"` or `"square-root"`; `packets_per_ack` is
/// b, `scale` a factor on the rate. t_RTO is 4R.
#[pyclass(frozen, module = "tfrc")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Equation(tfrc::equation::Equation);

#[pymethods]
impl Equation {
    #[new]
    #[pyo3(signature = (*, form="tfrc", packets_per_ack=1, scale=1.0))]
    fn new(form: &str, packets_per_ack: u8, scale: f64) -> PyResult<Self> {
        let form = match form {
            "tfrc" => EquationForm::Tfrc,
            "timeout-term-capped" => EquationForm::TimeoutTermCapped,
            "square-root" => EquationForm::SquareRoot,
            other => {
                let names = "tfrc, timeout-term-capped or square-root";
                return Err(PyValueError::new_err(format!("form {other:?}: one of {names}")));
            }
        };
        if packets_per_ack == 0 || !(scale > 0.0 && scale.is_finite()) {
            return Err(PyValueError::new_err("packets_per_ack is at least 1, scale finite and above 0"));
        }
        Ok(Self(tfrc::equation::Equation { form, packets_per_ack, scale, ..Default::default() }))
    }

    /// The rate in bit/s of segments of `segment_bytes` at a round-trip time of `rtt_s` seconds and
    /// a loss event rate of `p`; infinite at p = 0 or rtt_s = 0. Each may be a number or an array;
    /// arrays are broadcast, and the answer has their shape.
    fn rate_bps<'py>(
        &self,
        segment_bytes: &Bound<'py, PyAny>,
        rtt_s: &Bound<'py, PyAny>,
        p: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        elementwise([segment_bytes, rtt_s, p], |[segment, rtt, p]| {
            Ok(self.0.rate(size(segment)?, duration(rtt)?, probability(p)?).bits_per_sec())
        })
    }

    /// The loss event rate at which `rate_bps` is the rate: the inverse of `rate_bps()`. An array
    /// has NaN where no p in (0, 1] gives the rate; for numbers that is a `ValueError`.
    fn loss_event_rate<'py>(
        &self,
        segment_bytes: &Bound<'py, PyAny>,
        rtt_s: &Bound<'py, PyAny>,
        rate_bps: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut refusal = None;
        let answer = elementwise([segment_bytes, rtt_s, rate_bps], |[segment, rtt, wanted]| {
            let p = self.0.loss_event_rate(size(segment)?, duration(rtt)?, rate(wanted)?);
            Ok(p.map_or_else(
                |error| {
                    refusal = Some(error);
                    f64::NAN
                },
                |p| p.get(),
            ))
        })?;
        match refusal {
            Some(error) if answer.extract::<f64>().is_ok() => Err(PyValueError::new_err(error.to_string())),
            _ => Ok(answer),
        }
    }
}

/// A segment size, in bytes.
fn size(bytes: f64) -> PyResult<f64> {
    if bytes > 0.0 && bytes.is_finite() {
        Ok(bytes)
    } else {
        Err(PyValueError::new_err(format!("{bytes} bytes: a segment has a size above 0")))
    }
}

/// A function of three values at each place of three arrays, which are broadcast; a float if all
/// are numbers.
fn elementwise<'py>(
    values: [&Bound<'py, PyAny>; 3],
    mut function: impl FnMut([f64; 3]) -> PyResult<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = values[0].py();
    if let (Ok(a), Ok(b), Ok(c)) =
        (values[0].extract::<f64>(), values[1].extract::<f64>(), values[2].extract::<f64>())
    {
        return Ok(function([a, b, c])?.into_pyobject(py)?.into_any());
    }
    let numpy = py.import("numpy")?;
    let float = [("dtype", "float64")].into_py_dict(py)?;
    let array = |one: Bound<'py, PyAny>| -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
        numpy.call_method("asarray", (one,), Some(&float))?.extract()
    };
    let together = numpy.call_method1("broadcast_arrays", (values[0], values[1], values[2]))?;
    let a = array(together.get_item(0)?)?;
    let b = array(together.get_item(1)?)?;
    let c = array(together.get_item(2)?)?;
    let (a, b, c) = (a.as_array(), b.as_array(), c.as_array());
    let all = a.iter().zip(b.iter()).zip(c.iter());
    let answers: Vec<f64> = all.map(|((a, b), c)| function([*a, *b, *c])).collect::<PyResult<_>>()?;
    answers.into_pyarray(py).into_any().call_method1("reshape", (a.shape().to_vec(),))
}
