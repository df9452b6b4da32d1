//! Completeness of the lists: the requirement words of each section are counted in the text and
//! recorded in `compliance/words.toml`; the items of the section must cover as many.

use std::fmt;

use serde::Serialize;

use super::lists::{ItemState, Level, Lists};

/// The requirement words of one strength in a text that is counted.
#[derive(Debug, Serialize)]
pub(crate) struct LevelCount {
    rfc: u16,
    /// MUST or SHOULD; SHALL and REQUIRED count as MUST, RECOMMENDED as SHOULD.
    level: Level,
    words: usize,
    /// Covered by items with code and tests.
    done: usize,
    /// Covered by items with a reason instead.
    exceptions: usize,
    /// Neither.
    open: usize,
}

impl LevelCount {
    const fn strength(&self) -> &'static str {
        match self.level {
            Level::Must => "MUST",
            _ => "SHOULD",
        }
    }
}

impl fmt::Display for LevelCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rfc, words, done, exceptions, open, .. } = self;
        let level = self.strength();
        write!(f, "RFC {rfc}: {words} {level}: {done} done and tested, {exceptions} exceptions, {open} open")
    }
}

/// The counts of every text whose words are recorded.
pub(super) fn tally(lists: &Lists) -> Vec<LevelCount> {
    let texts = lists.words.iter().flat_map(|text| [(text.rfc, Level::Must), (text.rfc, Level::Should)]);
    texts
        .map(|(rfc, level)| {
            let mut count = LevelCount { rfc, level, words: 0, done: 0, exceptions: 0, open: 0 };
            for section in lists.sections.iter().filter(|section| section.rfc == rfc) {
                for item in section.items.iter().filter(|item| item.level == level) {
                    let words = item.words();
                    count.words += words;
                    if lists.exceptions.contains_key(&section.name_of(item)) {
                        count.exceptions += words;
                    } else if item.state == ItemState::Planned {
                        count.open += words;
                    } else {
                        count.done += words;
                    }
                }
            }
            count
        })
        .collect()
}

/// The page that shows the counts, from the root of the repository.
pub(super) const PAGE: &str = "docs/internals/conformance.md";

/// Rows that the page lacks.
pub(super) fn missing_rows(page: &str, counts: &[LevelCount]) -> Vec<String> {
    let rows = counts.iter().map(|count| {
        let LevelCount { rfc, words, done, exceptions, open, .. } = count;
        format!("| {rfc} | {} | {words} | {done} | {exceptions} | {open} |", count.strength())
    });
    rows.filter(|row| !page.lines().any(|line| line == row))
        .map(|row| format!("{PAGE} lacks {row}"))
        .collect()
}

/// Sections whose items cover another number of words than their text has.
pub(super) fn holes(lists: &Lists) -> Vec<String> {
    let mut holes = Vec::new();
    for text in &lists.words {
        let rfc = text.rfc;
        let sum: usize = text.sections.values().sum();
        if sum != text.total {
            holes.push(format!("words.toml: RFC {rfc} has {} words, its sections {sum}", text.total));
        }
        for (name, words) in &text.sections {
            let section = lists.sections.iter().find(|s| s.rfc == rfc && s.section == *name);
            let covered: usize = section.iter().flat_map(|s| &s.items).map(super::Item::words).sum();
            if covered != *words {
                holes.push(format!("{rfc}/{name}: {words} requirement words, {covered} covered by items"));
            }
        }
        let listed = lists.sections.iter().filter(|s| s.rfc == rfc);
        holes.extend(
            listed
                .filter(|s| !text.sections.contains_key(&s.section) && s.items.iter().any(|i| i.words() > 0))
                .map(|s| format!("{rfc}/{}: words.toml has no count of it", s.section)),
        );
    }
    holes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn lists(items: &str, words: &str) -> Lists {
        let section = format!("rfc = 1\nsection = \"2\"\ntitle = \"t\"\n{items}");
        Lists {
            sections: vec![toml::from_str(&section).expect("a section")],
            exceptions: BTreeMap::from([("1/2/b".to_owned(), "why".to_owned())]),
            points: Vec::new(),
            words: vec![toml::from_str(words).expect("counts")],
        }
    }

    const ITEMS: &str = "[[item]]\nid = \"a\"\nlevel = \"MUST\"\nwords = 2\ntext = \"t\"\n\
                         [[item]]\nid = \"b\"\nlevel = \"MUST\"\ntext = \"t\"\n\
                         [[item]]\nid = \"c\"\nlevel = \"MAY\"\ntext = \"t\"\n";

    #[test]
    fn every_word_is_covered_once() {
        let right = lists(ITEMS, "rfc = 1\ntotal = 3\nsections = { \"2\" = 3 }");
        assert_eq!(holes(&right), [""; 0]);
        let shown: Vec<_> = tally(&right).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "RFC 1: 3 MUST: 2 done and tested, 1 exceptions, 0 open",
                "RFC 1: 0 SHOULD: 0 done and tested, 0 exceptions, 0 open"
            ]
        );
    }

    #[test]
    fn the_page_has_the_counts_of_the_lists() {
        let counts = tally(&lists(ITEMS, "rfc = 1\ntotal = 3\nsections = { \"2\" = 3 }"));
        let page = "| 1 | MUST | 3 | 2 | 1 | 0 |\n| 1 | SHOULD | 0 | 0 | 0 | 0 |\n";
        assert_eq!(missing_rows(page, &counts), [""; 0]);
        assert_eq!(missing_rows(&page.replace("2 | 1", "3 | 0"), &counts).len(), 1);
    }

    #[test]
    fn a_word_too_few_or_too_many_is_a_hole() {
        for words in [
            "rfc = 1\ntotal = 4\nsections = { \"2\" = 4 }",
            "rfc = 1\ntotal = 2\nsections = { \"2\" = 2 }",
            "rfc = 1\ntotal = 4\nsections = { \"2\" = 3 }",
            "rfc = 1\ntotal = 4\nsections = { \"2\" = 3, \"3\" = 1 }",
            "rfc = 1\ntotal = 0\nsections = {}",
        ] {
            assert_eq!(holes(&lists(ITEMS, words)).len(), 1, "{words}");
        }
    }
}
