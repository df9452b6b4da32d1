//! Arguments of `tfrc send`.

use std::path::PathBuf;

use clap::Args;
use tfrc_net::options::{CircuitBreaker, PromiseStart, SkippedNumbers};
use tfrc_net::{Friend, Profile, Revision, Variant};
use tfrc_units::Dscp;
use tfrc_units::{Duration, Rate};

use super::output::{LiveArgs, StreamArgs};
use super::values::{self, FileOrStream, RatePlace, Target};

/// Arguments of `tfrc send`: connects by DCCP over UDP (RFC 6773) and sends at the allowed rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct SendArgs {
    /// The receiver; without a port 6511
    #[arg(value_name = "HOST[:PORT]", value_parser = values::target)]
    pub to: Target,
    /// Wait this long for a receiver that is not there yet, or busy
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub wait: Option<Duration>,
    /// Use IPv4 addresses of HOST only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 addresses of HOST only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Send a file, or standard input (-); without it made-up data
    #[arg(help_heading = DATA, short = 'f', long, value_name = "FILE|-", value_parser = values::place)]
    pub file: Option<FileOrStream>,
    /// Never send faster than this; without it 50 Mbit/s to another host and no cap to this one
    #[arg(help_heading = RATE, short = 'b', long = "cap", value_name = "RATE", value_parser = values::positive_rate)]
    pub cap: Option<Rate>,
    /// Application data in each packet
    #[arg(help_heading = DATA, short = 'l', long = "length", value_name = "SIZE", default_value = "1316B", value_parser = values::packet_size)]
    pub length: u16,
    /// Packets a second the application makes; without it as many as allowed
    #[arg(help_heading = DATA, long, value_name = "N", value_parser = values::packets_per_second)]
    pub pps: Option<f64>,
    /// Stop after this time, data left or not; made-up data without -t and -n stops after 10 s
    #[arg(help_heading = DATA, short = 't', long, value_name = "TIME", value_parser = values::positive_time)]
    pub time: Option<Duration>,
    /// Stop after this much data
    #[arg(help_heading = DATA, short = 'n', long = "bytes", value_name = "SIZE", value_parser = values::positive_size)]
    pub bytes: Option<u64>,
    /// Rate control: tfrc-sp is for small packets, at most 100 a second (RFC 4828)
    #[arg(help_heading = RATE, long, value_name = "NAME", default_value = "tfrc", value_parser = values::one_of(values::VARIANTS))]
    pub variant: Variant,
    /// Keep the queueing delay below this: send less while a round trip is longer than the shortest
    /// by more; without it the flow fills a drop-tail queue, as TCP does
    #[arg(help_heading = RATE, long, value_name = "TIME", value_parser = values::positive_time)]
    pub max_queue_delay: Option<Duration>,
    /// A rate the network has promised, below which the flow does not go (gTFRC); usually with
    /// --dscp
    #[arg(help_heading = RATE, long, value_name = "RATE", value_parser = values::positive_rate)]
    pub guarantee: Option<Rate>,
    /// From when on the guarantee counts
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHEN", requires = "guarantee", default_value = "first-rtt", value_parser = values::one_of(values::PROMISE_STARTS))]
    pub guarantee_start: PromiseStart,
    /// Give way below the guarantee divided by this, above 1; without it never
    #[arg(hide = true, help_heading = RATE, long, value_name = "Y", requires = "guarantee", value_parser = values::threshold)]
    pub guarantee_threshold: Option<f64>,
    /// Mark everything sent: af11 to af43, cs0 to cs7, ef, or a number
    #[arg(help_heading = RATE, long, value_name = "DSCP", default_value = "cs0", value_parser = values::dscp)]
    pub dscp: Dscp,
    /// Stop on a path that looks broken or badly congested (RFC 8083)
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHEN", default_value = "with-guarantee", value_parser = values::one_of(values::BREAKERS))]
    pub circuit_breaker: CircuitBreaker,
    /// Leave out a number now and then to find out a receiver that acknowledges what it has not got
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHAT", default_value = "trust", value_parser = values::one_of(values::OPTIMISTIC_ACKS))]
    pub optimistic_acks: SkippedNumbers,
    /// RFC whose rules the sender follows: rfc5348 or rfc3448
    #[arg(hide = true, help_heading = RATE, long, value_name = "NAME", default_value = "rfc5348", value_parser = values::revision)]
    pub revision: Revision,
    /// Choices on top of the RFC: balanced for paths with the TCPs of today; the receiver takes the
    /// same
    #[arg(hide = true, help_heading = RATE, long, value_name = "NAME", default_value = "rfc5348", value_parser = values::one_of(values::PROFILES))]
    pub profile: Profile,
    /// TCP to be friendly to: reno or cubic; without it that of the profile, cubic of balanced
    #[arg(hide = true, help_heading = RATE, long, value_name = "TCP", value_parser = values::one_of(values::FRIENDS))]
    pub friend: Option<Friend>,
    /// DCCP service code of the receiver: SC:text, SC=number, or the bare text or number
    /// (RFC 4340 §8.1.2)
    #[arg(hide = true, long, value_name = "CODE", default_value = "0", value_parser = values::service_code)]
    pub service: u32,
    /// Drop data that has waited longer than this instead of sending it late
    #[arg(help_heading = DATA, long, value_name = "TIME", value_parser = values::positive_time)]
    pub deadline: Option<Duration>,
    /// Write the allowed rate for the encoder, in bit/s of data: a line at the start, for a change
    /// of 5 % within 0.1 s, and for a smaller one after 1 s. A number is a descriptor, such as a
    /// pipe's; a FILE is emptied first, a reader may open a FIFO at any time. A reader that is slow
    /// or gone misses lines and holds up nothing
    #[arg(help_heading = DATA, long, value_name = "FD|FILE", value_parser = values::rate_place)]
    pub rate_out: Option<RatePlace>,
    /// Write a page with charts of the run
    #[arg(help_heading = RECORDS, long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write time series of the session, a line for each tenth of a second
    #[arg(help_heading = RECORDS, long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Write every datagram sent and received to a packet capture, for Wireshark
    #[arg(hide = true, help_heading = RECORDS, long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Record every input of the protocol machine, to replay it; with the session's secrets, so
    /// only its owner may read it
    #[arg(hide = true, help_heading = RECORDS, long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Replace files of --report, --series, --pcap and --journal that exist; without it they are
    /// refused
    #[arg(help_heading = RECORDS, long)]
    pub overwrite: bool,
    /// Live view.
    #[command(flatten, next_help_heading = RECORDS)]
    pub live: LiveArgs,
    /// Output format.
    #[command(flatten, next_help_heading = RECORDS)]
    pub output: StreamArgs,
    /// Print help with every option, also those for guarantees, captures and studies
    #[arg(long, exclusive = true)]
    pub help_all: bool,
}

const DATA: &str = "Data";
const RATE: &str = "Rate control";
const RECORDS: &str = "Records";

const EXAMPLES: &str = "Examples:
  tfrc send there.example -f in.ts --wait 1min           a file, to a receiver that may come later
  ffmpeg -re -i in.mp4 -c copy -f mpegts - | tfrc send there.example -f - --deadline 300ms
  encoder <rate | tfrc send there.example -f - --deadline 500ms --rate-out rate
                                                         an encoder that follows, by a FIFO
  tfrc send localhost -t 30s --report run.html           made-up data, and a page with charts";
