//! TFRC and DCCP flows: endpoints of `tfrc-net`, DCCP over UDP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tfrc::config::PacketSize;
use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_net::options::{EcnSending, Listen, Study};
use tfrc_net::{Connection, Endpoint, LatePolicy, Options, Variant};
use tfrc_units::{Dscp, Ecn, saturating};
use tokio::time::MissedTickBehavior;

use super::{Course, End};
use crate::agent::{FlowLosses, Source};
use crate::record::Stop;
use tfrc_scenario::{Application, Backlog, DccpFlow, TfrcFlow};

/// Bytes of IPv4, UDP and DCCP in a data packet with sequence numbers of 48 bits.
const HEADERS: u32 = 44;

/// A session of either flow kind.
#[derive(Debug, Clone)]
pub(super) struct Session {
    variant: Variant,
    study: Study,
    dscp: Dscp,
    application: Application,
    segment: u32,
}

impl Session {
    pub(super) fn of_tfrc(flow: &TfrcFlow) -> Self {
        let variant = match flow.config.settings().packet_size {
            PacketSize::TfrcSp(_) => Variant::TfrcSp,
            _ => Variant::Tfrc,
        };
        let study = Study { tfrc: flow.config, ecn: sending(flow.ecn) };
        // On the wire there are the headers of this encapsulation, whatever the file says; packets
        // are as long as the file says.
        let segment = flow.segment.saturating_add(flow.header).saturating_sub(HEADERS).max(1);
        Self { variant, study, dscp: flow.dscp, application: flow.application, segment }
    }

    pub(super) fn of_dccp(flow: &DccpFlow) -> Self {
        let variant = match flow.ccid {
            tfrc_dccp::Ccid::Four => Variant::TfrcSp,
            _ => Variant::Tfrc,
        };
        let study = Study { tfrc: flow.config, ecn: sending(flow.ecn) };
        Self { variant, study, dscp: flow.dscp, application: flow.application, segment: flow.segment }
    }

    fn options(&self, accept: Listen) -> Options {
        Options {
            variant: self.variant,
            accept,
            dscp: self.dscp,
            // A backlog never waits long; other applications leave out what cannot go.
            send_queue: if self.is_backlogged() { 8 } else { 2 },
            ..Options::default()
        }
    }

    fn is_backlogged(&self) -> bool {
        self.application.pace == tfrc_scenario::Pace::Backlog
    }
}

fn sending(ecn: Ecn) -> EcnSending {
    if ecn == Ecn::NotEct { EcnSending::NotEct } else { EcnSending::Ect0 }
}

/// Starts the receiver, and the sender at its time.
pub(super) fn start(
    session: &Session,
    course: &Course,
    from: &NodeSpace,
    to: &NodeSpace,
) -> io::Result<Vec<End>> {
    course.state.update(|figures| figures.wire_overhead = Some(HEADERS));
    let (listening, options, study) =
        (course.listening(), session.options(Listen::One), session.study.clone());
    let endpoint = to.run(async move { Endpoint::bind_study(listening, &options, &study) })?;
    let receiver = to.spawn(receive(endpoint.map_err(io::Error::other)?, course.clone()));
    let sender = from.spawn(send(session.clone(), course.clone()));
    Ok(vec![receiver, sender])
}

async fn receive(endpoint: Endpoint, course: Course) -> io::Result<()> {
    let Some(connection) = endpoint.accept().await else { return Ok(()) };
    let mut reading = tokio::time::interval(course.reading);
    reading.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            received = connection.recv() => match received {
                Some(received) => course.state.update(|figures| {
                    figures.progress.received_bytes += saturating::<u64>(received.bytes.len());
                }),
                None => return Ok(()),
            },
            _ = reading.tick() => {
                let status = connection.status();
                let packets = status.peer_sent_packets;
                let losses = FlowLosses { events: status.loss_events, packets };
                course.state.update(|figures| {
                    let progress = &mut figures.progress;
                    progress.p = Some(status.loss_event_rate.get());
                    progress.losses = Some(losses);
                    if progress.first_event.is_none() && status.loss_events > 0 {
                        progress.first_event = Some(losses);
                    }
                });
            }
        }
    }
}

async fn send(session: Session, course: Course) -> io::Result<()> {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let endpoint = Endpoint::bind_study(any, &session.options(Listen::Refuse), &session.study);
    let endpoint = endpoint.map_err(io::Error::other)?;
    let mut timer = Timer::new(course.clock)?;
    course.until(&mut timer, course.start).await?;
    let connection = endpoint.connect(course.peer).await.map_err(io::Error::other)?;
    if session.application.backlog == Backlog::LeftOut && !session.is_backlogged() {
        connection.set_late_policy(LatePolicy::DropAfter(LATE));
    }
    let mut source =
        Source::new(session.application, session.segment, course.start, course.stream("application"));
    let mut reading = tokio::time::interval(course.reading);
    reading.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let feed = async {
        while !course.is_over() {
            let due = source.next(course.clock.now());
            course.until(&mut timer, due).await?;
            let size = saturating::<usize>(source.take(due)).min(connection.max_datagram());
            if connection.send(vec![0; size]).await.is_err() {
                break;
            }
        }
        Ok::<(), io::Error>(())
    };
    tokio::pin!(feed);
    loop {
        tokio::select! {
            fed = &mut feed => {
                fed?;
                break;
            }
            _ = reading.tick() => look(&connection, &course),
        }
    }
    drop(connection.close_now().await);
    endpoint.shut_down().await
}

/// A packet that the rate does not let go within this is left out, as the simulated application
/// does at once.
const LATE: tfrc_units::Duration = tfrc_units::Duration::from_millis(20);

/// Reads the state of the sender.
fn look(connection: &Connection, course: &Course) {
    let status = connection.status();
    course.state.update(|figures| {
        let progress = &mut figures.progress;
        progress.allowed_bps = Some(status.allowed_rate.bits_per_sec());
        if let (Some(rule), None) = (status.stopped, progress.stopped) {
            progress.last_stop = Some(Stop { at_s: course.clock.now().as_secs_f64(), rule });
        }
        progress.stopped = status.stopped;
        if let Some(rtt) = status.rtt {
            progress.rtt.add(rtt.as_secs_f64());
            progress.smoothed_rtt = Some(rtt);
        }
    });
}
