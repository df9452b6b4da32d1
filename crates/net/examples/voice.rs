//! A voice coder over TFRC-SP: a frame every 20 ms, in packets that shrink and grow with the
//! allowed rate (RFC 4828 §6).
//!
//! ```text
//! tfrc recv
//! cargo run -p tfrc-net --example voice -- 127.0.0.1:6511 AMR 60
//! ```
//!
//! The frames are as long as the codec's and filled with a number: nothing is spoken.

#![expect(clippy::disallowed_macros, reason = "a program prints")]

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use tfrc::guard::{Advice, SizeAdvice, SizeAdviceSettings};
use tfrc_net::options::{Common, Dccp};
use tfrc_net::{Endpoint, LatePolicy, Options, Variant};
use tfrc_units::{Duration, Rate};

/// A codec of 20 ms frames: its name and the lengths of its frames in bytes, shortest first.
type Codec = (&'static str, &'static [u32]);

/// Lengths without any RTP header or table of contents, each frame filled up to whole bytes.
const CODECS: [Codec; 8] = [
    // ITU-T G.711: 64 kbit/s.
    ("G.711", &[160]),
    // ITU-T G.726: 16, 24, 32 and 40 kbit/s.
    ("G.726", &[40, 60, 80, 100]),
    // ITU-T G.729: two frames of 10 bytes.
    ("G.729", &[20]),
    // 3GPP TS 26.101: 4.75 to 12.2 kbit/s, 95 to 244 bits.
    ("AMR", &[12, 13, 15, 17, 19, 20, 26, 31]),
    // 3GPP TS 26.201: 6.6 to 23.85 kbit/s, 132 to 477 bits.
    ("AMR-WB", &[17, 23, 32, 36, 40, 46, 50, 58, 60]),
    // ETSI GSM 06.10 as RFC 3551 §4.5.8 packs it.
    ("GSM", &[33]),
    // RFC 3951: 304 bits.
    ("iLBC", &[38]),
    // RFC 3551 §4.5.9: the 14-byte segments of RFC 4828's simulations.
    ("LPC", &[14]),
];

/// Frames in a packet: more delay, fewer headers.
const BUNDLES: [u32; 3] = [4, 2, 1];
const FRAME: StdDuration = StdDuration::from_millis(20);
const FRAMES_PER_SECOND: f64 = 50.0;
/// Header bytes that RFC 5622 §5 charges a packet over UDP.
const HEADER: u32 = 44;
/// Speech that has waited longer than this is of no use any more.
const TOO_LATE: Duration = Duration::from_millis(200);

/// A way to code: the bytes of a frame, and the frames in a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mode {
    frame: u32,
    bundle: u32,
}

impl Mode {
    /// Bytes on the wire for each frame, its share of the headers included.
    fn cost(self) -> u32 {
        self.frame + HEADER.div_ceil(self.bundle)
    }

    fn packet(self) -> u32 {
        self.frame * self.bundle
    }
}

/// The modes of a codec, cheapest first: frames are bundled only when they cannot be made shorter.
fn modes(lengths: &[u32]) -> Vec<Mode> {
    let shortest = lengths.first().copied().unwrap_or(1);
    let mut modes: Vec<Mode> =
        BUNDLES.iter().map(|bundle| Mode { frame: shortest, bundle: *bundle }).collect();
    modes.extend(lengths.iter().skip(1).map(|frame| Mode { frame: *frame, bundle: 1 }));
    modes
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(to), name, seconds) = (words.next(), words.next(), words.next()) else {
        let names = CODECS.map(|(name, _)| name).join(", ");
        return Err(format!("usage: voice ADDRESS:PORT [CODEC [SECONDS]]; codecs: {names}").into());
    };
    let to: SocketAddr = to.parse()?;
    let name = name.unwrap_or_else(|| "AMR".to_owned());
    let (name, lengths) = CODECS
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(&name))
        .ok_or_else(|| format!("there is no codec {name} here"))?;
    let seconds: f64 = seconds.map_or(Ok(60.0), |seconds| seconds.parse())?;
    run(to, name, &modes(lengths), seconds).await
}

async fn run(to: SocketAddr, name: &str, modes: &[Mode], seconds: f64) -> Result<(), Box<dyn Error>> {
    let costs: Vec<u32> = modes.iter().map(|mode| mode.cost()).collect();
    // The costs have their headers in them, so the advice need not add any.
    let mut advice = SizeAdvice::new(SizeAdviceSettings::new(FRAMES_PER_SECOND, 0), &costs)
        .map_err(|error| error.to_string())?;
    let best = *modes.last().ok_or("a codec has frames")?;
    let options = Options {
        common: Common { segment_bytes: best.packet(), ..Common::default() },
        dccp: Dccp { variant: Variant::TfrcSp, ..Dccp::default() },
    };
    let here: SocketAddr = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse()?;
    let endpoint = Endpoint::bind(here, &options)?;
    let connection = endpoint.connect(to).await?;
    connection.set_late_policy(LatePolicy::DropAfter(TOO_LATE));

    let mut ticker = tokio::time::interval(FRAME);
    let (mut mode, mut bundled, mut frames) = (best, 0, 0u32);
    println!("{name}: {} bytes a frame, {} in a packet", mode.frame, mode.bundle);
    while f64::from(frames) < seconds * FRAMES_PER_SECOND {
        ticker.tick().await;
        frames += 1;
        bundled += 1;
        if bundled < mode.bundle {
            continue;
        }
        bundled = 0;
        let packet = vec![frames.to_be_bytes()[3]; usize::try_from(mode.packet())?];
        if connection.send(packet).await.is_err() {
            break;
        }
        let status = connection.status();
        if status.rtt.is_none() {
            continue;
        }
        let advised = advice.on_rate(status.at, on_the_wire(status.allowed_rate, mode));
        let next = modes.iter().find(|mode| mode.cost() == advised.size()).copied().unwrap_or(mode);
        if next != mode {
            let too_fast = if matches!(advised, Advice::TooFast(_)) { ", still too fast" } else { "" };
            let at = f64::from(frames) / FRAMES_PER_SECOND;
            println!("{at:6.1} s: {} bytes a frame, {} in a packet{too_fast}", next.frame, next.bundle);
            mode = next;
        }
    }
    connection.flushed().await;
    let closed = connection.close().await;
    let status = connection.status();
    println!(
        "{} packets sent, {} bytes, {} too late to send; the receiver says: {}",
        status.stats.sent_data_packets,
        status.stats.sent_data_bytes,
        status.late_dropped,
        closed.and_then(|closed| closed.text).unwrap_or_default(),
    );
    drop(connection);
    endpoint.shut_down().await?;
    Ok(())
}

/// The allowed rate with the headers that were taken off it for packets of this size
/// (RFC 4828 §4.2).
fn on_the_wire(allowed: Rate, mode: Mode) -> Rate {
    let packet = f64::from(mode.packet());
    allowed * ((packet + f64::from(HEADER)) / packet)
}
