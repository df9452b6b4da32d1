//! The keys of tables of settings: each key is an axis, with the words or the quantity that may stand for it.

use std::collections::BTreeMap;
use std::fmt;

use tfrc_units::{Duration, Probability, Rate, text};

use super::check::Checked;
use super::error::{Fault, Mistake};
use super::raw::{Spanned, Text};
use super::suggest;

/// One key of a table of settings `S`.
#[derive(Debug)]
pub struct Axis<S = tfrc::Settings> {
    /// The key.
    pub key: &'static str,
    /// The words that may stand for it.
    pub words: &'static [&'static str],
    /// The quantity that may, with an example, if one may.
    pub quantity: Option<&'static str>,
    pub(super) set: fn(&mut S, &str) -> Result<(), Wrong>,
}

/// Why a value was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with it.
    pub message: String,
    /// What would be right.
    pub hint: String,
    pub(super) fault: Fault,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}

/// Why a setter refuses.
#[derive(Debug)]
pub(super) enum Wrong {
    /// Neither one of the words nor such a quantity.
    Value,
    /// The value of another axis leaves this one nothing to do: which would not.
    Idle(&'static str),
}

impl<S> Axis<S> {
    /// Takes `written` for this axis into `settings`. Ranges are checked elsewhere.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not one of the values, or if another axis leaves it nothing to do.
    pub fn set(&self, settings: &mut S, written: &str) -> Result<(), Refusal> {
        let key = self.key;
        (self.set)(settings, written.trim()).map_err(|wrong| match wrong {
            Wrong::Value => Refusal {
                message: format!("`{key}` cannot be `{written}`"),
                hint: match (suggest::nearest(written, self.words.iter().copied()), self.quantity) {
                    (Some(word), _) => format!("did you mean `{word}`?"),
                    (None, None) => format!("possible: {}", suggest::listed(self.words)),
                    (None, Some(q)) if self.words.is_empty() => format!("expected {q}"),
                    (None, Some(q)) => format!("possible: {}, or {q}", suggest::listed(self.words)),
                },
                fault: Fault::Word,
            },
            Wrong::Idle(with) => Refusal {
                message: format!("`{key}` does nothing here"),
                hint: format!("it needs {with}"),
                fault: Fault::Idle,
            },
        })
    }
}

/// A table of settings as it is written.
pub(super) type Table = BTreeMap<Spanned<String>, Spanned<Text>>;

/// The axis of this key.
pub(super) fn find<S>(axes: &'static [Axis<S>], key: &str) -> Result<&'static Axis<S>, Refusal> {
    axes.iter().find(|axis| axis.key == key).ok_or_else(|| {
        let keys: Vec<&str> = axes.iter().map(|axis| axis.key).collect();
        Refusal {
            message: format!("unknown key `{key}`"),
            hint: suggest::hint(key, &keys),
            fault: Fault::UnknownKey,
        }
    })
}

/// Takes a whole table into `settings`, in the order of the axes.
pub(super) fn apply<S>(axes: &'static [Axis<S>], settings: &mut S, table: &Table) -> Checked<()> {
    for key in table.keys() {
        find(axes, key.get_ref()).map_err(|refusal| refused(refusal, key.span(), "not a key"))?;
    }
    for axis in axes {
        if let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == axis.key) {
            axis.set(settings, &value.get_ref().0).map_err(|refusal| refused(refusal, value.span(), "here"))?;
        }
    }
    Ok(())
}

/// A refusal at its place.
pub(super) fn refused(refusal: Refusal, place: std::ops::Range<usize>, label: &str) -> Mistake {
    Mistake::new(refusal.fault, place, refusal.message, label).hint(refusal.hint)
}

/// An axis whose values are words: each names a value of the field.
macro_rules! words {
    ($key:literal, |$s:ident| $field:expr, { $($word:literal => $value:expr),+ $(,)? }) => {
        Axis {
            key: $key,
            words: &[$($word),+],
            quantity: None,
            set: |$s, written| {
                $field = match written {
                    $($word => $value,)+
                    _ => return Err(Wrong::Value),
                };
                Ok(())
            },
        }
    };
}

/// An axis whose values are quantities; one of a few words too, perhaps.
macro_rules! quantity {
    ($key:literal, [$($word:literal),*], $example:literal, |$s:ident, $written:ident| $set:expr) => {
        Axis {
            key: $key,
            words: &[$($word),*],
            quantity: Some($example),
            set: |$s, $written| {
                $set;
                Ok(())
            },
        }
    };
}

/// A parameter of the value of another axis.
macro_rules! parameter {
    ($key:literal, $example:literal, $read:expr, |$s:ident| $scrutinee:expr, $pattern:pat => $place:expr, needs $with:literal) => {
        Axis {
            key: $key,
            words: &[],
            quantity: Some($example),
            set: |$s, written| match $scrutinee {
                $pattern => {
                    $place = $read(written)?;
                    Ok(())
                }
                #[allow(unreachable_patterns, reason = "some axes have only this value")]
                _ => Err(Wrong::Idle($with)),
            },
        }
    };
}

pub(super) fn time(written: &str) -> Result<Duration, Wrong> {
    text::time(written).map_err(|_| Wrong::Value)
}

pub(super) fn rate(written: &str) -> Result<Rate, Wrong> {
    text::rate(written).map_err(|_| Wrong::Value)
}

pub(super) fn bytes(written: &str) -> Result<u32, Wrong> {
    text::size(written).ok().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 65_535).ok_or(Wrong::Value)
}

pub(super) fn number(written: &str) -> Result<f64, Wrong> {
    written.parse().map_err(|_| Wrong::Value)
}

pub(super) fn count(written: &str) -> Result<u8, Wrong> {
    written.parse().map_err(|_| Wrong::Value)
}

pub(super) fn long(written: &str) -> Result<u64, Wrong> {
    written.parse().map_err(|_| Wrong::Value)
}

pub(super) fn share(written: &str) -> Result<Probability, Wrong> {
    text::probability(written).map_err(|_| Wrong::Value)
}

pub(super) fn whole(written: &str) -> Result<u32, Wrong> {
    written.parse().map_err(|_| Wrong::Value)
}

pub(super) use {parameter, quantity, words};
