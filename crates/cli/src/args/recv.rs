//! Arguments of `tfrc recv`.

use std::net::IpAddr;

use clap::Args;
use tfrc_net::Revision;
use tfrc_net::options::Prefix;

use super::output::StreamArgs;
use super::values::{self, DEFAULT_PORT, FileOrStream, Limit};

/// Arguments of `tfrc recv`: accepts DCCP over UDP (RFC 6773) and receives what is sent.
#[derive(Debug, Args)]
pub struct RecvArgs {
    /// Address to listen on; without it every address of this host
    #[arg(long, value_name = "ADDR")]
    pub bind: Option<IpAddr>,
    /// UDP port to listen on
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// Write the data of one connection to a file, or to standard output (-), and end; connections
    /// that bring none do not count. Without -o the data of any number of connections is only
    /// counted. A file is FILE.part until the sender has closed and all is written; FILEs that
    /// exist are refused, FIFOs and devices written directly
    #[arg(short = 'o', long, value_name = "FILE|-", value_parser = values::place)]
    pub output: Option<FileOrStream>,
    /// Replace FILE if it exists, and a FILE.part that an earlier run left
    #[arg(long, requires = "output", conflicts_with = "append")]
    pub overwrite: bool,
    /// Take several connections, one after another, into the end of FILE, without FILE.part; until
    /// Ctrl-C
    #[arg(long, requires = "output")]
    pub append: bool,
    /// End after one connection; exit status 1 if it failed or brought no data
    #[arg(short = '1', long = "one")]
    pub one: bool,
    /// Take connections from this address or network only, such as 192.0.2.7 or 2001:db8::/32; may
    /// be given several times
    #[arg(long, value_name = "ADDRESS[/PREFIX]", value_parser = values::prefix)]
    pub allow: Vec<Prefix>,
    /// End a connection that has brought no data for this long after it was made; or off
    #[arg(long, value_name = "TIME|off", default_value = "30s", value_parser = values::time_or_off)]
    pub idle: Limit,
    /// Half-open and open connections that one IP address may have; without it no limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub per_source: Option<u32>,
    /// DCCP service code to accept: SC:text, SC=number, or the bare text or number
    /// (RFC 4340 §8.1.2)
    #[arg(long, value_name = "CODE", default_value = "0", value_parser = values::service_code)]
    pub service: u32,
    /// RFC whose rules it measures by: rfc5348 or rfc3448
    #[arg(long, value_name = "NAME", default_value = "rfc5348", value_parser = values::revision)]
    pub revision: Revision,
    /// Output format.
    #[command(flatten)]
    pub format: StreamArgs,
}
