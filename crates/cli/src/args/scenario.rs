//! Arguments of `tfrc scenario`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::JsonArgs;

/// Arguments of `tfrc scenario`: the built-in scenarios.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "sim, emu and link take a scenario by its name or by its file. A word without a dot or a \
                  slash that is the name of a scenario of the program means that scenario; write \
                  ./NAME for a file of that name.\n\n\
                  Examples:\n  \
                  tfrc sim bottleneck                      run one of the program's\n  \
                  tfrc scenario new my.toml                begin one of your own\n  \
                  tfrc scenario keys flow.tcp              every key of a table, with its words"
)]
pub struct ScenarioArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ScenarioCommand,
}

/// Subcommands of `tfrc scenario`.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub enum ScenarioCommand {
    /// Explain the keys of a scenario: those of a table, or name all tables
    Keys {
        /// The table, such as flow, flow.tcp or link.queue.red, with all tables inside it
        #[arg(value_name = "TABLE")]
        table: Option<String>,
        /// Print all as a page of Markdown
        #[arg(long, hide = true, conflicts_with = "table")]
        markdown: bool,
    },
    /// Name the scenarios, each with a sentence
    List {
        /// Output format.
        #[command(flatten)]
        output: JsonArgs,
    },
    /// Print the text of a scenario
    Show {
        /// Its name
        name: String,
    },
    /// Write a commented scenario to start from
    New {
        /// The file, which must not exist; standard output without one
        #[arg(value_name = "FILE.toml")]
        file: Option<PathBuf>,
    },
}
