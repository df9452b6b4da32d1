//! Settings of a run of `recv`, checked together before anything is touched: a mistake ends with
//! status 2 before a port is open, and no file is made or emptied.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use tfrc_net::options::Carrier;
use tfrc_report::record::Outcome;
use tfrc_session::{Common, DataFrom, Dccp, FILE_QUEUE, Listen, Options};
use tfrc_units::Duration;

use super::naming::Pattern;
use super::program::CommandLine;
use crate::args::values::{FileOrStream, Limit, Target};
use crate::args::{Format, RecvArgs};
use crate::reporter::{ReporterConfig, SummaryTo};
use crate::session::{Existing, OutputPlan, Part, Privacy, UdpOut, comes_back, files, listen, only_dccp};
use crate::{Failure, limits, page};

/// Datagrams that wait for this program where they go to a file and are not sent again, at most:
/// 43 MB, a sixth of a second at 2 Gbit/s. A disk may stall for that long, and nobody minds old
/// data in a file.
const FOR_A_DISK: usize = 32_768;
/// Connections served at once with a pattern or a program, unless the user says otherwise. Each
/// takes [`Destination::descriptors`] and a thread.
const AT_ONCE: u32 = 100;
/// File descriptors that a receiver opens apart from its connections: runtimes, sockets, the page
/// of metrics and some requests for it, time series.
const OWN_DESCRIPTORS: u64 = 16;

/// Settings of a run of `recv`.
#[derive(Debug)]
pub(super) struct ServeOptions {
    /// Where the data goes.
    pub(super) destination: Destination,
    /// Connections that the run takes.
    pub(super) take: Take,
    /// Time without data after which a connection is ended; `None`: no limit.
    pub(super) idle_timeout: Option<Duration>,
    /// Holes in a file are meant.
    pub(super) lossy: bool,
    /// How records are written.
    pub(super) reporter: ReporterConfig,
    /// A note for the user on fewer connections at once than wanted.
    pub(super) fewer: Option<String>,
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
    /// A UDP address for all connections.
    Udp(SocketAddr),
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

impl Take {
    /// Takes no more connections at once than there are descriptors for, when `left` may be opened
    /// and a connection takes `each`; with a note if that are fewer. The others are told that this
    /// end is busy, and may wait, where they would fail later.
    fn within(self, left: Option<u64>, each: u64) -> (Self, Option<String>) {
        let (Self::Many(wanted), Some(left)) = (self, left) else { return (self, None) };
        let most = (left.saturating_sub(OWN_DESCRIPTORS) / each).max(1);
        if most >= u64::from(wanted) {
            return (self, None);
        }
        let note = format!(
            "at most {most} connections at once, not {wanted}: this process may open {left} more file \
             descriptors (ulimit -n), and each connection takes {each}"
        );
        (Self::Many(tfrc_units::saturating(most)), Some(note))
    }
}

impl Destination {
    /// File descriptors that a connection has open at a time, at most.
    const fn descriptors(&self) -> u64 {
        match self {
            // The file, its handle in the thread that writes, the folder at the end.
            Self::Files { .. } => 3,
            // The pipe, the pipe by which a start reports its failure, the process.
            Self::Programs(_) => 6,
            Self::One(_) | Self::Udp(_) => 1,
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
        if args.private.quic && args.service != 0 {
            return Err(only_dccp("service"));
        }
        check_files(args)?;
        let destination = destination(args)?;
        let take = match (&destination, args.connections) {
            _ if args.one || args.from.is_some() => Take::First,
            (Destination::Files { .. } | Destination::Programs(_), at_once) => {
                Take::Many(at_once.unwrap_or(AT_ONCE))
            }
            (Destination::One(OutputPlan::Nowhere) | Destination::Udp(_), Some(at_once)) => {
                Take::Many(at_once)
            }
            (Destination::One(_), Some(2..)) => {
                return Err(Failure::usage(
                    "one output cannot take several connections at once",
                    "give each a file of its own with a pattern such as -o 'in-%n-%a.ts', or a program \
                     with --exec",
                ));
            }
            (Destination::One(OutputPlan::Append(_) | OutputPlan::Nowhere) | Destination::Udp(_), _) => {
                Take::InTurn
            }
            (Destination::One(_), _) => Take::FirstWithData,
        };
        let (take, fewer) = take.within(limits::descriptors_left(), destination.descriptors());
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
            lossy: args.lossy,
            idle_timeout: match args.idle_timeout {
                Limit::After(time) => Some(time),
                Limit::Off => None,
            },
            reporter: ReporterConfig { summary_to, ..ReporterConfig::from(&args.records) },
            fewer,
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

    /// The part of this end: a file whose holes are not meant is taken until it is whole.
    pub(super) const fn part(&self) -> Part {
        match &self.destination {
            Destination::Files { .. } | Destination::One(OutputPlan::File(_)) => {
                if self.lossy {
                    Part::ReceivesLossy
                } else {
                    Part::ReceivesFiles
                }
            }
            _ => Part::Receives,
        }
    }

    /// The options of the endpoint.
    pub(super) fn endpoint(&self, args: &RecvArgs, privacy: &Privacy) -> Options {
        let usual = Common::default();
        let common = Common {
            greeting: self.part().word().to_owned(),
            receive_queue: match (self.part(), &self.destination) {
                (Part::ReceivesFiles, _) => FILE_QUEUE,
                (_, Destination::One(OutputPlan::Append(_) | OutputPlan::File(_))) => FOR_A_DISK,
                _ => usual.receive_queue,
            },
            revision: args.revision,
            accept: match self.take {
                _ if args.from.is_some() => Listen::Refuse,
                Take::Many(at_once) => Listen::Many(tfrc_units::saturating(at_once)),
                _ => Listen::One,
            },
            data_from: if args.from.is_some() { DataFrom::Listener } else { DataFrom::Caller },
            per_source: args.per_source,
            allow: listen::networks(&args.allow),
            first_data_within: match args.idle {
                Limit::After(time) => Some(time),
                Limit::Off => None,
            },
            silence: Some(args.silence),
            ..usual
        };
        let dccp = Dccp {
            service: args.service,
            carrier: if args.raw { Carrier::Raw } else { Carrier::Udp },
            ..Dccp::default()
        };
        Options { common, carrier: privacy.carrier(dccp) }
    }

    /// Refuses to send what is received back to where it comes in.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn check_loop(&self, listening: SocketAddr) -> Result<(), Failure> {
        match self.destination {
            Destination::Udp(to) if comes_back(listening, to) => Err(Failure::usage(
                format!("--udp-out {to}: is where this receiver listens"),
                "name the port of the program that is to have the datagrams",
            )),
            _ => Ok(()),
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
        if !args.allow_key.is_empty() {
            return Ok(None);
        }
        let what = match &self.destination {
            Destination::Files { .. } => "have a file made here".to_owned(),
            Destination::Programs(_) => "have a program started here".to_owned(),
            // A player here gets what a pipe would.
            Destination::Udp(to) if !to.ip().is_loopback() => {
                format!("have datagrams sent from here to {to}")
            }
            Destination::One(_) | Destination::Udp(_) => return Ok(None),
        };
        listen::check_reach(&what, "senders", &args.allow, at)
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
    if let Some(to) = &args.udp_out {
        return udp_address(to).map(Destination::Udp);
    }
    let existing = match (args.append, args.overwrite, args.resume) {
        (true, ..) => Existing::Append,
        (_, true, _) => Existing::Overwrite,
        (.., true) => Existing::GoOn,
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
    if let Some(FileOrStream::File(path)) = &args.output
        && let Some(letter) = path.to_str().and_then(Pattern::unknown_in)
    {
        let advice = "%n, %a and %t stand for the connection's number, address and time; a file of this name takes \
                      `-o - > FILE`";
        return Err(Failure::usage(format!("-o {}: %{letter} means nothing", path.display()), advice));
    }
    match &args.output {
        Some(FileOrStream::File(path)) if path.to_str().is_some_and(Pattern::is_in) => {
            let written = path.to_string_lossy();
            let refused = |why: String, advice: &str| Failure::usage(format!("-o {written}: {why}"), advice);
            let one = match existing {
                Existing::Append => Some("--append one for all"),
                Existing::GoOn => Some("--resume goes on with one"),
                _ => None,
            };
            if let Some(one) = one {
                let why = format!("a pattern names a file for each connection, and {one}");
                return Err(refused(why, "leave out one of them"));
            }
            let name = Pattern::new(&written)
                .map_err(|why| refused(why, "%n, %a and %t have a meaning; write %% for a percent sign"))?;
            if let Some(why) = name.fault() {
                return Err(refused(why, "name a file in a folder that is there, such as in/%n-%a.ts"));
            }
            Ok(Destination::Files { name, existing })
        }
        Some(FileOrStream::File(path)) => Ok(Destination::One(OutputPlan::new(path, existing)?)),
        Some(FileOrStream::Standard) => Ok(Destination::One(OutputPlan::Standard)),
        None => Ok(Destination::One(OutputPlan::Nowhere)),
    }
}

/// The address of a UDP port of another program, of IPv4 if its host has both: most players listen
/// there.
///
/// # Errors
/// [`Failure::Usage`] if no datagram can be sent there.
fn udp_address(to: &Target) -> Result<SocketAddr, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::usage(
            format!("--udp-out {to}: {why}"),
            "name an address that can be reached, such as 127.0.0.1:5001",
        )
    };
    let found = (to.host.as_str(), to.port).to_socket_addrs().map_err(|error| unusable(&error))?;
    let found: Vec<SocketAddr> = found.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    let address = *first.ok_or_else(|| unusable(&"has no address"))?;
    if address.ip().is_unspecified() {
        return Err(unusable(&"is every address and none"));
    }
    UdpOut::open(address).map_err(|error| unusable(&error))?;
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_connections_at_once_than_descriptors() {
        for (take, left, each, most) in [
            (Take::Many(100), Some(1000), 3, Take::Many(100)),
            (Take::Many(100), Some(316), 3, Take::Many(100)),
            (Take::Many(100), Some(315), 3, Take::Many(99)),
            (Take::Many(100), Some(34), 6, Take::Many(3)),
            (Take::Many(100), Some(4), 3, Take::Many(1)),
            (Take::Many(100), None, 3, Take::Many(100)),
            (Take::InTurn, Some(4), 3, Take::InTurn),
        ] {
            let (taken, note) = take.within(left, each);
            assert_eq!((taken, note.is_some()), (most, taken != take), "{left:?}");
        }
    }

    fn args(words: &[&str]) -> RecvArgs {
        use clap::Parser as _;
        match crate::args::Cli::try_parse_from([&["tfrc", "recv"][..], words].concat()) {
            Ok(crate::args::Cli { command: crate::args::Command::Recv(args) }) => args,
            _ => panic!("the arguments of recv: {words:?}"),
        }
    }

    /// The length of a file does not show in the memory of its receiver.
    #[test]
    fn a_file_that_is_repaired_has_a_short_queue() {
        let cases: [(&[&str], usize); 5] = [
            (&["-o", "out"], FILE_QUEUE),
            (&["-o", "out-%n"], FILE_QUEUE),
            (&["-o", "out", "--lossy"], FOR_A_DISK),
            (&["-o", "out", "--append"], FOR_A_DISK),
            (&[], Common::default().receive_queue),
        ];
        for (words, datagrams) in cases {
            let args = args(words);
            let checked = ServeOptions::new(&args).expect("sound");
            let Options { common, .. } = checked.endpoint(&args, &Privacy::None);
            assert_eq!(common.receive_queue, datagrams, "{words:?}");
        }
    }

    #[test]
    fn a_mistyped_place_is_not_a_name() {
        let refused = destination(&args(&["-o", "x-%q.ts"])).expect_err("refused").to_string();
        assert!(refused.starts_with("-o x-%q.ts: %q means nothing") && refused.contains("%n"), "{refused}");
    }
}
