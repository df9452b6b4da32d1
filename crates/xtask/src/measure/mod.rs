//! Measurements of minutes: `Bernoulli`, `Demo` and `Emulation` judge real time against bands,
//! `FixedPoints` and `Tcp` write pages.

mod bernoulli;
mod demo;
mod emulation;
mod fixed_points;
mod tcp_alone;

pub(crate) use emulation::emulation;

use crate::Outcome;

/// Maximum number of packets for a row of the page of fixed points.
const PACKETS: u64 = 2_000_000;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Measurement {
    /// Rate and loss event rate of the built command under random loss, in real time
    Bernoulli {
        /// Length in seconds
        #[arg(long, value_name = "N", default_value_t = 240)]
        seconds: u32,
    },
    /// TFRC's share, smoothness and yielding against 1 and 4 simulated TCPs, in real time
    Demo {
        /// Length of each of the four cases in seconds
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u32,
    },
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
            Self::Bernoulli { seconds } => bernoulli::bernoulli(seconds),
            Self::Demo { seconds } => demo::demo(seconds),
            Self::Emulation { short } => emulation(short),
            Self::FixedPoints => fixed_points::fixed_points(PACKETS),
            Self::Tcp { figures } => tcp_alone::tcp_alone(figures.as_deref()),
        }
    }
}
