//! Files that arrive whole, through a session.

use std::path::Path;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tfrc_session::{Connection, Existing, FileError, receive_file, send_file};

use crate::failure::SessionError;
use crate::session::wait;

/// A file that has arrived: the hash of the whole agreed.
#[pyclass(module = "tfrc", frozen)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileCopy(tfrc_session::FileCopy);

#[pymethods]
impl FileCopy {
    /// The length of the file, bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Bytes that went after the first pass, in place of those that the network lost.
    #[getter]
    fn repaired_bytes(&self) -> u64 {
        self.0.repaired_bytes
    }

    fn __repr__(&self) -> String {
        format!("FileCopy(bytes={}, repaired_bytes={})", self.0.bytes, self.0.repaired_bytes)
    }
}

/// Sends a file to the peer of this session, and ends it.
pub(crate) fn send(py: Python<'_>, connection: &Connection, path: &Path) -> PyResult<FileCopy> {
    let sent = wait(py, send_file(connection, path))?;
    sent.map(FileCopy).map_err(|error| raised(path, &error))
}

/// Receives a file of the peer, and ends the session.
pub(crate) fn receive(
    py: Python<'_>,
    connection: &Connection,
    path: &Path,
    overwrite: bool,
) -> PyResult<FileCopy> {
    let existing = if overwrite { Existing::Overwrite } else { Existing::Refuse };
    let received = wait(py, receive_file(connection, path, existing))?;
    received.map(FileCopy).map_err(|error| raised(path, &error))
}

fn raised(path: &Path, error: &FileError) -> PyErr {
    match error {
        FileError::Place(error) => PyOSError::new_err(error.to_string()),
        FileError::File(error) => PyOSError::new_err(format!("{}: {error}", path.display())),
        error => SessionError::new_err(format!("{}: {error}", path.display())),
    }
}
