//! Arguments of `tfrc capture`.

use std::path::PathBuf;

use clap::Args;
use tfrc_capture::Tap;

use super::output::JsonArgs;
use super::values::{self, FileOrStream};

/// Arguments of `tfrc capture`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc capture call.pcap                     what a recording of DCCP or RTP says\n  \
                        tfrc capture call.pcap --side server       as seen by a tap at the server\n  \
                        tfrc capture call.pcap --native tools.pcap for programs that do not read DCCP in UDP\n  \
                        tfrc capture call.sqlog --report call.html qlog of a QUIC connection\n\
                        Needs a capture of DCCP, on IP or in UDP, or of RTP: tcpdump -w call.pcap, or tfrc send --pcap.")]
pub(crate) struct CaptureArgs {
    /// A pcap or pcapng file, or a qlog of QUIC; - for standard input
    #[arg(value_name = "FILE", value_parser = values::place)]
    pub file: FileOrStream,
    /// UDP port that carries DCCP, besides 6511 and those on which a Request is seen
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// Place of the tap, where it cannot be found out
    #[arg(long, value_name = "SIDE", value_parser = values::one_of([
        ("client", Tap::Client), ("server", Tap::Server), ("middle", Tap::Middle),
    ]))]
    pub side: Option<Tap>,
    /// Data packets of the client, counted from 1, that are known to be lost after the tap
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub lost: Vec<u64>,
    /// Write a page with the curves of rates, p and R
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write the DCCP packets as IP protocol 33 with good checksums, for Wireshark and tcpdump
    #[arg(long, value_name = "FILE.pcap")]
    pub native: Option<PathBuf>,
    /// Output format.
    #[command(flatten)]
    pub output: JsonArgs,
}
