//! Echo requests, as UDP datagrams that the other end sends back.

use std::collections::VecDeque;
use std::io;

use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_units::{Instant, saturating};
use tokio::net::UdpSocket;

use super::datagrams::HEADERS;
use super::{Course, End};
use tfrc_scenario::PingFlow;

/// Requests that are remembered until their answers come, at most.
const UNANSWERED: usize = 1 << 16;

/// Starts the end that answers, and the one that asks at its time.
pub(super) fn start(
    flow: PingFlow,
    course: &Course,
    from: &NodeSpace,
    to: &NodeSpace,
) -> io::Result<Vec<End>> {
    course.state.update(|figures| figures.wire_overhead = Some(0));
    let listening = course.listening();
    let socket = to.run(UdpSocket::bind(listening))??;
    let answering = to.spawn(answer(socket));
    let asking = from.spawn(ask(flow, course.clone()));
    Ok(vec![answering, asking])
}

async fn answer(socket: UdpSocket) -> io::Result<()> {
    let mut room = vec![0; 1 << 16];
    loop {
        let (length, from) = socket.recv_from(&mut room).await?;
        // An interface without room has lost it, as the network may.
        drop(socket.send_to(room.get(..length).unwrap_or_default(), from).await);
    }
}

async fn ask(flow: PingFlow, course: Course) -> io::Result<()> {
    let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0)).await?;
    socket.connect(course.peer).await?;
    // The time of sending goes with the request.
    let mut data = vec![0; saturating::<usize>(flow.size.saturating_sub(HEADERS)).max(8)];
    let (mut timer, mut next, mut given) = (Timer::new(course.clock)?, course.start, 0_u64);
    timer.arm(Some(next))?;
    let mut room = vec![0; 1 << 16];
    // When the requests were sent that have no answer so far, the newest last.
    let mut unanswered = VecDeque::new();
    loop {
        tokio::select! {
            rung = timer.expired() => {
                rung?;
                let now = course.clock.now();
                if now >= course.stop {
                    return Ok(());
                }
                let supply = course.timetable.at(now);
                if supply.left(given) < u64::from(flow.size) {
                    next = supply.next.unwrap_or(course.stop);
                    timer.arm(Some(next.max(now)))?;
                    continue;
                }
                given = given.saturating_add(u64::from(flow.size));
                if let Some(time) = data.first_chunk_mut::<8>() {
                    *time = now.as_nanos().to_be_bytes();
                }
                if unanswered.len() == UNANSWERED {
                    unanswered.pop_front();
                }
                unanswered.push_back(now);
                // An interface without room has lost it, as the network may.
                drop(socket.send(&data).await);
                next += flow.interval;
                timer.arm(Some(next.max(now)))?;
            }
            got = socket.recv(&mut room) => {
                let length = got?;
                let sent = room.get(..length).and_then(|data| data.first_chunk::<8>());
                let Some(sent) = sent.map(|time| Instant::from_nanos(u64::from_be_bytes(*time))) else { continue };
                // A second answer, to a request or an answer of which the network made copies.
                let Ok(place) = unanswered.binary_search(&sent) else { continue };
                unanswered.remove(place);
                let rtt = course.clock.now().saturating_since(sent);
                course.state.update(|figures| {
                    figures.progress.rtt.add(rtt.as_secs_f64());
                    figures.progress.smoothed_rtt = Some(rtt);
                    figures.progress.received_bytes += u64::from(flow.size);
                });
            }
        }
    }
}
