//! One advisory of the RustSec database: a head in TOML and a title in Markdown. Of the format
//! (rustsec/advisory-db, EXAMPLE_ADVISORY.md) only the keys are read that decide about a version.

use std::fmt;

use semver::{Version, VersionReq};
use serde::Deserialize;

/// The first line of an advisory.
pub(super) const BEGINNING: &str = "```toml\n";

/// An advisory, and whom it is about.
#[derive(Debug, Clone)]
pub(super) struct Advisory {
    head: Head,
    versions: Versions,
    title: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Matter {
    advisory: Head,
    #[serde(default)]
    versions: Versions,
}

#[derive(Debug, Clone, Deserialize)]
struct Head {
    id: String,
    package: String,
    /// The day it was written, `YYYY-MM-DD`.
    date: String,
    /// `unmaintained`, `unsound` or another kind; without it a vulnerability.
    informational: Option<String>,
    /// The day it was taken back.
    withdrawn: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Versions {
    patched: Vec<VersionReq>,
    unaffected: Vec<VersionReq>,
}

impl Advisory {
    /// Reads an advisory, with or without its description.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (matter, rest) = parts(text).ok_or("no head in TOML with a title below it")?;
        let Matter { advisory: head, versions } = toml::from_str(matter).map_err(|e| e.to_string())?;
        let title = rest.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        Ok(Self { head, versions, title })
    }

    /// The day it was written, `YYYY-MM-DD`.
    pub(super) fn date(&self) -> &str {
        &self.head.date
    }

    /// True for a version that is neither patched nor was ever affected.
    pub(super) fn is_about(&self, name: &str, version: &Version) -> bool {
        let Versions { patched, unaffected } = &self.versions;
        let is_good = patched.iter().chain(unaffected).any(|good| good.matches(version));
        self.head.withdrawn.is_none() && self.head.package == name && !is_good
    }
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = &self.head.informational {
            write!(f, "is {kind}: ")?;
        }
        write!(f, "{} {}", self.head.id, self.title)
    }
}

/// The head, and the text from the title on.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (matter, rest) = text.strip_prefix(BEGINNING)?.split_once("\n```\n")?;
    let title = if rest.starts_with("# ") { 0 } else { rest.find("\n# ")? + 1 };
    Some((matter, rest.get(title..)?))
}

/// The head and the title of an advisory.
pub(super) fn shortened(text: &str) -> Option<String> {
    let (matter, rest) = parts(text)?;
    Some(format!("{BEGINNING}{matter}\n```\n\n{}\n", rest.lines().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"example\"\n\
        date = \"2020-01-01\"\n[versions]\npatched = [\">= 1.2.0\", \"^1.1.5\"]\n\
        unaffected = [\"< 1.0.0\"]\n```\n\n# Example breaks\n\nText.\n";

    #[test]
    fn a_version_is_found_that_is_not_patched() {
        let advisory = Advisory::read(TEXT).expect("right");
        let about = |version: &str| advisory.is_about("example", &version.parse().expect("a version"));
        let found = ["0.9.0", "1.0.0", "1.1.4", "1.1.5", "1.2.0", "2.0.0"].map(about);
        assert_eq!(found, [false, true, true, false, false, false]);
        assert!(!advisory.is_about("other", &Version::new(1, 0, 0)));
        assert_eq!(advisory.to_string(), "RUSTSEC-2020-0001 Example breaks");
        let is =
            |key: &str| Advisory::read(&TEXT.replace("date =", &format!("{key}\ndate ="))).expect("right");
        assert!(is("informational = \"unsound\"").to_string().starts_with("is unsound: RUSTSEC"));
        assert!(!is("withdrawn = \"2021-01-01\"").is_about("example", &Version::new(1, 0, 0)));
    }

    #[test]
    fn an_advisory_is_kept_without_its_description() {
        let short = TEXT.strip_suffix("\nText.\n").expect("the end");
        assert_eq!(shortened(TEXT).as_deref(), Some(short));
        assert_eq!(shortened("# Example breaks\n"), None);
        for wrong in ["", "```toml\n```\n", "```toml\n[advisory]\n```\n# x\n", "# x\n"] {
            assert!(Advisory::read(wrong).is_err(), "{wrong}");
        }
    }
}
