//! Mistakes in a scenario, each with its place in the text and a hint.

use std::io;
use std::ops::Range;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::text;

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
        /// The error of the system.
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
    /// The kind of mistake.
    pub fault: Fault,
    /// The mistake, in one sentence.
    pub message: String,
    /// The text, with the file's name, or what is near the mistake in a very long line; for a
    /// mistake in a `--set`, what was given there.
    #[source_code]
    pub text: NamedSource<String>,
    /// Bytes of the text that are wrong.
    #[label("{label}")]
    pub place: SourceSpan,
    /// The label at the place itself.
    pub label: String,
    /// How to put it right.
    #[help]
    pub hint: Option<String>,
    /// Further mistakes of the text.
    #[related]
    pub others: Vec<Self>,
}

/// The kinds of mistakes in a scenario. `tests/wrong/` has a file for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// Two settings cannot be had together.
    Conflict,
    /// Two things have one name.
    Duplicate,
    /// The key has no effect together with the others.
    Idle,
    /// From a node to itself.
    Loop,
    /// The run would need more memory than it may have.
    Memory,
    /// A key that must be there is not.
    MissingKey,
    /// Times or sizes are in the wrong order.
    Order,
    /// A `--set` or a sweep names something that is not there.
    Path,
    /// Not a number with a unit that is known.
    Quantity,
    /// Out of its range.
    Range,
    /// A value with a source or an assumption is not in the form for it.
    Source,
    /// No TOML.
    Syntax,
    /// A trace that cannot be read, or that has a mistake.
    Trace,
    /// A key that does not exist.
    UnknownKey,
    /// A name of a node, a link or a flow that does not exist.
    UnknownName,
    /// No way leads there, or none back.
    Unreachable,
    /// A word that is none of those possible.
    Word,
    /// A word that another world has, but not the one that the scenario is read for.
    World,
    /// A value of another type than it must have.
    WrongType,
}

/// A mistake before it is tied to the text.
#[derive(Debug)]
pub struct Mistake {
    /// The kind of mistake.
    pub fault: Fault,
    /// The mistake, in one sentence.
    pub message: String,
    /// Bytes of the text; `None` until the value around it says where it is.
    pub place: Option<Range<usize>>,
    /// The label at the place itself.
    pub label: String,
    /// How to put it right.
    pub hint: Option<String>,
}

/// Result of a check: a value, or the mistake in the text.
pub(super) type Checked<T> = Result<T, Mistake>;

impl Mistake {
    pub(super) fn new(
        fault: Fault,
        place: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self::unplaced(fault, message, label).or_at(place)
    }

    /// A mistake whose place is not known yet.
    pub(super) fn unplaced(fault: Fault, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { fault, message: message.into(), place: None, label: label.into(), hint: None }
    }

    /// Gives a mistake without a place this one.
    pub(super) fn or_at(self, place: Range<usize>) -> Self {
        Self { place: self.place.or(Some(place)), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The error of this mistake and of others in several texts.
    pub(super) fn in_texts(self, others: Vec<Self>, texts: &[(String, String, usize)]) -> ScenarioError {
        let others = others.into_iter().map(|other| other.located(texts)).collect();
        ScenarioError::Invalid(Box::new(InvalidScenario { others, ..self.located(texts) }))
    }

    /// At its place in one of several texts, of which each has a name and the offset at which it
    /// begins.
    fn located(self, texts: &[(String, String, usize)]) -> InvalidScenario {
        let fallback = (String::new(), String::new(), 0);
        let place = self.place.unwrap_or_default();
        let (name, whole, start) =
            texts.iter().rev().find(|(_, _, start)| *start <= place.start).unwrap_or(&fallback);
        let place = place.start.saturating_sub(*start)..place.end.saturating_sub(*start);
        let (shown, place) = text::shown(whole, place);
        InvalidScenario {
            fault: self.fault,
            message: text::sentence(&self.message),
            text: NamedSource::new(text::harmless(name), shown).with_language("toml"),
            place: place.into(),
            label: text::sentence(&self.label),
            hint: self.hint.map(|hint| text::sentence(&hint)),
            others: Vec::new(),
        }
    }
}
