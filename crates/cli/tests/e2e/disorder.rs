//! A path that holds packets back and repeats them, which no link of a scenario does.

use std::net::UdpSocket;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use tfrc_units::saturating;

use crate::e2e::network::{LENGTH, Place, noise, session};

/// Relays datagrams between a client and a server, each datagram of the client as `then` says,
/// until it is asked to stop.
struct DisorderedPath {
    ends: [Arc<UdpSocket>; 2],
    relays: [JoinHandle<()>; 2],
}

/// A datagram of this length stops a relay; DCCP has none so short.
const STOP: usize = 1;

impl DisorderedPath {
    /// A path to `server`. `then` is given each datagram and says which to send on. It is numbered
    /// if it carries data, from 1; the others, of which a busy machine sends more or fewer, have 0.
    fn to(server: &str, mut then: impl FnMut(u64, Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let bind = || Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
        let (outside, inside) = (bind(), bind());
        let server: std::net::SocketAddr = server.parse().expect("an address");
        let client = Arc::new(OnceLock::new());
        let (from, to, known) = (Arc::clone(&outside), Arc::clone(&inside), Arc::clone(&client));
        let there = thread::spawn(move || {
            let mut buffer = [0; 2000];
            let mut data = 0;
            loop {
                let (length, peer) = from.recv_from(&mut buffer).expect("readable");
                if length == STOP {
                    break;
                }
                known.get_or_init(|| peer);
                let full = length > usize::try_from(LENGTH).expect("small");
                data += u64::from(full);
                for datagram in then(if full { data } else { 0 }, buffer[..length].to_vec()) {
                    to.send_to(&datagram, server).expect("sent");
                }
            }
        });
        let (from, to) = (Arc::clone(&inside), Arc::clone(&outside));
        let back = thread::spawn(move || {
            let mut buffer = [0; 2000];
            loop {
                let (length, _) = from.recv_from(&mut buffer).expect("readable");
                if length == STOP {
                    break;
                }
                to.send_to(&buffer[..length], client.get().expect("it spoke first")).expect("sent");
            }
        });
        Self { ends: [outside, inside], relays: [there, back] }
    }

    fn entrance(&self) -> String {
        self.ends[0].local_addr().expect("bound").to_string()
    }

    fn stop(self) {
        for end in &self.ends {
            end.send_to(&[0; STOP], end.local_addr().expect("bound")).expect("sent");
        }
        for relay in self.relays {
            relay.join().expect("the relay works");
        }
    }
}

/// Data packets 10 and 20 come after six others, 25 comes twice: late where data goes on at once,
/// in their places in a file.
#[test]
fn late_packets_are_neither_received_nor_lost_and_copies_do_not_count() {
    let place = Place::new();
    let content = noise(usize::try_from(40 * LENGTH).expect("small"));
    let (from, to) = (place.write("in", &content), place.file("out"));
    for (output, late) in [(&[][..], 2), (&["-o", &to, "--lossy"], 0)] {
        let mut held = Vec::new();
        let mut path = None;
        let session = session(output, &["-f", &from, "-b", "2M"], |receiver| {
            let opened = DisorderedPath::to(receiver, move |number, datagram| {
                let mut now = vec![datagram];
                match number {
                    10 | 20 => held.append(&mut now),
                    16 | 26 => now.append(&mut held),
                    25 => now.push(now[0].clone()),
                    _ => {}
                }
                now
            });
            let entrance = opened.entrance();
            path = Some(opened);
            entrance
        });
        path.expect("opened").stop();
        let counts = (session.sent(), session.lost(), session.sender.late_packets);
        assert_eq!(counts, (40, 0, Some(late)), "{session:?}");
    }
    assert!(std::fs::read(&to).expect("written") == content);
}

/// The last two data packets come behind Close: they are waited for, in their places in the file.
#[test]
fn what_close_overtakes_is_received() {
    let place = Place::new();
    let content = noise(usize::try_from(40 * LENGTH).expect("small"));
    let (from, to) = (place.write("in", &content), place.file("out"));
    let mut held = Vec::new();
    let mut path = None;
    let session = session(&["-o", &to, "--lossy"], &["-f", &from, "-b", "5M"], |receiver| {
        let opened = DisorderedPath::to(receiver, move |number, datagram| {
            let mut now = vec![datagram];
            match number {
                39 | 40 => held.append(&mut now),
                0 => now.append(&mut held),
                _ => {}
            }
            now
        });
        let entrance = opened.entrance();
        path = Some(opened);
        entrance
    });
    path.expect("opened").stop();
    let counts = (session.sent(), session.lost(), session.sender.late_packets);
    assert_eq!(counts, (40, 0, Some(0)), "{session:?}");
    assert!(std::fs::read(&to).expect("written") == content);
}

/// Datagrams that are not packets, and repeated packets, change neither the data nor the counts.
#[test]
fn garbage_between_the_packets_changes_nothing() {
    let place = Place::new();
    let content = noise(200_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let mut path = None;
    let session = session(&["-o", &to], &["-f", &from, "-b", "5M"], |receiver| {
        let opened = DisorderedPath::to(receiver, |number, datagram| {
            let cut = datagram.len() * saturating::<usize>(number % 13) / 13;
            match number % 4 {
                0 => vec![noise(cut), datagram],
                1 => vec![datagram.clone(), datagram[..cut].to_vec(), Vec::new()],
                2 => vec![datagram.clone(), datagram.clone(), datagram],
                _ => vec![datagram],
            }
        });
        let entrance = opened.entrance();
        path = Some(opened);
        entrance
    });
    path.expect("opened").stop();
    assert_eq!((session.lost(), session.sender.late_packets), (0, Some(0)), "{session:?}");
    assert!(std::fs::read(&to).expect("written") == content, "the file has changed on the way");
}
