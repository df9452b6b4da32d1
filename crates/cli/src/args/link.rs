//! Arguments of `tfrc link`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, builder::ValueParser};
use tfrc_scenario::{Document, ScenarioError, World};
use tfrc_units::text;

use super::output::{LiveArgs, RecordArgs};

/// Arguments of `tfrc link`: the network of a scenario in real time, as a relay of UDP datagrams.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc link --rate 2M --delay 20ms --loss 1% --queue 25p --listen 127.0.0.1:7000 --to 127.0.0.1:6511\n  \
                        tfrc link wireless --set link.air.rate=1M --listen 127.0.0.1:7000 --to 127.0.0.1:6511 --report link.html")]
pub(crate) struct LinkArgs {
    /// The network: a file, or a built-in scenario (`tfrc scenario list`)
    #[arg(value_name = "SCENARIO", required_unless_present = "rate")]
    pub scenario: Option<PathBuf>,
    /// Where datagrams come in; given several times, each with a --to of its own, the programs
    /// there share the network
    #[arg(long, value_name = "ADDR:PORT", required = true)]
    pub listen: Vec<SocketAddr>,
    /// Where they go after the network
    #[arg(long, value_name = "ADDR:PORT", required = true)]
    pub to: Vec<SocketAddr>,
    /// In place of a scenario: a link of this rate, both ways
    #[arg(long, value_name = "RATE", value_parser = checked(text::rate))]
    pub rate: Option<String>,
    /// Its delay, each way; without it 0ms
    #[arg(long, value_name = "TIME", value_parser = checked(text::time))]
    pub delay: Option<String>,
    /// The share of packets that it loses in the forward direction; without it 0%
    #[arg(long, value_name = "SHARE", value_parser = checked(text::probability))]
    pub loss: Option<String>,
    /// Room for waiting packets at either end: packets (25p), bytes (50kB), or a table as in a
    /// scenario; without it 100p
    #[arg(long, value_name = "SIZE", value_parser = queue)]
    pub queue: Option<String>,
    /// Change a value of the scenario, such as link.path.rate=4Mbit/s; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// The seed of all randomness, in place of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Live view.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Records and output format.
    #[command(flatten)]
    pub output: RecordArgs,
}

impl LinkArgs {
    /// The settings of the link in place of a scenario that are given: their keys and values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all =
            [("rate", &self.rate), ("delay", &self.delay), ("loss", &self.loss), ("queue", &self.queue)];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }
}

/// Takes a quantity as it is written, if it is one.
fn checked<T, E>(read: fn(&str) -> Result<T, E>) -> ValueParser
where
    T: 'static,
    E: std::fmt::Display + 'static,
{
    ValueParser::new(move |written: &str| match read(written) {
        Ok(_) => Ok(written.to_owned()),
        Err(error) => Err(error.to_string()),
    })
}

/// The scenario of a link without a file.
pub(crate) fn one_link() -> Document {
    let link = "[[link]]\nname = 'path'\nfrom = 'near'\nto = 'far'\nrate = '1Mbit/s'\ndelay = '0ms'\nloss = '0%'\nqueue = '100p'\n";
    Document::new("link", format!("duration = '1h'\nnodes = ['near', 'far']\n{link}"))
}

/// Takes a queue as it is written, if scenarios have it.
fn queue(written: &str) -> Result<String, String> {
    let mut document = one_link();
    document.set(format!("link.path.queue={written}"));
    match document.plan_for(World::Links) {
        Ok(_) => Ok(written.to_owned()),
        Err(ScenarioError::Invalid(wrong)) => {
            Err(wrong.hint.iter().fold(wrong.message.clone(), |said, hint| format!("{said}; {hint}")))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_of_a_link_answers_by_its_own_name() {
        let command = LinkArgs::augment_args(clap::Command::new("link"));
        let read = |option: &str, value: &str| {
            let ends = ["--listen", "127.0.0.1:7000", "--to", "127.0.0.1:6511"];
            let words = ["link", "--rate", "2M", option, value].into_iter().chain(ends);
            command.clone().try_get_matches_from(words).map_err(|error| error.to_string())
        };
        for (option, right, wrong) in [
            ("--queue", "25p", "25x"),
            ("--queue", "{ codel = { limit = '100p' } }", "{ codel = {} }"),
            ("--loss", "1%", "abc"),
            ("--delay", "20ms", "2"),
        ] {
            assert!(read(option, right).is_ok(), "{option} {right}");
            let said = read(option, wrong).expect_err(wrong);
            assert!(said.contains(&format!("'{option} <")) && !said.contains("--set"), "{said}");
        }
    }
}
