//! The flows of a run as agents: how they are attached, and how far each has come.
//!
//! A flow is two agents. A kind of flow has its function in `Attaching` and its line in `bytes`
//! and `progress`.

use tfrc::config::{ClockGrain, QueueDelay};
use tfrc::guard::Stopped;
use tfrc_sim::tcp::Settings;
use tfrc_sim::trace::Tracing;
use tfrc_sim::traffic::{
    DatagramSetup, DatagramSource, Peer, PingSetup, Pinger, Ponger, TcpSetup, TcpSink, TcpSource, Timetable,
    Traffic, WebClient, WebServer, WebSetup,
};
use tfrc_sim::{Address, AgentId, Engine, NodeId, Seed, Stream};
use tfrc_units::{Duration, Instant, Rate};

use crate::agent::{
    Any, CustomReceiver, CustomSender, DccpHost, EndTask, FlowLosses, Host, HostSetup, LateAgent, START,
    SenderSetup, Source, TfrcReceiver, TfrcSender,
};
use crate::custom::Registry;
use crate::metric::Mean;
use crate::results::Stop;
use crate::state::Progress;
use tfrc_scenario::{
    Application, CustomFlow, DatagramFlow, DccpFlow, Flow, FlowKind, LossIntervals, Member, PingFlow, Tcp,
    TcpFlow, TfrcFlow, WebFlow,
};

/// The agents of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) sender: AgentId,
    pub(crate) receiver: AgentId,
}

/// Puts both ends of all flows on their nodes and sets their starts.
pub(crate) fn attach_all(
    engine: &mut Engine<Host>,
    members: &[Member<'_>],
    seed: Seed,
    own: &Registry,
) -> Vec<Ends> {
    let mut alike = None;
    members.iter().map(|member| attach(engine, member, &mut alike, seed, own)).collect()
}

/// The machines of the flows of an entry of the scenario before they have done anything. Clones
/// share their settings.
struct Alike<'s> {
    flow: &'s Flow,
    config: tfrc::Config,
    sender: tfrc::Sender,
    receiver: tfrc::Receiver,
}

fn attach<'s>(
    engine: &mut Engine<Host>,
    member: &Member<'s>,
    alike: &mut Option<Alike<'s>>,
    seed: Seed,
    own: &Registry,
) -> Ends {
    let mut flow = Attaching { engine, member, seed };
    let (ends, first) = match &member.flow.kind {
        FlowKind::Tfrc(tfrc) => flow.tfrc(tfrc, alike),
        FlowKind::Dccp(dccp) => flow.dccp(dccp),
        FlowKind::Tcp(tcp) => flow.tcp(tcp),
        FlowKind::Datagrams(datagrams) => flow.datagrams(datagrams),
        FlowKind::Custom(setup) => flow.own(setup, own),
        FlowKind::Ping(ping) => flow.ping(ping),
        FlowKind::Web(web) => flow.web(web),
    };
    engine.set_timer(first, START, member.start);
    ends
}

/// A flow whose ends are put on their nodes. Each kind returns them, and the end that begins.
struct Attaching<'a, 's> {
    engine: &'a mut Engine<Host>,
    member: &'a Member<'s>,
    seed: Seed,
}

impl<'s> Attaching<'_, 's> {
    fn stream(&self, what: &str) -> Stream {
        self.seed.stream(&format!("flow/{}/{what}", self.member.name))
    }

    fn put(&mut self, node: NodeId, agent: Any, end: &str) -> (AgentId, Address) {
        let agent = match self.member.flow.host {
            Some(host) => Any::Late(Box::new(LateAgent::new(agent, host, self.stream(end)))),
            None => agent,
        };
        let id =
            self.engine.attach(node, agent.into()).expect("a scenario's flows join nodes of its network");
        (id, self.engine.address(id).expect("just attached"))
    }

    /// Puts the receiver on its node, then the sender that `sender` makes for the receiver's place.
    fn both(&mut self, receiver: Any, sender: impl FnOnce(&Self, Address) -> Any) -> (Ends, AgentId) {
        let (receiver, place) = self.put(self.member.to, receiver, RECEIVER);
        let sender = sender(self, place);
        let (sender, _) = self.put(self.member.from, sender, SENDER);
        (Ends { sender, receiver }, sender)
    }

    fn timetable(&self) -> Timetable {
        self.member.flow.timetable.starting(self.member.start)
    }

    fn source(&self, application: Application, segment: u32, stream: Stream) -> Source {
        Source::new(application, self.timetable(), segment, self.member.start, stream)
    }

    fn peer(&self, to: Address) -> Peer {
        Peer { to, flow: self.member.id }
    }

    fn tfrc(&mut self, setup: &TfrcFlow, alike: &mut Option<Alike<'s>>) -> (Ends, AgentId) {
        let flow = self.member.flow;
        let Alike { config, sender, receiver, .. } = match alike {
            Some(alike) if std::ptr::eq(alike.flow, flow) => alike,
            other => {
                let config = exact(&setup.config);
                let (sender, receiver) = (tfrc::Sender::new(&config), tfrc::Receiver::new(&config));
                other.insert(Alike { flow, config, sender, receiver })
            }
        };
        let mut receiver = TfrcReceiver::new(config, receiver.clone(), self.member.start);
        if setup.loss_intervals == LossIntervals::Kept {
            receiver.start_log();
        }
        self.both(Any::TfrcReceiver(Box::new(receiver)), |flow, peer| {
            let application = flow.stream("application");
            let ends = SenderSetup {
                peer,
                flow: flow.member.id,
                header: setup.header,
                source: flow.source(setup.application, setup.segment, application),
                stop: flow.member.flow.stop,
                ecn: setup.ecn,
                precedence: setup.precedence,
            };
            Any::TfrcSender(Box::new(TfrcSender::new(sender.clone(), ends)))
        })
    }

    fn dccp(&mut self, dccp: &DccpFlow) -> (Ends, AgentId) {
        let (flow, stop) = (self.member.id, self.member.flow.stop);
        let setup = |peer| HostSetup {
            ccid: dccp.ccid,
            config: exact(&dccp.config),
            flow,
            ecn: dccp.ecn,
            precedence: dccp.precedence,
            peer,
            stop,
        };
        let server = DccpHost::new(EndTask::Server, setup(None), self.stream("server"));
        self.both(Any::Dccp(Box::new(server)), |flow, peer| {
            let application = flow.stream("application");
            let source = flow.source(dccp.application, dccp.segment, application);
            let task = EndTask::Client { source: Box::new(source) };
            Any::Dccp(Box::new(DccpHost::new(task, setup(Some(peer)), flow.stream("client"))))
        })
    }

    fn tcp(&mut self, tcp: &TcpFlow) -> (Ends, AgentId) {
        let settings = simulated(&tcp.tcp);
        let sink = Traffic::TcpSink(Box::new(TcpSink::new(&settings)));
        self.both(Any::Traffic(sink), |flow, to| {
            let source = TcpSource::new(TcpSetup {
                settings,
                timetable: flow.timetable(),
                peer: flow.peer(to),
                stop: flow.member.flow.stop,
                overhead: tcp.overhead,
                stream: flow.stream("overhead"),
            });
            Any::Traffic(Traffic::TcpSource(Box::new(source)))
        })
    }

    fn datagrams(&mut self, datagrams: &DatagramFlow) -> (Ends, AgentId) {
        let sink = Traffic::DatagramSink(Box::default());
        self.both(Any::Traffic(sink), |flow, to| {
            let source = DatagramSource::new(DatagramSetup {
                pattern: datagrams.draws.of(datagrams.pattern, &mut flow.stream("draws")),
                data: datagrams.data,
                header: datagrams.header,
                peer: flow.peer(to),
                timetable: flow.timetable(),
                stop: flow.member.flow.stop,
                stream: flow.stream("bursts"),
            });
            Any::Traffic(Traffic::DatagramSource(Box::new(source)))
        })
    }

    fn own(&mut self, setup: &CustomFlow, own: &Registry) -> (Ends, AgentId) {
        let controller = own.make_controller(&setup.controller).expect(
            "a registry runs only scenarios whose names it has, and no other world has a custom flow",
        );
        let receiver = Any::CustomReceiver(Box::new(CustomReceiver::new(self.timetable().total())));
        self.both(receiver, |flow, peer| {
            let times = (flow.timetable(), flow.member.flow.stop);
            let sender = CustomSender::new(controller, setup.clone(), peer, flow.member.id, times);
            Any::CustomSender(Box::new(sender))
        })
    }

    fn ping(&mut self, ping: &PingFlow) -> (Ends, AgentId) {
        self.both(Any::Traffic(Traffic::Ponger(Ponger)), |flow, to| {
            let pinger = Pinger::new(PingSetup {
                interval: ping.interval,
                size: ping.size,
                peer: flow.peer(to),
                timetable: flow.timetable(),
                stop: flow.member.flow.stop,
                trace: Tracing::Off,
            });
            Any::Traffic(Traffic::Pinger(Box::new(pinger)))
        })
    }

    /// Data goes from the server, which is the sender; the client at the other end asks for it.
    fn web(&mut self, web: &WebFlow) -> (Ends, AgentId) {
        let settings = simulated(&web.tcp);
        let server = WebServer::new(&settings, web.traffic.think);
        let (sender, place) =
            self.put(self.member.from, Any::Traffic(Traffic::WebServer(Box::new(server))), SENDER);
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
            begin: web.traffic.begin,
            peer: self.peer(place),
            stop: self.member.flow.stop,
            stream: self.stream("sessions"),
        });
        let (receiver, _) =
            self.put(self.member.to, Any::Traffic(Traffic::WebClient(Box::new(client))), RECEIVER);
        (Ends { sender, receiver }, receiver)
    }
}

/// Streams that draw how late the hosts act.
const SENDER: &str = "late sender";
const RECEIVER: &str = "late receiver";

/// The settings of a host whose clock shows every time.
fn exact(config: &tfrc::Config) -> tfrc::Config {
    let clock_grain = ClockGrain::Known(Duration::ZERO);
    let settings = tfrc::Settings { clock_grain, ..*config.settings() };
    settings.validate().expect("they were sound, and a clock has any grain")
}

/// The settings of a TCP of the simulator.
fn simulated(tcp: &Tcp) -> Settings {
    tcp.settings().expect("a scenario with agents was read for the simulator, which refuses others")
}

/// An agent of the engine.
pub(crate) fn agent(engine: &Engine<Host>, id: AgentId) -> Option<&Any> {
    engine.agent(id).map(Host::agent)
}

/// Bytes of data that a flow has sent and received: as [`progress`] has them, for less work.
pub(crate) fn bytes(engine: &Engine<Host>, ends: Ends) -> [u64; 2] {
    let ends = (agent(engine, ends.sender), agent(engine, ends.receiver));
    match ends {
        (Some(Any::TfrcSender(sender)), Some(Any::TfrcReceiver(receiver))) => {
            [sender.sent_bytes(), receiver.bytes()]
        }
        (Some(Any::Dccp(sender)), Some(Any::Dccp(receiver))) => {
            [sender.stats().sent_data_bytes, receiver.stats().received_data_bytes]
        }
        (Some(Any::CustomSender(sender)), Some(Any::CustomReceiver(receiver))) => {
            [sender.sent_bytes(), receiver.bytes()]
        }
        (Some(Any::Traffic(sender)), Some(Any::Traffic(receiver))) => {
            [sender.sent().bytes, received_bytes(sender, receiver)]
        }
        _ => unreachable!("both ends of a flow are of one kind"),
    }
}

/// Reads the progress of a flow from its agents.
pub(crate) fn progress(engine: &Engine<Host>, ends: Ends) -> Progress {
    match (agent(engine, ends.sender), agent(engine, ends.receiver)) {
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
            competed: competed(sender.machine(), engine.now()),
            limit: Some(sender.machine().limit(engine.now())),
            ..Progress::default()
        },
        (Some(Any::Dccp(sender)), Some(Any::Dccp(receiver))) => Progress {
            dropped: Some(dropped(engine, ends.sender)),
            competed: sender.connection().and_then(|c| competed(c.rate_sender(), engine.now())),
            limit: sender.connection().map(|c| c.rate_sender().limit(engine.now())),
            ..dccp(sender, receiver)
        },
        (Some(Any::CustomSender(sender)), Some(Any::CustomReceiver(receiver))) => {
            let losses = FlowLosses { events: sender.loss_events(), packets: sender.sent_packets() };
            Progress {
                sent_packets: sender.sent_packets(),
                sent_bytes: sender.sent_bytes(),
                received_packets: receiver.packets(),
                received_bytes: receiver.bytes(),
                acknowledged_packets: Some(sender.acknowledged_packets()),
                dropped: Some(dropped(engine, ends.sender)),
                losses: Some(losses),
                rtt: sender.rtt(),
                smoothed_rtt: sender.smoothed_rtt(),
                allowed_bps: sender.allowance().rate.map(Rate::bits_per_sec),
                cwnd: Some(sender.allowance().window),
                ..Progress::default()
            }
        }
        (Some(Any::Traffic(sender)), Some(Any::Traffic(receiver))) => {
            let dropped = match sender {
                Traffic::TcpSource(_) | Traffic::DatagramSource(_) => Some(dropped(engine, ends.sender)),
                Traffic::Pinger(_) => Some(dropped(engine, ends.sender) + dropped(engine, ends.receiver)),
                _ => None,
            };
            traffic(sender, receiver, dropped)
        }
        _ => unreachable!("both ends of a flow are of one kind"),
    }
}

/// Packets that this end has sent and links have dropped.
fn dropped(engine: &Engine<Host>, end: AgentId) -> u64 {
    engine.address(end).map_or(0, |address| engine.dropped_from(address).packets)
}

/// The time of competition of a sender with a bound on the queueing delay.
fn competed(sender: &tfrc::Sender, now: Instant) -> Option<Duration> {
    let bound = sender.config().settings().max_queue_delay;
    (bound != QueueDelay::Unlimited).then(|| sender.competed(now))
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

/// Bytes of data that a flow of background traffic has received; of a ping, those of its replies.
fn received_bytes(sender: &Traffic, receiver: &Traffic) -> u64 {
    let Traffic::Pinger(pinger) = sender else { return receiver.delivered().bytes };
    let sent = pinger.sent();
    pinger.stats().replies * sent.bytes.checked_div(sent.packets).unwrap_or(0)
}

fn traffic(sender: &Traffic, receiver: &Traffic, dropped: Option<u64>) -> Progress {
    let sent = sender.sent();
    let common = Progress {
        sent_packets: sent.packets,
        sent_bytes: sent.bytes,
        received_packets: receiver.delivered().packets,
        received_bytes: received_bytes(sender, receiver),
        dropped,
        ..Progress::default()
    };
    let seconds = |sum: Duration, count| Mean::of(sum.as_secs_f64(), count);
    match (sender, receiver) {
        (Traffic::TcpSource(source), Traffic::TcpSink(sink)) => {
            let stats = source.sender().stats();
            Progress {
                // A segment does not say whether it is a retransmission, which is a packet of its
                // own, or a copy that a link made: no more have arrived than were sent.
                received_packets: sink.sink().stats().received_segments.min(stats.sent_segments),
                acknowledged_packets: Some(stats.acked_segments),
                losses: Some(FlowLosses { events: stats.window_cuts, packets: stats.sent_segments }),
                rtt: seconds(stats.rtt_sum, stats.rtt_samples),
                cwnd: Some(source.sender().cwnd()),
                ..common
            }
        }
        (Traffic::Pinger(pinger), _) => {
            let stats = pinger.stats();
            Progress { received_packets: stats.replies, rtt: seconds(stats.sum, stats.replies), ..common }
        }
        _ => common,
    }
}
