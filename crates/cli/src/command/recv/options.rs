//! Settings of a run of `recv`, checked together before anything is touched: a mistake ends with
//! status 2 before a port is open, and no file is made or emptied.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tfrc_lab::record::Outcome;
use tfrc_net::Options;
use tfrc_net::options::{Listen, Prefix};
use tfrc_units::Duration;

use super::naming::Pattern;
use super::program::CommandLine;
use crate::args::values::{AllowedPeers, DEFAULT_PORT, FileOrStream, Limit, ListenAt};
use crate::args::{Format, RecvArgs};
use crate::reporter::{ReporterConfig, SummaryTo};
use crate::session::{Existing, OutputPlan, files};
use crate::{Failure, page};

/// Datagrams that wait for this program where they go to a file, at most: 43 MB, a sixth of a
/// second at 2 Gbit/s. A disk may stall for that long, and nobody minds old data in a file.
const FOR_A_DISK: usize = 32_768;
/// Connections served at once with a pattern or a program, unless the user says otherwise. Each
/// takes three descriptors and a thread.
const AT_ONCE: u32 = 100;

/// Settings of a run of `recv`.
#[derive(Debug)]
pub(super) struct ServeOptions {
    /// Where the data goes.
    pub(super) destination: Destination,
    /// Connections that the run takes.
    pub(super) take: Take,
    /// Time without data after which a connection is ended; `None`: no limit.
    pub(super) idle_timeout: Option<Duration>,
    /// How records are written.
    pub(super) reporter: ReporterConfig,
}

/// Where the data of connections goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination {
    /// A file for each connection.
    Files { name: Pattern, existing: Existing },
    /// One output for all connections; or none, and data is counted.
    One(OutputPlan),
    /// A program for each connection.
    Programs(CommandLine),
}

/// Connections that `recv` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// The first, whatever it brings.
    First,
    /// One after another, until one brings data.
    FirstWithData,
    /// One after another, until the user ends the run.
    InTurn,
    /// This many at a time, until the user ends the run.
    Many(u32),
}

impl Take {
    /// True if the end of one connection is that of the run.
    pub(super) const fn is_one(self) -> bool {
        matches!(self, Self::First | Self::FirstWithData)
    }

    /// Connections that may be served in addition to one.
    pub(super) const fn others(self) -> u32 {
        match self {
            Self::Many(at_once) => at_once.saturating_sub(1),
            _ => 0,
        }
    }
}

impl ServeOptions {
    /// Checks the arguments against one another and looks at the output.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn new(args: &RecvArgs) -> Result<Self, Failure> {
        if args.output == Some(FileOrStream::Standard) && args.records.format() != Format::Human {
            return Err(Failure::usage(
                "standard output cannot carry both the received data and JSON",
                "write the data to a file with -o FILE, or leave out --json and --json-stream",
            ));
        }
        check_files(args)?;
        let destination = destination(args)?;
        let take = match (&destination, args.connections) {
            _ if args.one => Take::First,
            (Destination::Files { .. } | Destination::Programs(_), at_once) => {
                Take::Many(at_once.unwrap_or(AT_ONCE))
            }
            (Destination::One(OutputPlan::Nowhere), Some(at_once)) => Take::Many(at_once),
            (Destination::One(_), Some(2..)) => {
                return Err(Failure::usage(
                    "one output cannot take several connections at once",
                    "give each a file of its own with a pattern such as -o 'in-%n-%a.ts', or a program \
                     with --exec",
                ));
            }
            (Destination::One(OutputPlan::Append(_) | OutputPlan::Nowhere), _) => Take::InTurn,
            (Destination::One(_), _) => Take::FirstWithData,
        };
        if args.records.report.is_some() && !take.is_one() {
            return Err(Failure::usage(
                "--report draws one connection, and this run takes several",
                "add -1 or -o FILE; --series has every connection",
            ));
        }
        let summary_to =
            if args.output == Some(FileOrStream::Standard) { SummaryTo::Stderr } else { SummaryTo::Stdout };
        Ok(Self {
            destination,
            take,
            idle_timeout: match args.idle_timeout {
                Limit::After(time) => Some(time),
                Limit::Off => None,
            },
            reporter: ReporterConfig { summary_to, ..ReporterConfig::from(&args.records) },
        })
    }

    /// The outcome of a run that the user ends before a connection has: a failure where the user
    /// waits for a file or a connection that there will not be.
    pub(super) const fn if_interrupted(&self) -> Outcome {
        match (self.take, &self.destination) {
            (Take::First, _) | (Take::FirstWithData, Destination::One(OutputPlan::File(_))) => {
                Outcome::Failed
            }
            _ => Outcome::Stopped,
        }
    }

    /// The options of the endpoint.
    pub(super) fn endpoint(&self, args: &RecvArgs) -> Options {
        let usual = Options::default();
        Options {
            receive_queue: match &self.destination {
                Destination::One(OutputPlan::Append(_) | OutputPlan::File(_)) => FOR_A_DISK,
                _ => usual.receive_queue,
            },
            service: args.service,
            revision: args.revision,
            profile: args.profile,
            friend: args.friend,
            accept: match self.take {
                Take::Many(at_once) => Listen::Many(tfrc_units::saturating(at_once)),
                _ => Listen::One,
            },
            per_source: args.per_source,
            allow: networks(&args.allow),
            first_data_within: match args.idle {
                Limit::After(time) => Some(time),
                Limit::Off => None,
            },
            silence: Some(args.silence),
            ..usual
        }
    }

    /// A note on a pattern that does not distinguish all connections.
    pub(super) fn note_on_names(&self) -> Option<&'static str> {
        let Destination::Files { name, .. } = &self.destination else { return None };
        name.may_repeat().then_some(
            "two connections at a time may get the same name, and the second fails: %n would tell them apart",
        )
    }

    /// Refuses to make files or start programs for anybody who can reach this host, unless the user
    /// says who may, or that everybody may; a warning then.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn check_reach(&self, args: &RecvArgs, at: &[SocketAddr]) -> Result<Option<String>, Failure> {
        let what = match &self.destination {
            Destination::Files { .. } => "a file",
            Destination::Programs(_) => "a program",
            Destination::One(_) => return Ok(None),
        };
        if at.iter().all(|address| address.ip().is_loopback()) {
            return Ok(None);
        }
        if args.allow.is_empty() {
            return Err(Failure::usage(
                format!(
                    "any host that reaches this one could have {what} made here: senders are not authenticated"
                ),
                "name the senders with --allow ADDRESS[/PREFIX], or let everybody in with --allow any",
            ));
        }
        let anybody = args.allow.iter().any(|peers| match peers {
            AllowedPeers::Any => true,
            AllowedPeers::Network(prefix) => is_whole_internet(prefix),
        });
        Ok(anybody.then(|| format!("warning: any host that reaches this one can have {what} made here")))
    }
}

/// Looks at the files of the run's records, and touches none.
fn check_files(args: &RecvArgs) -> Result<(), Failure> {
    let records = args.records.files();
    let mut named: Vec<(&str, &Path)> =
        records.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
    if let Some(FileOrStream::File(path)) = &args.output {
        named.push(("-o", path));
    }
    files::all_different(&named)?;
    page::check_all(&records)
}

fn destination(args: &RecvArgs) -> Result<Destination, Failure> {
    let existing = match (args.append, args.overwrite) {
        (true, _) => Existing::Append,
        (_, true) => Existing::Overwrite,
        _ => Existing::Refuse,
    };
    if let Some(written) = &args.exec {
        let advice = "write it as --exec 'PROGRAM ARGUMENT ...'; %n, %a and %t stand for the connection's number, \
                      address and time, %% for a percent sign";
        let command = CommandLine::new(written);
        return command
            .map(Destination::Programs)
            .map_err(|why| Failure::usage(format!("--exec {written}: {why}"), advice));
    }
    match &args.output {
        Some(FileOrStream::File(path)) if path.to_str().is_some_and(Pattern::is_in) => {
            let written = path.to_string_lossy();
            let refused = |why: String, advice: &str| Failure::usage(format!("-o {written}: {why}"), advice);
            if existing == Existing::Append {
                let why = "a pattern names a file for each connection, and --append one for all";
                return Err(refused(why.to_owned(), "leave out one of them"));
            }
            let name = Pattern::new(&written)
                .map_err(|why| refused(why, "%n, %a and %t have a meaning; write %% for a percent sign"))?;
            if let Some(why) = name.fault() {
                return Err(refused(why, "name a file in a folder that is there, such as in/%n-%a.ts"));
            }
            Ok(Destination::Files { name, existing })
        }
        output => OutputPlan::new(output.as_ref(), existing).map(Destination::One),
    }
}

/// True for a network with all of IPv4 in it, or all of IPv6 that is given out (RFC 4291 §2.4).
fn is_whole_internet(network: &Prefix) -> bool {
    let ends = [
        [Ipv4Addr::UNSPECIFIED.into(), IpAddr::V4(Ipv4Addr::BROADCAST)],
        [Ipv6Addr::from_bits(0x2 << 124).into(), Ipv6Addr::from_bits((0x4 << 124) - 1).into()],
    ];
    ends.iter().any(|ends| ends.iter().all(|end| network.contains(*end)))
}

/// The networks that are let in; none: everybody is.
fn networks(allowed: &[AllowedPeers]) -> Vec<Prefix> {
    let networks: Option<Vec<Prefix>> = allowed
        .iter()
        .map(|peers| match peers {
            AllowedPeers::Any => None,
            AllowedPeers::Network(prefix) => Some(*prefix),
        })
        .collect();
    networks.unwrap_or_default()
}

/// The addresses to listen on, the first that can be had: where the user says, else every address,
/// of both IP versions where the system has both.
///
/// # Errors
/// [`Failure::Usage`] if the user's name has no address.
pub(super) async fn addresses(args: &RecvArgs) -> Result<Vec<SocketAddr>, Failure> {
    let port = args.port.unwrap_or(DEFAULT_PORT);
    let Some(ListenAt { host, port: own }) = &args.bind else {
        let any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        return Ok(any.map(|address| SocketAddr::new(address, port)).into());
    };
    let port = match (own, args.port) {
        (Some(one), Some(other)) if *one != other => {
            return Err(Failure::usage(
                format!("--bind names port {one} and -p port {other}"),
                "leave out one of them",
            ));
        }
        (Some(port), _) => *port,
        (None, _) => port,
    };
    let found = tokio::net::lookup_host((host.as_str(), port)).await;
    found.map(Iterator::collect).map_err(|error| {
        Failure::usage(
            format!("--bind {host}: {error}"),
            "name an address of this host, such as 127.0.0.1, ::1 or localhost",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_everybody_are_known() {
        for (written, all) in [
            ("0.0.0.0/0", true),
            ("::/0", true),
            ("2000::/3", true),
            ("0.0.0.0/1", false),
            ("10.0.0.0/8", false),
            ("2001:db8::/32", false),
        ] {
            let network = written.parse::<Prefix>().expect(written);
            assert_eq!(is_whole_internet(&network), all, "{written}");
        }
    }
}
