//! Arguments of `tfrc sim`.

use std::path::PathBuf;

use clap::Args;
use tfrc_units::Duration;
use tfrc_world::batch::Shard;

use super::output::{LiveArgs, StreamArgs};
use super::values;

/// Arguments of `tfrc sim`: a scenario in virtual time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc sim bottleneck --report page.html                     one of the program's scenarios, with a page\n  \
                        tfrc sim my.toml --set flow.0.count=4 --runs 10 --jobs 0   ten runs of a changed file, on all processors")]
pub(crate) struct SimArgs {
    /// A file, or a built-in scenario (`tfrc scenario list`)
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["merge", "schema"])]
    pub scenario: Option<PathBuf>,
    /// The seed of all randomness, in place of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Runs of each point, with seeds that come from the one seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Change a value: its path, such as link.bottleneck.rate=2Mbit/s or flow.0.count=4; may be
    /// given again
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Threads for several runs; 0 for one on each processor
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: usize,
    /// Only every N-th run, from the I-th on, for another machine to do the others; see --merge
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Join what --shard I/N --json printed for every I
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["scenario", "schema", "shard", "set", "seed", "runs", "pcap", "packets", "series", "timing"])]
    pub merge: Vec<PathBuf>,
    /// Write what the sender of each flow sends and receives, for Wireshark and `tfrc capture`:
    /// headers, and lengths as on the links. TFRC is DCCP with CCID 3
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub pcap: Option<PathBuf>,
    /// Write what happens to each packet of every flow on every link, a line each
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["shard", "cache"])]
    pub packets: Option<PathBuf>,
    /// Write a page with charts of every flow and link; of several runs, one with the means of each
    /// point and their 95 % intervals
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write time series of every flow and link, a line for each in each interval of each run
    #[arg(long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Interval of --series and --json-stream
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::positive_time)]
    pub interval: Duration,
    /// Reuse results of this version of the program that are stored in this folder, and store new
    /// ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["series", "pcap", "timing", "json_stream", "merge"])]
    pub cache: Option<PathBuf>,
    /// Add processor time, time per packet-hop and the most memory used
    #[arg(long)]
    pub timing: bool,
    /// Print the JSON Schema of scenarios
    #[arg(long, conflicts_with = "scenario")]
    pub schema: bool,
    /// Live view.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Output format.
    #[command(flatten)]
    pub output: StreamArgs,
}

pub(super) fn shard(written: &str) -> Result<Shard, String> {
    let read = || {
        let (index, of) = written.split_once('/')?;
        let shard = Shard { index: index.parse().ok()?, of: of.parse().ok()? };
        (1..=shard.of).contains(&shard.index).then_some(shard)
    };
    read().ok_or_else(|| "expected I/N with I from 1 to N, such as 2/4".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards() {
        assert_eq!(shard("2/4"), Ok(Shard { index: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
