//! A kernel TCP that sends as fast as its congestion control lets it.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tfrc_emu::{NodeSpace, tcp_info};
use tfrc_net::io::Timer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{Course, End};
use tfrc_scenario::{KernelAcks, KernelTcp, TcpFlow};

/// Bytes of IPv4, TCP and its timestamp option in a data packet.
pub(super) const HEADERS: u32 = 52;

/// Bytes that wait unsent in the socket of a flow with a timetable, about.
const UNSENT: u32 = 16 << 10;

/// Starts the receiver, and the sender at its time.
pub(super) fn start(
    flow: &TcpFlow,
    course: &Course,
    from: &NodeSpace,
    to: &NodeSpace,
) -> io::Result<Vec<End>> {
    let kernel = flow.kernel().map_err(io::Error::other)?;
    course.state.update(|figures| figures.wire_overhead = Some(HEADERS));
    let (of_receiver, listening) = (kernel.clone(), course.listening());
    let listener = to.run(async move { listen(listening, &of_receiver) })??;
    let receiver = to.spawn(receive(listener, kernel.acks, course.clone()));
    let sender = from.spawn(send(kernel, course.clone()));
    Ok(vec![receiver, sender])
}

/// A socket with the options of the flow.
pub(super) fn socket(kernel: &KernelTcp) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    let control = kernel.congestion_control.name();
    socket.set_tcp_congestion(control.as_bytes()).map_err(|error| {
        io::Error::new(error.kind(), format!("{control}: {error}; this kernel has: {}", available()))
    })?;
    socket.set_tcp_mss(kernel.segment)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The congestion controls that this kernel offers.
fn available() -> String {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    read.map_or_else(|_| "unknown".to_owned(), |text| text.trim().replace(' ', ", "))
}

pub(super) fn listen(address: SocketAddr, kernel: &KernelTcp) -> io::Result<TcpListener> {
    let socket = socket(kernel)?;
    socket.set_reuse_address(true)?;
    if let Some(window) = kernel.window {
        // The kernel doubles it for its own housekeeping and offers about half.
        socket.set_recv_buffer_size(tfrc_units::saturating::<usize>(window))?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    TcpListener::from_std(socket.into())
}

pub(super) async fn connect(kernel: &KernelTcp, to: SocketAddr) -> io::Result<TcpStream> {
    TcpSocket::from_std_stream(socket(kernel)?.into()).connect(to).await
}

/// Takes one connection and counts what it brings.
async fn receive(listener: TcpListener, acks: KernelAcks, course: Course) -> io::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    let mut room = vec![0; 1 << 18];
    loop {
        if acks == KernelAcks::Each {
            // The kernel falls back to delayed ones by itself, so the option is set again each
            // time.
            SockRef::from(&stream).set_tcp_quickack(true)?;
        }
        let read = match stream.read(&mut room).await {
            // The sender, which had data left when its time was over, has taken it back.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset && course.is_over() => 0,
            read => read?,
        };
        if read == 0 {
            return Ok(());
        }
        course.state.update(|figures| figures.progress.received_bytes += tfrc_units::saturating::<u64>(read));
    }
}

/// Connects at the flow's start and sends to its end.
async fn send(kernel: KernelTcp, course: Course) -> io::Result<()> {
    let mut timer = Timer::new(course.clock)?;
    course.until(&mut timer, course.start).await?;
    let mut stream = connect(&kernel, course.peer).await?;
    let data = vec![0; 1 << 16];
    if course.timetable.has_writes() {
        // As the simulated TCP: a write waits for no other.
        stream.set_nodelay(true)?;
    }
    if course.timetable.changes() {
        // Data in the socket cannot be taken back when a span ends.
        SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT)?;
    }
    let (total, mut gone) = (course.timetable.total(), 0_u64);
    let mut reading = tokio::time::interval(course.reading);
    reading.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while total != Some(gone) && !course.is_over() {
        let supply = course.timetable.at(course.clock.now());
        let left = tfrc_units::saturating::<usize>(supply.left(gone)).min(data.len());
        let part = data.get(..left).unwrap_or_default();
        let next = supply.next.map_or(course.stop, |next| next.min(course.stop));
        tokio::select! {
            written = stream.write(part), if !part.is_empty() => {
                gone = gone.saturating_add(tfrc_units::saturating::<u64>(written?));
            }
            passed = course.until(&mut timer, next) => passed?,
            _ = reading.tick() => look(&stream, &course)?,
        }
    }
    if total.is_none() {
        // What waits in the socket is not part of the run: it ends here, as in the simulator.
        stream.set_zero_linger()?;
        return Ok(());
    }
    stream.shutdown().await?;
    let mut rest = [0; 1];
    drop(stream.read(&mut rest).await);
    Ok(())
}

/// Reads the state of the connection.
pub(super) fn look(stream: &TcpStream, course: &Course) -> io::Result<()> {
    let info = tcp_info::of(stream)?;
    course.state.update(|figures| {
        let Some(srtt) = info.srtt() else { return };
        figures.progress.rtt.add(srtt.as_secs_f64());
        figures.progress.smoothed_rtt = Some(srtt);
        figures.progress.cwnd = Some(f64::from(info.congestion_window()));
        figures.progress.srtt.add(srtt.as_secs_f64());
        figures.progress.rttvar.add(info.rttvar().as_secs_f64());
        figures.progress.rto.add(info.rto().as_secs_f64());
    });
    Ok(())
}
