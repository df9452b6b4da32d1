//! Datagrams without any control, at a constant rate or on and off.

use std::io;

use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_sim::traffic::Pattern;
use tfrc_units::{Duration, f64_from_u64, saturating, u64_from_f64};
use tokio::net::UdpSocket;

use super::{Course, End};
use tfrc_scenario::DatagramFlow;

/// Bytes of IPv4 and UDP.
pub(super) const HEADERS: u32 = 28;

/// Starts the receiver, and the sender at its time.
pub(super) fn start(
    flow: &DatagramFlow,
    course: &Course,
    from: &NodeSpace,
    to: &NodeSpace,
) -> io::Result<Vec<End>> {
    // Headers of the file that are not on a UDP datagram are sent as data.
    let size = flow.data.saturating_add(flow.header).saturating_sub(HEADERS).max(1);
    course.state.update(|figures| figures.wire_overhead = Some(flow.header));
    let listening = course.listening();
    let socket = to.run(UdpSocket::bind(listening))??;
    let receiver = to.spawn(receive(socket, course.clone(), flow.data));
    let sender = from.spawn(send(flow.clone(), size, course.clone()));
    Ok(vec![receiver, sender])
}

async fn receive(socket: UdpSocket, course: Course, data: u32) -> io::Result<()> {
    let mut room = vec![0; 1 << 16];
    loop {
        socket.recv(&mut room).await?;
        course.state.update(|figures| figures.progress.received_bytes += u64::from(data));
    }
}

/// Sends bursts as the simulated source of this name does: a burst is a whole number of packets.
async fn send(flow: DatagramFlow, size: u32, course: Course) -> io::Result<()> {
    let pattern = flow.draws.of(flow.pattern, &mut course.stream("draws"));
    let mut stream = course.stream("bursts");
    let (rate, bursts) = match pattern {
        Pattern::Constant(rate) => (rate, None),
        Pattern::OnOff { rate, on, off } => (rate, Some((on, off))),
        other => return Err(io::Error::other(format!("{other:?} has no source in real time"))),
    };
    if rate.is_zero() || flow.data == 0 {
        return Ok(());
    }
    let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0)).await?;
    socket.connect(course.peer).await?;
    let data = vec![0; saturating::<usize>(size)];
    let mut timer = Timer::new(course.clock)?;
    let mut begin = course.start;
    loop {
        let packets = bursts.map_or(u64::MAX, |(on, _)| {
            let packets = on.sample(&mut stream) * rate.bytes_per_sec() / f64::from(flow.data);
            u64_from_f64(packets + 0.5).max(1)
        });
        let mut next = begin;
        for gone in 1..=packets {
            if next >= course.stop {
                return Ok(());
            }
            course.until(&mut timer, next).await?;
            let behind = course.clock.now().saturating_since(next);
            course.state.update(|figures| figures.behind = behind);
            // An interface without room has lost it: the receiver will miss it.
            drop(socket.send(&data).await);
            next = begin + rate.time_for(f64::from(flow.data) * f64_from_u64(gone));
        }
        let Some((_, off)) = bursts else { return Ok(()) };
        begin = next + Duration::from_secs_f64(off.sample(&mut stream));
    }
}
