//! `tfrc demo`: a sender, a receiver, and between them an emulated bottleneck, all over loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_emu::{Monitor, Snapshot};
use tfrc_lab::link::relay;
use tfrc_lab::record::{EventKind, FlowSummary, Interval, Record, Role, Start, Summary};
use tfrc_lab::scenario::Scenario;
use tfrc_net::{Accept, Connection, Endpoint, Options};
use tfrc_units::{Duration, Rate};

use crate::Failure;
use crate::args::DemoArgs;
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig, SummaryTo};
use crate::session::{self, Inbox, SAMPLE, Sampler, Source, Tally, as_f64};

/// The network of the demo: 2 Mbit/s, RTT 40 ms, 25 packets.
const BOTTLENECK: &str = include_str!("../../../../scenarios/bottleneck.toml");
/// Bytes of data in a packet, as `tfrc send` has them.
const LENGTH: usize = 1316;
/// Samples in a window of the coefficient of variation: 0.2 s, as in the design's comparisons.
const COV_SAMPLES: usize = 2;

/// Runs `tfrc demo`.
///
/// # Errors
/// [`Failure::Run`] when the machine does not give the sockets, or the connection breaks off.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(demo(args, interrupt))
}

async fn demo(args: &DemoArgs, mut interrupt: Interrupt) -> Result<(), Failure> {
    let mut reporter = Reporter::new(ReporterConfig {
        format: args.output.format(),
        summary_to: SummaryTo::Stdout,
        duration: Some(args.duration),
        report: args.report.clone(),
    });
    let scenario = Scenario::parse("bottleneck.toml", BOTTLENECK)
        .map_err(|error| Failure::Run(format!("the built-in scenario is not right: {error}")))?;
    let link_rate = scenario.network.links().next().map_or(Rate::ZERO, |(_, link)| link.rate);
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let bind =
        |options: &Options| Endpoint::bind(any, options).map_err(|error| Failure::Run(error.to_string()));
    let receiver = bind(&Options { accept: Accept::One, ..Options::default() })?;
    let sender = bind(&Options::default())?;
    let network = relay(&scenario, scenario.seed, any, receiver.local_addr())
        .map_err(|error| Failure::Run(super::link::with_source(&error)))?;
    let network = network.start().map_err(|error| Failure::io(&"relay", &error))?;
    let monitor = network.monitor();

    let mut start = Start::new(Role::Demo, session::version(), session::command_line());
    start.bottleneck_bps = Some(link_rate.bits_per_sec());
    start.segment_bytes = u64::try_from(LENGTH).ok();
    for (name, value) in [("round-trip time", "40 ms"), ("queue", "25 packets")] {
        start.parameters.insert(name.to_owned(), value.to_owned());
    }
    reporter.record(&Record::Start(start))?;
    let received = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&received);
    let receiving = tokio::spawn(async move {
        let connection = receiver.accept().await?;
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
    let mut watch = Watch {
        sampler: Sampler::new(began, connection.status()),
        network: Network::new(monitor, link_rate),
        received,
        received_before: 0,
        goodputs: Vec::new(),
    };
    let connected_at = sender.now();
    reporter.record(&watch.sampler.event(connected_at, EventKind::Connected))?;
    transfer(args, &connection, &mut watch, &mut reporter, &mut interrupt).await?;
    watch.network.end_measuring();
    let sent_until = sender.now();
    let closed = connection.close().await;
    let ended = sender.now();
    reporter.record(&watch.sampler.event(ended, EventKind::Closed))?;
    let text = closed.and_then(|closed| closed.text).unwrap_or_default();
    let tally: Tally = text
        .parse()
        .map_err(|()| Failure::Run("the connection ended without the receiver's counts".to_owned()))?;
    let summary = watch.summary(&connection, tally, sent_until.saturating_since(connected_at), link_rate);
    reporter.record(&Record::End(Box::new(summary)))?;
    drop(connection);
    sender.shut_down().await.map_err(|error| Failure::io(&"network", &error))?;
    let _ = receiving.await;
    network.stop().map_err(|error| Failure::io(&"relay", &error))?;
    Ok(())
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

/// Sends as much as is allowed for the time asked for.
async fn transfer(
    args: &DemoArgs,
    connection: &Connection,
    watch: &mut Watch,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut source = Source::made_up(LENGTH);
    let pump = async {
        while let Ok(Some(datagram)) = source.next().await {
            if connection.send(datagram).await.is_err() {
                break;
            }
        }
    };
    let time_up = tokio::time::sleep(std::time::Duration::from(args.duration));
    tokio::pin!(pump, time_up);
    let mut tick = tokio::time::interval(SAMPLE);
    tick.tick().await;
    loop {
        tokio::select! {
            () = &mut pump => return Err(Failure::Run("the connection broke off".to_owned())),
            () = &mut time_up => return Ok(()),
            () = interrupt.wished() => return Ok(()),
            () = watch.network.look() => {}
            _ = tick.tick() => {
                for record in watch.records(connection) {
                    reporter.record(&record)?;
                }
            }
        }
    }
}

/// Everything that is seen of the run while it lasts.
struct Watch {
    sampler: Sampler,
    network: Network,
    received: Arc<AtomicU64>,
    received_before: u64,
    /// Bytes received in each sample after slow start, with its length.
    goodputs: Vec<(u64, f64)>,
}

impl Watch {
    fn records(&mut self, connection: &Connection) -> Vec<Record> {
        let mut records = self.sampler.sender(connection);
        for record in &mut records {
            match record {
                Record::Interval(interval) => self.complete(interval),
                Record::Event(event) if event.event == EventKind::SlowStartEnd => {
                    self.network.begin_measuring()
                }
                _ => {}
            }
        }
        records
    }

    /// Adds what only somebody who sees both ends and the network knows.
    fn complete(&mut self, interval: &mut Interval) {
        let received = self.received.load(Ordering::Relaxed);
        let bytes = received - self.received_before;
        self.received_before = received;
        interval.goodput_bps = Some(as_f64(bytes) * 8.0 / interval.interval_s);
        interval.queue_packets = Some(as_f64(self.network.take_longest_queue()));
        interval.link_rate_bps = Some(self.network.rate.bits_per_sec());
        if self.network.measured_from.is_some() {
            self.goodputs.push((bytes, interval.interval_s));
        }
    }

    fn summary(&self, connection: &Connection, tally: Tally, time: Duration, link: Rate) -> Summary {
        let status = connection.status();
        let mut summary = Summary {
            duration_s: time.as_secs_f64(),
            sent_bytes: Some(status.stats.sent_data_bytes),
            send_rate_bps: Some(Rate::of(as_f64(status.stats.sent_data_bytes), time).bits_per_sec()),
            allowed_rate_bps: self.sampler.mean_allowed_rate(),
            rtt_s: self.sampler.mean_rtt(),
            late_dropped_packets: Some(status.late_dropped),
            bottleneck_bps: Some(link.bits_per_sec()),
            wire_goodput_bps: self.network.wire_goodput(),
            ..Summary::default()
        };
        tally.complete(status.stats.sent_data_packets, &mut summary);
        let measured: f64 = self.goodputs.iter().map(|(_, time)| time).sum();
        let bytes: u64 = self.goodputs.iter().map(|(bytes, _)| bytes).sum();
        summary.flows = vec![FlowSummary {
            id: "tfrc".to_owned(),
            kind: "tfrc".to_owned(),
            send_rate_bps: summary.send_rate_bps,
            goodput_bps: (measured > 0.0).then(|| as_f64(bytes) * 8.0 / measured),
            packet_loss_rate: summary.packet_loss_rate,
            loss_event_rate: summary.loss_event_rate,
            rtt_s: summary.rtt_s,
            cov: self.variation(),
            cov_200ms: None,
        }];
        summary
    }

    /// Coefficient of variation of the goodput over windows of 0.2 s.
    fn variation(&self) -> Option<f64> {
        let rates: Vec<f64> = self
            .goodputs
            .chunks_exact(COV_SAMPLES)
            .map(|w| as_f64(w.iter().map(|(b, _)| b).sum()) / w.iter().map(|(_, t)| t).sum::<f64>())
            .collect();
        let n = as_f64(u64::try_from(rates.len()).ok().filter(|n| *n > 1)?);
        let mean = rates.iter().sum::<f64>() / n;
        let variance = rates.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / n;
        (mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

/// The bottleneck, seen over time.
struct Network {
    monitor: Monitor,
    rate: Rate,
    longest_queue: u64,
    measured_from: Option<Arc<Snapshot>>,
    measured_to: Option<Arc<Snapshot>>,
}

impl Network {
    fn new(monitor: Monitor, rate: Rate) -> Self {
        Self { monitor, rate, longest_queue: 0, measured_from: None, measured_to: None }
    }

    /// Waits for the next snapshot and looks at the queue.
    async fn look(&mut self) {
        match self.monitor.next().await {
            // The packet in transmission does not wait.
            Some(snapshot) => {
                self.longest_queue = self.longest_queue.max(snapshot.there.queued.packets.saturating_sub(1));
            }
            None => std::future::pending().await,
        }
    }

    fn take_longest_queue(&mut self) -> u64 {
        std::mem::take(&mut self.longest_queue)
    }

    fn begin_measuring(&mut self) {
        self.measured_from.get_or_insert_with(|| self.monitor.latest());
    }

    fn end_measuring(&mut self) {
        self.measured_to = Some(self.monitor.latest());
    }

    /// What came out of the bottleneck between the two, headers included, in bit/s.
    fn wire_goodput(&self) -> Option<f64> {
        let (from, to) = (self.measured_from.as_ref()?, self.measured_to.as_ref()?);
        let bytes = to.there.delivered.bytes.checked_sub(from.there.delivered.bytes)?;
        let time = to.elapsed.saturating_sub(from.elapsed);
        (!time.is_zero()).then(|| Rate::of(as_f64(bytes), time).bits_per_sec())
    }
}
