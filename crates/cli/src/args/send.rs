//! Arguments of `tfrc send`.

use std::path::PathBuf;

use clap::Args;
use tfrc_net::options::{CircuitBreaker, PromiseStart, SkippedNumbers};
use tfrc_net::{Friend, Profile, Revision, Variant};
use tfrc_units::Dscp;
use tfrc_units::{Duration, Rate};

use super::session::{RATE, RECORDS, SessionArgs, in_order};
use super::values::{self, AllowedPeers, FileOrStream, ListenAt, RatePlace, Target};

/// Arguments of `tfrc send`: connects by DCCP over UDP (RFC 6773) and sends at the allowed rate.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, mut_args(in_order(ORDER)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct SendArgs {
    /// The receiver; without a port 6511
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "reverse", value_parser = values::target)]
    pub to: Option<Target>,
    /// Listen, and send to the receiver that connects (recv --from); see --allow
    #[arg(short = 'R', long, conflicts_with_all = ["to", "ipv4", "ipv6", "journal", "pcap"])]
    pub reverse: bool,
    /// Address or name to listen on, such as localhost or 127.0.0.1:7000; without it every address
    /// of this host
    #[arg(hide = true, help_heading = REVERSE, long, value_name = "ADDRESS[:PORT]", requires = "reverse", conflicts_with = "to", value_parser = values::listen_at)]
    pub bind: Option<ListenAt>,
    /// UDP port to listen on; without it 6511
    #[arg(hide = true, help_heading = REVERSE, short = 'p', long, value_name = "PORT", requires = "reverse", conflicts_with = "to")]
    pub port: Option<u16>,
    /// Let receivers connect from this address or network only, such as 192.0.2.7 or
    /// 2001:db8::/32; may be given several times. Needed where other hosts can connect; any lets
    /// everybody in
    #[arg(hide = true, help_heading = REVERSE, long, value_name = "ADDRESS[/PREFIX]|any", requires = "reverse", conflicts_with = "to", value_parser = values::allowed)]
    pub allow: Vec<AllowedPeers>,
    /// Let receivers with this key in only; may be given several times
    #[arg(hide = true, help_heading = REVERSE, long, value_name = "KEY", requires_all = ["reverse", "quic"], conflicts_with = "to", value_parser = values::fingerprint)]
    pub allow_key: Vec<String>,
    /// Use IPv4 addresses of HOST only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 addresses of HOST only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// DCCP without UDP, as IP protocol 33: recv --raw; needs CAP_NET_RAW
    #[arg(long, conflicts_with = "quic")]
    pub raw: bool,
    /// Send a file whole, or standard input (-); else made-up data
    #[arg(help_heading = DATA, short = 'f', long, value_name = "FILE|-", value_parser = values::place)]
    pub file: Option<FileOrStream>,
    /// Resend nothing: FILE may arrive with holes
    #[arg(help_heading = DATA, long, requires = "file")]
    pub lossy: bool,
    /// Read the pipe of -f - to its end, then send it as a file
    #[arg(hide = true, help_heading = DATA, long, requires = "file", conflicts_with_all = ["lossy", "deadline", "time"])]
    pub whole: bool,
    /// Send what the receiver lacks of FILE, as it has a part of an earlier session (recv --resume)
    #[arg(hide = true, help_heading = DATA, long, requires = "file", conflicts_with_all = ["lossy", "deadline", "time"])]
    pub resume: bool,
    /// Send what comes to a local UDP port, as from ffmpeg or OBS
    #[arg(help_heading = DATA, long, value_name = "[ADDRESS:]PORT", conflicts_with_all = ["file", "pps"], value_parser = values::local_service)]
    pub udp_in: Option<ListenAt>,
    /// Data in each packet; without it 1316B, or what the path carries
    #[arg(help_heading = DATA, short = 'l', long = "length", value_name = "SIZE", value_parser = values::packet_size)]
    pub length: Option<u16>,
    /// Packets a second the application makes; else as many as allowed
    #[arg(hide = true, help_heading = DATA, long, value_name = "N", value_parser = values::packets_per_second)]
    pub pps: Option<f64>,
    /// Stop after this time; made-up data without -n after 10 s
    #[arg(help_heading = DATA, short = 't', long, value_name = "TIME", value_parser = values::positive_time)]
    pub time: Option<Duration>,
    /// Stop after this much data
    #[arg(help_heading = DATA, short = 'n', long = "bytes", value_name = "SIZE", value_parser = values::positive_size)]
    pub bytes: Option<u64>,
    /// tfrc, or tfrc-sp for small packets (RFC 4828)
    #[arg(help_heading = RATE, long, value_name = "NAME", default_value = "tfrc", hide_default_value = true, hide_possible_values = true, value_parser = values::one_of(values::VARIANTS))]
    pub variant: Variant,
    /// Never go below this rate, promised by the network; see --dscp
    #[arg(help_heading = RATE, long, value_name = "RATE", value_parser = values::positive_rate)]
    pub guarantee: Option<Rate>,
    /// From when on the guarantee counts
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHEN", requires = "guarantee", default_value = "first-rtt", value_parser = values::one_of(values::PROMISE_STARTS))]
    pub guarantee_start: PromiseStart,
    /// Give way below the guarantee divided by this, above 1; without it never
    #[arg(hide = true, help_heading = RATE, long, value_name = "Y", requires = "guarantee", value_parser = values::threshold)]
    pub guarantee_threshold: Option<f64>,
    /// Mark everything sent: af11 to af43, cs0 to cs7, ef, or a number
    #[arg(hide = true, help_heading = RATE, long, value_name = "DSCP", default_value = "cs0", value_parser = values::dscp)]
    pub dscp: Dscp,
    /// Stop on a path that looks broken or badly congested (RFC 8083)
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHEN", default_value = "with-guarantee", value_parser = values::one_of(values::BREAKERS))]
    pub circuit_breaker: CircuitBreaker,
    /// Leave out a number now and then to find out a receiver that acknowledges what it has not got
    #[arg(hide = true, help_heading = RATE, long, value_name = "WHAT", default_value = "trust", value_parser = values::one_of(values::OPTIMISTIC_ACKS))]
    pub optimistic_acks: SkippedNumbers,
    /// RFC whose rules the sender follows: rfc5348, the default, or rfc3448
    #[arg(hide = true, help_heading = RATE, long, value_name = "NAME", value_parser = values::revision)]
    pub revision: Option<Revision>,
    /// TCP to be friendly to: reno or cubic; without it that of the profile, cubic of balanced
    #[arg(hide = true, help_heading = RATE, long, value_name = "TCP", value_parser = values::one_of(values::FRIENDS))]
    pub friend: Option<Friend>,
    /// DCCP service code of the receiver: SC:text, SC=number, or the bare text or number
    /// (RFC 4340 §8.1.2)
    #[arg(hide = true, long, value_name = "CODE", default_value = "0", value_parser = values::service_code)]
    pub service: u32,
    /// Drop data that has waited longer than this
    #[arg(help_heading = DATA, long, value_name = "TIME", value_parser = values::positive_time)]
    pub deadline: Option<Duration>,
    /// Write the allowed rate for the encoder, in bit/s of data, a line for each change, to a
    /// pipe's descriptor, a FIFO or a FILE, which is emptied. A slow reader misses lines
    #[arg(help_heading = DATA, long, value_name = "FD|FILE", value_parser = values::rate_place)]
    pub rate_out: Option<RatePlace>,
    /// Write every packet sent and received to a packet capture, for Wireshark and tcpdump: DCCP
    /// on IP, with checksums
    #[arg(hide = true, help_heading = RECORDS, long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write --pcap as DCCP in UDP, as on the network (RFC 6773)
    #[arg(hide = true, help_heading = RECORDS, long, requires = "pcap")]
    pub pcap_udp: bool,
    /// Record every input of the protocol machine, to replay it; with the session's secrets, so
    /// only its owner may read it
    #[arg(hide = true, help_heading = RECORDS, long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// The rest of the session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Print help with every option, such as those for guarantees and captures
    #[arg(long, exclusive = true)]
    pub help_all: bool,
}

impl SendArgs {
    /// Bytes of application data in each packet, at most: unless the user says otherwise seven
    /// packets of an MPEG transport stream.
    #[must_use]
    pub(crate) fn length(&self) -> u16 {
        self.length.unwrap_or(1316)
    }

    /// The transport, if it is not DCCP over UDP.
    #[must_use]
    pub(crate) const fn transport(&self) -> Option<&'static str> {
        match (self.session.private.quic, self.raw) {
            (true, _) => Some("quic"),
            (_, true) => Some("raw"),
            _ => None,
        }
    }

    /// The RFC whose rules the sender follows.
    #[must_use]
    pub(crate) fn revision(&self) -> Revision {
        self.revision.unwrap_or_default()
    }

    /// The profile in force: `balanced`, unless it is named or the RFC is.
    #[must_use]
    pub(crate) fn profile(&self) -> Profile {
        let usual = if self.revision.is_some() { Profile::Rfc5348 } else { Profile::Balanced };
        self.session.profile.unwrap_or(usual)
    }
}

const DATA: &str = "Data";
const REVERSE: &str = "The receiver connects";

/// The order of the help where options of every session stand between those of `send`.
const ORDER: &str = "reverse quic peer_key key wait ipv4 ipv6 raw service \
                     cap variant max_queue_delay no_feedback_floor guarantee guarantee_start \
                     guarantee_threshold dscp circuit_breaker optimistic_acks revision profile friend \
                     report series pcap journal overwrite tui json json_stream help_all";

const EXAMPLES: &str = "Examples:
  tfrc send there.example -f in.ts --wait 1min           a file, to a receiver that may come later
  ffmpeg -re -i in.mp4 -c copy -f mpegts - | tfrc send there.example -f - --deadline 300ms
  tfrc send there.example --udp-in 5000                  from ffmpeg ... udp://127.0.0.1:5000
  encoder <rate | tfrc send there.example -f - --deadline 500ms --rate-out rate
                                                         an encoder that follows, by a FIFO
  tfrc send -R -f in.ts --allow 192.0.2.0/24             a file, to who connects
  tfrc send localhost -t 30s --report run.html           made-up data, and a page with charts";
