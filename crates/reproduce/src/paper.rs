//! Rules for all experiments of a paper, fixed before a result is seen: `<paper>/paper.toml`.

use std::path::Path;

use serde::Deserialize;
use tfrc::config::PacketSize;
use tfrc::study::Revision;
use toml::Spanned;

use super::error::{ExperimentError, NamedText};
use super::verdict::FEWEST_RUNS;
use tfrc_scenario::{FlowKind, Scenario, read_text};

/// The rules of a paper.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Paper {
    /// Rule for the number of seeds; without one, each `experiment.toml` gives the number.
    pub(crate) seeds: Option<SeedRule>,
    /// The revision of every TFRC flow as published; free if there is none.
    pub(crate) revision: Option<Revision>,
}

/// Rule for the number of seeds of a point: steps that double, until the intervals are narrow
/// enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeedRule {
    /// Seeds of the first step.
    pub(crate) least: u32,
    /// Seeds of the last step.
    pub(crate) most: u32,
    /// Packet hops of the experiment that no further step may exceed.
    pub(crate) hops: u64,
    /// Half the width of an interval is at most this part of half the width of the band: 3 for a
    /// third.
    pub(crate) part: f64,
    /// One more step where that leaves a cell undetermined.
    pub(crate) open: Option<OpenStep>,
}

/// The last step of a rule of seeds, for points with an undetermined cell: once, and all at once,
/// so that no result decides when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenStep {
    /// Seeds with this step.
    pub(crate) seeds: u32,
    /// Packet hops of the experiment that this step may not exceed.
    pub(crate) hops: u64,
}

impl SeedRule {
    /// The step after this many seeds; `None` at the end.
    pub(crate) fn after(&self, seeds: u32) -> Option<u32> {
        (seeds < self.most).then(|| seeds.saturating_mul(2).min(self.most))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    seeds: Option<RawSeeds>,
    #[serde(default)]
    profile: RawProfiles,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSeeds {
    least: Spanned<u32>,
    most: Spanned<u32>,
    hops: u64,
    part: Spanned<f64>,
    open: Option<Spanned<OpenStep>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawProfiles {
    #[serde(default)]
    as_published: RawProfile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    revision: Option<Revision>,
}

impl Paper {
    /// The rules in `paper.toml` of a paper's directory; none if the file is not there.
    pub(crate) fn load(directory: &Path) -> Result<Self, ExperimentError> {
        let path = directory.join("paper.toml");
        if !path.exists() {
            return Ok(Self::default());
        }
        let name = path.display().to_string();
        let text = tfrc_scenario::files::read_file(&path).map_err(|source| ExperimentError::Read {
            name: name.clone(),
            hint: "it holds the rules of the paper",
            source,
        })?;
        Self::parse(&NamedText { name, text })
    }

    fn parse(file: &NamedText) -> Result<Self, ExperimentError> {
        let raw: Raw = read_text(&file.text).map_err(|mistake| file.mistaken(mistake))?;
        let seeds = raw.seeds.map(|seeds| {
            let wrong = |place, message: &str, hint: &str| Err(file.invalid(place, message, "here", hint));
            let (least, most, part) = (*seeds.least.get_ref(), *seeds.most.get_ref(), *seeds.part.get_ref());
            if (least as usize) < FEWEST_RUNS {
                return wrong(seeds.least.span(), "too few seeds for a verdict", "at least 10");
            }
            if most < least {
                return wrong(seeds.most.span(), "fewer than the first step", "at least as many as `least`");
            }
            if !(part >= 1.0 && part.is_finite()) {
                return wrong(seeds.part.span(), "an interval wider than its band", "3 for a third");
            }
            let open = seeds.open.map(|open| (open.span(), open.into_inner()));
            if let Some((place, open)) = &open
                && open.seeds <= most
            {
                return wrong(place.clone(), "no more seeds than without it", "more seeds than `most`");
            }
            Ok(SeedRule { least, most, hops: seeds.hops, part, open: open.map(|(_, open)| open) })
        });
        Ok(Self { seeds: seeds.transpose()?, revision: raw.profile.as_published.revision })
    }

    /// The first flow of a scenario that runs another revision than the paper's, with that
    /// revision. TFRC-SP has its own document and is free.
    pub(crate) fn other_revision(&self, scenario: &Scenario) -> Option<OtherRevision> {
        let wanted = self.revision?;
        scenario.flows.iter().find_map(|flow| match &flow.kind {
            FlowKind::Tfrc(tfrc)
                if tfrc.revision != wanted
                    && !matches!(tfrc.config.settings().packet_size, PacketSize::TfrcSp(_)) =>
            {
                Some(OtherRevision { flow: flow.group.name.clone(), found: tfrc.revision, wanted })
            }
            _ => None,
        })
    }
}

/// A flow that does not run the paper's revision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OtherRevision {
    pub(crate) flow: String,
    pub(crate) found: Revision,
    pub(crate) wanted: Revision,
}

impl OtherRevision {
    /// The error, with the file of the scenario and the point.
    pub(crate) fn in_file(self, file: String, about: &str) -> ExperimentError {
        ExperimentError::Revision {
            file,
            flow: self.flow,
            found: self.found.name(),
            wanted: self.wanted.name(),
            about: about.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Paper, ExperimentError> {
        Paper::parse(&NamedText { name: "paper.toml".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn rules_and_their_mistakes() {
        let text = "[seeds]\nleast = 20\nmost = 400\nhops = 5_000_000_000\npart = 3\n\
                    [profile.as-published]\nrevision = 'sigcomm2000'\n";
        let paper = parse(text).expect("right");
        assert_eq!(paper.revision, Some(Revision::Sigcomm2000));
        let rule = paper.seeds.expect("a rule");
        assert_eq!(rule.open, None);
        let open = parse(&text.replace("part = 3", "part = 3\nopen = { seeds = 1000, hops = 7 }"));
        let open = open.expect("right").seeds.expect("a rule").open;
        assert_eq!(open, Some(OpenStep { seeds: 1000, hops: 7 }));
        let steps: Vec<u32> = std::iter::successors(Some(rule.least), |seeds| rule.after(*seeds)).collect();
        assert_eq!(steps, [20, 40, 80, 160, 320, 400]);
        assert_eq!(parse("").expect("no rule"), Paper::default());
        for (from, to, says) in [
            ("least = 20", "least = 5", "too few seeds"),
            ("most = 400", "most = 10", "fewer than the first step"),
            ("part = 3", "part = 0", "wider than its band"),
            ("part = 3", "part = 3\nopen = { seeds = 400, hops = 7 }", "no more seeds"),
            ("'sigcomm2000'", "'ns3'", "`ns3` cannot stand here"),
            ("hops", "hop", "unknown key `hop`"),
        ] {
            let wrong = parse(&text.replace(from, to)).expect_err(to);
            assert!(wrong.to_string().contains(says), "{wrong}");
        }
    }
}
