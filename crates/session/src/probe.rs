//! A question in the other protocol, where a peer does not answer in the protocol of the session:
//! somebody forgot `--quic` at one of the ends.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tfrc_dccp::wire::{Header, Integrity, Packet, PacketType, Sequence};
use tfrc_units::SeqNo48;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

/// Time without an answer before the first question, and between two of them. A peer that speaks
/// the protocol of the session answers sooner on nearly every path.
const PAUSE: Duration = Duration::from_millis(500);
/// Questions, at most.
const QUESTIONS: u32 = 4;
/// Bytes of a datagram that a QUIC server answers (RFC 9000 §14.1).
const LEAST: usize = 1200;
/// A version of QUIC that there will never be: a server answers with those that it has (RFC 9000
/// §6.3, §15).
const NO_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// A connection ID that the answer repeats.
const OWN_ID: [u8; 8] = *b"tfrc ask";
/// The DCCP port of the question.
const PORT: u16 = 6511;

/// A protocol over UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[cfg_attr(not(feature = "quic"), expect(dead_code, reason = "only a private end asks for it"))]
    Dccp,
    Quic,
}

/// Returns once the peer has answered in this protocol; never, if it does not.
pub(crate) async fn speaks(protocol: Protocol, peer: SocketAddr) {
    sleep(PAUSE).await;
    if asked(protocol, peer).await != Some(true) {
        std::future::pending::<()>().await;
    }
}

/// `None` if no question can be sent.
async fn asked(protocol: Protocol, peer: SocketAddr) -> Option<bool> {
    let any = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).await.ok()?;
    socket.connect(peer).await.ok()?;
    let question = protocol.question()?;
    let mut buffer = [0; 256];
    for _ in 0..QUESTIONS {
        // An earlier question may have been refused by the network.
        let _ = socket.send(&question).await;
        let Ok(received) = timeout(PAUSE, socket.recv(&mut buffer)).await else { continue };
        match received {
            Ok(length) if protocol.is_answer(buffer.get(..length)?) => return Some(true),
            _ => sleep(PAUSE).await,
        }
    }
    Some(false)
}

impl Protocol {
    /// A datagram that a peer with this protocol answers, and forgets.
    fn question(self) -> Option<Vec<u8>> {
        match self {
            // A packet of no connection: its answer is a Reset (RFC 4340 §8.3.1).
            Self::Dccp => {
                let header = Header::Data { seq: Sequence::Long(SeqNo48::new(1)) };
                let mut question = Vec::new();
                let packet = Packet {
                    source_port: PORT,
                    destination_port: PORT,
                    ccval: 0,
                    coverage: 0,
                    header,
                    options: &[],
                    payload: &[],
                };
                packet.emit(&mut question, Integrity::Udp).ok()?;
                Some(question)
            }
            Self::Quic => {
                let length = u8::try_from(OWN_ID.len()).ok()?;
                let ids = [&[length][..], &OWN_ID, &[length], &OWN_ID].concat();
                let mut question = [&[0xC0][..], &NO_VERSION, &ids].concat();
                question.resize(LEAST, 0);
                Some(question)
            }
        }
    }

    fn is_answer(self, datagram: &[u8]) -> bool {
        match self {
            Self::Dccp => Packet::parse(datagram, Integrity::Udp)
                .is_ok_and(|packet| packet.header.kind() == PacketType::Reset),
            // Version Negotiation (RFC 9000 §17.2.1): the version is 0, and our ID comes first.
            Self::Quic => {
                datagram.first().is_some_and(|first| first & 0x80 != 0)
                    && datagram.get(1..5) == Some(&[0; 4][..])
                    && datagram.get(6..14) == Some(&OWN_ID[..])
            }
        }
    }
}
