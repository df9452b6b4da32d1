//! An application's own UDP packets under the sender-side [`Advisor`], two seconds on loopback. A
//! packet carries its number, and the receiver answers with the number. The rate is printed live.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a program")]

use std::io::Result;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Instant as Clock;

use tfrc::advisor::{Ack, Hold};
use tfrc::config::RateCap;
use tfrc::{Advisor, SendDecision, Settings};
use tfrc_units::{Duration, Ecn, Instant, Rate, saturating};

const SIZE: u32 = 1200;
const TIME: Duration = Duration::from_secs(2);
const LEAST_SLEEP: Duration = Duration::from_millis(1);

/// The receiver: reports each packet at once, but for one in 50, as if a router had dropped it. An
/// empty packet ends it.
fn receive(socket: &UdpSocket) -> Result<()> {
    let mut packet = [0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut packet)?;
        let Some(number) = packet.first_chunk::<8>().filter(|_| length > 0) else { return Ok(()) };
        if u64::from_be_bytes(*number) % 50 != 49 {
            socket.send_to(number, from)?;
        }
    }
}

pub(crate) fn main() -> Result<()> {
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(receiver.local_addr()?)?;
    let reports = thread::spawn(move || receive(&receiver));

    let cap = RateCap::AtMost(Rate::from_bits_per_sec(8e6));
    let config = Settings { cap, ..Settings::default() }.validate().map_err(std::io::Error::other)?;
    let mut advisor: Advisor = Advisor::new(&config, Duration::ZERO);
    let clock = Clock::now();
    let now = || Instant::ZERO + Duration::from_secs_f64(clock.elapsed().as_secs_f64());
    let (mut number, mut line) = (0u64, Instant::ZERO);
    while now() < Instant::ZERO + TIME {
        let time = now();
        advisor.handle_timeout(time);
        while advisor.next_send(time) == SendDecision::Now {
            let mut packet = vec![0; saturating::<usize>(SIZE)];
            packet.splice(..8, number.to_be_bytes());
            sender.send(&packet)?;
            advisor.on_sent(time, number, SIZE);
            number += 1;
        }
        if time >= line {
            let (rate, p) = (advisor.allowed_rate(), advisor.loss_event_rate());
            println!("{:.2} s: {rate} allowed, p = {:.4}, {number} sent", time.as_secs_f64(), p.get());
            line = time + Duration::from_millis(200);
        }
        let next = match advisor.next_send(time) {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = next.into_iter().chain(timer).min().unwrap_or(time).saturating_since(time);
        sender.set_read_timeout(Some(wake.max(LEAST_SLEEP).into()))?;
        let mut report = [0; 8];
        if sender.recv(&mut report).is_ok() {
            let id = u64::from_be_bytes(report);
            advisor.on_acked(Ack { id, arrived_at: None, ecn: Ecn::NotEct });
            advisor.on_report(now(), Hold::Unknown);
        }
    }
    sender.send(&[])?;
    reports.join().map_err(|_| std::io::Error::other("the receiver panicked"))??;
    if advisor.loss_events() == 0 { Err(std::io::Error::other("no report of a loss came")) } else { Ok(()) }
}
