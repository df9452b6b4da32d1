//! Datagrams without any control, at a constant rate or on and off.

use std::io;

use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_sim::traffic::{Distinct, Pattern};
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
    let receiver = to.spawn(receive(socket, course.clone(), (flow.data, size)));
    let sender = from.spawn(send(flow.clone(), size, course.clone()));
    Ok(vec![receiver, sender])
}

/// `full` has the data and the bytes of a full datagram.
async fn receive(socket: UdpSocket, course: Course, full: (u32, u32)) -> io::Result<()> {
    let (mut room, mut numbers) = (vec![0; 1 << 16], Distinct::default());
    loop {
        let length = socket.recv(&mut room).await?;
        let missing = full.1.saturating_sub(saturating::<u32>(length));
        let data = full.0.saturating_sub(missing);
        if numbers.arrives(number_in(room.get(..length).unwrap_or_default(), numbers.expected())) {
            course.state.update(|figures| figures.progress.received_bytes += u64::from(data));
        }
    }
}

/// Puts the number of a datagram into its first bytes, the low ones last; as many as there are, but
/// eight at most.
fn put_number(datagram: &mut [u8], number: u64) {
    let room = datagram.len().min(8);
    for (place, byte) in datagram.iter_mut().take(8).zip(number.to_be_bytes().iter().skip(8 - room)) {
        *place = *byte;
    }
}

/// The number in a datagram: of those that end in its bytes the one nearest to `expected`.
fn number_in(datagram: &[u8], expected: u64) -> u64 {
    let low = datagram.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let Some(turn) = 1u64.checked_shl(8 * saturating::<u32>(datagram.len().min(8))) else { return low };
    let ahead = low.wrapping_sub(expected) % turn;
    if ahead <= turn / 2 { expected + ahead } else { (expected + ahead).saturating_sub(turn) }
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
    let (mut data, mut number) = (vec![0; saturating::<usize>(size)], 0);
    let mut timer = Timer::new(course.clock)?;
    let (mut begin, mut given) = (course.start, 0_u64);
    'bursts: loop {
        let packets = bursts.map_or(u64::MAX, |(on, _)| {
            let packets = on.sample(&mut stream) * rate.bytes_per_sec() / f64::from(flow.data);
            u64_from_f64(packets + 0.5).max(1)
        });
        let mut next = begin;
        for gone in 1..=packets {
            let supply = course.timetable.at(next);
            let short = u64::from(flow.data).saturating_sub(supply.left(given));
            if short == u64::from(flow.data) {
                let Some(later) = supply.next else { return Ok(()) };
                begin = later;
                continue 'bursts;
            }
            if next >= course.stop {
                return Ok(());
            }
            course.until(&mut timer, next).await?;
            let behind = course.clock.now().saturating_since(next);
            course.state.update(|figures| figures.behind = behind);
            let length = data.len().saturating_sub(saturating::<usize>(short)).max(1);
            let datagram = data.get_mut(..length).unwrap_or_default();
            put_number(datagram, number);
            number += 1;
            // An interface without room has lost it: the receiver will miss it.
            drop(socket.send(datagram).await);
            given = given.saturating_add(u64::from(flow.data) - short);
            next = begin + rate.time_for(f64::from(flow.data) * f64_from_u64(gone));
        }
        let Some((_, off)) = bursts else { return Ok(()) };
        begin = next + Duration::from_secs_f64(off.sample(&mut stream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In datagrams of any length, and around the turns of short numbers.
    #[test]
    fn numbers_go_there_and_back() {
        for length in 1..20 {
            let mut datagram = vec![0xEE; length];
            for number in [0, 1, 127, 255, 256, 65_535, 65_600, 1 << 40] {
                put_number(&mut datagram, number);
                for expected in [number, number + 1, number + 90, number.saturating_sub(90)] {
                    assert_eq!(number_in(&datagram, expected), number, "{length} {expected}");
                }
            }
        }
    }
}
