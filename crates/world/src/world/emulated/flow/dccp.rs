//! TFRC and DCCP flows: endpoints of `tfrc-net`, DCCP over UDP.
//!
//! The flow fails if its connection cannot be made or ends before the flow's time: the run has no
//! result then. A datagram that is too long for a packet is shortened, and by how much is part of
//! the run's fidelity.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tfrc::config::PacketSize;
use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_net::options::{Common, Dccp, EcnSending, Listen, Study};
use tfrc_net::{Connection, Endpoint, LatePolicy, Options, SendError, Variant};
use tfrc_units::{Dscp, Ecn, Instant, saturating};
use tokio::time::MissedTickBehavior;

use super::{Course, End};
use crate::agent::{FlowLosses, Source};
use crate::results::Stop;
use tfrc_scenario::{Application, Backlog, DccpFlow, TfrcFlow};

/// Bytes of IPv4 (20), UDP (8) and DCCP in a data packet with sequence numbers of 48 bits
/// (16, RFC 4340 §5.1).
const HEADERS: u32 = 44;

/// Datagrams that may wait for the rate in a backlogged flow: enough for the source never to be
/// what holds the flow up, as it fills the queue again as soon as there is room.
const BACKLOG_QUEUE: usize = 8;
/// Datagrams that may wait in other flows: the one that is due, and the next.
const PACED_QUEUE: usize = 2;

/// A packet that the rate does not let go within this is left out, as the simulated application
/// does at once: the least time that covers what a busy machine is late by.
const LATE: tfrc_units::Duration = tfrc_units::Duration::from_millis(20);

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
        // A backlog never waits long; other applications leave out what cannot go.
        let send_queue = if self.is_backlogged() { BACKLOG_QUEUE } else { PACED_QUEUE };
        Options {
            common: Common { accept, send_queue, ..Common::default() },
            dccp: Dccp { variant: self.variant, dscp: self.dscp, ..Dccp::default() },
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
    let Some(connection) = endpoint.accept().await else { return endpoint.shut_down().await };
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
    let (timetable, stream) = (course.timetable.clone(), course.stream("application"));
    let mut source = Source::new(session.application, timetable, session.segment, course.start, stream);
    let mut reading = tokio::time::interval(course.reading);
    reading.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let feed = async {
        while !course.is_over() {
            let Some(due) = source.next(course.clock.now()) else {
                // All data has been given: the flow ends when it has gone out.
                connection.flushed().await;
                if source.total().is_none() {
                    course.until(&mut timer, course.stop).await?;
                }
                break;
            };
            course.until(&mut timer, due.min(course.stop)).await?;
            if due >= course.stop {
                break;
            }
            let asked = saturating::<usize>(source.take(due));
            let size = asked.min(connection.max_datagram());
            course.state.update(|figures| figures.shortened = figures.shortened.max(asked - size));
            if let Err(error) = connection.send(vec![0; size]).await {
                return Err(broken(&error, &connection, course.clock.now()).await);
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
    // The flow has ended here, whether the other end has heard of it or not.
    drop(connection.close_now().await);
    endpoint.shut_down().await
}

/// The fault of a flow whose connection took no datagram any more at `now`, with what ended it.
async fn broken(error: &SendError, connection: &Connection, now: Instant) -> io::Error {
    let ended = connection.close_now().await.map_or("for no known reason".to_owned(), |closed| {
        let text = closed.text.map_or(String::new(), |text| format!(" ({text})"));
        format!("by {:?}, {:?}{text}", closed.by, closed.cause)
    });
    io::Error::other(format!("{error} before the flow's end, at {:.3} s, {ended}", now.as_secs_f64()))
}

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

#[cfg(test)]
mod tests {
    use tfrc_net::io::Clock;
    use tfrc_sim::Seed;
    use tfrc_units::Duration;

    use super::*;
    use crate::world::emulated::flow::FlowState;

    /// A backlogged flow of 10 s to `peer`, with datagrams of this many bytes.
    fn flow(peer: SocketAddr, segment: u32) -> (Session, Course) {
        let application = Application {
            pace: tfrc_scenario::Pace::Backlog,
            phases: None,
            sizes: None,
            backlog: Backlog::Kept,
        };
        let study = Study { tfrc: tfrc::Config::default(), ecn: EcnSending::Ect0 };
        let session = Session { variant: Variant::Tfrc, study, dscp: Dscp::default(), application, segment };
        let clock = Clock::start();
        let course = Course {
            name: "flow".to_owned(),
            clock,
            start: clock.now(),
            stop: clock.now() + Duration::from_secs(10),
            timetable: tfrc_sim::traffic::Timetable::default(),
            peer,
            seed: Seed(1),
            reading: std::time::Duration::from_millis(50),
            state: FlowState::default(),
        };
        (session, course)
    }

    /// The server takes a datagram and leaves: the flow has failed, and the fault says by whom.
    #[test]
    fn a_connection_that_ends_too_early_is_a_failed_flow() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let (session, _) = flow(any, 1456);
            let server = Endpoint::bind_study(any, &session.options(Listen::One), &session.study);
            let server = server.expect("bound");
            let (session, course) = flow(server.local_addr(), 1456);
            let state = course.state.clone();
            let leave = async {
                let connection = server.accept().await.expect("a client");
                connection.recv().await.expect("a datagram");
                connection.request_close("enough").await;
            };
            let (sent, ()) = tokio::join!(send(session, course), leave);
            let fault = sent.expect_err("the flow has failed").to_string();
            assert!(fault.contains("before the flow's end") && fault.contains("enough"), "{fault}");
            // An Ethernet packet has 1,500 bytes; next to HEADERS it keeps room for options.
            let shortened = state.get().shortened;
            assert!((1..100).contains(&shortened), "{shortened}");
        });
    }
}
