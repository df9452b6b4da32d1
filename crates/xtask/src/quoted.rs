//! Verdicts and counts that the page of an experiment quotes, against `docs/results.md`: the two
//! must not drift apart.

/// The figures of one experiment in `docs/results.md`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Recorded {
    /// The verdict against the print.
    verdict: String,
    /// Cells that agree with the print, and all that are judged against it.
    agree: Option<(u32, u32)>,
    disagree: Option<u32>,
    undetermined: Option<u32>,
    /// Claims that hold, and all.
    claims: Option<(u32, u32)>,
}

/// A figure in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Agree(u32, u32),
    AllAgree(u32),
    Disagree(u32),
    Undetermined(u32),
    ClaimsHold(u32, u32),
    AllClaimsHold(Option<u32>),
}

/// The quotes in the result of a page that differ from the record of the experiment `id`.
pub(crate) fn faults(results: &str, id: &str, page: &str) -> Vec<String> {
    let Some(recorded) = recorded(results, id) else { return Vec::new() };
    let Some((_, result)) = page.split_once("\n## Result\n") else { return Vec::new() };
    let result = result.split("\n## ").next().unwrap_or_default();
    let verdict = result.split_whitespace().next().unwrap_or_default().trim_end_matches([':', ';', '.', ',']);
    let verdict = verdict.to_lowercase();
    let mut wrong = Vec::new();
    if ["agrees", "disagrees", "undetermined"].contains(&verdict.as_str()) && verdict != recorded.verdict {
        wrong.push(format!(
            "the result begins with `{verdict}`, and docs/results.md has `{}`",
            recorded.verdict
        ));
    }
    for quote in quotes(result) {
        let is_right = match quote {
            Quote::Agree(some, all) => recorded.agree.is_none_or(|told| told == (some, all)),
            Quote::AllAgree(all) => recorded.agree.is_none_or(|told| told == (all, all)),
            Quote::Disagree(some) => recorded.disagree.is_none_or(|told| told == some),
            Quote::Undetermined(some) => recorded.undetermined.is_none_or(|told| told == some),
            Quote::ClaimsHold(some, all) => recorded.claims.is_none_or(|told| told == (some, all)),
            Quote::AllClaimsHold(all) => {
                recorded.claims.is_none_or(|(hold, told)| hold == told && all.is_none_or(|all| all == told))
            }
        };
        if !is_right {
            wrong.push(format!("{quote:?} is quoted, and docs/results.md has {recorded:?}"));
        }
    }
    wrong
}

/// The figures of an experiment in `docs/results.md`; `None` if it has no line there.
fn recorded(results: &str, id: &str) -> Option<Recorded> {
    let mut recorded = None::<Recorded>;
    let begin = format!("[{id}](");
    for line in results.lines().filter(|line| line.starts_with(&format!("| {begin}"))) {
        let columns: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match columns.as_slice() {
            [_, _, print, _, _, claims] if !print.contains('/') && !print.is_empty() => {
                let claims = fraction(claims);
                recorded = Some(Recorded { verdict: (*print).to_owned(), claims, ..Recorded::default() });
            }
            [_, print, ..] if columns.len() > 6 => {
                if let (Some(recorded), Some(agree)) = (&mut recorded, fraction(print)) {
                    recorded.agree = Some(agree);
                    // The other counts are written only where some do not agree.
                    let all = agree.0 == agree.1;
                    (recorded.disagree, recorded.undetermined) = (all.then_some(0), all.then_some(0));
                }
            }
            _ => {}
        }
    }
    let mut recorded = recorded?;
    let item = results.split("\n* ").find(|item| item.starts_with(&begin)).unwrap_or_default();
    let item = item.split("\n\n").next().unwrap_or_default();
    let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((_, counts)) = item.split_once("print: ") {
        let counts = counts.split(';').next().unwrap_or_default();
        for part in counts.split(", ") {
            match part.split(' ').collect::<Vec<_>>().as_slice() {
                [some, "disagree"] => recorded.disagree = some.parse().ok(),
                [some, "undetermined"] => recorded.undetermined = some.parse().ok(),
                _ => {}
            }
        }
    }
    Some(recorded)
}

/// `12/16`, perhaps with more behind it.
fn fraction(written: &str) -> Option<(u32, u32)> {
    let (some, all) = written.split(' ').next()?.split_once('/')?;
    Some((some.parse().ok()?, all.parse().ok()?))
}

/// The quotes of a text.
fn quotes(text: &str) -> Vec<Quote> {
    let mut found = Vec::new();
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in joined.split(". ") {
        let words: Vec<String> = sentence
            .split(' ')
            .map(|word| word.trim_matches([',', '.', ':', ';', '(', ')']).to_lowercase())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut of_cells = false;
        for window in words.windows(5) {
            match window {
                [some, "of", all, "cells", what] | [some, "cells" | "cell", "of", all, what] => {
                    if let (Some(some), Some(all)) = (number(some), number(all)) {
                        of_cells |= what.starts_with("agree");
                        found.extend(match *what {
                            "agree" | "agrees" => Some(Quote::Agree(some, all)),
                            "disagree" | "disagrees" => Some(Quote::Disagree(some)),
                            _ => None,
                        });
                    }
                }
                [some, "of", all, "claims", "hold"] => {
                    if let (Some(some), Some(all)) = (number(some), number(all)) {
                        found.push(Quote::ClaimsHold(some, all));
                    }
                }
                _ => {}
            }
        }
        for window in words.windows(4) {
            match window {
                ["all", all, "cells", "agree"] => found.extend(number(all).map(Quote::AllAgree)),
                ["all" | "the", all, "claims", "hold"] => {
                    found.extend(number(all).map(|all| Quote::AllClaimsHold(Some(all))));
                }
                _ => {}
            }
        }
        for window in words.windows(3) {
            match window {
                ["all" | "the", "claims", "hold"] => found.push(Quote::AllClaimsHold(None)),
                ["both", "claims", "hold"] => found.push(Quote::AllClaimsHold(Some(2))),
                [some, "are", "undetermined"] if of_cells => {
                    found.extend(number(some).map(Quote::Undetermined));
                }
                _ => {}
            }
        }
        if of_cells {
            for window in words.windows(2) {
                if let [some, "disagree"] = window {
                    found.extend(number(some).map(Quote::Disagree));
                }
            }
        }
    }
    found
}

/// A number in digits or, up to twenty, in words.
fn number(word: &str) -> Option<u32> {
    const WORDS: [&str; 21] = [
        "none",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    word.parse().ok().or_else(|| u32::try_from(WORDS.iter().position(|known| *known == word)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "\
# Results

* [a/one](../experiments/a/one/README.md) (A title): print: 12 of 16 cells agree, 1 disagree, 3
  undetermined, 4 of 5 claims hold; ns-2: 2 of 16 cells agree, 9 disagree, 5 undetermined.

| experiment | | print | ns-2 | verdict | claims |
| [a/one](../experiments/a/one/README.md) * | A title | undetermined | - | undetermined | 4/5 |
| [a/two](../experiments/a/two/README.md) | Another | agrees | - | agrees-with-print | 2/2 |

| experiment | with print | with ns-2 | ratio | farthest cell | seeds | 10⁶ hops |
| [a/one](../experiments/a/one/README.md) * | 12/16 | 2/16 | 0.98 over print | x: 0.8 over print | 20 | 18.39 |
| [a/two](../experiments/a/two/README.md) | 4/4 |  | 1.0 over print | x: 1.1 over print | 20 | 8.2 |
";

    fn wrong(id: &str, result: &str) -> usize {
        faults(RESULTS, id, &format!("# A\n\n## Result\n\n{result}\n\n## Command\n\n3 of 4 cells agree\n"))
            .len()
    }

    #[test]
    fn quotes_are_held_against_the_record() {
        for right in [
            "Undetermined: 12 of 16 cells agree, and 3 are undetermined.",
            "Twelve cells of 16 agree, 1 disagree; four of five claims hold.",
            "Ten seeds have 26 of 41 cells in agreement with the report. The rest is prose.",
        ] {
            assert_eq!(wrong("a/one", right), 0, "{right}");
        }
        for (wrongs, text) in [
            (1, "Agrees: more or less."),
            (1, "14 of 16 cells agree."),
            (2, "One cell of 16 agrees, 7 disagree."),
            (1, "12 of 16 cells agree and 4 are undetermined."),
            (1, "All claims hold."),
            (1, "All 16 cells agree."),
        ] {
            assert_eq!(wrong("a/one", text), wrongs, "{text}");
        }
        assert_eq!(wrong("a/two", "Agrees: all four cells agree; both claims hold."), 0);
        assert_eq!(wrong("a/two", "One cell of four disagrees; the three claims hold."), 2);
        assert_eq!(wrong("a/three", "All claims hold."), 0, "it has no record");
    }
}
