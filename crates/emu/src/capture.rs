//! Packets of one link of a running emulation, as a capture file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tfrc_net::pcap::{LinkType, Writer};
use tfrc_sim::LinkId;
use tfrc_sim::trace::{Happening, Tracing};

use crate::bridge::WireEngine;

/// Capture of the packets that join the queue of a link, each at that time. Dropped packets are not
/// in it.
pub struct LinkCapture {
    link: LinkId,
    writer: Writer<Box<dyn Write + Send>>,
    /// Packets on their way, by the engine's number of them.
    packets: BTreeMap<u64, Box<[u8]>>,
    next: u64,
}

impl std::fmt::Debug for LinkCapture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkCapture").field("link", &self.link).finish_non_exhaustive()
    }
}

impl LinkCapture {
    /// Captures the packets of `link` as a pcap file of raw IP packets.
    ///
    /// # Errors
    /// If the head of the file cannot be written.
    pub fn new(link: LinkId, out: Box<dyn Write + Send>) -> io::Result<Self> {
        Ok(Self { link, writer: Writer::new(out, LinkType::Raw)?, packets: BTreeMap::new(), next: 0 })
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
                Happening::Joined(link) if link == self.link => {
                    if let Some(packet) = self.packets.get(&serial) {
                        self.writer
                            .packet(std::time::Duration::from_nanos(record.at.as_nanos()), packet)
                            .map_err(told)?;
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
        self.writer.flush().map_err(told)
    }
}

fn told(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("capture: {error}"))
}
