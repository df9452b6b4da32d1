//! Exceptions, whose text shows the place of a mistake.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use pyo3::exceptions::{PyConnectionError, PyException};
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(tfrc, TfrcError, PyException, "Base of the package's own exceptions.");
create_exception!(
    tfrc,
    ScenarioError,
    TfrcError,
    "A scenario that cannot be used. The text shows the place of the mistake."
);

create_exception!(tfrc, SessionError, PyConnectionError, "A session that was not made, or that broke off.");

/// Columns of the text of an exception.
const WIDTH: usize = 100;

/// The exception of type `E` for an error. Its text is the report with the place in the source; its
/// attributes are `message`, `help`, `file`, `line` and `column`, each `None` where it is not
/// known. Lines and columns count from 1.
pub(crate) fn raised<E: PyTypeInfo>(py: Python<'_>, error: &dyn Diagnostic) -> PyErr {
    let exception = PyErr::from_type(E::type_object(py), text(error));
    let help = error.help().map(|help| help.to_string());
    let place = place(error);
    let (file, line, column) = match place {
        Some(Place { file, line, column }) => (file, Some(line), Some(column)),
        None => (None, None, None),
    };
    let value = exception.value(py);
    let set = value
        .setattr("message", error.to_string())
        .and_then(|()| value.setattr("help", help))
        .and_then(|()| value.setattr("file", file))
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("column", column));
    match set {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// Place of a mistake in a text.
struct Place {
    /// The name of the text, where it has one.
    file: Option<String>,
    /// Its line, from 1.
    line: usize,
    /// Its column, from 1.
    column: usize,
}

fn place(error: &dyn Diagnostic) -> Option<Place> {
    let label = error.labels()?.next()?;
    let contents = error.source_code()?.read_span(label.inner(), 0, 0).ok()?;
    Some(Place {
        file: contents.name().map(str::to_owned),
        line: contents.line() + 1,
        column: contents.column() + 1,
    })
}

/// The report of an error as text without colours.
fn text(error: &dyn Diagnostic) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
    let mut text = String::new();
    match handler.render_report(&mut text, error) {
        Ok(()) => text.trim().trim_start_matches("× ").to_owned(),
        Err(std::fmt::Error) => error.to_string(),
    }
}
