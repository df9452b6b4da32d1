//! Hints for a misspelt word: the nearest of the words that are possible.

use strsim::osa_distance;

/// Returns the name nearest to the written one: at most one letter in three inserted, deleted,
/// replaced or swapped with its neighbour (optimal string alignment).
#[must_use]
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (osa_distance(written, name), name))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Advice for a word that is none of the names: "did you mean …?", or else all the names.
#[must_use]
pub fn hint(written: &str, names: &[&str]) -> String {
    match nearest(written, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("possible: {}", listed(names)),
    }
}

/// Names in backquotes with commas.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest("qeue", ["rate", "queue"]), Some("queue"));
        assert_eq!(nearest("colour", ["rate", "queue"]), None);
    }
}
