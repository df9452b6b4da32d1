//! The flows of a run as agents: how they are attached, and how far each has come.

use tfrc::guard::Stopped;
use tfrc_sim::tcp::Settings;
use tfrc_sim::trace::Tracing;
use tfrc_sim::traffic::{
    DatagramSetup, DatagramSink, DatagramSource, Peer, PingSetup, Pinger, Ponger, TcpSetup, TcpSink,
    TcpSource, Traffic, WebClient, WebServer, WebSetup,
};
use tfrc_sim::{AgentId, Engine, NodeId, Seed};
use tfrc_units::Duration;

use crate::agent::{
    Any, DccpHost, EndTask, FlowLosses, HostSetup, START, SenderSetup, Source, TfrcReceiver, TfrcSender,
};
use crate::metric::Mean;
use crate::record::Stop;
use crate::world::Progress;
use tfrc_scenario::{FlowKind, LossIntervals, Member, Tcp};

/// The agents of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) sender: AgentId,
    pub(crate) receiver: AgentId,
}

/// Puts both ends of a flow on their nodes and sets its start.
pub(crate) fn attach(engine: &mut Engine<Any>, member: &Member<'_>, seed: Seed) -> Ends {
    let Member { id, name, from, to, start, flow } = member;
    let (id, start, stop) = (*id, *start, flow.stop);
    let stream = |what: &str| seed.stream(&format!("flow/{name}/{what}"));
    let put = |engine: &mut Engine<Any>, node: NodeId, agent| {
        let id = engine.attach(node, agent).expect("a scenario's flows join nodes of its network");
        (id, engine.address(id).expect("just attached"))
    };
    let (receiver, sender) = match &flow.kind {
        FlowKind::Tfrc(tfrc) => {
            let mut receiver = TfrcReceiver::new(&tfrc.config, start);
            if tfrc.loss_intervals == LossIntervals::Kept {
                receiver.start_log();
            }
            let (receiver, peer) = put(engine, *to, Any::TfrcReceiver(Box::new(receiver)));
            let setup = SenderSetup {
                peer,
                flow: id,
                header: tfrc.header,
                source: Source::new(tfrc.application, tfrc.segment, start, stream("application")),
                stop,
                ecn: tfrc.ecn,
                precedence: tfrc.precedence,
            };
            let sender = TfrcSender::new(&tfrc.config, setup);
            (receiver, put(engine, *from, Any::TfrcSender(Box::new(sender))).0)
        }
        FlowKind::Dccp(dccp) => {
            let setup = |peer| HostSetup {
                ccid: dccp.ccid,
                config: dccp.config,
                flow: id,
                ecn: dccp.ecn,
                precedence: dccp.precedence,
                peer,
                stop,
            };
            let server = DccpHost::new(EndTask::Server, setup(None), stream("server"));
            let (receiver, peer) = put(engine, *to, Any::Dccp(Box::new(server)));
            let source = Source::new(dccp.application, dccp.segment, start, stream("application"));
            let client = DccpHost::new(EndTask::Client { source }, setup(Some(peer)), stream("client"));
            (receiver, put(engine, *from, Any::Dccp(Box::new(client))).0)
        }
        FlowKind::Tcp(tcp) => {
            let settings = simulated(&tcp.tcp);
            let sink = Traffic::TcpSink(Box::new(TcpSink::new(&settings)));
            let (receiver, to) = put(engine, *to, Any::Traffic(sink));
            let source = TcpSource::new(TcpSetup {
                settings,
                transfer: tcp.transfer,
                peer: Peer { to, flow: id },
                stop,
                overhead: tcp.overhead,
                stream: stream("overhead"),
            });
            (receiver, put(engine, *from, Any::Traffic(Traffic::TcpSource(Box::new(source)))).0)
        }
        FlowKind::Datagrams(datagrams) => {
            let sink = Traffic::DatagramSink(DatagramSink::default());
            let (receiver, to) = put(engine, *to, Any::Traffic(sink));
            let source = DatagramSource::new(DatagramSetup {
                pattern: datagrams.draws.of(datagrams.pattern, &mut stream("draws")),
                data: datagrams.data,
                header: datagrams.header,
                peer: Peer { to, flow: id },
                stop,
                stream: stream("bursts"),
            });
            (receiver, put(engine, *from, Any::Traffic(Traffic::DatagramSource(Box::new(source)))).0)
        }
        FlowKind::Ping(ping) => {
            let (receiver, to) = put(engine, *to, Any::Traffic(Traffic::Ponger(Ponger)));
            let pinger = Pinger::new(PingSetup {
                interval: ping.interval,
                size: ping.size,
                peer: Peer { to, flow: id },
                stop,
                trace: Tracing::Off,
            });
            (receiver, put(engine, *from, Any::Traffic(Traffic::Pinger(Box::new(pinger)))).0)
        }
        FlowKind::Web(web) => {
            // Data goes from the server, which is the sender; the client at the other end asks for
            // it.
            let settings = simulated(&web.tcp);
            let server = WebServer::new(&settings, web.traffic.think);
            let (server, peer) = put(engine, *from, Any::Traffic(Traffic::WebServer(Box::new(server))));
            let client = WebClient::new(WebSetup {
                settings,
                sessions: web.traffic.sessions,
                arrivals: web.traffic.arrivals,
                pages: web.traffic.pages,
                between_pages: web.traffic.between_pages,
                objects: web.traffic.objects,
                between_objects: web.traffic.between_objects,
                object: web.traffic.object,
                request: web.traffic.request,
                peer: Peer { to: peer, flow: id },
                stop,
                stream: stream("sessions"),
            });
            let (client, _) = put(engine, *to, Any::Traffic(Traffic::WebClient(Box::new(client))));
            engine.set_timer(client, START, start);
            return Ends { sender: server, receiver: client };
        }
    };
    engine.set_timer(sender, START, start);
    Ends { sender, receiver }
}

/// The settings of a TCP of the simulator.
fn simulated(tcp: &Tcp) -> Settings {
    tcp.settings().expect("a scenario with agents was read for the simulator, which refuses others")
}

/// Bytes of data that a flow has sent and received: as [`progress`] has them, for less work.
pub(crate) fn bytes(engine: &Engine<Any>, ends: Ends) -> [u64; 2] {
    let ends = (engine.agent(ends.sender), engine.agent(ends.receiver));
    match ends {
        (Some(Any::TfrcSender(sender)), Some(Any::TfrcReceiver(receiver))) => {
            [sender.sent_bytes(), receiver.bytes()]
        }
        (Some(Any::Dccp(sender)), Some(Any::Dccp(receiver))) => {
            [sender.stats().sent_data_bytes, receiver.stats().received_data_bytes]
        }
        (Some(Any::Traffic(sender)), Some(Any::Traffic(receiver))) => {
            let Progress { sent_bytes, received_bytes, .. } = traffic(sender, receiver);
            [sent_bytes, received_bytes]
        }
        _ => unreachable!("both ends of a flow are of one kind"),
    }
}

/// Reads the progress of a flow from its agents.
pub(crate) fn progress(engine: &Engine<Any>, ends: Ends) -> Progress {
    match (engine.agent(ends.sender), engine.agent(ends.receiver)) {
        (Some(Any::TfrcSender(sender)), Some(Any::TfrcReceiver(receiver))) => Progress {
            sent_packets: sender.sent_packets(),
            sent_bytes: sender.sent_bytes(),
            received_packets: receiver.packets(),
            received_bytes: receiver.bytes(),
            dropped: Some(dropped(engine, ends.sender)),
            losses: Some(receiver.losses()),
            first_event: receiver.first_event(),
            rtt: sender.rtt(),
            smoothed_rtt: sender.machine().rtt(),
            allowed_bps: Some(sender.machine().allowed_rate().bits_per_sec()),
            p: Some(receiver.machine().loss_event_rate().get()),
            stopped: sender.machine().stopped().map(|stopped| stopped.trip),
            last_stop: sender.last_stop().map(stop),
            ..Progress::default()
        },
        (Some(Any::Dccp(sender)), Some(Any::Dccp(receiver))) => {
            Progress { dropped: Some(dropped(engine, ends.sender)), ..dccp(sender, receiver) }
        }
        (Some(Any::Traffic(sender)), Some(Any::Traffic(receiver))) => {
            let dropped = match sender {
                Traffic::TcpSource(_) | Traffic::DatagramSource(_) => Some(dropped(engine, ends.sender)),
                Traffic::Pinger(_) => Some(dropped(engine, ends.sender) + dropped(engine, ends.receiver)),
                _ => None,
            };
            Progress { dropped, ..traffic(sender, receiver) }
        }
        _ => unreachable!("both ends of a flow are of one kind"),
    }
}

/// Packets that this end has sent and links have dropped.
fn dropped(engine: &Engine<Any>, end: AgentId) -> u64 {
    engine.address(end).map_or(0, |address| engine.dropped_from(address).packets)
}

fn stop(stopped: Stopped) -> Stop {
    Stop { at_s: stopped.at.as_secs_f64(), rule: stopped.trip }
}

fn dccp(sender: &DccpHost, receiver: &DccpHost) -> Progress {
    let (sent, received) = (sender.stats(), receiver.stats());
    let passed = receiver.connection().map(tfrc_dccp::Connection::peer_sent_data_packets);
    let events = receiver.connection().and_then(|c| c.rate_receiver()).map(tfrc::Receiver::loss_events);
    Progress {
        sent_packets: sent.sent_data_packets,
        sent_bytes: sent.sent_data_bytes,
        received_packets: received.received_data_packets,
        received_bytes: received.received_data_bytes,
        losses: Some(FlowLosses { events: events.unwrap_or(0), packets: passed.unwrap_or(0) }),
        rtt: sender.rtt(),
        smoothed_rtt: sender.connection().and_then(tfrc_dccp::Connection::rtt),
        allowed_bps: sender.connection().map(|c| c.rate().bits_per_sec()),
        p: receiver.connection().and_then(|c| c.rate_receiver()).map(|r| r.loss_event_rate().get()),
        stopped: sender.connection().and_then(|c| c.rate_sender().stopped()).map(|stopped| stopped.trip),
        last_stop: sender.last_stop().map(stop),
        ..Progress::default()
    }
}

fn traffic(sender: &Traffic, receiver: &Traffic) -> Progress {
    let (sent, delivered) = (sender.sent(), receiver.delivered());
    let common = Progress {
        sent_packets: sent.packets,
        sent_bytes: sent.bytes,
        received_packets: delivered.packets,
        received_bytes: delivered.bytes,
        ..Progress::default()
    };
    let seconds = |sum: Duration, count| Mean::of(sum.as_secs_f64(), count);
    match (sender, receiver) {
        (Traffic::TcpSource(source), Traffic::TcpSink(sink)) => {
            let stats = source.sender().stats();
            Progress {
                received_packets: sink.sink().stats().received_segments,
                acknowledged_packets: Some(stats.acked_segments),
                losses: Some(FlowLosses { events: stats.window_cuts, packets: stats.sent_segments }),
                rtt: seconds(stats.rtt_sum, stats.rtt_samples),
                cwnd: Some(source.sender().cwnd()),
                ..common
            }
        }
        (Traffic::Pinger(pinger), _) => {
            let stats = pinger.stats();
            let size = sent.bytes.checked_div(sent.packets).unwrap_or(0);
            Progress {
                received_packets: stats.replies,
                received_bytes: stats.replies * size,
                rtt: seconds(stats.sum, stats.replies),
                ..common
            }
        }
        _ => common,
    }
}
