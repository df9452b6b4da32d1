//! Packets of links of a running emulation, as capture files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tfrc_net::pcap::{LinkType, Writer as Pcap};
use tfrc_sim::LinkId;
use tfrc_sim::trace::{Happening, Tracing};

use crate::bridge::WireEngine;
use crate::ip::set_ecn;

/// A file in the making.
type Writer = Pcap<Box<dyn Write + Send>>;

/// Capture of the packets that join the queues of links, each at that time, a file for each link.
/// Dropped packets are not in it. A queue's marks are in the captures of the links behind it.
#[derive(Default)]
pub struct LinkCapture {
    files: BTreeMap<LinkId, Writer>,
    /// Packets on their way, by the engine's number of them.
    packets: BTreeMap<u64, Box<[u8]>>,
    next: u64,
}

impl std::fmt::Debug for LinkCapture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkCapture").field("links", &self.files.keys()).finish_non_exhaustive()
    }
}

impl LinkCapture {
    /// Captures the packets of `link` as a pcap file of raw IP packets, in place of a former file.
    ///
    /// # Errors
    /// If the head of the file cannot be written.
    pub fn add(&mut self, link: LinkId, out: Box<dyn Write + Send>) -> io::Result<()> {
        self.files.insert(link, Writer::new(out, LinkType::Raw)?);
        Ok(())
    }

    /// True if no link is captured.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Has the engine report what happens to packets.
    pub(crate) fn begin(engine: &mut WireEngine) {
        engine.set_tracing(Tracing::Keep);
    }

    /// A packet is about to enter the engine, which numbers packets in this order.
    pub(crate) fn entered(&mut self, packet: &[u8]) {
        self.packets.insert(self.next, packet.into());
        self.next += 1;
    }

    /// Writes what has joined the link since the last call.
    pub(crate) fn look(&mut self, engine: &mut WireEngine) -> io::Result<()> {
        for record in engine.take_records() {
            let serial = record.header.serial;
            match record.what {
                Happening::Joined(link) => {
                    if let (Some(file), Some(packet)) = (self.files.get_mut(&link), self.packets.get(&serial))
                    {
                        let at = std::time::Duration::from_nanos(record.at.as_nanos());
                        file.packet(at, packet).map_err(told)?;
                    }
                }
                Happening::Crossed(_) => {
                    if let Some(packet) = self.packets.get_mut(&serial) {
                        set_ecn(packet, record.header.ecn);
                    }
                }
                Happening::Dropped(..) | Happening::Received | Happening::Stranded => {
                    self.packets.remove(&serial);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.files.values_mut().try_for_each(Writer::flush).map_err(told)
    }
}

fn told(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("capture: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tfrc_sim::loss::{Flows, Loss, LossAction, LossPlace, LossRule};
    use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
    use tfrc_sim::{LinkSpec, Network, Seed};
    use tfrc_units::{Duration, Ecn, Instant, Rate};

    use super::*;
    use crate::bridge::WirePacket;

    /// A file that its writer gives away.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A link's marks are in the captures of the links behind it, and not in its own.
    #[test]
    fn marks_are_behind_their_link() {
        let mut network = Network::new();
        let [near, gate, far] = ["near", "gate", "far"].map(|name| network.node(name).unwrap());
        let rate = Rate::from_bits_per_sec(1e6);
        let link = |name, from, to| LinkSpec::new(name, from, to, rate, Duration::from_millis(1));
        let second = Loss::Scripted(vec![2]);
        let marks = LossRule {
            model: second,
            action: LossAction::Mark,
            place: LossPlace::default(),
            flows: Flows::All,
        };
        let marking = LinkSpec { losses: vec![marks], ..link("marking", near, gate) };
        let links = [network.link(marking).unwrap(), network.link(link("behind", gate, far)).unwrap()];
        let mut engine: WireEngine = network.build(Seed(1));
        let (from, to) = (engine.gateway(near).unwrap(), engine.gateway(far).unwrap());
        let (mut capture, files) = (LinkCapture::default(), [Shared::default(), Shared::default()]);
        for (link, file) in links.into_iter().zip(&files) {
            capture.add(link, Box::new(file.clone())).unwrap();
        }
        LinkCapture::begin(&mut engine);
        let mut packet = [0; 28];
        (packet[0], packet[1], packet[3]) = (0x45, Ecn::Ect1.bits(), 28);
        for number in 0..3 {
            capture.entered(&packet);
            let payload = WirePacket { bytes: packet.into(), late: Duration::ZERO };
            let (flow, precedence) = (FlowId(0), Precedence::Low);
            let at = Instant::ZERO + Duration::from_millis(number);
            engine.inject(at, from, Outgoing { to, flow, size: 28, ecn: Ecn::Ect1, precedence, payload });
        }
        engine.run_until(Instant::ZERO + Duration::from_millis(20));
        capture.look(&mut engine).unwrap();
        capture.finish().unwrap();
        let bits = files.map(|file| {
            let file = file.0.lock().unwrap();
            // The head of the file, then each packet behind a head of its own.
            file[24..].chunks(16 + 28).map(|one| Ecn::from_bits(one[17])).collect::<Vec<_>>()
        });
        assert_eq!(bits, [vec![Ecn::Ect1; 3], vec![Ecn::Ect1, Ecn::Ce, Ecn::Ect1]]);
    }
}
