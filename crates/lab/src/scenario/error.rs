use std::io;
use std::ops::Range;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

/// Why a scenario cannot be used. Rendered by `miette`, it shows the place in the file and a hint.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read {name}")]
    #[diagnostic(help("give the path of a scenario file; `scenarios/` has some to start from"))]
    Read {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The text is not a valid scenario.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<InvalidScenario>),
}

/// A mistake in a scenario, with its place in the text.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct InvalidScenario {
    /// What is wrong, in one sentence.
    pub message: String,
    /// The whole text, with the file's name.
    #[source_code]
    pub text: NamedSource<String>,
    /// Bytes of the text that are wrong.
    #[label("{label}")]
    pub place: SourceSpan,
    /// What is said at the place itself.
    pub label: String,
    /// How to put it right.
    #[help]
    pub hint: Option<String>,
}

/// A mistake before it is tied to the text.
#[derive(Debug)]
pub(super) struct Mistake {
    message: String,
    place: Range<usize>,
    label: String,
    hint: Option<String>,
}

impl Mistake {
    pub(super) fn new(place: Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { message: message.into(), place, label: label.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn in_text(self, name: &str, text: &str) -> ScenarioError {
        ScenarioError::Invalid(Box::new(InvalidScenario {
            message: self.message,
            text: NamedSource::new(name, text.to_owned()).with_language("toml"),
            place: self.place.into(),
            label: self.label,
            hint: self.hint,
        }))
    }
}
