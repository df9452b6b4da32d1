//! The sentence on a TFRC flow next to TCPs: how their rates differ, and by what.

use crate::human;
use tfrc_world::results::{AgainstTcp, FlowSummary, NoFactors, RateFactors};

/// Factors nearer to 1 than this are left out.
const NOTABLE: f64 = 1.1;

/// The sentence, for a flow that was compared.
pub(super) fn sentence(flow: &FlowSummary) -> Option<String> {
    let AgainstTcp { factors, missing } = flow.against_tcp?;
    let id = &flow.id;
    if let Some(missing) = missing {
        let why = match missing {
            NoFactors::DropsUnknown => "the drops are not known",
            NoFactors::FewLossEvents => "it takes ten loss events of each flow",
            NoFactors::NothingArrived => "nothing arrived of a flow",
        };
        return Some(format!("{id} is not compared with TCP: {why}."));
    }
    factors.map(|factors| {
        let RateFactors { ratio, tcp_flows, .. } = factors;
        let whose = if tcp_flows == 1 { "TCP's rate" } else { "the mean rate of the TCPs" };
        let reasons = reasons(&factors);
        let end = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
        format!("{id} has {} times {whose}{end}.", human::number(ratio))
    })
}

/// The notable factors, the greatest first.
fn reasons(factors: &RateFactors) -> Vec<String> {
    let words = |factor: f64, above: &'static str, below: &'static str| {
        (factor, if factor > 1.0 { above } else { below })
    };
    let mut all = [
        words(factors.loss_events, "fewer loss events", "more loss events"),
        words(factors.rtt, "its shorter round-trip time", "its longer round-trip time"),
        words(factors.rto, "the shorter timeout in its equation", "the longer timeout in its equation"),
        words(factors.obedience, "sending more than its equation", "sending less than its equation"),
        words(factors.tcp, "a TCP below the equation", "a TCP above the equation"),
    ];
    let size = |factor: f64| factor.ln().abs();
    all.sort_by(|(a, _), (b, _)| size(*b).total_cmp(&size(*a)));
    let notable = all.into_iter().filter(|(factor, _)| size(*factor) > NOTABLE.ln());
    notable.map(|(factor, words)| format!("{} by {words}", human::number(factor))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(against_tcp: Option<AgainstTcp>) -> FlowSummary {
        FlowSummary { id: "tfrc".to_owned(), against_tcp, ..FlowSummary::default() }
    }

    const FACTORS: RateFactors = RateFactors {
        tcp_flows: 1,
        ratio: 3.2,
        obedience: 1.0,
        loss_events: 2.1,
        rtt: 1.5,
        rto: 0.95,
        tcp: 1.069,
        tcp_loss_event_rate: 0.01,
    };

    #[test]
    fn the_greatest_factor_comes_first() {
        let said = |factors| sentence(&flow(Some(AgainstTcp::with(factors)))).unwrap();
        assert_eq!(
            said(FACTORS),
            "tfrc has 3.20 times TCP's rate: 2.10 by fewer loss events, 1.50 by its shorter round-trip time."
        );
        let low = RateFactors { ratio: 0.2, loss_events: 0.5, rtt: 1.0, tcp: 0.4, tcp_flows: 4, ..FACTORS };
        assert_eq!(
            said(low),
            "tfrc has 0.200 times the mean rate of the TCPs: 0.400 by a TCP above the equation, 0.500 by more loss \
             events."
        );
        let fair = RateFactors { ratio: 1.05, loss_events: 1.05, rtt: 1.0, ..FACTORS };
        assert_eq!(said(fair), "tfrc has 1.05 times TCP's rate.");
    }

    #[test]
    fn a_reason_in_place_of_factors() {
        let few = sentence(&flow(Some(AgainstTcp::without(NoFactors::FewLossEvents)))).unwrap();
        assert_eq!(few, "tfrc is not compared with TCP: it takes ten loss events of each flow.");
        assert_eq!(sentence(&flow(None)), None);
    }
}
