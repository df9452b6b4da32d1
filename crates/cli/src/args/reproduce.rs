//! Arguments of `tfrc reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tfrc_lab::batch::Shard;

use super::output::JsonArgs;
use super::sim::shard;

/// Arguments of `tfrc reproduce`: the experiments of the literature.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc reproduce list                                the experiments\n  \
                        tfrc reproduce sigcomm2000/figure-9 --out report   one of them, and a page\n  \
                        tfrc reproduce sigcomm/figure-9 --figure fig9.pdf  its figure for a paper")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ReproduceArgs {
    /// The beginnings of experiments' ids, such as rfc4828 or sigcomm2000/fig-0; a figure's number
    /// at the conference, such as sigcomm/figure-9; `all` but those that take hours; or `list` to
    /// name them
    #[arg(value_name = "ID-PREFIX", required = true)]
    pub wanted: Vec<String>,
    /// Where to run: virtual time, or the emulated sides of experiments in real time with the
    /// kernel's TCP
    #[arg(long, value_name = "WORLD", default_value = "sim")]
    pub world: WorldArg,
    /// Write what was emulated to emulated.csv of each experiment, which the other world shows
    #[arg(long, conflicts_with_all = ["quick", "shard", "mutations"])]
    pub record: bool,
    /// Fewer runs, rows and seconds: enough to see that everything works, not for verdicts
    #[arg(long)]
    pub quick: bool,
    /// Break the algorithm on purpose: run each experiment's mutations, at least one of which has
    /// to make it disagree
    #[arg(long, conflicts_with_all = ["quick", "shard"])]
    pub mutations: bool,
    /// Run everything again
    #[arg(long)]
    pub no_cache: bool,
    /// Where the results of single runs are kept; given again, further directories that are only
    /// read. Without it .tfrc-cache; with the program's own experiments $XDG_CACHE_HOME/tfrc or
    /// ~/.cache/tfrc
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub cache: Vec<PathBuf>,
    /// Runs at once; 0 for one on each processor, and four in the emulated world, whose runs mostly
    /// wait
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// Only every N-th run, from the I-th on, for another machine to do the others
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Draw the experiment, one alone, in the form of its paper; the ending chooses the format:
    /// .svg, .pdf or .png
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mutations", "shard"])]
    pub figure: Option<PathBuf>,
    /// Write the report there: a page that opens with the figures, and each figure as SVG
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where the experiments are. Without it the folder experiments here, as in a checkout; where
    /// there is none, those of the program
    #[arg(long, value_name = "DIR")]
    pub experiments: Option<PathBuf>,
    /// Output format.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// Where experiments happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorldArg {
    /// Emulated, in real time.
    Emu,
    /// Simulated, in virtual time.
    Sim,
}
