//! A figure as a file for a paper: SVG as it is drawn, PDF and PNG made from it.

use std::path::{Path, PathBuf};

use tfrc_reproduce::{Experiment, Publication};

use crate::Failure;
use crate::visible::{to_stderr, visible};

#[cfg(feature = "figures")]
mod rendering;
#[cfg(not(feature = "figures"))]
#[path = "without.rs"]
mod rendering;

pub use rendering::pdf;

/// The file that `--figure` names.
#[derive(Debug)]
pub(crate) struct FigureFile {
    path: PathBuf,
    format: FigureFormat,
}

/// Format of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FigureFormat {
    Pdf,
    Png,
    Svg,
}

impl FigureFile {
    /// Takes the format from the ending.
    ///
    /// # Errors
    /// [`Failure::Usage`] for another ending, for several experiments, and for a folder that is not
    /// there: before anything is run.
    pub(crate) fn new(path: &Path, experiments: &[Experiment]) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match ending.as_deref() {
            Some("pdf") => FigureFormat::Pdf,
            Some("png") => FigureFormat::Png,
            Some("svg") => FigureFormat::Svg,
            _ => {
                return Err(Failure::usage(
                    format!("--figure {}: the file extension sets the format", path.display()),
                    "end it in .pdf, .png or .svg",
                ));
            }
        };
        if experiments.len() != 1 {
            let ids: Vec<&str> = experiments.iter().map(Experiment::id).collect();
            return Err(Failure::usage(
                format!("--figure draws one experiment, and these are {}: {}", ids.len(), ids.join(", ")),
                "name one of them, or take --out DIR, which draws all",
            ));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::usage(
                format!("--figure {}: there is no folder {}", path.display(), folder.display()),
                "make it first",
            ));
        }
        Ok(Self { path: path.to_owned(), format })
    }

    /// Draws the only experiment of a publication into the file.
    ///
    /// # Errors
    /// [`Failure::Run`] if nothing was measured, if the machine has no font for PDF or PNG, or if
    /// the file cannot be written.
    pub(crate) fn write(&self, publication: &Publication<'_>) -> Result<(), Failure> {
        let drawn = publication.figure().map_err(|error| Failure::Run(error.to_string()))?;
        let Some(svg) = drawn else {
            return Err(Failure::Run("nothing was measured that a figure could show".to_owned()));
        };
        let bytes = match self.format {
            FigureFormat::Svg => svg.into_bytes(),
            FigureFormat::Pdf => rendering::pdf(&svg)?,
            FigureFormat::Png => rendering::png(&svg)?,
        };
        std::fs::write(&self.path, bytes).map_err(|error| Failure::io(&self.path.display(), &error))?;
        to_stderr(&visible(&format!("figure written to {}", self.path.display())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_ending_and_several_experiments_are_refused() {
        for (file, says) in [("a.jpg", "the file extension sets"), ("a.pdf", "these are 0")] {
            let refused = FigureFile::new(Path::new(file), &[]).expect_err(says);
            assert!(refused.status() == 2 && refused.to_string().contains(says), "{refused}");
        }
    }
}
