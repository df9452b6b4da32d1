//! Mistakes in an experiment's files, shown at their place.

use std::io;
use std::ops::Range;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use tfrc_scenario::text;
use tfrc_scenario::{Mistake, ScenarioError};

/// Why an experiment cannot be run. Rendered by `miette`, it shows the place in the file and a
/// hint.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A file cannot be read.
    #[error("cannot read {name}: {source}")]
    #[diagnostic(help("{hint}"))]
    Read {
        /// The file.
        name: String,
        /// Purpose of the file.
        hint: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A file is not right.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<InvalidExperiment>),
    /// The scenario of an experiment is not right.
    #[error("{experiment}: {about}")]
    #[diagnostic(forward(error))]
    Scenario {
        /// The experiment's id.
        experiment: String,
        /// Which of its points.
        about: String,
        /// The scenario's error.
        error: Box<ScenarioError>,
    },
    /// A TFRC flow does not run the revision that the paper fixes.
    #[error(
        "{file}: the flow `{flow}` runs revision `{found}` as published, and paper.toml fixes `{wanted}` ({about})"
    )]
    #[diagnostic(help("run `{wanted}`; another revision can be shown beside it as a [[variant]]"))]
    Revision {
        /// The scenario's file.
        file: String,
        /// The flow.
        flow: String,
        /// Its revision.
        found: &'static str,
        /// The paper's.
        wanted: &'static str,
        /// Which point.
        about: String,
    },
    /// A word spells several experiments.
    #[error("`{wanted}` may be {candidates}")]
    #[diagnostic(help("write the whole id of one of them, or all of their ids"))]
    Ambiguous {
        /// The word.
        wanted: String,
        /// The ids that it may mean.
        candidates: String,
    },
    /// No experiment has such an id.
    #[error("no experiment's id begins with `{wanted}`")]
    #[diagnostic(help("{hint}"))]
    Unknown {
        /// Beginning of an id that was asked for.
        wanted: String,
        /// Advice where to find the ids.
        hint: String,
    },
}

/// A mistake in a file of an experiment, with its place in the text.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct InvalidExperiment {
    /// Description of the mistake, in one sentence.
    pub message: String,
    /// The text, with the file's name, or what is near the mistake in a very long line.
    #[source_code]
    pub text: NamedSource<String>,
    /// Bytes of the text that are wrong.
    #[label("{label}")]
    pub place: SourceSpan,
    /// Label at the place itself.
    pub label: String,
    /// How to put it right.
    #[help]
    pub hint: Option<String>,
}

/// A file's text with its name, to point at places in it.
#[derive(Debug, Clone)]
pub(crate) struct NamedText {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl NamedText {
    pub(super) fn invalid(
        &self,
        place: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        hint: impl Into<String>,
    ) -> ExperimentError {
        let hint = hint.into();
        let (shown, place) = text::shown(&self.text, place);
        ExperimentError::Invalid(Box::new(InvalidExperiment {
            message: text::sentence(&message.into()),
            text: NamedSource::new(text::harmless(&self.name), shown),
            place: place.into(),
            label: text::sentence(&label.into()),
            hint: (!hint.is_empty()).then(|| text::sentence(&hint)),
        }))
    }

    pub(super) fn mistaken(&self, mistake: Mistake) -> ExperimentError {
        let hint = mistake.hint.unwrap_or_default();
        self.invalid(mistake.place.unwrap_or_default(), mistake.message, mistake.label, hint)
    }
}
