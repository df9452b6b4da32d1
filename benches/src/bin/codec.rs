//! `codec tfrc|tcp|nothing PACKETS [INTERVALS]`: parses and writes PACKETS feedback packets, to be
//! counted by callgrind.
//!
//! `tfrc`: a DCCP-Ack over UDP with Elapsed Time, Receive Rate, Loss Event Rate and a Loss
//! Intervals option. `tcp`: smoltcp's TCP acknowledgement with three SACK ranges and a timestamp.
//! Both without checksums, which UDP carries for one and the network card for the other.

use std::error::Error;
use std::hint::black_box;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{IpAddress, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber, TcpTimestampRepr};
use tfrc_dccp::wire::{
    Elapsed, Header, Integrity, LossInterval, LossIntervals, Nonce, Opt, OptionList, Packet, PacketType,
    SeqAck, options,
};
use tfrc_units::{Duration, SeqNo48};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, which, packets, rest @ ..] = words.as_slice() else {
        return Err("codec tfrc|tcp|nothing PACKETS".into());
    };
    let packets: u32 = packets.parse()?;
    let intervals = rest.first().map_or(Ok(9), |text| text.parse())?;
    let sum = match which.as_str() {
        "tfrc" => tfrc(packets, intervals)?,
        "tcp" => tcp(packets)?,
        "nothing" => (0..packets).map(|n| black_box(u64::from(n))).sum(),
        other => return Err(format!("there is no {other}").into()),
    };
    println!("{which}: {packets} packets, {sum}");
    Ok(())
}

fn tfrc(packets: u32, count: usize) -> Result<u64, Box<dyn Error>> {
    let interval = LossInterval { lossless_length: 90, nonce: Nonce::Zero, loss_length: 1, data_length: 91 };
    let intervals = vec![interval; count];
    let (mut list, mut space, mut bytes) = (OptionList::new(1000), Vec::new(), Vec::new());
    let mut sum = 0;
    for n in 0..packets {
        list.reset(1000);
        list.push(&Opt::ElapsedTime(Elapsed::from_duration(Duration::from_micros(u64::from(n % 1000)))))?;
        list.push(&Opt::ReceiveRate(125_000 + n))?;
        list.push(&Opt::LossEventRate(100))?;
        list.push(&Opt::LossIntervals(LossIntervals::encode(1, &intervals, &mut space)))?;
        let packet = Packet {
            source_port: 6511,
            destination_port: 50_000,
            ccval: 0,
            coverage: 0,
            header: Header::Ack {
                numbers: SeqAck::Long {
                    seq: SeqNo48::new(u64::from(n)),
                    ack: SeqNo48::new(u64::from(n) + 7),
                },
            },
            options: list.padded(),
            payload: &[],
        };
        bytes.clear();
        packet.emit(&mut bytes, Integrity::Udp)?;
        let parsed = Packet::parse(black_box(&bytes), Integrity::Udp)?;
        for item in options(PacketType::Ack, parsed.options) {
            match item?.option {
                Ok(Opt::ReceiveRate(rate)) => sum += u64::from(rate),
                Ok(Opt::LossEventRate(inverse)) => sum += u64::from(inverse),
                Ok(Opt::LossIntervals(intervals)) => {
                    sum += intervals.iter().map(|i| u64::from(i.data_length)).sum::<u64>()
                }
                Ok(Opt::ElapsedTime(elapsed)) => sum += elapsed.duration().as_nanos(),
                _ => {}
            }
        }
    }
    Ok(sum)
}

fn tcp(packets: u32) -> Result<u64, Box<dyn Error>> {
    let (here, there) = (IpAddress::v4(192, 0, 2, 1), IpAddress::v4(192, 0, 2, 2));
    let checksums = ChecksumCapabilities::ignored();
    let mut bytes = Vec::new();
    let mut sum = 0;
    for n in 0..packets {
        let repr = TcpRepr {
            src_port: 6511,
            dst_port: 50_000,
            control: TcpControl::None,
            seq_number: TcpSeqNumber(1),
            ack_number: Some(TcpSeqNumber(i32::try_from(n)?)),
            window_len: 65_535,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [Some((n, n + 100)), Some((n + 200, n + 300)), Some((n + 400, n + 500))],
            timestamp: Some(TcpTimestampRepr { tsval: n, tsecr: n }),
            payload: &[],
        };
        bytes.resize(repr.buffer_len(), 0);
        repr.emit(&mut TcpPacket::new_unchecked(bytes.as_mut_slice()), &here, &there, &checksums);
        let packet = TcpPacket::new_checked(black_box(bytes.as_slice()))?;
        let parsed = TcpRepr::parse(&packet, &here, &there, &checksums)?;
        sum += parsed.sack_ranges.iter().flatten().map(|(from, to)| u64::from(to - from)).sum::<u64>();
        sum += u64::from(parsed.window_len) + parsed.timestamp.map_or(0, |stamp| u64::from(stamp.tsval));
    }
    Ok(sum)
}
