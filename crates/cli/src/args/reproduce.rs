//! Arguments of `tfrc reproduce`.

use std::ffi::OsString;

use clap::Args;

/// Arguments of `tfrc reproduce`, which are those of `tfrc-lab run`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ReproduceArgs {
    /// The arguments of `tfrc-lab run`; or `list` and those of `tfrc-lab list`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
