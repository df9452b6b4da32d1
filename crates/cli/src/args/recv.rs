//! Arguments of `tfrc recv`.

use clap::Args;
use tfrc_net::{Friend, Profile, Revision};
use tfrc_units::Duration;

use super::output::{LiveArgs, RecordArgs};
use super::private::{PrivateArgs, UNKNOWN};
use super::values::{self, AllowedPeers, FileOrStream, Limit, ListenAt, Target};

/// Arguments of `tfrc recv`: accepts DCCP over UDP (RFC 6773) and receives what is sent.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RecvArgs {
    /// Address or name to listen on, such as localhost or 127.0.0.1:7000; without it every address
    /// of this host
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = values::listen_at)]
    pub bind: Option<ListenAt>,
    /// Connect to a sender that listens (tfrc send -R) and take what it sends, then end; without a
    /// port 6511. Exit status 1 if it failed or brought no data
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["bind", "port", "connections", "allow", "per_source", "metrics"], value_parser = values::target)]
    pub from: Option<Target>,
    /// Wait this long for the sender of --from that is not there yet, or busy
    #[arg(long, value_name = "TIME", requires = "from", value_parser = values::positive_time)]
    pub wait: Option<Duration>,
    /// UDP port to listen on, with --raw DCCP port; without it 6511
    #[arg(short = 'p', long, value_name = "PORT")]
    pub port: Option<u16>,
    /// QUIC and keys.
    #[command(flatten)]
    pub private: PrivateArgs,
    /// Take DCCP without UDP, as IP protocol 33, over IPv4; over IPv6 with --bind :: or an address.
    /// Needs CAP_NET_RAW
    #[arg(long, conflicts_with = "quic")]
    pub raw: bool,
    /// Write the data of one connection to a file, or to standard output (-), and end; connections
    /// that bring none do not count. Without -o the data of any number of connections is only
    /// counted. A file is FILE.part until the sender has closed and all is written; FILEs that
    /// exist are refused, FIFOs and devices written directly. A name with %n (number of the
    /// connection), %a (address of the sender) or %t (time, UTC) is a pattern: each connection has
    /// its own file, many at a time, until Ctrl-C
    #[arg(help_heading = OUTPUT, short = 'o', long, value_name = "FILE|-", value_parser = values::place)]
    pub output: Option<FileOrStream>,
    /// Replace FILE if it exists, and a FILE.part that an earlier run left
    #[arg(help_heading = OUTPUT, long, requires = "output", conflicts_with = "append")]
    pub overwrite: bool,
    /// Take several connections, one after another, into the end of FILE, without FILE.part; until
    /// Ctrl-C
    #[arg(help_heading = OUTPUT, long, requires = "output")]
    pub append: bool,
    /// Go on with FILE.part where an earlier run stood, by FILE.part.map, which this run keeps;
    /// with send --resume only what is missing is sent
    #[arg(help_heading = OUTPUT, long, requires = "output", conflicts_with_all = ["overwrite", "append", "lossy"])]
    pub resume: bool,
    /// Take a file with holes: nothing is sent again, and one of which the network lost bytes gets
    /// its name all the same, and exit status 0. Each byte is in its place; the JSON summary names
    /// the holes
    #[arg(help_heading = OUTPUT, long, requires = "output")]
    pub lossy: bool,
    /// Start a program for each connection, with the data on its standard input; %n, %a and %t as
    /// with -o. Words are split at spaces and may be quoted; no shell reads them
    #[arg(help_heading = OUTPUT, long, value_name = "COMMAND", conflicts_with_all = ["output", "overwrite", "append"])]
    pub exec: Option<String>,
    /// Forward each datagram in order to this UDP address, such as a player's. Serves connections
    /// one by one until Ctrl-C; with --connections several at once, each from its own port
    #[arg(help_heading = OUTPUT, long, value_name = "HOST:PORT", conflicts_with_all = ["output", "overwrite", "append", "exec"], value_parser = values::udp_target)]
    pub udp_out: Option<Target>,
    /// End after one connection; exit status 1 if it failed or brought no data
    #[arg(help_heading = ACCESS, short = '1', long = "one")]
    pub one: bool,
    /// Serve up to N connections at once; without it one, and 100 with a pattern or --exec
    #[arg(help_heading = ACCESS, long, value_name = "N", conflicts_with = "one", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: Option<u32>,
    /// Take connections from this address or network only, such as 192.0.2.7 or 2001:db8::/32; may
    /// be given several times. Patterns and --exec need it where other hosts can connect; any
    /// lets everybody in
    #[arg(help_heading = ACCESS, long, value_name = "ADDRESS[/PREFIX]|any", value_parser = values::allowed)]
    pub allow: Vec<AllowedPeers>,
    /// Take connections from the owner of this key only; may be given several times
    #[arg(hide = UNKNOWN, help_heading = ACCESS, long, value_name = "KEY", requires = "quic", conflicts_with = "from", value_parser = values::fingerprint)]
    pub allow_key: Vec<String>,
    /// End a connection that has brought no data for this long after it was made; or off
    #[arg(help_heading = ACCESS, long, value_name = "TIME|off", default_value = "30s", value_parser = values::time_or_off)]
    pub idle: Limit,
    /// End a connection that has brought data and then none for this long, though its sender lives;
    /// or off
    #[arg(help_heading = ACCESS, long, value_name = "TIME|off", default_value = "off", value_parser = values::time_or_off)]
    pub idle_timeout: Limit,
    /// End a connection after this long without a packet from its sender; probes begin at half of
    /// TIME, at 15 s at the latest
    #[arg(help_heading = ACCESS, long, value_name = "TIME", default_value = "30s", value_parser = values::positive_time)]
    pub silence: Duration,
    /// Half-open and open connections that one IP address may have; without it no limit
    #[arg(help_heading = ACCESS, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub per_source: Option<u32>,
    /// DCCP service code to accept: SC:text, SC=number, or the bare text or number
    /// (RFC 4340 §8.1.2)
    #[arg(help_heading = ACCESS, long, value_name = "CODE", default_value = "0", value_parser = values::service_code)]
    pub service: u32,
    /// RFC whose rules it measures by: rfc5348 or rfc3448
    #[arg(long, value_name = "NAME", default_value = "rfc5348", value_parser = values::revision)]
    pub revision: Revision,
    /// Without effect: a sender's profile is its own. Kept for command lines of 0.2.0
    #[arg(hide = true, long, value_name = "NAME", value_parser = values::one_of(values::PROFILES))]
    pub profile: Option<Profile>,
    /// Without effect, as --profile
    #[arg(hide = true, long, value_name = "TCP", value_parser = values::one_of(values::FRIENDS))]
    pub friend: Option<Friend>,
    /// Answer requests for metrics in the text format of Prometheus at http://ADDRESS:PORT/metrics;
    /// a PORT alone is on the loopback interface
    #[arg(help_heading = RECORDS, long, value_name = "[ADDRESS:]PORT", value_parser = values::local_service)]
    pub metrics: Option<ListenAt>,
    /// Live view.
    #[command(flatten, next_help_heading = RECORDS)]
    pub live: LiveArgs,
    /// Say more on standard error: -v what happens to connections, -vv all. RUST_LOG sets the same,
    /// such as RUST_LOG=debug
    #[arg(help_heading = RECORDS, short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Files and output format.
    #[command(flatten, next_help_heading = RECORDS)]
    pub records: RecordArgs,
}

const OUTPUT: &str = "Data";
const ACCESS: &str = "Connections";
const RECORDS: &str = "Records";

const EXAMPLES: &str = "Examples:
  tfrc recv -o out.ts                                    one file
  tfrc recv -o - | ffplay -                              watch it live
  tfrc recv --udp-out 127.0.0.1:5001                     the same by UDP: ffplay udp://127.0.0.1:5001
  tfrc recv -o 'in-%t-%n-%a.ts' --allow 192.0.2.0/24     a file for each connection
  tfrc recv --from there.example -o out.ts               from behind a translator: tfrc send -R
  tfrc recv --exec 'ffmpeg -i - -y %n.mp4' --bind localhost
  tfrc recv -o 'in-%n.ts' --bind localhost --metrics 9464 --idle-timeout 10s";
