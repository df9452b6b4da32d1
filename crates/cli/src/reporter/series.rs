//! The time series of a run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tfrc_report::series::{self, SeriesRun};
use tfrc_world::watch::Look;

use crate::{Failure, page};

/// Takes what flows and links did in each stretch, as lines of CSV.
#[derive(Debug)]
pub(crate) struct Series<S> {
    out: S,
    /// Settings of the run.
    at: Vec<(String, String)>,
}

impl Series<BufWriter<File>> {
    /// Makes the file, in place of an older one, and writes the heads of its columns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn create(path: &Path, at: &[(String, String)]) -> Result<Self, Failure> {
        let mut out = BufWriter::new(page::create(path)?);
        series::heads(at.iter().map(|(name, _)| name.as_str()), &mut out)
            .map_err(|error| Failure::io(&path.display(), &error))?;
        Ok(Self::new(out, at))
    }
}

impl<S: Write> Series<S> {
    /// Lines without heads.
    pub(crate) fn new(out: S, at: &[(String, String)]) -> Self {
        Self { out, at: at.to_vec() }
    }

    /// Adds a stretch of a run: the number of its point, and its own.
    pub(crate) fn add(&mut self, (point, run): (usize, u32), look: &Look) -> Result<(), Failure> {
        let of = SeriesRun { run, point, at: &self.at };
        series::lines(&of, look, &mut self.out).map_err(failed)
    }

    /// Writes what is left.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(failed)
    }

    /// The place that the lines went to.
    pub(crate) fn into_inner(self) -> S {
        self.out
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::io(&"--series", &error)
}
