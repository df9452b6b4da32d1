//! A value with its place in the text.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A value with its place in the text. In the schema it may be written with its source: the
/// document takes that out before anything is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent, bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct Spanned<T>(toml::Spanned<T>);

impl<T> Spanned<T> {
    pub(super) fn new(place: Range<usize>, value: T) -> Self {
        Self(toml::Spanned::new(place, value))
    }

    pub(super) fn get_ref(&self) -> &T {
        self.0.get_ref()
    }

    pub(super) fn into_inner(self) -> T {
        self.0.into_inner()
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get_ref()
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrWithSource", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let plain = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                plain.clone(),
                {
                    "type": "object",
                    "properties": {
                        "value": plain,
                        "source": { "type": "string" },
                        "assumed": { "type": "string" },
                    },
                    "required": ["value"],
                    "minProperties": 2,
                    "maxProperties": 2,
                    "additionalProperties": false,
                },
            ]
        })
    }
}
