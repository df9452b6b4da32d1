//! `tfrc demo`: a sender, a receiver, and between them an emulated bottleneck, all over loopback.
//! Simulated TCP flows compete for the bottleneck inside the emulator.

mod contest;
mod steering;
mod watch;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_emu::Monitor;
use tfrc_net::options::{Common, Listen};
use tfrc_net::{Endpoint, Options};
use tfrc_report::record::{EventKind, Record, Role};
use tfrc_scenario::{Flow, FlowKind, FlowTimetable, Group, Lines, Scenario, TcpFlow, World};
use tfrc_sim::tcp;
use tfrc_sim::traffic::Distribution;
use tfrc_units::{Duration, Instant, Rate};
use tfrc_world::watch::{self as lab, Look};
use tfrc_world::world::relayed::{self, Flows, relay_with_flows};
use tokio::sync::mpsc;

use self::steering::{LinkChange, Steering};
use self::watch::Watch;
use crate::args::{DemoArgs, Format};
use crate::failure::with_source;
use crate::interrupt::Interrupt;
use crate::live::{self, Command, Keys, Live, Model, ModelConfig, Screen, View};
use crate::reporter::{Reporter, ReporterConfig};
use crate::run::{self};
use crate::session::{self, Connection, DatagramSource, Ending, Inbox, SAMPLE, Tally, Task};
use crate::{Failure, limits, page};

/// The network of the demo, a scenario of the program: 2 Mbit/s, RTT 40 ms, 25 packets.
const NETWORK: &str = "bottleneck";
/// Bytes of data in a packet, as `tfrc send` has them.
const LENGTH: usize = 1316;
/// Packets that wait in the bottleneck, at most.
const QUEUE: f64 = 25.0;
/// TCP flows that a key can start, one after the other.
const SPARES: usize = 4;
/// Start of a flow that waits for its key, in the time of the relay.
const NEVER: Duration = Duration::from_secs(1_000_000_000);
/// Without `--tcp-start` the TCP flows begin within this time, evenly spread.
const STARTS: Duration = Duration::from_secs(1);

/// Runs `tfrc demo`.
///
/// # Errors
/// [`Failure::Run`] when the machine does not give the sockets, or the connection breaks off.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    if args.tcp_start.is_some_and(|start| args.tcp == 0 || start >= args.duration) {
        return Err(Failure::usage(
            "--tcp-start names no time at which a TCP flow could begin",
            "give a time before the end of the run, and --tcp 1 or more",
        ));
    }
    page::check_all(&args.output.files())?;
    let interrupt = run::interrupt()?;
    session::block_on(demo(args, interrupt))
}

async fn demo(args: &DemoArgs, mut interrupt: Interrupt) -> Result<(), Failure> {
    let mut reporter =
        Reporter::new(ReporterConfig { duration: Some(args.duration), ..(&args.output).into() })
            .with_series(args.output.series.as_deref(), &[])?;
    let screen = screen(args)?;
    let mut scenario = scenario()?;
    let link_rate = scenario.network.links().next().map_or(Rate::ZERO, |(_, link)| link.rate);
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let bind =
        |options: &Options| Endpoint::bind(any, options).map_err(|error| Failure::Run(error.to_string()));
    let receiver = bind(&Common { accept: Listen::One, ..Common::default() }.into())?;
    let sender = bind(&Options::default())?;
    let starts = starts(args);
    let spares = if screen.is_some() { SPARES } else { 0 };
    let with_spares = [&starts[..], &vec![NEVER; spares]].concat();
    // The TFRC flow is the real one from outside.
    scenario.flows = competitors(&scenario, &with_spares, link_rate);
    let (network, hand) = relay_with_flows(&scenario, scenario.seed, any, receiver.local_addr())
        .map_err(|error| Failure::Run(with_source(&error)))?;
    let network = network.start().map_err(|error| Failure::io(&"relay", &error))?;
    let monitor = network.monitor();
    let looks = looks(scenario.clone(), network.monitor());
    let mut looks = looks.map_err(|error| Failure::io(&"relay", &error))?;

    let mut start = session::start(Role::Demo);
    start.bottleneck_bps = Some(link_rate.bits_per_sec());
    start.segment_bytes = u64::try_from(LENGTH).ok();
    for (name, value) in [("round-trip time", "40 ms"), ("queue", "25 packets")] {
        start.parameters.insert(name.to_owned(), value.to_owned());
    }
    start.parameters.insert("TCP flows".to_owned(), args.tcp.to_string());
    reporter.record(&Record::Start(start))?;
    let received = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&received);
    let receiving = tokio::spawn(async move {
        let connection = Connection::Dccp(receiver.accept().await?);
        let tally = receive(&receiver, &connection, &counted).await;
        connection.accept_close(&tally.to_string()).await;
        drop(connection);
        receiver.shut_down().await.ok()
    });
    let began = sender.now();
    let connection = sender
        .connect(network.local_addr())
        .await
        .map_err(|error| Failure::Run(format!("cannot connect over loopback: {error}")))?;
    let connection = Arc::new(Connection::Dccp(connection));
    let competing = starts.len();
    let mut steering = Steering::new(hand, link_rate, competing, spares);
    let mut keys = match &screen {
        Some(_) => Some(Keys::read().map_err(|error| Failure::io(&"keys", &error))?),
        None => None,
    };
    let model = Model::new(ModelConfig {
        view: View::Contest,
        title: "tfrc demo".to_owned(),
        duration_s: Some(args.duration.as_secs_f64()),
        queue_limit: Some(QUEUE),
        controls: screen.is_some().then(|| steering.controls()),
    });
    reporter.set_live(Live::new(model, screen));
    let measured_from = starts.into_iter().max().map_or(Duration::ZERO, |alone| {
        // The first quarter of what all flows run together is not measured.
        alone + args.duration.saturating_sub(alone).mul_f64(0.25)
    });
    let mut watch = Watch::new(began, &connection, monitor, scenario, competing, received, measured_from);
    let connected_at = sender.now();
    reporter.record(&watch.event(connected_at, EventKind::Connected))?;
    // Of the time before the connection.
    while looks.try_recv().is_ok() {}
    let mut scene =
        Scene { watch: &mut watch, looks: &mut looks, reporter: &mut reporter, steering: &mut steering };
    let ending = transfer(args, &sender, &connection, &mut scene, &mut keys, &mut interrupt).await?;
    // From here on Ctrl-C is a signal again.
    drop(keys);
    watch.end_measuring();
    let sent_until = sender.now();
    let closed = connection.close().await;
    let ended = sender.now();
    reporter.say(&watch.event(ended, EventKind::Closed));
    let text = closed.and_then(|closed| closed.text).unwrap_or_default();
    let tally: Tally = text
        .parse()
        .map_err(|()| Failure::Run("the connection ended without the receiver's counts".to_owned()))?;
    let summary = watch.summary(&connection, tally, sent_until.saturating_since(connected_at));
    drop(connection);
    let sent = sender.shut_down().await.map_err(|error| Failure::io(&"network", &error));
    let _ = receiving.await;
    let relayed = network.stop().map_err(|error| Failure::io(&"relay", &error));
    let ending = ending.after(sent.err().as_ref()).after(relayed.err().as_ref());
    reporter.conclude(summary, ending).status()
}

/// The TCP that competes.
fn tcp_settings() -> tcp::Settings {
    tcp::Settings::rfc(tcp::Variant::Sack)
}

/// When the TCP flows begin, in the time of the relay.
fn starts(args: &DemoArgs) -> Vec<Duration> {
    let spread = |n: u16| STARTS.mul_f64(f64::from(n) / f64::from(args.tcp));
    let start = |n| match args.tcp_start {
        Some(late) if n + 1 == args.tcp => late,
        _ => spread(n),
    };
    (0..args.tcp).map(start).collect()
}

/// The TCP flows that compete, each from the gateway of the sender to that of the receiver.
fn competitors(scenario: &Scenario, starts: &[Duration], link_rate: Rate) -> Vec<Flow> {
    let settings = tcp_settings();
    // Without it the phases of drop-tail queues favour the flow whose packets come evenly
    // (docs/decisions/0005).
    let overhead = link_rate.time_for(f64::from(settings.data_size(settings.segment)));
    let tcp = TcpFlow { tcp: settings.into(), overhead };
    let flow = |(start, number): (&Duration, u32)| Flow {
        group: Group::one(format!("tcp-{}", number + 1), number),
        from: scenario.gateways.listen,
        to: scenario.gateways.to,
        start: Distribution::Constant(start.as_secs_f64()),
        stop: None,
        timetable: FlowTimetable::default(),
        lines: Lines::default(),
        host: None,
        kind: FlowKind::Tcp(Box::new(tcp.clone())),
    };
    starts.iter().zip(0..).map(flow).collect()
}

/// Counts what arrives until the sender wants the end.
async fn receive(endpoint: &Endpoint, connection: &Connection, counted: &AtomicU64) -> Tally {
    let mut inbox = Inbox::default();
    while let Some(datagram) = connection.recv().await {
        let (now, rtt) = (endpoint.now(), connection.status().sender_rtt.unwrap_or(Duration::ZERO));
        inbox.push(now, datagram);
        while inbox.pop(now, rtt).is_some() {}
        counted.store(inbox.tally(connection).bytes, Ordering::Relaxed);
    }
    while inbox.take().is_some() {}
    inbox.tally(connection)
}

/// Sends as much as is allowed for the time asked for; returns how it ended.
async fn transfer(
    args: &DemoArgs,
    endpoint: &Endpoint,
    connection: &Arc<Connection>,
    scene: &mut Scene<'_>,
    keys: &mut Option<Keys>,
    interrupt: &mut Interrupt,
) -> Result<Ending, Failure> {
    let (mut source, sending) = (DatagramSource::made_up(LENGTH), Arc::clone(connection));
    let mut pump = Task::start(async move {
        while let Ok(Some(datagram)) = source.next(usize::MAX, sending.buffer()).await {
            if sending.send(datagram).await.is_err() {
                break;
            }
        }
    });
    let time_up = tokio::time::sleep(std::time::Duration::from(args.duration));
    tokio::pin!(time_up);
    loop {
        tokio::select! {
            () = pump.ended() => return Err(Failure::Run("the connection broke off".to_owned())),
            () = &mut time_up => return Ok(Ending::complete("the time is up")),
            () = interrupt.wished() => return Ok(Ending::stopped("interrupted")),
            command = live::wish(keys) => match command {
                Command::End => return Ok(Ending::stopped("interrupted")),
                command => scene.obey(command, endpoint.now()),
            },
            Some(look) = scene.looks.recv() => {
                for record in scene.watch.records(connection, look) {
                    scene.reporter.say(&record);
                }
                if scene.reporter.mute().is_some() {
                    return Ok(Ending::stopped("nobody reads the records any more"));
                }
            }
        }
    }
}

/// Sends what the network sees every [`SAMPLE`], from a thread that ends with the relay or with the
/// receiver.
///
/// # Errors
/// If the system gives no thread.
fn looks(scenario: Scenario, monitor: Monitor<Flows>) -> std::io::Result<mpsc::UnboundedReceiver<Look>> {
    let (tell, told) = mpsc::unbounded_channel();
    limits::thread("looks", move || {
        let watch = lab::Watch::all(SAMPLE.into(), |look| drop(tell.send(look)));
        relayed::watch(&scenario, monitor, &mut [watch], &mut || !tell.is_closed());
    })?;
    Ok(told)
}

/// All that shows the run and changes its network.
struct Scene<'a> {
    watch: &'a mut Watch,
    looks: &'a mut mpsc::UnboundedReceiver<Look>,
    reporter: &'a mut Reporter,
    steering: &'a mut Steering,
}

impl Scene<'_> {
    /// Applies the command and reports it.
    fn obey(&mut self, command: Command, now: Instant) {
        let Some(change) = self.steering.obey(command) else { return };
        match change {
            LinkChange::Rate(rate) => self.watch.rate_changed(rate),
            LinkChange::OneTcpMore => self.watch.one_more_competes(),
            LinkChange::Loss(_) => {}
        }
        self.reporter.set_controls(self.steering.controls());
        self.reporter.say(&self.watch.link_change(now, change.to_string()));
    }
}

/// The terminal, if a chart is wanted and can be shown there.
fn screen(args: &DemoArgs) -> Result<Option<Screen>, Failure> {
    if args.plain || args.output.format() != Format::Human || !Screen::is_possible() {
        return Ok(None);
    }
    Screen::open().map(Some).map_err(|error| Failure::io(&"terminal", &error))
}

/// The network of the demo. Its losses have a probability that keys change; it is zero at first.
fn scenario() -> Result<Scenario, Failure> {
    let mut document = run::open(Path::new(NETWORK), &[])?.document;
    document.set("link.near-far.loss=0%");
    run::first(run::plan(&document, World::Simulated)?, None)
}
