//! Arguments of the command line: one file per subcommand.

mod capture;
mod completions;
mod demo;
mod emu;
mod equation;
mod key;
mod link;
mod man;
mod output;
mod private;
mod recv;
mod replay;
mod scenario;
mod schema;
mod send;
mod session;
mod sim;
#[cfg(target_os = "linux")]
mod stream;
pub(crate) mod values;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

pub(crate) use capture::CaptureArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use emu::{AtNode, EmuArgs};
pub(crate) use equation::EquationArgs;
pub(crate) use key::KeyArgs;
#[cfg(feature = "quic")]
pub(crate) use key::KeyCommand;
pub(crate) use link::LinkArgs;
pub(crate) use link::one_link;
pub(crate) use man::ManArgs;
pub(crate) use output::{Format, LiveArgs, RecordArgs};
pub(crate) use private::PrivateArgs;
pub(crate) use recv::RecvArgs;
pub(crate) use replay::ReplayArgs;
pub(crate) use scenario::{ScenarioArgs, ScenarioCommand, TraceArgs};
pub(crate) use schema::SchemaArgs;
pub(crate) use send::SendArgs;
pub(crate) use session::SessionArgs;
pub(crate) use sim::SimArgs;
#[cfg(target_os = "linux")]
pub(crate) use stream::{Input, MediaArgs};

/// TCP-Friendly Rate Control: the equation, the protocol and the laboratory
#[derive(Debug, Parser)]
#[command(
    name = "tfrc",
    version,
    arg_required_else_help = true,
    after_help = "Rates are bit/s with decimal prefixes (10M, 64kbit/s); times have a unit (250ms, 20s).\n\
                  Exit status: 0 fine, 1 the run failed, 2 usage or scenario error, 3 a check failed.\n\
                  send and recv exit 0 if both ends closed in agreement and only the network, --deadline, -t or \
                  Ctrl-C dropped data.\n\
                  The experiments of the literature are run by tfrc-lab, of the Python package tfrc."
)]
pub(crate) struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub(crate) enum Command {
    /// Say what a recording of packets means for rate control: losses, p, R, allowed rates
    Capture(CaptureArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Watch TFRC and TCP share a link, live on this machine; no root needed
    Demo(DemoArgs),
    /// Emulate a scenario's network in real time, with real programs and the kernel's TCP in it
    #[cfg(target_os = "linux")]
    Emu(EmuArgs),
    /// Go on as `tfrc emu` inside of the namespaces that it has made
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    EmuInside(EmuArgs),
    /// Compute the TCP-friendly rate for a loss event rate, or the loss event rate for a rate
    Equation(EquationArgs),
    /// Show, renew and forget the keys of private sessions (--quic)
    #[command(hide = private::UNKNOWN)]
    Key(KeyArgs),
    /// Play a scenario's network in real time between real programs, as a relay of UDP datagrams
    Link(LinkArgs),
    /// Write the manual pages into a directory
    Man(ManArgs),
    /// Receive what somebody sends
    Recv(RecvArgs),
    /// Replay a recorded session and check that it sends the same packets
    Replay(ReplayArgs),
    /// Show the built-in scenarios, or begin one
    Scenario(ScenarioArgs),
    /// Print the JSON Schema of all JSON output
    Schema(SchemaArgs),
    /// Send a file, a pipe or made-up data at the rate that is fair on the path
    Send(SendArgs),
    /// Run a scenario in virtual time
    Sim(SimArgs),
    /// Send video and audio, encoded by GStreamer at the rate that is fair on the path
    #[cfg(target_os = "linux")]
    Stream(MediaArgs),
}

/// The command line with every option, also those that `send --help` leaves out: for manual pages
/// and completions.
#[must_use]
pub(crate) fn whole() -> clap::Command {
    let shown = |command: clap::Command| {
        command.mut_args(|argument| {
            let is_absent = private::UNKNOWN && private::OPTIONS.contains(&argument.get_id().as_str());
            argument.hide(is_absent)
        })
    };
    let command = Cli::command().mut_subcommand("send", shown);
    if command.find_subcommand("stream").is_some() {
        command.mut_subcommand("stream", shown)
    } else {
        command
    }
}

/// The help of `send` with every option, if these arguments ask for it: `send --help-all`.
pub(crate) fn all_help(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
    if arguments.next()? != "send" || !arguments.any(|argument| argument == "--help-all") {
        return None;
    }
    let mut whole = whole();
    whole.build();
    Some(whole.find_subcommand_mut("send")?.render_help().to_string())
}

#[cfg(test)]
mod tests {
    use tfrc_net::Profile;

    use super::*;
    use clap::{Args, FromArgMatches};
    use tfrc_units::{Duration, Rate};
    use values::{FileOrStream, Target};

    /// Reads arguments by themselves, whether or not their subcommand is there, and has clap check
    /// their definition.
    fn read<A: Args + FromArgMatches>(line: &str) -> Result<A, String> {
        let command = A::augment_args(clap::Command::new("x"));
        command.clone().debug_assert();
        let words = std::iter::once("x").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words).map_err(|e| e.to_string())?;
        A::from_arg_matches(&matches).map_err(|e| e.to_string())
    }

    #[test]
    fn the_command_line_is_well_formed() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn demo() {
        let args: DemoArgs = read("").expect("all have defaults");
        assert_eq!(
            (args.duration, args.tcp, args.tcp_start, args.output.report.clone()),
            (Duration::from_secs(20), 1, None, None)
        );
        assert_eq!(args.output.format(), Format::Human);
        let args: DemoArgs =
            read("-t 2min --tcp 4 --tcp-start 30s --report r.html --json-stream").expect("right");
        assert_eq!((args.duration, args.tcp), (Duration::from_secs(120), 4));
        assert_eq!(args.tcp_start, Some(Duration::from_secs(30)));
        assert_eq!(args.output.format(), Format::JsonStream);
        for bad in ["--duration 0", "--tcp -1", "--tcp 65", "--tcp-start 0", "-J --json-stream"] {
            assert!(read::<DemoArgs>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn send() {
        let args: SendArgs = read("host").expect("right");
        assert_eq!(args.to, Some(values::target("host:6511").expect("right")));
        assert_eq!((args.variant, args.revision()), (tfrc_net::Variant::Tfrc, tfrc_net::Revision::Rfc5348));
        assert_eq!((args.length(), args.file, args.session.cap, args.time), (1316, None, None, None));
        for (line, profile) in [
            ("host", Profile::Balanced),
            ("host --revision rfc3448", Profile::Rfc5348),
            ("host --revision rfc3448 --profile balanced", Profile::Balanced),
            ("host --profile rfc5348", Profile::Rfc5348),
        ] {
            assert_eq!(read::<SendArgs>(line).expect("right").profile(), profile, "{line}");
        }
        let args: SendArgs = read("host --variant tfrc-sp").expect("right");
        assert_eq!(args.variant, tfrc_net::Variant::TfrcSp);
        assert_eq!((args.guarantee, args.dscp, args.circuit_breaker), Default::default());
        let line = "host --guarantee 500k --dscp af11 --guarantee-start first-loss-report --guarantee-threshold 2 --circuit-breaker off";
        let args: SendArgs = read(line).expect("right");
        assert_eq!((args.guarantee, args.dscp.number()), (Some(Rate::from_bits_per_sec(5e5)), 10));
        assert_eq!(args.guarantee_start, tfrc_net::options::PromiseStart::FirstLossReport);
        assert_eq!(
            (args.guarantee_threshold, args.circuit_breaker),
            (Some(2.0), tfrc_net::options::CircuitBreaker::Off)
        );
        for bad in ["host --guarantee 0", "host --dscp af14", "host --guarantee-threshold 2"] {
            assert!(read::<SendArgs>(bad).is_err(), "{bad}");
        }
        let line = "[::1]:7000 -f - -b 10M -l 1000B --pps 50 -t 5s -n 2MB --deadline 100ms --journal j -J";
        let args: SendArgs = read(line).expect("right");
        let Target { host, port } = args.to.expect("named");
        assert_eq!((host.as_str(), port), ("::1", 7000));
        assert_eq!(args.file, Some(FileOrStream::Standard));
        assert_eq!(args.session.cap, Some(Rate::from_bits_per_sec(10e6)));
        assert_eq!((args.length, args.pps, args.bytes), (Some(1000), Some(50.0), Some(2_000_000)));
        assert_eq!(
            (args.time, args.deadline),
            (Some(Duration::from_secs(5)), Some(Duration::from_millis(100)))
        );
        assert_eq!(args.session.output.format(), Format::Json);
        for bad in [
            "",
            "host -b 0",
            "host -l 70000B",
            "host -l 1000",
            "host -b 20",
            "host -t 5MB",
            "host:x",
            "host --variant sp",
            "host --revision x",
        ] {
            assert!(read::<SendArgs>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_help_of_send_fits_a_screen_and_has_the_rest() {
        let help = Cli::try_parse_from(["tfrc", "send", "--help"]).map(|_| ()).map_err(|e| e.to_string());
        let help = help.expect_err("help");
        assert!(help.lines().count() <= 60, "{} lines\n{help}", help.lines().count());
        let all = all_help(["send", "--help-all"].map(OsString::from)).expect("help");
        for option in ["--circuit-breaker", "--revision", "--service", "--guarantee-start"] {
            assert!(!help.contains(option) && all.contains(option), "{option}");
        }
        let options = help.split_whitespace().filter(|word| word.starts_with("--"));
        options.for_each(|option| assert!(all.contains(option), "{option}"));
        for other in [&["send", "host"][..], &["recv", "--help-all"], &["send", "--", "--help-all"], &[]] {
            assert!(all_help(other.iter().map(OsString::from)).is_none(), "{other:?}");
        }
    }

    #[test]
    fn recv() {
        let args: RecvArgs = read("").expect("all have defaults");
        assert_eq!((args.bind, args.port, args.output, args.one, args.service), (None, None, None, false, 0));
        let args: RecvArgs = read("--bind ::1 -p 7000 -o out.ts -1 --service SC:fdpz").expect("right");
        let bind = args.bind.map(|at| at.host);
        assert_eq!((bind.as_deref(), args.port, args.one), (Some("::1"), Some(7000), true));
        assert_eq!(args.output, Some(FileOrStream::File("out.ts".into())));
        assert_eq!((args.allow.len(), args.idle), (0, values::Limit::After(Duration::from_secs(30))));
        let args: RecvArgs =
            read("-o f --append --allow 192.0.2.7 --allow 2001:db8::/32 --idle off --service SC:fdpz")
                .expect("right");
        assert_eq!((args.allow.len(), args.idle, args.append), (2, values::Limit::Off, true));
        assert_eq!(args.service, 0x6664_707a);
        assert_eq!(args.revision, tfrc_net::Revision::Rfc5348);
        for bad in [
            "--revision x",
            "--bind :7000",
            "--exec a -o f",
            "--connections 0",
            "--connections 2 -1",
            "--metrics host",
            "-p 70000",
            "-o",
            "--service toolong",
            "--append",
            "--overwrite",
            "-o f --append --overwrite",
            "--allow host",
            "--idle 0",
        ] {
            assert!(read::<RecvArgs>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn link() {
        let args: LinkArgs = read("net.toml --listen 127.0.0.1:9000 --to [::1]:9001").expect("right");
        assert_eq!((args.listen[0].port(), args.to[0].is_ipv6()), (9000, true));
        let ends = "--listen 127.0.0.1:9000 --to 127.0.0.1:9001";
        let args: LinkArgs = read(&format!("--rate 2M --loss 1% {ends}")).expect("right");
        assert_eq!(args.rate.as_deref(), Some("2M"));
        assert_eq!(args.given().collect::<Vec<_>>(), [("rate", "2M"), ("loss", "1%")]);
        for bad in ["", "net.toml", "net.toml --listen 127.0.0.1 --to [::1]:9001"] {
            assert!(read::<LinkArgs>(bad).is_err(), "{bad}");
        }
        for bad in ["", "--loss 1%", "--rate 2furlongs", "--rate 1M --loss 2%x", "--rate 1M --loss 1"] {
            assert!(read::<LinkArgs>(&format!("{bad} {ends}")).is_err(), "{bad}");
        }
    }
}
