//! A revision of TFRC in a journal: its name.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use tfrc::Revision;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn serialize<S: Serializer>(revision: &Revision, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(revision.name())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Revision, D::Error> {
    let name = String::deserialize(from)?;
    Revision::from_name(&name)
        .ok_or_else(|| D::Error::custom(format!("no revision of TFRC is called {name}")))
}
