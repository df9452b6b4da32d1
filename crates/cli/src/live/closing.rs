//! The sentence at the end of a contest: share, smoothness, loss.

use tfrc_report::human;
use tfrc_report::record::Summary;

use super::WIDTH;

/// Says in a sentence, wrapped at 80 columns, what was seen at the bottleneck; `None` for a run
/// without one.
#[must_use]
pub fn closing(summary: &Summary) -> Option<String> {
    let bottleneck = summary.bottleneck_bps?;
    let tcps = summary.flows.len().saturating_sub(1);
    let mut parts = Vec::new();
    match summary.share {
        Some(share) => {
            let others = if tcps == 1 { "one TCP".to_owned() } else { format!("{tcps} TCPs") };
            parts.push(format!("TFRC took {share:.2} of a fair share alongside {others}"));
        }
        None => {
            let got = summary.wire_goodput_bps.or(summary.goodput_bps).map(human::rate);
            let got = got.map_or(String::new(), |got| format!(" {got} of"));
            let link = human::rate(bottleneck);
            parts.push(format!("TFRC took{got} the bottleneck's {link}"));
        }
    }
    if let Some(ratio) = summary.cov_ratio {
        parts.push(format!("its rate varied {ratio:.2} times as much as TCP's"));
    }
    let lost =
        summary.packet_loss_rate.map(|share| format!("{} of its packets were lost", human::percent(share)));
    let sentence = match (parts.join("; "), lost) {
        (seen, Some(lost)) => format!("{seen}; {lost}."),
        (seen, None) => format!("{seen}."),
    };
    Some(wrapped(&sentence.replace('\u{a0}', " ")))
}

/// Breaks a text at spaces so that no line is longer than [`WIDTH`].
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let full = lines.last().is_some_and(|line| line.chars().count() + 1 + word.chars().count() > WIDTH);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use tfrc_world::results::FlowSummary;

    use super::*;

    #[test]
    fn share_smoothness_and_loss() {
        let mut summary = Summary {
            bottleneck_bps: Some(2e6),
            wire_goodput_bps: Some(1.9e6),
            packet_loss_rate: Some(0.0123),
            flows: vec![FlowSummary::default(); 2],
            share: Some(1.049),
            cov_ratio: Some(0.45),
            ..Summary::default()
        };
        let text = closing(&summary).expect("a bottleneck");
        assert_eq!(
            text.replace('\n', " "),
            "TFRC took 1.05 of a fair share alongside one TCP; its rate varied 0.45 times as much as TCP's; \
             1.23 % of its packets were lost."
        );
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        (summary.share, summary.cov_ratio) = (None, None);
        let text = closing(&summary).expect("a bottleneck");
        assert_eq!(
            text.replace('\n', " "),
            "TFRC took 1.90 Mbit/s of the bottleneck's 2.00 Mbit/s; 1.23 % of its packets were lost."
        );
        assert_eq!(closing(&Summary::default()), None);
    }
}
