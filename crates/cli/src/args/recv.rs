//! Arguments of `tfrc recv`.

use std::net::IpAddr;

use clap::Args;
use tfrc::Revision;

use super::output::StreamArgs;
use super::values::{self, DEFAULT_PORT, Place};

/// Arguments of `tfrc recv`: accepts DCCP over UDP (RFC 6773) and receives what is sent.
#[derive(Debug, Args)]
pub struct RecvArgs {
    /// Address to listen on; without it every address of this host
    #[arg(long, value_name = "ADDR")]
    pub bind: Option<IpAddr>,
    /// UDP port to listen on
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// Write what arrives to a file, or to standard output (-); without it the data are only counted
    #[arg(short = 'o', long, value_name = "FILE|-", value_parser = values::place)]
    pub output: Option<Place>,
    /// Stop after one connection
    #[arg(short = '1', long = "one")]
    pub one: bool,
    /// Half-open and open connections that one IP address may have; without it no limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub per_source: Option<u32>,
    /// DCCP service code to accept: SC:text, SC=number, or the bare text or number (RFC 4340 §8.1.2)
    #[arg(long, value_name = "CODE", default_value = "0", value_parser = values::service_code)]
    pub service: u32,
    /// Whose rules it measures by: rfc5348, rfc3448, sigcomm2000, or ns2 for the simulator's
    #[arg(long, value_name = "NAME", default_value = "rfc5348", value_parser = values::revision)]
    pub revision: Revision,
    /// What to print.
    #[command(flatten)]
    pub format: StreamArgs,
}
