//! Measurements of minutes: `emulation` judges real time against bands, `fixed_points` writes the
//! page of `docs/models/` of that name, from an example of the core. Each fails with a sentence
//! for the terminal.

mod emulation;
mod fixed_points;

pub(crate) use emulation::emulation;

use crate::Outcome;

/// Maximum number of packets for a row of the page of fixed points: at p = 0.1 % there are 2,000
/// loss events then, and a mean of their intervals is known within some 2 %.
const PACKETS: u64 = 2_000_000;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Measurement {
    /// The network that ping and iperf3 see in `tfrc emu`, against its scenario
    Emulation {
        /// For CI: the development build, shorter
        #[arg(long)]
        short: bool,
    },
    /// Every estimator and method for small packets under random loss; writes the page
    FixedPoints,
}

impl Measurement {
    /// Runs the measurement.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Emulation { short } => emulation(short),
            Self::FixedPoints => fixed_points::fixed_points(PACKETS),
        }
    }
}
