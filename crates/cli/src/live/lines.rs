//! The line of a second, where no chart is drawn.

use tfrc_report::human;

use super::Model;
use super::scale::{figure, unit};

/// The most columns of a line.
pub const WIDTH: usize = 80;

/// Describes the time since the last line.
pub(super) fn line(model: &mut Model) -> String {
    let fair = model.reference.back().map(|(_, rate)| *rate);
    let (unit, size) = unit(model.greatest_rate());
    let mut rates = Vec::new();
    for flow in &mut model.flows {
        let (bits, time) = std::mem::take(&mut flow.since_line);
        if flow.is_running() {
            rates.push(if time > 0.0 { bits / time / size } else { 0.0 });
        }
    }
    let longest_queue = std::mem::take(&mut model.longest_queue);
    let (own, tcps) = rates.split_first().map_or((0.0, &[][..]), |(own, tcps)| (*own, tcps));
    let all = |tcps: &[f64]| tcps.iter().map(|rate| format!(" {}", figure(*rate))).collect::<String>();
    let mean = tcps.iter().sum::<f64>() / tcps.len().max(1) as f64;
    let forms = match tcps.len() {
        0 => vec![String::new()],
        1 => vec![format!("  TCP{}", all(tcps))],
        n => vec![format!("  TCPs{}", all(tcps)), format!("  {n} TCPs {} each", figure(mean))],
    };
    let share = fair.map_or(String::new(), |rate| format!("  fair {}", figure(rate / size)));
    let p = model.loss_event_rate.map_or(String::new(), |p| format!("  p {}", human::number(p)));
    let rtt = model.rtt.back().map_or(String::new(), |(_, rtt)| format!("  RTT {}", human::time(*rtt)));
    let queue = if model.queue.is_empty() { String::new() } else { format!("  queue {longest_queue:.0}") };
    let start = format!("{:6.1} s  TFRC {}", model.seconds(), figure(own));
    // The first form that fits; the last one without what does not.
    let mut text = String::new();
    for tcps in forms {
        for queue in [queue.as_str(), ""] {
            text = format!("{start}{tcps}{share} {unit}{p}{rtt}{queue}");
            if text.chars().count() <= WIDTH {
                return text;
            }
        }
    }
    text.chars().take(WIDTH).collect()
}

#[cfg(test)]
mod tests {
    use tfrc_report::record::Record;
    use tfrc_world::results::Interval;

    use super::super::{ModelConfig, View};
    use super::*;

    fn after_a_second(tcps: usize) -> String {
        let mut model = Model::new(ModelConfig {
            view: View::Contest,
            title: "tfrc demo".to_owned(),
            duration_s: Some(20.0),
            queue_limit: Some(25.0),
            controls: None,
        });
        for tenth in 1..=10_u32 {
            let own = Interval {
                t_s: f64::from(tenth) / 10.0,
                interval_s: 0.1,
                sent_packets: Some(9),
                goodput_bps: Some(f64::from(tenth) * 1e5),
                link_rate_bps: Some(2e6),
                loss_event_rate: Some(0.012_345),
                rtt_s: Some(0.145_2),
                queue_packets: Some(f64::from(tenth)),
                ..Interval::default()
            };
            model.take(&Record::Interval(own.clone()));
            for tcp in 1..=tcps {
                let flow = Some(format!("tcp-{tcp}"));
                model.take(&Record::Interval(Interval { flow, goodput_bps: Some(1.234e6), ..own.clone() }));
            }
        }
        line(&mut model)
    }

    #[test]
    fn a_line_has_the_mean_rates_of_all_flows() {
        let states = "p 0.0123  RTT 145 ms  queue 10";
        let short = "p 0.0123  RTT 145 ms";
        assert_eq!(after_a_second(0), format!("   1.0 s  TFRC 0.55  fair 2.00 Mbit/s  {states}"));
        assert_eq!(after_a_second(1), format!("   1.0 s  TFRC 0.55  TCP 1.23  fair 1.00 Mbit/s  {states}"));
        assert_eq!(
            after_a_second(2),
            format!("   1.0 s  TFRC 0.55  TCPs 1.23 1.23  fair 0.67 Mbit/s  {short}")
        );
        assert_eq!(
            after_a_second(9),
            format!("   1.0 s  TFRC 0.55  9 TCPs 1.23 each  fair 0.20 Mbit/s  {short}")
        );
    }

    #[test]
    fn a_line_fits_80_columns() {
        for tcps in 0..=64 {
            let line = after_a_second(tcps);
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert!(line.contains("  RTT 145 ms"), "{line}");
        }
    }
}
