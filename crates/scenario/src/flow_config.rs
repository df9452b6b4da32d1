//! The rate control of a flow: `[flow.tfrc]`, guarantee and mark, and what must hold between them.

use tfrc::config::{PacketSize, Promise, SegmentSize};
use tfrc::{Config, ConfigError, Settings};
use tfrc_units::Dscp;

use super::error::{Checked, Fault, Mistake};
use super::syntax::{self, Spanned};

/// The settings of a flow of `packet_size` as its kind says, with what is written in its table on
/// top.
pub(super) fn config(
    flow: &syntax::Flow,
    packet_size: PacketSize,
    segment: u32,
    header: u32,
) -> Checked<(Config, Dscp)> {
    let packet_size = match packet_size {
        // What is charged is what is on the wire.
        PacketSize::TfrcSp(sp) => PacketSize::TfrcSp(tfrc::config::TfrcSp { header, ..sp }),
        other => other,
    };
    let segment = SegmentSize::Mean { initial: segment };
    let mut settings = Settings { segment, packet_size, guarantee: guarantee(flow)?, ..Settings::default() };
    let start = settings;
    if let Some(table) = &flow.tfrc {
        settings = table.apply(&start)?;
        if let Some(size) = table.get("packet_size")
            && packet_size != PacketSize::Own
            && size.get_ref().0 != "tfrc-sp"
        {
            let what = "the kind `tfrc-sp` has a packet size of its own";
            return Err(
                Mistake::new(Fault::Conflict, size.span(), what, "another").hint("write kind = \"tfrc\"")
            );
        }
    }
    let config = settings.validate().map_err(|error: ConfigError| {
        let is_sound = |settings: &Settings| settings.validate().is_ok();
        let key = flow.tfrc.as_ref().and_then(|table| table.culprit(&start, is_sound));
        let promise = || flow.guarantee.as_ref().map_or(flow.kind.span(), Spanned::span);
        let place = key.unwrap_or_else(promise);
        Mistake::new(Fault::Conflict, place, error.to_string(), "out of range, or against another key")
    })?;
    let dscp = flow.dscp.as_ref().map_or(Dscp::DEFAULT, |mark| mark.0);
    if let Some(promised) = &flow.guarantee
        && !settings.circuit_breaker.is_in_force(settings.guarantee)
        && !dscp.is_assured()
    {
        return Err(Mistake::new(
            Fault::Conflict,
            promised.span(),
            "a guarantee without a DSCP of Assured Forwarding and without a circuit breaker is uncontrolled UDP",
            "nothing would hold this flow",
        )
        .hint("add dscp = \"af11\", or leave circuit_breaker as it is by default"));
    }
    Ok((config, dscp))
}

fn guarantee(flow: &syntax::Flow) -> Checked<Option<Promise>> {
    let Some(promised) = &flow.guarantee else {
        let start = flow.guarantee_start.as_ref().map(Spanned::span);
        return match start.or(flow.guarantee_threshold.as_ref().map(Spanned::span)) {
            None => Ok(None),
            Some(place) => {
                Err(Mistake::new(Fault::Idle, place, "nothing is guaranteed", "does nothing here")
                    .hint("add guarantee = \"500kbit/s\""))
            }
        };
    };
    Ok(Some(Promise {
        rate: **promised,
        start: flow.guarantee_start.as_deref().copied().unwrap_or_default(),
        give_way_below: flow.guarantee_threshold.as_ref().map(|y| *y.get_ref()),
    }))
}
