//! Security advisories about the locked packages, from a dated snapshot of the RustSec database.
//!
//! The snapshot in `.ci/supply-chain/advisories.md` replaces the live database, which many build
//! machines cannot reach; its age is printed with every answer. Crates that were never looked up
//! are counted: their number may only fall, by [`renew`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use semver::Version;
use serde::Deserialize;

use super::advisory::{Advisory, BEGINNING, shortened};
use crate::{Outcome, root};

/// The folder of the snapshot.
const PLACE: &str = ".ci/supply-chain";
/// Environment variable with a checkout of the database, for `cargo xtask full`.
const VARIABLE: &str = "TFRC_ADVISORIES";
/// Days after which a snapshot is renewed though every crate was looked up for it.
const OLD: i64 = 90;

/// A lock file of cargo, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Lockfile {
    package: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: Version,
    /// `None` for a crate of ours.
    source: Option<String>,
}

/// A snapshot, or a checkout of the database, and what was looked up for it.
struct Snapshot {
    database: Vec<Advisory>,
    /// The day of its newest advisory, `YYYY-MM-DD`.
    taken: String,
    /// The names of the crates that were looked up.
    looked_up: BTreeSet<String>,
    /// The number of crates that need not have been looked up.
    ceiling: usize,
}

/// The question of a renewal to a database, and the snapshot after it.
#[derive(Debug, PartialEq, Eq)]
struct Renewed {
    is_older: bool,
    taken: String,
    looked_up: BTreeSet<String>,
    asked: BTreeSet<String>,
}

impl Snapshot {
    /// The one in the repository: the heads of advisories, one after another in `advisories.md`.
    fn ours() -> Result<Self, String> {
        let place = root().join(PLACE);
        let read = |name: &str| {
            let text = fs::read_to_string(place.join(name)).map_err(|e| format!("{PLACE}/{name}: {e}"))?;
            Ok::<_, String>(text.trim().to_owned())
        };
        Ok(Self {
            database: database(&read("advisories.md")?)?,
            taken: read("taken")?,
            looked_up: read("looked-up")?.lines().map(str::to_owned).collect(),
            ceiling: read("unseen")?.parse().map_err(|e| format!("{PLACE}/unseen: {e}"))?,
        })
    }

    /// Crates of the lock files that were not looked up.
    fn unseen(&self, locked: &[(String, Lockfile)]) -> BTreeSet<String> {
        foreign(locked).into_iter().filter(|name| !self.looked_up.contains(name)).collect()
    }

    /// The snapshot after a database of this day was asked about the locked crates.
    fn renewed(&self, taken: &str, locked: &BTreeSet<String>) -> Renewed {
        let is_older = taken < self.taken.as_str();
        let asked: BTreeSet<String> =
            locked.iter().filter(|name| !is_older || !self.looked_up.contains(*name)).cloned().collect();
        let kept = self.looked_up.intersection(locked).filter(|_| is_older).cloned();
        // The oldest of its parts says how old it is.
        Renewed { is_older, taken: taken.to_owned(), looked_up: kept.chain(asked.clone()).collect(), asked }
    }

    /// Complaints about versions, and a sentence if more crates than the ceiling are unseen.
    fn judge(&self, locked: &[(String, Lockfile)], days: i64) -> Outcome {
        let unseen = self.unseen(locked);
        let all = foreign(locked).len();
        println!(
            "   {} lock files with {all} crates against {} advisories of {}, {days} days old",
            locked.len(),
            self.database.len(),
            self.taken
        );
        println!(
            "   {} of {all} crates were never looked up, for {days} days or since they came (at most {} may be)",
            unseen.len(),
            self.ceiling
        );
        let mut complaints: Vec<String> = Vec::new();
        for (file, lockfile) in locked {
            complaints.extend(
                complaints_about(&self.database, lockfile).into_iter().map(|what| format!("{file}: {what}")),
            );
        }
        if unseen.len() > self.ceiling {
            let names: Vec<&str> = unseen.iter().map(String::as_str).collect();
            complaints.push(format!(
                "{} crates were never looked up, {} more than before: {}\n  {HOW}",
                unseen.len(),
                unseen.len() - self.ceiling,
                names.join(", ")
            ));
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n  ")) }
    }
}

/// The way to a newer snapshot.
const HOW: &str = "to look them up: git clone https://github.com/rustsec/advisory-db, then `cargo xtask \
                   dependencies renew FOLDER`, or TFRC_ADVISORIES=FOLDER for `cargo xtask full`";

/// Compares the lock files with the snapshot.
pub(super) fn check() -> Outcome {
    let snapshot = Snapshot::ours()?;
    snapshot.judge(&locked()?, age(&snapshot.taken)?)
}

/// Replaces the snapshot by the advisories of a newer database about the locked crates: of each the
/// front matter and the title. An older database is asked about the crates that no snapshot has.
/// `database` is a folder with `crates/NAME/RUSTSEC-….md`, a checkout of rustsec/advisory-db.
pub(crate) fn renew(database: &Path) -> Outcome {
    let (old, locked) = (Snapshot::ours()?, locked()?);
    let shown = database.display();
    let newest = newest(database)?;
    let taken = newest.ok_or_else(|| format!("{shown} has no advisory in crates/"))?;
    let place = root().join(PLACE);
    let renewed = old.renewed(&taken, &foreign(&locked));
    let mut texts = texts_of(database, &renewed.asked)?;
    if renewed.is_older {
        // Each begins where the next one did.
        let before = fs::read_to_string(place.join("advisories.md"));
        let before = before.map_err(|e| format!("{PLACE}/advisories.md: {e}"))?;
        texts.extend(before.split(BEGINNING).skip(1).map(|text| format!("{BEGINNING}{}\n", text.trim_end())));
        texts.sort();
    }
    let failed = |error: std::io::Error| format!("{PLACE}: {error}");
    let lines = renewed.looked_up.iter().fold(String::new(), |text, name| text + name + "\n");
    for (file, text) in [
        ("advisories.md", texts.join("\n")),
        ("taken", format!("{}\n", renewed.taken)),
        ("looked-up", lines),
        ("unseen", "0\n".to_owned()),
    ] {
        fs::write(place.join(file), text).map_err(failed)?;
    }
    let names = renewed.asked;
    println!("   {} advisories about {} crates, of {taken}, in {PLACE}", texts.len(), names.len());
    check()
}

/// The part of `cargo xtask full`: a snapshot of which nothing is unseen, and that is not old; a
/// newer one if the user names a database.
pub(crate) fn renewed() -> Outcome {
    if let Some(database) = std::env::var_os(VARIABLE) {
        return renew(Path::new(&database));
    }
    let snapshot = Snapshot::ours()?;
    let (unseen, days) = (snapshot.unseen(&locked()?).len(), age(&snapshot.taken)?);
    match unseen {
        0 if days <= OLD => Ok(()),
        _ => Err(format!("{unseen} crates were never looked up, and the snapshot is {days} days old; {HOW}")),
    }
}

/// The advisories of a database about these crates, each without its description.
fn texts_of(database: &Path, names: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    for name in names {
        for file in files_in(&database.join("crates").join(name))? {
            let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            texts.push(shortened(&text).ok_or_else(|| format!("{}: no front matter", file.display()))?);
        }
    }
    texts.sort();
    Ok(texts)
}

/// The day of the newest advisory of a database.
fn newest(database: &Path) -> Result<Option<String>, String> {
    let mut newest = None;
    for folder in entries(&database.join("crates"))? {
        for file in files_in(&folder)? {
            let read = fs::read_to_string(&file).map_err(|e| e.to_string());
            let advisory = read.and_then(|text| Advisory::read(&text));
            let advisory = advisory.map_err(|e| format!("{}: {e}", file.display()))?;
            newest = newest.max(Some(advisory.date().to_owned()));
        }
    }
    Ok(newest)
}

/// The advisories in the folder of a crate; none if there is no such folder.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let all = entries(folder)?;
    Ok(all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::read_dir(folder).map_err(failed)?.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
}

/// These advisories, one behind another.
fn database(advisories: &str) -> Result<Vec<Advisory>, String> {
    let texts = advisories.split(BEGINNING).skip(1);
    let all = texts.map(|text| Advisory::read(&format!("{BEGINNING}{text}\n")));
    all.collect::<Result<_, _>>().map_err(|e| format!("{PLACE}/advisories.md: {e}"))
}

/// The lock files, each with its name.
fn locked() -> Result<Vec<(String, Lockfile)>, String> {
    let load = |file: String| {
        let text = fs::read_to_string(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
        let lockfile = toml::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        Ok((file, lockfile))
    };
    super::locks()?.into_iter().map(load).collect()
}

/// The names of the crates in them that come from outside.
fn foreign(locked: &[(String, Lockfile)]) -> BTreeSet<String> {
    let packages = locked.iter().flat_map(|(_, lockfile)| &lockfile.package);
    packages.filter(|one| one.source.is_some()).map(|one| one.name.clone()).collect()
}

/// Days since a snapshot was taken.
fn age(taken: &str) -> Result<i64, String> {
    days_since(taken, SystemTime::now()).ok_or_else(|| format!("{PLACE}/taken: {taken} is not a day"))
}

/// Vulnerable, unsound and unmaintained packages of a lock file.
fn complaints_about(database: &[Advisory], lockfile: &Lockfile) -> Vec<String> {
    let foreign = lockfile.package.iter().filter(|package| package.source.is_some());
    let told = foreign.flat_map(|Package { name, version, .. }| {
        let about = database.iter().filter(|advisory| advisory.is_about(name, version));
        about.map(move |advisory| format!("{name} {version}: {advisory}"))
    });
    told.collect()
}

/// Whole days from the beginning of a day, written `YYYY-MM-DD`, to `now`.
fn days_since(day: &str, now: SystemTime) -> Option<i64> {
    let begin = humantime::parse_rfc3339(&format!("{day}T00:00:00Z")).ok()?;
    i64::try_from(now.duration_since(begin).ok()?.as_secs() / 86_400).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn days_are_counted_over_months_and_leap_years() {
        let at = |days: u64| UNIX_EPOCH + Duration::from_secs(days * 86_400 + 5);
        assert_eq!(days_since("1970-01-01", at(0)), Some(0));
        assert_eq!(days_since("2000-02-29", at(11_016 + 1)), Some(1));
        assert_eq!(days_since("2026-11-22", at(20_779)), Some(0));
        for wrong in ["", "2026-13-01", "2026-11", "then", "2026-11-22"] {
            assert_eq!(days_since(wrong, at(0)), None);
        }
    }

    /// A locked version before the patched one is found, in what comes from outside.
    #[test]
    fn a_vulnerable_version_is_found() {
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"example\"\n\
                    date = \"2020-01-01\"\n[versions]\npatched = [\">= 1.2.0\"]\n```\n\n# Example breaks\n";
        let database = database(&format!("{text}\n{}", text.replace("1.2", "1.1"))).expect("two");
        let found = |version: &str, source: &str| {
            let lock = format!("[[package]]\nname = \"example\"\nversion = \"{version}\"\n{source}");
            complaints_about(&database, &toml::from_str(&lock).expect("a lock file")).len()
        };
        let source = "source = \"registry+https://example\"";
        assert_eq!((found("1.0.9", source), found("1.1.9", source), found("1.2.0", source)), (2, 1, 0));
        assert_eq!(found("1.0.9", ""), 0);
    }

    /// The number of crates that nobody looked up may fall and not grow; a version with an advisory
    /// is named whatever it is.
    #[test]
    fn the_number_of_unseen_crates_may_not_grow() {
        let lock = "version = 4\n[[package]]\nname = \"seen\"\nversion = \"1.0.0\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             [[package]]\nname = \"unseen\"\nversion = \"1.0.0\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             [[package]]\nname = \"ours\"\nversion = \"1.0.0\"\n";
        let lock = toml::from_str(lock).expect("a lock file");
        let locked = [("Cargo.lock".to_owned(), lock)];
        let snapshot = |ceiling| Snapshot {
            database: database("").expect("an empty one"),
            taken: "2026-01-01".to_owned(),
            looked_up: BTreeSet::from(["seen".to_owned()]),
            ceiling,
        };
        assert_eq!(snapshot(0).unseen(&locked), BTreeSet::from(["unseen".to_owned()]));
        let refused = snapshot(0).judge(&locked, 7).expect_err("one more");
        assert!(refused.contains("unseen") && refused.contains("renew FOLDER"), "{refused}");
        for ceiling in [1, 2] {
            snapshot(ceiling).judge(&locked, 7).expect("as many as may be");
        }
    }

    /// An older database is asked about what no snapshot has, and takes nothing back.
    #[test]
    fn an_older_database_is_asked_about_unseen_crates_alone() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let snapshot = Snapshot {
            database: database("").expect("an empty one"),
            taken: "2026-02-01".to_owned(),
            looked_up: names(&["gone", "seen"]),
            ceiling: 1,
        };
        for (taken, asked) in [("2026-01-01", &["unseen"][..]), ("2026-03-01", &["seen", "unseen"])] {
            let renewed = snapshot.renewed(taken, &names(&["seen", "unseen"]));
            assert_eq!((renewed.asked, renewed.looked_up), (names(asked), names(&["seen", "unseen"])));
            assert_eq!(renewed.taken, taken);
        }
    }
}
