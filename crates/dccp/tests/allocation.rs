//! No heap allocation for a packet, be it data or feedback, in steady state: buffers have grown by
//! then, and are used again. Allocations of the network between the ends do not count.

use allocation_counter::{measure, opt_out};
use tfrc::Settings;
use tfrc::config::SegmentSize;
use tfrc_dccp::{ConnectionConfig, Event};
use tfrc_testkit::{Delivered, Fate, Pair, Parcel, Side, Wire, address, ms};

const SIZE: usize = 500;
/// One datagram in this many is lost.
const LOSE_EVERY: u64 = 100;

/// The ends of a pair, with a network and an application that use buffers again.
struct Network {
    ends: Pair,
    wire: Wire<Vec<u8>>,
    /// The packet that an end sends.
    bytes: Vec<u8>,
    sent: u64,
    received: u64,
}

impl Network {
    fn new() -> Self {
        let settings = Settings { segment: SegmentSize::Mean { initial: 500 }, ..Settings::default() };
        let config =
            ConnectionConfig { tfrc: settings.validate().expect("sound"), ..ConnectionConfig::default() };
        let ends = Pair::with(config.clone(), config, |_| Fate::Deliver);
        Self { ends, wire: Wire::new(ms(20)), bytes: Vec::new(), sent: 0, received: 0 }
    }

    /// Goes on until `datagrams` datagrams have been sent.
    fn until(&mut self, datagrams: u64) {
        while self.sent < datagrams {
            self.application();
            Side::BOTH.into_iter().for_each(|side| self.transmit(side));
            let timers =
                [&mut self.ends.client, &mut self.ends.server].map(|end| end.endpoint.poll_timeout());
            let times = timers.into_iter().map(|wake| wake.map(|wake| wake.at));
            let next = times.chain([self.wire.poll_timeout()]).flatten().min();
            self.ends.now = next.expect("something is due").max(self.ends.now);
            for side in Side::BOTH {
                let now = self.ends.now;
                self.ends.end(side).endpoint.handle_timeout(now);
            }
            while let Some(packet) = self.receive() {
                self.ends.hand(packet.to, packet.ecn, &packet.payload);
            }
        }
    }

    fn application(&mut self) {
        let (now, client, server) = (self.ends.now, &mut self.ends.client, &mut self.ends.server);
        while client.endpoint.poll_event().is_some() {}
        while let Some((id, event)) = server.endpoint.poll_event() {
            if matches!(event, Event::Incoming { .. }) {
                server.id = Some(id);
            }
        }
        if server.id.is_some() {
            server.with(|connection| {
                while let Some(datagram) = connection.recv() {
                    self.received += 1;
                    connection.recycle(datagram.bytes);
                }
            });
        }
        let id = self.ends.client.id.expect("it connects");
        while self.ends.client.connection().queued() == 0
            && self.ends.client.endpoint.send(now, id, &[7; SIZE]).is_ok()
        {
            self.sent += 1;
            self.transmit(Side::Client);
        }
    }

    fn transmit(&mut self, from: Side) {
        let (now, mut bytes) = (self.ends.now, std::mem::take(&mut self.bytes));
        while let Some(sent) = self.ends.end(from).endpoint.poll_transmit(now, &mut bytes) {
            assert_eq!(sent.remote, address(from.other()));
            let lost = from == Side::Client && self.sent % LOSE_EVERY == LOSE_EVERY - 1;
            let fate = Fate::drop_if(lost);
            opt_out(|| {
                let packet = Parcel { size: 0, ecn: sent.ecn, payload: bytes.clone() };
                self.wire.send(now, from, packet, fate);
            });
        }
        self.bytes = bytes;
    }

    fn receive(&mut self) -> Option<Delivered<Vec<u8>>> {
        let mut packet = None;
        opt_out(|| packet = self.wire.receive(self.ends.now));
        packet
    }
}

/// 20,000 datagrams, of which one in a hundred is lost, and their feedback.
#[test]
fn a_packet_allocates_nothing() {
    let mut network = Network::new();
    network.until(20_000);
    let reports = |network: &Network| network.ends.client.connection().stats().received_feedback;
    let (before, reported) = (network.received, reports(&network));
    let seen = measure(|| network.until(40_000));
    let (received, reported) = (network.received - before, reports(&network) - reported);
    assert!(
        received > 19_000 && (1_000..3_000).contains(&reported),
        "{received} datagrams, {reported} reports"
    );
    assert_eq!(seen.count_total, 0, "{} bytes for {reported} reports", seen.bytes_total);
}
