//! Packets of links of a running emulation, as capture files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tfrc_net::pcap::{LinkType, Writer as Pcap};
use tfrc_sim::LinkId;
use tfrc_sim::trace::{Happening, Tracing};

use crate::bridge::WireEngine;

/// A file in the making.
type Writer = Pcap<Box<dyn Write + Send>>;

/// Capture of the packets that join the queues of links, each at that time, a file for each link.
/// Dropped packets are not in it.
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
