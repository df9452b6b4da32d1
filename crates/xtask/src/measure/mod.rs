//! Measurements of minutes: `emulation` judges real time against bands, `fixed_points` and
//! `tcp_alone` write the pages of `docs/models/` that have their names, from an example of the
//! crate that they are about. Each fails with a sentence for the terminal.

mod emulation;
mod fixed_points;
mod tcp_alone;

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
    /// Every TCP alone and in fours through one bottleneck, in virtual time; writes the page
    Tcp {
        /// Figures that the example of crates/sim has printed before
        #[arg(long, value_name = "FILE")]
        figures: Option<String>,
    },
}

impl Measurement {
    /// Runs the measurement.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Emulation { short } => emulation(short),
            Self::FixedPoints => fixed_points::fixed_points(PACKETS),
            Self::Tcp { figures } => tcp_alone::tcp_alone(figures.as_deref()),
        }
    }
}
