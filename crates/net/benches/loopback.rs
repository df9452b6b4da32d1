//! CPU time per packet over loopback, sender's and receiver's thread together, compared with a bare
//! connected UDP socket.
//!
//! ```text
//! cargo bench -p tfrc-net --bench loopback -- [--rounds 5] [--seconds 2] [--bytes 1400]
//! ```
//!
//! Each round runs every contender once, one after another; the ratios are medians over the rounds.
//! Times alone say nothing: the machine is shared.

#![expect(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a benchmark measures and prints")]

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tfrc_net::io::Offload;
use tfrc_net::options::{Common, Dccp, Listen};
use tfrc_net::{Endpoint, Options, Recordings};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ANY: [u8; 4] = [127, 0, 0, 1];
/// Packets before the ones that are measured: slow start.
const WARMUP: Duration = Duration::from_secs(1);

/// CPU time, loss and packet rate of one contender.
#[derive(Clone, Copy)]
struct Cost {
    sender_ns: f64,
    receiver_ns: f64,
    lost: f64,
    kpps: f64,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let option = |name: &str, default: f64| {
        let value = words.iter().position(|word| word == name).and_then(|i| words.get(i + 1));
        value.map_or(Ok(default), |text| text.parse::<f64>())
    };
    let (rounds, seconds, bytes) =
        (option("--rounds", 5.0)?, option("--seconds", 2.0)?, option("--bytes", 1400.0)?);
    let (time, bytes) = (Duration::from_secs_f64(seconds), bytes as usize);
    let contenders: [(&str, &dyn Fn() -> Result<Cost>); 3] = [
        ("bare send", &|| bare(bytes, time)),
        ("single", &|| ours(bytes, time, Offload::None)),
        ("offload", &|| ours(bytes, time, Offload::Segmentation)),
    ];
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); contenders.len()];
    for round in 1..=rounds as u32 {
        for ((name, contender), costs) in contenders.iter().zip(&mut costs) {
            let cost = contender()?;
            println!(
                "round {round} {name:10} {:7.1} kpps  sender {:6.0} ns  receiver {:6.0} ns  sum {:6.0} ns/packet  lost {:.2} %",
                cost.kpps,
                cost.sender_ns,
                cost.receiver_ns,
                cost.sender_ns + cost.receiver_ns,
                cost.lost * 100.0
            );
            costs.push(cost);
        }
    }
    let [bare, single, offload] = costs.as_slice() else { return Err("three contenders".into()) };
    let ratio = |ours: &[Cost], of: fn(&Cost) -> f64| {
        median(bare.iter().zip(ours).map(|(bare, ours)| of(ours) / of(bare)).collect())
    };
    let both = |cost: &Cost| cost.sender_ns + cost.receiver_ns;
    println!("CPU per packet of both threads, single / bare:    {:.3}", ratio(single, both));
    println!("CPU per packet of both threads, offload / bare:   {:.3}", ratio(offload, both));
    println!(
        "packets per CPU second of the sender, offload / bare:  {:.3}",
        1.0 / ratio(offload, |c| c.sender_ns)
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// CPU time of this thread, in nanoseconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A thread that profilers can recognise.
fn named<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>> {
    Ok(thread::Builder::new().name(name.to_owned()).spawn(work)?)
}

/// A connected socket in a loop, and another in a loop.
fn bare(bytes: usize, time: Duration) -> Result<Cost> {
    let receiver = UdpSocket::bind(SocketAddr::from((ANY, 0)))?;
    let sender = UdpSocket::bind(SocketAddr::from((ANY, 0)))?;
    sender.connect(receiver.local_addr()?)?;
    rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4 << 20)?;
    receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let reading = named("bare-rx", move || {
        let (mut buffer, mut packets, before) = (vec![0; 65536], 0u64, cpu());
        while !stopped.load(Ordering::Relaxed) {
            packets += u64::from(receiver.recv(&mut buffer).is_ok());
        }
        (packets, cpu() - before)
    })?;
    let (data, mut sent, before, begin) = (vec![1; bytes], 0u64, cpu(), Instant::now());
    while begin.elapsed() < time {
        for _ in 0..64 {
            sent += u64::from(sender.send(&data).is_ok());
        }
    }
    let (used, elapsed) = (cpu() - before, begin.elapsed().as_secs_f64());
    thread::sleep(Duration::from_millis(100));
    stop.store(true, Ordering::Relaxed);
    let (received, receiver_cpu) = reading.join().map_err(|_| "the receiver panicked")?;
    Ok(Cost {
        sender_ns: used / sent as f64,
        receiver_ns: receiver_cpu / received.max(1) as f64,
        lost: 1.0 - received as f64 / sent as f64,
        kpps: sent as f64 / elapsed / 1e3,
    })
}

/// A connection whose application always has more to send.
fn ours(bytes: usize, time: Duration, offload: Offload) -> Result<Cost> {
    let (tell, address) = mpsc::channel();
    let reading = named("ours-rx", move || -> Result<(u64, f64)> {
        runtime()?.block_on(async {
            let options = Options::from(Common { accept: Listen::One, ..Common::default() });
            let endpoint = Endpoint::bind(SocketAddr::from((ANY, 0)), &options)?;
            tell.send(endpoint.local_addr())?;
            let connection = endpoint.accept().await.ok_or("nobody came")?;
            let begin = Instant::now();
            let (mut packets, mut since) = (0u64, (0u64, 0.0));
            let mut warm = false;
            while connection.recv().await.is_some() {
                packets += 1;
                if !warm && packets % 256 == 0 && begin.elapsed() > WARMUP {
                    (warm, since) = (true, (packets, cpu()));
                }
            }
            let used = cpu() - since.1;
            connection.close().await;
            endpoint.shut_down().await?;
            Ok((packets - since.0, used))
        })
    })?;
    let to = address.recv()?;
    let sending = named("ours-tx", move || -> Result<(u64, f64, f64, f64)> {
        runtime()?.block_on(async {
            let options = Options {
                common: Common { segment_bytes: bytes as u32, ..Common::default() },
                dccp: Dccp { offload, ..Dccp::default() },
            };
            let endpoint = Endpoint::towards(to, &options, Recordings::default())?;
            let connection = endpoint.connect(to).await?;
            let mut begin = Instant::now();
            let (mut packets, mut warm, mut before) = (0u64, false, 0.0);
            loop {
                connection.send(vec![1; bytes]).await?;
                packets += 1;
                if packets % 64 == 0 {
                    let elapsed = begin.elapsed();
                    if !warm && elapsed > WARMUP {
                        (warm, packets, before, begin) = (true, 0, cpu(), Instant::now());
                    } else if warm && elapsed > time {
                        break;
                    }
                }
            }
            let (used, elapsed) = (cpu() - before, begin.elapsed().as_secs_f64());
            connection.flushed().await;
            connection.close().await;
            let status = connection.status();
            let lost =
                f64::from(status.reported_loss_events as u32) / status.stats.sent_data_packets.max(1) as f64;
            endpoint.shut_down().await?;
            Ok((packets, used, elapsed, lost))
        })
    })?;
    let (sent, sender_cpu, elapsed, lost) = sending.join().map_err(|_| "the sender panicked")??;
    let (received, receiver_cpu) = reading.join().map_err(|_| "the receiver panicked")??;
    Ok(Cost {
        sender_ns: sender_cpu / sent as f64,
        receiver_ns: receiver_cpu / received.max(1) as f64,
        lost,
        kpps: sent as f64 / elapsed / 1e3,
    })
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
