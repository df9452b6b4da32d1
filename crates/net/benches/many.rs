//! A thousand connections on one socket: fairness, memory, CPU.
//!
//! ```text
//! cargo bench -p tfrc-net --bench many -- [--connections 1000] [--seconds 30]
//! ```

#![expect(clippy::disallowed_macros, reason = "a benchmark measures and prints")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tfrc_net::options::{Common, Dccp, Listen};
use tfrc_net::{Connection, Endpoint, LatePolicy, Options, Variant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const BYTES: usize = 100;
const GAP: Duration = Duration::from_millis(20);

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let option = |name: &str, default: u64| {
        let value = words.iter().position(|word| word == name).and_then(|i| words.get(i + 1));
        value.map_or(Ok(default), |text| text.parse())
    };
    let (connections, seconds) = (option("--connections", 1000)?, option("--seconds", 30)?);
    tokio::runtime::Runtime::new()?.block_on(run(connections, seconds))
}

async fn run(connections: u64, seconds: u64) -> Result<()> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let accept = Listen::Many(usize::try_from(connections)?);
    let receiver = Endpoint::bind(any, &Options::from(Common { accept, ..Common::default() }))?;
    let options = Options {
        common: Common { segment_bytes: BYTES as u32, ..Common::default() },
        dccp: Dccp { variant: Variant::TfrcSp, ..Dccp::default() },
    };
    let sender = Arc::new(Endpoint::bind(any, &options)?);
    let to = receiver.local_addr();
    let counts: Arc<Vec<AtomicU64>> = Arc::new((0..connections).map(|_| AtomicU64::new(0)).collect());
    let accepted = Arc::clone(&counts);
    let accepting = tokio::spawn(async move {
        for i in 0..accepted.len() {
            let Some(connection) = receiver.accept().await else { break };
            let counts = Arc::clone(&accepted);
            tokio::spawn(async move { count(&connection, &counts[i]).await });
        }
        receiver
    });
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(sender.connect(to).await?);
    }
    let receiver = accepting.await?;
    println!("{connections} connections, {} KiB resident", resident()?);
    let senders: Vec<_> =
        open.into_iter().map(|connection| tokio::spawn(send(connection, seconds))).collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (early, before) = (resident()?, read(&counts));
    tokio::time::sleep(Duration::from_secs(seconds - 5)).await;
    let (late, after) = (resident()?, read(&counts));
    let goodputs: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let (least, most) =
        (goodputs.iter().min().copied().unwrap_or(0), goodputs.iter().max().copied().unwrap_or(0));
    println!(
        "datagrams per connection in the last {} s: {least} to {most}, ratio {:.3}",
        seconds - 5,
        most as f64 / least as f64
    );
    println!(
        "resident at 5 s {early} KiB, at {seconds} s {late} KiB, ratio {:.3}",
        late as f64 / early as f64
    );
    for sender in senders {
        sender.abort();
    }
    drop(receiver);
    Ok(())
}

async fn count(connection: &Connection, count: &AtomicU64) {
    while connection.recv().await.is_some() {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

async fn send(connection: Connection, seconds: u64) {
    connection.set_late_policy(LatePolicy::DropAfter(tfrc_units::Duration::from_millis(200)));
    let mut ticker = tokio::time::interval(GAP);
    for _ in 0..seconds * 60 {
        ticker.tick().await;
        if connection.send(vec![7; BYTES]).await.is_err() {
            break;
        }
    }
}

fn read(counts: &[AtomicU64]) -> Vec<u64> {
    counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

/// Resident memory of this process in KiB.
fn resident() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with("VmRSS")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
