//! Arguments of `tfrc schema`.

use clap::Args;

/// Arguments of `tfrc schema`: the form of what is printed as JSON.
#[derive(Debug, Clone, Copy, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc schema > tfrc.schema.json        the JSON Schema of every document\n  \
                        tfrc sim --schema                     that of scenarios, for editors")]
pub(crate) struct SchemaArgs {
    /// Print the keys as tables of Markdown instead
    #[arg(long)]
    pub keys: bool,
}
