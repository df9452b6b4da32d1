//! The element between two pads, without a network.

use std::sync::mpsc::{Receiver, channel};

use gst::EventType::{Caps, Eos, Segment, StreamStart};
use gst::prelude::*;
use gstreamer as gst;
use gstreamer::glib;
use gsttfrc::RtpTfrcBwe;

/// An output of the element.
#[derive(Debug, PartialEq, Eq)]
enum Out {
    Event(gst::EventType),
    Packet(usize),
}

/// The element that plays, a pad that feeds it, and the pad behind it.
struct Bench {
    element: RtpTfrcBwe,
    before: gst::Pad,
    behind: gst::Pad,
    out: Receiver<Out>,
}

impl Bench {
    fn new(element: RtpTfrcBwe) -> Self {
        let (tell, out) = channel();
        let events = tell.clone();
        let behind = gst::Pad::builder(gst::PadDirection::Sink)
            .chain_function(move |_, _, packet| {
                tell.send(Out::Packet(packet.size())).map_err(|_| gst::FlowError::Eos)?;
                Ok(gst::FlowSuccess::Ok)
            })
            .event_function(move |_, _, event| events.send(Out::Event(event.type_())).is_ok())
            .build();
        let before = gst::Pad::builder(gst::PadDirection::Src).build();
        let pad = |name| element.static_pad(name).expect("a pad");
        before.link(&pad("sink")).expect("linked");
        pad("src").link(&behind).expect("linked");
        for pad in [&before, &behind] {
            pad.set_active(true).expect("active");
        }
        element.set_state(gst::State::Playing).expect("plays");
        let bench = Self { element, before, behind, out };
        bench.before.push_event(gst::event::StreamStart::new("stream"));
        let caps = gst::Caps::builder("application/x-rtp").build();
        bench.before.push_event(gst::event::Caps::new(&caps));
        bench.before.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
        bench
    }

    fn push(&self, size: usize) {
        self.before.push(gst::Buffer::with_size(size).expect("memory")).expect("taken");
    }

    /// Feedback for `count` packets that left 50 ms ago, 4 ms apart.
    fn feed_back(&self, count: u32) -> bool {
        let now = gst::SystemClock::obtain().time().nseconds();
        let packets = (0..count).map(|number| {
            let later = u64::from(number) * 4_000_000;
            let packet = gst::Structure::builder("RTPTWCCPacket")
                .field("seqnum", number)
                .field("local-ts", now - 50_000_000 + later)
                .field("remote-ts", 1_000_000_000 + later)
                .field("size", 1200_u32)
                .field("lost", false)
                .build();
            packet.to_send_value()
        });
        let packets = Packets(glib::ValueArray::new(packets.collect::<Vec<_>>()));
        let feedback = gst::Structure::builder("RTPTWCCPackets").field("packets", packets).build();
        self.behind.push_event(gst::event::CustomUpstream::new(feedback))
    }
}

/// An array that nobody else has, for a field that another thread may read.
struct Packets(glib::ValueArray);

#[expect(unsafe_code, reason = "as rtpsession does: glib's arrays are not counted by threads")]
// SAFETY: the array is moved into the structure, and only read after that.
unsafe impl Send for Packets {}

impl From<Packets> for glib::Value {
    fn from(packets: Packets) -> Self {
        packets.0.to_value()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.element.set_state(gst::State::Null);
    }
}

fn element() -> RtpTfrcBwe {
    gst::init().expect("GStreamer");
    glib::Object::new()
}

#[test]
fn packets_and_events_keep_their_order() {
    let bench = Bench::new(element());
    let sizes = [1200, 300, 700];
    for size in sizes {
        bench.push(size);
    }
    bench.before.push_event(gst::event::Eos::new());
    let out: Vec<Out> = bench.out.iter().take(7).collect();
    let [start, caps, segment, eos] = [StreamStart, Caps, Segment, Eos].map(Out::Event);
    let [a, b, c] = sizes.map(Out::Packet);
    assert_eq!(out, [start, caps, segment, a, b, c, eos]);
}

#[test]
fn feedback_makes_an_estimate_and_notifies() {
    let element = element();
    let (tell, told) = channel();
    element.connect_notify(Some("estimated-bitrate"), move |element, _| {
        let _ = tell.send(element.property::<u32>("estimated-bitrate"));
    });
    assert_eq!(element.property::<u32>("estimated-bitrate"), 350_400, "the first rate");
    let bench = Bench::new(element);
    assert!(bench.feed_back(4));
    // 4380 bytes in a round-trip time, which is 50 ms less what the packets took to leave, or more.
    let estimate = told.recv().expect("a notify");
    assert!((1_000..=1_000_000).contains(&estimate) && estimate != 350_400, "{estimate}");
    bench.element.set_property("min-bitrate", 2_000_000_u32);
    assert_eq!(told.recv(), Ok(2_000_000));
    bench.element.set_property("min-bitrate", 1_000_u32);
    bench.element.set_property("max-bitrate", 20_000_u32);
    assert_eq!(bench.element.property::<u32>("estimated-bitrate"), 20_000);
}

#[test]
fn a_source_that_waits_for_room_is_let_go() {
    let element = element();
    element.set_property("estimated-bitrate", 1_000_u32);
    let bench = Bench::new(element);
    let (before, element) = (bench.before.clone(), bench.element.clone());
    let pushing = std::thread::spawn(move || {
        loop {
            if let Err(error) = before.push(gst::Buffer::with_size(1200).expect("memory")) {
                break error;
            }
        }
    });
    // The first packet leaves at once.
    while !matches!(bench.out.recv().expect("running"), Out::Packet(_)) {}
    element.set_state(gst::State::Null).expect("stopped");
    assert_eq!(pushing.join().expect("no panic"), gst::FlowError::Flushing);
}
