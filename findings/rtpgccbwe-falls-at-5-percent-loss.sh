#!/bin/sh
# Guess: rtpgccbwe, GStreamer's Google Congestion Control, keeps its rate at 5 % of random loss, as
# draft-ietf-rmcat-gcc-02 6 has it between 2 and 10 %, and as libwebrtc does, which sends 81 % of such a line.
# Run: gst-plugin-rtp 0.15.4, feedback of a path of 40 ms that never queues, a report for each picture of four
# packets, as GStreamer's receiver sends them. Without losses the estimate grows from 2 to 6 Mbit/s in
# 12 s; with each 20th packet lost it is below 0.1. The loss controller's average forgets in a
# millisecond, so that a report with one of four lost counts as 25 %, and takes an eighth of the rate.
# Here: `docs/habits.md` has it beside libwebrtc, with runs; `rtptfrcbwe` takes p from loss intervals, which
# are counted in packets and do not depend on how many a report has.
# Needs GStreamer's headers (libgstreamer-plugins-base1.0-dev), as integrations/gst does.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "losses"
version = "0.0.0"
edition = "2024"
[dependencies]
gst = { package = "gstreamer", version = "=0.25.4" }
gst-plugin-rtp = "=0.15.4"
[workspace]
END
cat > src/main.rs <<'END'
use std::time::Duration;

use gst::glib;
use gst::prelude::*;

const PACKETS: u32 = 4;

/// The estimate after 12 s of feedback on pictures of four packets, 25 a second, over a path of 40 ms
/// that never queues; one packet in `lost` does not arrive.
fn estimate(lost: Option<u32>) -> u32 {
    let control = gst::ElementFactory::make("rtpgccbwe").build().unwrap();
    let sink = gst::ElementFactory::make("fakesink").property("async", false).build().unwrap();
    let pipeline = gst::Pipeline::new();
    pipeline.add_many([&control, &sink]).unwrap();
    control.link(&sink).unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    for picture in 0..300 {
        let sent = gst::ClockTime::from_mseconds(1000 + 40 * u64::from(picture));
        let packets = (0..PACKETS).map(|part| {
            let number = PACKETS * picture + part;
            let gone = lost.is_some_and(|each| number % each == 1);
            let after = gst::ClockTime::from_mseconds(20) + gst::ClockTime::from_useconds(u64::from(part) * 100);
            let mut packet = gst::Structure::builder("RTPTWCCPacket")
                .field("seqnum", number)
                .field("local-ts", sent + gst::ClockTime::from_useconds(u64::from(part) * 100))
                .field("size", 1200u32)
                .field("lost", gone);
            if !gone {
                packet = packet.field("remote-ts", sent + after);
            }
            packet.build().to_send_value()
        });
        let packets = glib::ValueArray::new(packets).to_value();
        let mut told = gst::Structure::new_empty("RTPTWCCPackets");
        // The array is of this thread alone, and given away.
        told.set_value("packets", unsafe { packets.into_send_value() });
        sink.send_event(gst::event::CustomUpstream::new(told));
        std::thread::sleep(Duration::from_millis(40));
    }
    let estimate = control.property("estimated-bitrate");
    pipeline.set_state(gst::State::Null).unwrap();
    estimate
}

fn main() {
    gst::init().unwrap();
    gstrsrtp::plugin_register_static().unwrap();
    let plugin = gst::Registry::get().find_plugin("rsrtp").unwrap();
    println!("rtpgccbwe of gst-plugin-rtp {}", plugin.version());
    let runs = [("none", None), ("5 %", Some(20))];
    let runs = runs.map(|(name, lost)| (name, std::thread::spawn(move || estimate(lost))));
    for (name, run) in runs {
        println!("{name} lost: {} kbit/s", run.join().unwrap() / 1000);
    }
}
END
cargo run --quiet 2> words | tee seen
grep -q '^rtpgccbwe of gst-plugin-rtp 0\.15\.4' seen
grep -qE '^none lost: [3-9][0-9]{3} kbit/s$' seen
grep -qE '^5 % lost: [0-9]{1,2} kbit/s$' seen
