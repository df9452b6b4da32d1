//! `tfrc equation`: the TCP throughput equation (RFC 5348 §3.1) and its inverse.

use schemars::JsonSchema;
use serde::Serialize;
use tfrc::equation::{Equation, InverseError, RtoPolicy};
use tfrc_report::human;
use tfrc_units::{Duration, Probability, Rate, f64_from_u64};

use crate::args::{EquationArgs, Format};
use crate::{Failure, document};

/// Result of the throughput equation or of its inverse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Equation")]
pub(crate) struct EquationAnswer {
    /// Rate X, bit/s.
    rate_bps: f64,
    /// Loss event rate p, 0 to 1.
    p: f64,
    /// Round-trip time R, seconds.
    rtt_s: f64,
    /// Retransmission timeout t_RTO, seconds.
    rto_s: f64,
    /// Segment size s, bytes.
    segment_bytes: u64,
}

/// Computes and prints.
///
/// # Errors
/// When no loss event rate gives the rate asked for, or standard output cannot be written.
pub(crate) fn run(args: &EquationArgs) -> Result<(), Failure> {
    let answer = solve(args)?;
    super::print(&match args.output.format() {
        Format::Human => human(&answer, args.rto),
        _ => format!("{}\n", document::text(&answer)),
    })
}

fn solve(args: &EquationArgs) -> Result<EquationAnswer, Failure> {
    let rto = args.rto.map_or(RtoPolicy::FourRtt, RtoPolicy::Fixed);
    let equation = Equation { rto, ..Equation::default() };
    let segment = f64_from_u64(args.segment);
    let (rate, p): (Rate, Probability) = match (args.loss_event_rate, args.rate) {
        (Some(p), _) => (equation.rate(segment, args.rtt, p), p),
        (None, Some(rate)) => {
            let p = equation.loss_event_rate(segment, args.rtt, rate).map_err(|e| refusal(e, rate))?;
            (rate, p)
        }
        (None, None) => return Err(Failure::usage("nothing to compute from", "give -p P or --rate RATE")),
    };
    Ok(EquationAnswer {
        rate_bps: rate.bits_per_sec(),
        p: p.get(),
        rtt_s: args.rtt.as_secs_f64(),
        rto_s: rto.timeout(args.rtt).as_secs_f64(),
        segment_bytes: args.segment,
    })
}

fn refusal(error: InverseError, asked: Rate) -> Failure {
    let asked = human::rate(asked.bits_per_sec());
    let hint = match error {
        InverseError::RateTooLow(least) => format!(
            "at this segment size and round-trip time the least rate is {}, at p = 1; ask for more than that",
            human::rate(least.bits_per_sec())
        ),
        InverseError::RateTooHigh => {
            "ask for a lower rate, a larger segment or a shorter round-trip time".to_owned()
        }
        _ => "segment size and round-trip time must be above zero".to_owned(),
    };
    Failure::usage(format!("no loss event rate gives {asked}"), hint)
}

fn human(answer: &EquationAnswer, rto: Option<Duration>) -> String {
    let EquationAnswer { rate_bps, p, rtt_s, rto_s, segment_bytes } = *answer;
    let packets = rate_bps / 8.0 / f64_from_u64(segment_bytes);
    let rows = [
        ("rate X", format!("{}  ({rate_bps:.3} bit/s)", human::rate(rate_bps))),
        (
            "in packets",
            format!(
                "{} per round-trip time, {} per second",
                human::number(packets * rtt_s),
                human::number(packets)
            ),
        ),
        ("loss event rate p", format!("{p:.9}  (one loss event in {} packets)", human::number(1.0 / p))),
        ("round-trip time R", human::time(rtt_s)),
        (
            "timeout t_RTO",
            format!("{}  ({})", human::time(rto_s), if rto.is_some() { "as given" } else { "4 R" }),
        ),
        ("segment size s", format!("{segment_bytes} bytes")),
    ];
    rows.iter().map(|(name, value)| format!("{name:<18} {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::args::{Cli, Command};

    fn solve(line: &str) -> Result<EquationAnswer, Failure> {
        match Cli::try_parse_from(line.split_whitespace()).expect("the line is right").command {
            Command::Equation(args) => super::solve(&args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_rate_and_back() {
        let there = solve("tfrc equation --rtt 100ms -s 1500B -p 0.01").expect("in range");
        assert!((there.rate_bps / 1_347_986.812_355_915_8 - 1.0).abs() < 1e-12);
        assert!((there.rto_s - 0.4).abs() < 1e-15);
        let line = format!("tfrc equation --rtt 100ms -s 1500B --rate {}bit/s", there.rate_bps);
        let back = solve(&line).expect("in range");
        assert!((back.p / 0.01 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_given_timeout_replaces_four_round_trips() {
        let short = solve("tfrc equation --rtt 100ms -s 1500B -p 0.1 --rto 200ms").expect("in range");
        let long = solve("tfrc equation --rtt 100ms -s 1500B -p 0.1 --rto 2s").expect("in range");
        let four = solve("tfrc equation --rtt 100ms -s 1500B -p 0.1").expect("in range");
        assert!(short.rate_bps > four.rate_bps && four.rate_bps > long.rate_bps);
        assert!((short.rto_s - 0.2).abs() < 1e-15);
    }

    #[test]
    fn a_rate_out_of_range_is_a_usage_error_with_the_limit() {
        let failure = solve("tfrc equation --rtt 100ms -s 1500B --rate 10bit/s").expect_err("too low");
        assert_eq!(failure.status(), 2);
        assert!(failure.to_string().contains("the least rate is"), "{failure}");
    }

    #[test]
    fn words_for_a_person() {
        let answer = solve("tfrc equation --rtt 100ms -s 1500B -p 0.01").expect("in range");
        assert_eq!(
            human(&answer, None),
            "rate X             1.35 Mbit/s  (1347986.812 bit/s)\n\
             in packets         11.2 per round-trip time, 112 per second\n\
             loss event rate p  0.010000000  (one loss event in 100 packets)\n\
             round-trip time R  100 ms\n\
             timeout t_RTO      400 ms  (4 R)\n\
             segment size s     1500 bytes\n"
        );
    }
}
