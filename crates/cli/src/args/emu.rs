//! Arguments of `tfrc emu`.

use std::path::PathBuf;

use clap::Args;

use super::output::{LiveArgs, RecordArgs};

/// Arguments of `tfrc emu`: a scenario's network in real time, between network namespaces.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Nodes are network namespaces in which commands and the scenario's flows run; \
                        their names resolve. No root is needed where the system gives user namespaces.\n\
                        With --at it ends with the last command given, with that command's exit status, \
                        or 3 outside of the limits of fidelity; the others are ended then. Without, the scenario's flows run for its duration; \
                        a scenario without flows opens a shell at its first node.\n\n\
                        Examples:\n  \
                        tfrc emu mix-droptail --report page.html   its TFRC flows beside the kernel's TCP\n  \
                        tfrc emu bottleneck --at far 'iperf3 -s -1' --at near 'iperf3 -c far'")]
pub(crate) struct EmuArgs {
    /// The network: a file, or a built-in scenario (`tfrc scenario list`)
    #[arg(value_name = "SCENARIO", required_unless_present = "job")]
    pub scenario: Option<PathBuf>,
    /// Run a shell command at a node; may be given several times, each starts after the one before
    #[arg(long, num_args = 2, value_names = ["NODE", "COMMAND"], action = clap::ArgAction::Append)]
    pub at: Vec<String>,
    /// Open a shell at a node
    #[arg(long, value_name = "NODE", conflicts_with = "at")]
    pub shell: Option<String>,
    /// Change a value of the scenario, such as link.path.rate=4Mbit/s; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seed of what the network draws
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Let the programs at the nodes run before all others, as the scenario's own flows do; a
    /// program that uses the CPU for 2 s without sleeping is killed (SIGXCPU)
    #[arg(long)]
    pub first: bool,
    /// Capture the packets that join the queue of a link, before it marks any; may be given several
    /// times
    #[arg(long, num_args = 2, value_names = ["LINK", "FILE"])]
    pub pcap: Vec<String>,
    /// Read a job of `tfrc-lab` from standard input, write its result to standard output
    #[arg(long, hide = true, conflicts_with_all = ["at", "shell", "first", "pcap", "report", "series"])]
    pub job: bool,
    /// Number of the descriptor that holds what was read before: the scenario, or the job
    #[arg(long, hide = true, value_name = "N")]
    pub read_before: Option<i32>,
    /// Live view.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Records and output format.
    #[command(flatten)]
    pub output: RecordArgs,
}

/// A command and the node where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AtNode {
    /// The node's name.
    pub node: String,
    /// Text for the shell.
    pub command: String,
}

impl EmuArgs {
    /// The commands with their nodes, in the order given.
    #[must_use]
    pub(crate) fn commands(&self) -> Vec<AtNode> {
        let pairs = self.at.chunks_exact(2);
        pairs.map(|pair| AtNode { node: pair[0].clone(), command: pair[1].clone() }).collect()
    }

    /// The links to capture, each with its file.
    pub(crate) fn captures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pcap.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()))
    }
}
