//! Checks of our dependencies: licences, sources and duplicate versions by cargo-deny, security
//! advisories from a dated snapshot of the RustSec database.
//!
//! cargo-deny takes minutes to build, and what it says depends on a few files alone. It is run by
//! hand after a change of one of them, and a hash of them is recorded; a check compares the hash.
//!
//! The snapshot in `.ci/supply-chain/advisories` replaces the live database, which many build
//! machines cannot reach; its age is printed with every answer.

use std::collections::BTreeSet;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rustsec::advisory::Informational;
use rustsec::report::{Report, Settings};
use rustsec::{Database, Lockfile};

use tfrc_units::hash::fnv1a;

use crate::tools::CARGO_DENY;
use crate::{Outcome, files, root};

/// The snapshot: advisories as the database stores them, in `crates/NAME/RUSTSEC-….md`.
const SNAPSHOT: &str = ".ci/supply-chain/advisories";
/// The day of the snapshot, as `YYYY-MM-DD`.
const TAKEN: &str = ".ci/supply-chain/taken";
/// The names of the crates that were looked up for the snapshot, one on each line.
const LOOKED_UP: &str = ".ci/supply-chain/looked-up";
/// The workspaces, each with a lock file of its own.
const LOCK_FILES: [&str; 6] = [
    "Cargo.lock",
    "benches/Cargo.lock",
    "crates/tfrc/no-std/Cargo.lock",
    "integrations/Cargo.lock",
    "integrations/bench/Cargo.lock",
    "integrations/gst/Cargo.lock",
];

/// The workspaces that cargo-deny judges; the others have dependencies of these.
const WORKSPACES: [&str; 3] = ["Cargo", "integrations/Cargo", "integrations/gst/Cargo"];

/// The hash of what cargo-deny has judged well.
const JUDGED: &str = ".ci/supply-chain/judged";

pub(crate) fn check() -> Outcome {
    let (now, judged) = (subject()?, std::fs::read_to_string(root().join(JUDGED)).unwrap_or_default());
    if judged.trim() != now {
        return Err(format!(
            "cargo-deny {} has not judged these dependencies: run `cargo xtask dependencies judge`",
            CARGO_DENY.version
        ));
    }
    println!("   cargo-deny {} has judged these dependencies", CARGO_DENY.version);
    advisories()
}

/// The hash of what decides on cargo-deny's answer: its version, its rules, the locked packages and
/// our manifests.
fn subject() -> Result<String, String> {
    let mut text = CARGO_DENY.version.to_owned();
    let manifests = files::tracked()?.into_iter().filter(|name| name.ends_with("Cargo.toml"));
    let locks = WORKSPACES.map(|workspace| format!("{workspace}.lock"));
    for name in locks.into_iter().chain(["deny.toml".to_owned()]).chain(manifests) {
        let file = std::fs::read_to_string(root().join(&name)).map_err(|e| format!("{name}: {e}"))?;
        text += &file;
    }
    Ok(format!("{:016x}", fnv1a(text.as_bytes())))
}

/// Runs cargo-deny, and records what it has judged.
pub(crate) fn judge() -> Outcome {
    for workspace in WORKSPACES {
        let status = CARGO_DENY
            .command()?
            .args(["--locked", "--workspace", "--config", "deny.toml", "--manifest-path"])
            .arg(format!("{workspace}.toml"))
            .args(["check", "--hide-inclusion-graph", "bans", "licenses", "sources"])
            .status()
            .map_err(|e| format!("cargo-deny did not start: {e}"))?;
        if !status.success() {
            return Err(format!(
                "{workspace}.toml: cargo-deny ended with {status}; deny.toml holds the rules"
            ));
        }
    }
    std::fs::write(root().join(JUDGED), format!("{}\n", subject()?)).map_err(|e| format!("{JUDGED}: {e}"))?;
    println!("recorded in {JUDGED}");
    Ok(())
}

/// Compares the lock files with the snapshot.
fn advisories() -> Outcome {
    let taken = std::fs::read_to_string(root().join(TAKEN)).map_err(|e| format!("{TAKEN}: {e}"))?;
    let taken = taken.trim();
    let days = days_since(taken, SystemTime::now()).ok_or(format!("{TAKEN}: {taken} is not a day"))?;
    let database = Database::open(&root().join(SNAPSHOT)).map_err(|e| format!("{SNAPSHOT}: {e}"))?;
    let names = std::fs::read_to_string(root().join(LOOKED_UP)).map_err(|e| format!("{LOOKED_UP}: {e}"))?;
    let looked_up: BTreeSet<&str> = names.lines().collect();
    let mut complaints = Vec::new();
    let mut unknown = BTreeSet::new();
    let mut packages = 0;
    for file in LOCK_FILES {
        let lockfile = Lockfile::load(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
        packages += lockfile.packages.len();
        let foreign = lockfile.packages.iter().filter(|package| package.source.is_some());
        let names = foreign.map(|package| package.name.as_str().to_owned());
        unknown.extend(names.filter(|name| !looked_up.contains(name.as_str())));
        complaints.extend(complaints_about(&database, &lockfile).map(|what| format!("{file}: {what}")));
    }
    println!(
        "   {packages} locked packages against {} advisories of {taken}, {days} days old",
        database.iter().len()
    );
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.into_iter().collect();
        println!("   not looked up, for they came later: {}", names.join(", "));
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n  ")) }
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
    let today = Timestamp::try_from(now).ok()?.to_zoned(TimeZone::UTC).date();
    Some(today.duration_since(day.parse::<Date>().ok()?).as_hours() / 24).filter(|days| *days >= 0)
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
}
