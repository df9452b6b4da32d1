//! Tables in Arrow's columns, handed to other libraries without copies.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use tfrc_world::printed::{self, Unit};

/// A table: named columns of one length. Any library of Arrow's PyCapsule interface takes it as it
/// is, such as `polars.DataFrame(table)` and `pyarrow.table(table)`, and shares its memory.
#[pyclass(frozen, module = "tfrc")]
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// Parts of one form, at least one.
    batches: Arc<[RecordBatch]>,
}

/// An axis of a sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis<'n> {
    /// The path of its key.
    pub(crate) name: &'n str,
    /// The unit of its values, if all are numbers of one unit.
    pub(crate) unit: Option<Unit>,
}

/// A column that is being filled.
enum Column {
    Counts(UInt64Builder),
    Numbers(Float64Builder),
    Words(StringBuilder),
}

/// Columns of a table, filled row by row.
pub(crate) struct Rows {
    columns: Vec<(String, Column)>,
}

/// The cells of a row, in the order of its columns.
pub(crate) struct Row<'r> {
    columns: std::slice::IterMut<'r, (String, Column)>,
}

impl Rows {
    /// No rows yet: columns of whole numbers, of axes, of words and of numbers, in this order.
    pub(crate) fn new<'n>(
        counts: &[&'n str],
        axes: &[Axis<'n>],
        words: impl IntoIterator<Item = &'n str>,
        numbers: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let counts = counts.iter().map(|name| (*name, Column::Counts(UInt64Builder::new())));
        let axes = axes.iter().map(|axis| match axis.unit {
            Some(_) => (axis.name, Column::Numbers(Float64Builder::new())),
            None => (axis.name, Column::Words(StringBuilder::new())),
        });
        let words = words.into_iter().map(|name| (name, Column::Words(StringBuilder::new())));
        let numbers = numbers.into_iter().map(|name| (name, Column::Numbers(Float64Builder::new())));
        let all = counts.chain(axes).chain(words).chain(numbers);
        Self { columns: all.map(|(name, column)| (name.to_owned(), column)).collect() }
    }

    /// One more column of words, behind the numbers.
    pub(crate) fn with_word(mut self, name: &str) -> Self {
        self.columns.push((name.to_owned(), Column::Words(StringBuilder::new())));
        self
    }

    /// A new row, whose cells are added next.
    pub(crate) fn row(&mut self) -> Row<'_> {
        Row { columns: self.columns.iter_mut() }
    }

    /// The rows as a part of a table.
    pub(crate) fn finish(self) -> RecordBatch {
        let array = |column: Column| -> ArrayRef {
            match column {
                Column::Counts(mut builder) => Arc::new(builder.finish()),
                Column::Numbers(mut builder) => Arc::new(builder.finish()),
                Column::Words(mut builder) => Arc::new(builder.finish()),
            }
        };
        let columns = self.columns.into_iter().map(|(name, column)| (name, array(column), true));
        RecordBatch::try_from_iter_with_nullable(columns).expect("a row has all columns")
    }
}

impl Row<'_> {
    /// Adds a whole number.
    pub(crate) fn count(mut self, value: u64) -> Self {
        match self.columns.next() {
            Some((_, Column::Counts(builder))) => builder.append_value(value),
            other => unreachable!("a count in {:?}", other.map(|(name, _)| name)),
        }
        self
    }

    /// Adds a word; an unknown one is null.
    pub(crate) fn word(mut self, value: Option<&str>) -> Self {
        match self.columns.next() {
            Some((_, Column::Words(builder))) => builder.append_option(value),
            other => unreachable!("a word in {:?}", other.map(|(name, _)| name)),
        }
        self
    }

    /// Adds the value of an axis: a number in its unit, or the word.
    pub(crate) fn axis(mut self, written: &str) -> Self {
        match self.columns.next() {
            Some((_, Column::Numbers(builder))) => builder.append_option(printed::number(written)),
            Some((_, Column::Words(builder))) => builder.append_value(written),
            other => unreachable!("an axis in {:?}", other.map(|(name, _)| name)),
        }
        self
    }

    /// Adds a number; an unknown one is null.
    pub(crate) fn number(mut self, value: Option<f64>) -> Self {
        match self.columns.next() {
            Some((_, Column::Numbers(builder))) => builder.append_option(value),
            other => unreachable!("a number in {:?}", other.map(|(name, _)| name)),
        }
        self
    }
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Self {
        Self { batches: Arc::new([batch]) }
    }
}

impl Table {
    /// A table of parts of one form; `None` if there is none.
    pub(crate) fn of_parts(parts: Vec<RecordBatch>) -> Option<Self> {
        (!parts.is_empty()).then(|| Self { batches: parts.into() })
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// A column by its name: a numpy array of numbers, in which an unknown value is NaN, or a list
    /// of words.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = |batch: &RecordBatch| batch.column_by_name(name).cloned();
        let parts: Option<Vec<ArrayRef>> = self.batches.iter().map(column).collect();
        let Some(parts) = parts else {
            let names = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("no column {name:?}; there are {names}")));
        };
        let parts = parts.iter();
        if parts.clone().all(|part| part.as_primitive_opt::<UInt64Type>().is_some()) {
            let values = parts.flat_map(|part| part.as_primitive::<UInt64Type>().values().iter().copied());
            return Ok(values.collect::<Vec<u64>>().into_pyarray(py).into_any());
        }
        if parts.clone().all(|part| part.as_primitive_opt::<Float64Type>().is_some()) {
            let values = parts.flat_map(|part| part.as_primitive::<Float64Type>().iter());
            let values: Vec<f64> = values.map(|value| value.unwrap_or(f64::NAN)).collect();
            return Ok(values.into_pyarray(py).into_any());
        }
        let words = parts.flat_map(|part| part.as_string::<i32>().iter());
        Ok(PyList::new(py, words.collect::<Vec<_>>())?.into_any())
    }

    /// The Arrow C schema of the rows (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batches[0].schema().as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as an Arrow C stream (Arrow PyCapsule interface). Another form is not offered:
    /// `requested_schema` is without effect, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<RecordBatch> = self.batches.to_vec();
        let schema = self.batches[0].schema();
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The table as a pandas DataFrame, by pyarrow; both are in `tfrc[pandas]`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    fn __repr__(&self) -> String {
        format!("<tfrc.Table: {} rows of {}>", self.__len__(), self.column_names().join(", "))
    }
}
