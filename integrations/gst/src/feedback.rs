//! The event by which `rtpsession` passes transport-wide feedback upstream.

use gstreamer as gst;
use tfrc_units::Instant;

use crate::estimator::PacketReport;

/// The name of the event's structure.
const NAME: &str = "RTPTWCCPackets";
/// A time that is not known.
const NONE: u64 = u64::MAX;

/// The packets of such an event; `None` for any other event. Packets whose departure is not known
/// are left out: nobody here sent them.
pub(crate) fn packets(event: &gst::EventRef) -> Option<Vec<PacketReport>> {
    let gst::EventView::CustomUpstream(custom) = event.view() else { return None };
    let structure = custom.structure().filter(|structure| structure.name() == NAME)?;
    let packets = structure.get::<gst::glib::ValueArray>("packets").ok()?;
    Some(packets.iter().filter_map(|packet| report(&packet.get::<gst::Structure>().ok()?)).collect())
}

fn report(packet: &gst::Structure) -> Option<PacketReport> {
    let known = |name: &str| packet.get::<u64>(name).ok().filter(|time| *time != NONE);
    // The clock of the system, not the running time.
    let departure = known("local-ts").map(Instant::from_nanos)?;
    let lost = packet.get::<bool>("lost").unwrap_or(false);
    Some(PacketReport {
        seqnum: packet.get::<u32>("seqnum").ok()? as u16,
        departure,
        size: packet.get::<u32>("size").ok()?,
        arrival: known("remote-ts").filter(|_| !lost).map(Instant::from_nanos),
    })
}
