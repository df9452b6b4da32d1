//! Frames of a capture file, pcap or pcapng, one after another in bounded memory.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pcap_parser::pcapng::Block;
use pcap_parser::{PcapBlockOwned, PcapError, create_reader};

use crate::CaptureError;

/// A frame as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// Number in the file, from 1, as Wireshark counts.
    pub(crate) number: u64,
    /// Time since the Unix epoch, nanoseconds.
    pub(crate) at: u64,
    /// Number of the link type (LINKTYPE of the tcpdump group's list).
    pub(crate) link: u16,
    /// The bytes kept.
    pub(crate) bytes: &'a [u8],
    /// Bytes that the frame had on the wire.
    pub(crate) length: usize,
}

/// Facts about the file as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileFacts {
    pub(crate) format: &'static str,
    pub(crate) frames: u64,
    /// Frames of which the capture kept only the beginning.
    pub(crate) cut: u64,
    pub(crate) links: BTreeSet<u16>,
    pub(crate) interfaces: u64,
    /// Why reading ended before the end of the file.
    pub(crate) fault: Option<String>,
}

/// Bytes of the read buffer at first, and at most: no packet of a link is larger.
const BUFFER: usize = 1 << 18;
const LARGEST: usize = 1 << 24;
/// Interfaces of one section that are kept apart.
const INTERFACES: usize = 1024;
/// The file's first bytes that tell a compressed file.
const COMPRESSED: [(&[u8], &str); 4] = [
    (&[0x1F, 0x8B], "gunzip"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "unzstd"),
    (&[0xFD, b'7', b'z', b'X', b'Z'], "unxz"),
    (b"BZh", "bunzip2"),
];

/// Time stamps of an interface.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u16,
    /// Units in a second.
    resolution: u64,
    /// Seconds to add.
    offset: i64,
}

/// The first bytes of a file, at most 8, and the whole of it.
///
/// # Errors
/// If nothing can be read, the file is empty, or it is compressed.
pub(crate) fn open(mut input: impl Read + Send) -> Result<(Vec<u8>, impl Read + Send), CaptureError> {
    let mut head = Vec::new();
    input.by_ref().take(8).read_to_end(&mut head).map_err(CaptureError::Read)?;
    if head.is_empty() {
        return Err(CaptureError::Empty);
    }
    if let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(CaptureError::Compressed { program });
    }
    Ok((head.clone(), io::Cursor::new(head).chain(input)))
}

/// Hands each frame to `each`. A file that is cut off or damaged ends with a fault, not an error.
///
/// # Errors
/// If nothing can be read, or the file is no capture.
pub(crate) fn frames(
    head: &[u8],
    input: impl Read + Send,
    mut each: impl FnMut(Frame<'_>),
) -> Result<FileFacts, CaptureError> {
    let failed = Arc::new(Mutex::new(None));
    let input = Whole { input, failed: Arc::clone(&failed) };
    let io_error = || failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut reader = match create_reader(BUFFER, input) {
        Ok(reader) => reader,
        Err(PcapError::ReadError) => return Err(read_error(io_error())),
        Err(_) => return Err(CaptureError::NotACapture { first: head.to_vec() }),
    };
    let mut facts = FileFacts::default();
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut capacity = BUFFER;
    let mut read = 0_u64;
    loop {
        let used = match reader.next() {
            Ok((used, block)) => {
                take(&block, &mut facts, &mut interfaces, &mut each);
                used
            }
            Err(PcapError::Eof) => return Ok(facts),
            Err(PcapError::UnexpectedEof) => {
                let rest = reader.data().len();
                if rest > 0 {
                    facts.fault = Some(format!(
                        "the file ends within a packet, {rest} bytes after packet {}",
                        facts.frames
                    ));
                }
                return Ok(facts);
            }
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|_| read_error(io_error()))?;
                continue;
            }
            Err(PcapError::BufferTooSmall) if capacity < LARGEST => {
                capacity *= 2;
                reader.grow(capacity);
                reader.refill().map_err(|_| read_error(io_error()))?;
                continue;
            }
            Err(PcapError::ReadError) => return Err(read_error(io_error())),
            Err(_) => {
                facts.fault = Some(format!(
                    "the file is damaged at byte {read}, after packet {}; what follows was not read",
                    facts.frames
                ));
                return Ok(facts);
            }
        };
        reader.consume(used);
        read += used as u64;
    }
}

fn read_error(error: Option<io::Error>) -> CaptureError {
    CaptureError::Read(error.unwrap_or_else(|| io::ErrorKind::Other.into()))
}

/// Takes a block of the file.
fn take(
    block: &PcapBlockOwned<'_>,
    facts: &mut FileFacts,
    interfaces: &mut Vec<Interface>,
    each: &mut impl FnMut(Frame<'_>),
) {
    let mut frame = |facts: &mut FileFacts, interface: Interface, at: u64, bytes: &[u8], length: u32| {
        facts.frames += 1;
        let length = (length as usize).max(bytes.len());
        facts.cut += u64::from(length > bytes.len());
        facts.links.insert(interface.link);
        each(Frame { number: facts.frames, at, link: interface.link, bytes, length });
    };
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            *interfaces = vec![Interface { link: link(header.network.0), resolution, offset: 0 }];
            (facts.format, facts.interfaces) = ("pcap", 1);
        }
        PcapBlockOwned::Legacy(packet) => {
            let Some(interface) = interfaces.first().copied() else { return };
            let part = u64::from(packet.ts_usec) * (1_000_000_000 / interface.resolution);
            let at = u64::from(packet.ts_sec) * 1_000_000_000 + part;
            let kept = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
            frame(facts, interface, at, kept, packet.origlen);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            facts.format = "pcapng";
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
            facts.interfaces += 1;
            if interfaces.len() < INTERFACES {
                let resolution = description.ts_resolution().filter(|units| *units > 0);
                interfaces.push(Interface {
                    link: link(description.linktype.0),
                    resolution: resolution.unwrap_or(1_000_000),
                    offset: description.if_tsoffset,
                });
            }
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let Some(interface) = interfaces.get(packet.if_id as usize).copied() else { return };
            let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
            let nanos = units * 1_000_000_000 / u128::from(interface.resolution);
            let nanos = nanos.saturating_add_signed(i128::from(interface.offset) * 1_000_000_000);
            let kept = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
            frame(facts, interface, nanos.min(u128::from(u64::MAX)) as u64, kept, packet.origlen);
        }
        PcapBlockOwned::NG(_) => {}
    }
}

/// The number of a link type: the upper bits of the field have another meaning.
const fn link(number: i32) -> u16 {
    (number & 0xFFFF) as u16
}

/// Fills the buffer whole while there is input: pipes give less.
struct Whole<R> {
    input: R,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kept = io::Error::new(error.kind(), error.to_string());
                    *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
                    return Err(error);
                }
            }
        }
        Ok(filled)
    }
}
