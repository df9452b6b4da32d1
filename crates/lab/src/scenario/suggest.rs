/// The name nearest to what was written, if it is near enough to be meant.
pub(super) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// "did you mean …?", or else all the names there are.
pub(crate) fn hint(written: &str, names: &[&str]) -> String {
    match nearest(written, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("possible: {}", listed(names)),
    }
}

/// Names in backquotes with commas.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Letters to insert, delete, replace or swap with a neighbour to make `b` of `a` (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swap = if swapped { d[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1).min(swap)
            };
        }
    }
    d[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [
            ("", "abc", 3),
            ("queue", "qeue", 1),
            ("delay", "relay", 1),
            ("tfcr", "tfrc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), d);
            assert_eq!(distance(b, a), d);
        }
    }

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest("qeue", ["rate", "queue"]), Some("queue"));
        assert_eq!(nearest("colour", ["rate", "queue"]), None);
    }
}
