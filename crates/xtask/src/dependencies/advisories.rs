//! Security advisories about the locked packages, from a dated snapshot of the RustSec database.
//!
//! The snapshot in `.ci/supply-chain/advisories.md` replaces the live database, which many build
//! machines cannot reach; its age is printed with every answer. Crates that were never looked up
//! are counted: their number may only fall, by [`renew`].

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use rustsec::advisory::Informational;
use rustsec::report::{Report, Settings};
use rustsec::{Advisory, Database, Lockfile};

use crate::{Outcome, root};

/// The folder of the snapshot.
const PLACE: &str = ".ci/supply-chain";
/// Environment variable with a checkout of the database, for `cargo xtask full`.
const VARIABLE: &str = "TFRC_ADVISORIES";
/// The first line of an advisory.
const BEGINNING: &str = "```toml\n";
/// Days after which a snapshot is renewed though every crate was looked up for it.
const OLD: i64 = 90;

/// A snapshot, or a checkout of the database, and what was looked up for it.
struct Snapshot {
    database: Database,
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
            self.database.iter().len(),
            self.taken
        );
        println!(
            "   {} of {all} crates were never looked up, for {days} days or since they came (at most {} may be)",
            unseen.len(),
            self.ceiling
        );
        let mut complaints: Vec<String> = Vec::new();
        for (file, lockfile) in locked {
            complaints
                .extend(complaints_about(&self.database, lockfile).map(|what| format!("{file}: {what}")));
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
    let new = Database::open(database).map_err(|e| format!("{shown}: {e}"))?;
    let newest = new.iter().map(|advisory| advisory.metadata.date.as_str().to_owned()).max();
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
        let folder = database.join("crates").join(name);
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
            let file = entry.file_name().to_string_lossy().into_owned();
            if !file.ends_with(".md") {
                continue;
            }
            let text =
                fs::read_to_string(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
            let short =
                shortened(&text).ok_or_else(|| format!("{}: no front matter", entry.path().display()))?;
            texts.push(short);
        }
    }
    texts.sort();
    Ok(texts)
}

/// The database of these advisories; the library reads it from files.
fn database(advisories: &str) -> Result<Database, String> {
    let broken = |error: &dyn std::fmt::Display| format!("{PLACE}/advisories.md: {error}");
    let place = tempfile::tempdir().map_err(|e| broken(&e))?;
    fs::create_dir_all(place.path().join("crates")).map_err(|e| broken(&e))?;
    for text in advisories.split(BEGINNING).skip(1) {
        let text = format!("{BEGINNING}{text}\n");
        let advisory: Advisory = text.parse().map_err(|e: rustsec::Error| broken(&e))?;
        let folder = place.path().join("crates").join(advisory.metadata.package.as_str());
        let written = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("{}.md", advisory.id())), text));
        written.map_err(|e| broken(&e))?;
    }
    Database::open(place.path()).map_err(|e| broken(&e))
}

/// The front matter and the title of an advisory.
fn shortened(text: &str) -> Option<String> {
    let (matter, rest) = text.strip_prefix(BEGINNING)?.split_once("\n```\n")?;
    let title = rest.lines().find(|line| line.starts_with("# "))?;
    Some(format!("```toml\n{matter}\n```\n\n{title}\n"))
}

/// The lock files, each with its name.
fn locked() -> Result<Vec<(String, Lockfile)>, String> {
    let load = |file: String| {
        let lockfile = Lockfile::load(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
        Ok((file, lockfile))
    };
    super::locks()?.into_iter().map(load).collect()
}

/// The names of the crates in them that come from outside.
fn foreign(locked: &[(String, Lockfile)]) -> BTreeSet<String> {
    let packages = locked.iter().flat_map(|(_, lockfile)| &lockfile.packages);
    packages.filter(|one| one.source.is_some()).map(|one| one.name.as_str().to_owned()).collect()
}

/// Days since a snapshot was taken.
fn age(taken: &str) -> Result<i64, String> {
    days_since(taken, SystemTime::now()).ok_or_else(|| format!("{PLACE}/taken: {taken} is not a day"))
}

/// Vulnerable, unsound and unmaintained packages of a lock file.
fn complaints_about(database: &Database, lockfile: &Lockfile) -> impl Iterator<Item = String> {
    let settings = Settings {
        informational_warnings: vec![Informational::Unsound, Informational::Unmaintained],
        ..Settings::default()
    };
    let report = Report::generate(database, lockfile, &settings);
    let vulnerable = report.vulnerabilities.list.into_iter().map(|found| {
        format!(
            "{} {}: {} {}",
            found.package.name, found.package.version, found.advisory.id, found.advisory.title
        )
    });
    let warned = report.warnings.into_values().flatten().map(|warning| {
        let kind = warning.kind.as_str();
        let what = warning
            .advisory
            .map_or(String::new(), |advisory| format!(": {} {}", advisory.id, advisory.title));
        format!("{} {} is {kind}{what}", warning.package.name, warning.package.version)
    });
    vulnerable.chain(warned)
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

    /// A locked version before the patched one is found; the patched one is not.
    #[test]
    fn a_vulnerable_version_is_found() {
        let place = std::env::temp_dir().join(format!("tfrc-advisories-{}", std::process::id()));
        let advisories = place.join("crates/example");
        std::fs::create_dir_all(&advisories).expect("a directory");
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"example\"\n\
                    date = \"2020-01-01\"\n[versions]\npatched = [\">= 1.2.0\"]\n```\n\n# Example breaks\n\nText.\n";
        std::fs::write(advisories.join("RUSTSEC-2020-0001.md"), text).expect("written");
        let database = Database::open(&place).expect("a database");
        std::fs::remove_dir_all(&place).expect("removed");
        let found = |version: &str| {
            let lock = format!(
                "version = 4\n[[package]]\nname = \"example\"\nversion = \"{version}\"\n\
                 source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
            );
            complaints_about(&database, &lock.parse().expect("a lock file")).count()
        };
        assert_eq!((found("1.1.9"), found("1.2.0")), (1, 0));
    }
    /// The number of crates that nobody looked up may fall and not grow; a version with an advisory
    /// is named whatever it is.
    #[test]
    fn the_number_of_unseen_crates_may_not_grow() {
        let lock: Lockfile = "version = 4\n[[package]]\nname = \"seen\"\nversion = \"1.0.0\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             [[package]]\nname = \"unseen\"\nversion = \"1.0.0\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             [[package]]\nname = \"ours\"\nversion = \"1.0.0\"\n"
            .parse()
            .expect("a lock file");
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

    #[test]
    fn an_advisory_is_kept_without_its_description() {
        let matter = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\n```\n\n# Example breaks\n";
        assert_eq!(shortened(&format!("{matter}\nMuch text.\n")).as_deref(), Some(matter));
        assert_eq!(shortened("# Example breaks\n"), None);
    }
}
