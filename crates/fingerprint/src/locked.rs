//! The packages that crates are built with, as `Cargo.lock` fixes them.

use std::collections::{BTreeMap, BTreeSet};

/// One package of `Cargo.lock`.
#[derive(Default)]
struct Package<'l> {
    name: &'l str,
    version: &'l str,
    checksum: &'l str,
    /// Each a name, with a version where there are several of that name.
    dependencies: Vec<&'l str>,
}

/// The packages from elsewhere that these crates depend on, directly or not: a line of name,
/// version and checksum for each. Those of tests and of all features count as well: the file does
/// not tell them apart.
#[must_use]
pub fn packages(lock: &str, crates: &[&str]) -> String {
    let packages: Vec<Package<'_>> = lock.split("[[package]]").skip(1).map(package).collect();
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, package) in packages.iter().enumerate() {
        places.entry(package.name).or_default().push(place);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = crates.to_vec();
    while let Some(wanted) = open.pop() {
        let (name, version) = wanted.split_once(' ').unwrap_or((wanted, ""));
        for place in places.get(name).into_iter().flatten() {
            let package = &packages[*place];
            if (version.is_empty() || package.version == version) && found.insert(*place) {
                open.extend(&package.dependencies);
            }
        }
    }
    let line = |place| {
        let Package { name, version, checksum, .. } = &packages[place];
        (!checksum.is_empty()).then(|| format!("{name} {version} {checksum}\n"))
    };
    found.into_iter().filter_map(line).collect()
}

fn package(text: &str) -> Package<'_> {
    let mut package = Package::default();
    for line in text.lines() {
        match line.split_once(" = ") {
            Some(("name", name)) => package.name = name.trim_matches('"'),
            Some(("version", version)) => package.version = version.trim_matches('"'),
            Some(("checksum", sum)) => package.checksum = sum.trim_matches('"'),
            None if line.starts_with(" \"") => {
                package.dependencies.push(line.trim().trim_end_matches(',').trim_matches('"'));
            }
            _ => {}
        }
    }
    package
}
