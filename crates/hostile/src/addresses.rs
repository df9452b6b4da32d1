//! Addresses that lie: copies of packets from elsewhere, and first packets from forged addresses.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::path::{Deeds, RunningPath, Way};
use super::private::{AT_ONCE, LOG, MORE_KB, collected, many};
use super::program::SOON;
use super::stranger::{pace, socket};
use super::strangers::{Before, end_receiver};

/// The cases of this file.
pub(crate) const CASES: [Case; 2] =
    [Case::new("copied-sooner", Load::Waiting, copied_sooner), Case::new("quic-forged", Load::Busy, forged)];

/// An observer that drops nothing, and whose copies of the sender's packets come sooner than these,
/// from another address.
fn copied_sooner(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1", "-v"])?;
    let copies = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&copies);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        if way == Way::There {
            deeds.copy(bytes);
            count.fetch_add(1, Ordering::Relaxed);
        }
        deeds.send(way, bytes);
    })?;
    let transfer = honest::transfer(bench, directory, &path.entrance, &receiver.file, &TransferPlan::USUAL)?;
    let end = receiver.program.end(SOON);
    let copies = copies.load(Ordering::Relaxed);
    let mut row = CaseRow::new(format!("{copies} copies from another port, each before its packet"));
    row.saw(format!("receiver {}: “{}”", end.how, end.last));
    row.bar(end.is(0), "receiver: exit 0");
    row.bar(copies > 1000, "each packet is copied");
    transfer.judge(bench, &mut row);
    Ok(row)
}

/// First packets from many addresses, 500 a second, which nobody there has sent: no answer is
/// answered.
fn forged(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    const PER_SECOND: u64 = 500;
    let count = bench.form.choose(4_000, 1_000);
    let mut receiver = many(bench, directory)?;
    let hellos = collected(bench, directory, bench.form.choose(50, 10))?;
    let before = Before::of(&receiver.program);
    // Each address of 127.0.0.0/8 is this host's.
    let sockets: Vec<UdpSocket> = (0..250)
        .map(|n| socket(&format!("127.0.{}.{}", n / 50 + 1, n % 50 + 1)))
        .collect::<Result<_, _>>()?;
    let file = honest::input(directory, 20_000)?;
    let plan = TransferPlan { bytes: 20_000, ..TransferPlan::USUAL };
    let over = AtomicBool::new(false);
    let ((sent, worst), ends) = thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let (mut bytes, begin) = (BTreeMap::<usize, (usize, usize)>::new(), Instant::now());
            let (mut sent, mut buffer) = (0_u64, [0; 2000]);
            let mut hear = |bytes: &mut BTreeMap<usize, (usize, usize)>, at: usize| {
                while let Some(Ok((length, _))) = sockets.get(at).map(|socket| socket.recv_from(&mut buffer))
                {
                    bytes.entry(at).or_default().1 += length;
                }
            };
            for (hello, at) in hellos.iter().cycle().zip((0..sockets.len()).cycle()).take(count) {
                if let Some(Ok(length)) =
                    sockets.get(at).map(|socket| socket.send_to(hello, &receiver.address))
                {
                    bytes.entry(at).or_default().0 += length;
                }
                hear(&mut bytes, at);
                sent += 1;
                pace(begin, sent, PER_SECOND);
            }
            // Answers are repeated for as long as a handshake may take.
            thread::sleep(bench.form.choose(SOON, SOON / 4));
            (0..sockets.len()).for_each(|at| hear(&mut bytes, at));
            over.store(true, Ordering::Relaxed);
            let times = |(there, back): &(usize, usize)| *back as f64 / *there as f64;
            (sent, bytes.values().map(times).fold(0.0, f64::max))
        });
        let mut ends = Vec::new();
        while ends.len() < 3 || !over.load(Ordering::Relaxed) {
            match honest::send(bench, directory, &receiver.address, &file, &plan) {
                Ok(mut sender) => ends.push(sender.end(SOON * 4)),
                Err(_) => break,
            }
        }
        (attack.join().unwrap_or_default(), ends)
    });
    let well = ends.iter().filter(|end| end.is(0)).count();
    let slowest = ends.iter().map(|end| end.lasted).max().unwrap_or_default();
    let mut row = CaseRow::new(format!("{sent} first packets from 250 forged addresses, 500 a second"));
    row.saw(format!("at most {worst:.3} times the bytes back to one address"));
    row.honest = format!("{well} of {} finish, the slowest after {:.2} s", ends.len(), slowest.as_secs_f64());
    // RFC 9000 §8.1.
    row.bar(worst > 0.0 && worst <= 3.0, "at most three times the bytes back to each address");
    row.bar(well == ends.len() && well >= 3, "every honest sender finishes");
    row.bar(slowest <= AT_ONCE, "each at once");
    let log = LOG + 500 * ends.len() as u64;
    before.compare(&receiver.program, MORE_KB, log, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}
