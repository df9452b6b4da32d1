//! Web sessions: pages of objects, each fetched by a kernel TCP connection of its own.

use std::io;
use std::net::SocketAddr;

use tfrc_emu::NodeSpace;
use tfrc_net::io::Timer;
use tfrc_sim::Stream;
use tfrc_sim::traffic::{Arrivals, Distribution, ObjectStart};
use tfrc_units::{Duration, saturating, u64_from_f64};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::tcp::{HEADERS, connect, listen};
use super::{Course, End, std_duration};
use tfrc_scenario::{KernelTcp, WebFlow, WebTraffic};

/// Bytes of a request that say how long the object is to be.
const LENGTH: usize = 8;

/// Starts the server at `from`, where the data comes from, and the sessions of the clients at `to`.
pub(super) fn start(
    flow: &WebFlow,
    course: &Course,
    from: &NodeSpace,
    to: &NodeSpace,
) -> io::Result<Vec<End>> {
    if flow.traffic.begin != ObjectStart::Requested {
        return Err(io::Error::other("web.begin = \"acknowledged\" is simulated alone; leave it out"));
    }
    let kernel = flow.kernel().map_err(io::Error::other)?;
    course.state.update(|figures| figures.wire_overhead = Some(HEADERS));
    let (of_server, listening) = (kernel.clone(), course.listening());
    let listener = from.run(async move { listen(listening, &of_server) })??;
    let (traffic, server) = (flow.traffic, SocketAddr::from((from.address(), course.peer.port())));
    let serving = from.spawn(serve(listener, traffic));
    let asking = to.spawn(clients(kernel, traffic, server, course.clone()));
    Ok(vec![serving, asking])
}

async fn serve(listener: TcpListener, traffic: WebTraffic) -> io::Result<()> {
    let mut answers = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        answers.spawn(answer(stream, traffic));
        while answers.try_join_next().is_some() {}
    }
}

/// Reads a request and sends the object that it asks for. A client that goes away ends it.
async fn answer(mut stream: TcpStream, traffic: WebTraffic) -> io::Result<()> {
    let mut length = [0; LENGTH];
    stream.read_exact(&mut length).await?;
    let rest = saturating::<usize>(traffic.request).saturating_sub(LENGTH);
    stream.read_exact(&mut vec![0; rest]).await?;
    if !traffic.think.is_zero() {
        tokio::time::sleep(std_duration(traffic.think)).await;
    }
    let data = vec![0; 1 << 16];
    let mut left = u64::from_be_bytes(length);
    while left > 0 {
        let part = saturating::<usize>(left).min(data.len());
        let written = stream.write(data.get(..part).unwrap_or_default()).await?;
        left -= saturating::<u64>(written);
    }
    stream.shutdown().await
}

async fn clients(
    kernel: KernelTcp,
    traffic: WebTraffic,
    server: SocketAddr,
    course: Course,
) -> io::Result<()> {
    let mut stream = course.stream("sessions");
    let mut sessions = JoinSet::new();
    let mut last = course.start;
    for number in 0..traffic.sessions {
        let at = match traffic.arrivals {
            Arrivals::Apart(gap) => {
                last += Duration::from_secs_f64(gap.sample(&mut stream));
                last
            }
            Arrivals::Within(time) => course.start + time.mul_f64(stream.uniform()),
            other => return Err(io::Error::other(format!("{other:?} has no sessions in real time"))),
        };
        let draws = course.stream(&format!("session {number}"));
        let (kernel, course) = (kernel.clone(), course.clone());
        sessions.spawn(async move {
            let mut timer = Timer::new(course.clock)?;
            course.until(&mut timer, at).await?;
            session(&kernel, traffic, server, &course, draws).await
        });
    }
    while let Some(ended) = sessions.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

/// A session: one page after another.
async fn session(
    kernel: &KernelTcp,
    traffic: WebTraffic,
    server: SocketAddr,
    course: &Course,
    mut draws: Stream,
) -> io::Result<()> {
    let mut pages = traffic.pages.map_or(u64::MAX, |pages| whole(pages, &mut draws));
    let pause = |distribution: Distribution, draws: &mut Stream| {
        tokio::time::sleep(std_duration(Duration::from_secs_f64(distribution.sample(draws))))
    };
    while pages > 0 && !course.is_over() {
        pages -= 1;
        let mut objects = JoinSet::new();
        let count = whole(traffic.objects, &mut draws);
        for number in 1..=count {
            let bytes = whole(traffic.object, &mut draws) * u64::from(kernel.segment);
            let (kernel, course) = (kernel.clone(), course.clone());
            objects.spawn(async move { fetch(&kernel, server, traffic.request, bytes, &course).await });
            if number < count {
                pause(traffic.between_objects, &mut draws).await;
            }
        }
        while let Some(fetched) = objects.join_next().await {
            // A connection that the network has broken is what a browser would see too.
            drop(fetched.map_err(io::Error::other)?);
        }
        pause(traffic.between_pages, &mut draws).await;
    }
    Ok(())
}

async fn fetch(
    kernel: &KernelTcp,
    server: SocketAddr,
    request: u32,
    bytes: u64,
    course: &Course,
) -> io::Result<()> {
    let mut stream = connect(kernel, server).await?;
    let mut words = vec![0; saturating::<usize>(request).max(LENGTH)];
    if let Some(length) = words.first_chunk_mut::<LENGTH>() {
        *length = bytes.to_be_bytes();
    }
    stream.write_all(&words).await?;
    let mut room = vec![0; 1 << 16];
    loop {
        let read = stream.read(&mut room).await?;
        if read == 0 {
            return Ok(());
        }
        course.state.update(|figures| figures.progress.received_bytes += saturating::<u64>(read));
    }
}

/// A whole number drawn, at least one.
fn whole(distribution: Distribution, draws: &mut Stream) -> u64 {
    u64_from_f64(distribution.sample(draws) + 0.5).max(1)
}
