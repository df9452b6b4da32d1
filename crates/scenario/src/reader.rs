//! Reads a TOML tree into types: a serde deserializer whose errors are [`Mistake`]s, each with its
//! place in the text and with the names that are possible there.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::Spanned;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::de::{DeTable, DeValue};

use super::error::{Checked, Fault, Mistake};
use super::{suggest, tcp_settings};

/// Reads a whole text of TOML.
///
/// # Errors
/// The first [`Mistake`], with its place.
pub fn read_text<'de, T: Deserialize<'de>>(text: &'de str) -> Checked<T> {
    read(parse(text)?)
}

/// Reads a tree.
pub(super) fn read<'de, T: Deserialize<'de>>(tree: Spanned<DeTable<'de>>) -> Checked<T> {
    let place = tree.span();
    T::deserialize(Node(Spanned::new(place, DeValue::Table(tree.into_inner()))))
}

/// Reads a value of a table of settings: text, or else a number if it is one.
///
/// # Errors
/// The mistake of the text.
pub(super) fn read_value<T: DeserializeOwned>(written: &str) -> Checked<T> {
    let from = |value| T::deserialize(Node(Spanned::new(0..0, value)));
    from(DeValue::String(Cow::Borrowed(written))).or_else(|mistake| {
        let number = DeValue::parse(written).ok().filter(|value| !value.get_ref().is_str());
        number.and_then(|value| from(value.into_inner()).ok()).ok_or(mistake)
    })
}

/// The tree of a text.
pub(super) fn parse(text: &str) -> Checked<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| syntax(&error))
}

/// A text that is not TOML.
pub(super) fn syntax(error: &toml::de::Error) -> Mistake {
    // The lines after the first repeat what the label shows.
    let message = error.message().lines().next().unwrap_or_default();
    Mistake::new(Fault::Syntax, error.span().unwrap_or(0..0), message, "here")
        .hint("a scenario is TOML: key = value, text in quotes, tables under [[link]] and [[flow]]")
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Mistakes begin without a place; the innermost value or key around them gives its own.
impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::unplaced(Fault::Range, message.to_string(), "here")
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unplaced(Fault::WrongType, format!("{given} cannot stand here"), "of another type")
            .hint(format!("expected {expected}"))
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (fault, what) = match given {
            Unexpected::Other(what) => (Fault::Quantity, what.to_owned()),
            Unexpected::Str(written) => (Fault::Range, format!("`{written}` is out of range")),
            other => (Fault::Range, format!("{other} is out of range")),
        };
        Self::unplaced(fault, what, "not understood").hint(format!("expected {expected}"))
    }

    fn unknown_variant(written: &str, possible: &'static [&'static str]) -> Self {
        // A TCP's name in place of a kind of flow.
        let hint = match possible.contains(&"tcp") && tcp_settings::is_variant(written) {
            true => format!("it is a TCP: write kind = \"tcp\", and tcp = {{ variant = \"{written}\" }}"),
            false => suggest::hint(written, possible),
        };
        Self::unplaced(Fault::Word, format!("`{written}` cannot stand here"), "not one of the words")
            .hint(hint)
    }

    fn unknown_field(written: &str, possible: &'static [&'static str]) -> Self {
        Self::unplaced(Fault::UnknownKey, format!("unknown key `{written}`"), "not a key of this table")
            .hint(suggest::hint(written, possible))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::unplaced(Fault::MissingKey, format!("`{key}` is missing"), "in this table")
            .hint(format!("add `{key} = …`"))
    }
}

/// A value with its place.
struct Node<'de>(Spanned<DeValue<'de>>);

impl<'de> IntoDeserializer<'de, Mistake> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        let place = self.0.span();
        let read = match self.0.into_inner() {
            DeValue::String(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            DeValue::String(Cow::Owned(text)) => visitor.visit_string(text),
            DeValue::Integer(number) => {
                let (digits, radix) = (number.as_str(), number.radix());
                match (i64::from_str_radix(digits, radix), u64::from_str_radix(digits, radix)) {
                    (Ok(number), _) => visitor.visit_i64(number),
                    (_, Ok(number)) => visitor.visit_u64(number),
                    _ => Err(de::Error::custom(format!("{number} has too many digits"))),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(de::Error::custom(format!("{number} is not a number"))),
            },
            DeValue::Boolean(word) => visitor.visit_bool(word),
            DeValue::Datetime(_) => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
            DeValue::Array(list) => {
                let mut list = SeqDeserializer::new(list.into_iter().map(Node));
                visitor.visit_seq(&mut list).and_then(|read| list.end().map(|()| read))
            }
            DeValue::Table(table) => {
                let key = |key: Spanned<_>| Node(Spanned::new(key.span(), DeValue::String(key.into_inner())));
                let entries = table.into_iter().map(|(name, value)| (key(name), Node(value)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        };
        read.map_err(|mistake| mistake.or_at(place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Checked<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Checked<V::Value> {
        if is_spanned(name) {
            let place = self.0.span();
            return visitor.visit_map(SpannedDeserializer::new(self, place));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Checked<V::Value> {
        let place = self.0.span();
        match self.0.get_ref() {
            DeValue::String(word) => visitor.visit_enum(StrDeserializer::new(word)),
            _ => return self.deserialize_any(visitor),
        }
        .map_err(|mistake: Mistake| mistake.or_at(place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}
