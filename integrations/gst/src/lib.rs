//! TFRC as a bandwidth estimator of GStreamer's `webrtcbin`.

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod element;
mod estimator;
mod feedback;
mod pacer;

use gstreamer as gst;
use gstreamer::glib;

glib::wrapper! {
    /// The element `rtptfrcbwe`: paces RTP packets at TFRC's rate, and reports that rate.
    pub struct RtpTfrcBwe(ObjectSubclass<element::RtpTfrcBwe>) @extends gst::Element, gst::Object;
}

mod plugin {
    use super::{RtpTfrcBwe, glib, gst};
    use gst::prelude::StaticType;

    fn init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
        gst::Element::register(Some(plugin), "rtptfrcbwe", gst::Rank::NONE, RtpTfrcBwe::static_type())
    }

    gst::plugin_define!(
        tfrc,
        env!("CARGO_PKG_DESCRIPTION"),
        init,
        env!("CARGO_PKG_VERSION"),
        "MIT/X11",
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_NAME"),
        "https://tfrc.invalid"
    );
}
