//! The rate control of a flow: `[flow.tfrc]`, guarantee and mark, and what must hold between them.

use tfrc::config::{BrokenPromise, Guarantee, PacketSize, SegmentSize, Target};
use tfrc::{Config, ConfigError, Settings};
use tfrc_units::{Dscp, NotADscp, text};

use super::axis;
use super::check::{Checked, parsed};
use super::error::{Fault, Mistake};
use super::rate_control::{self, AXES};
use super::raw::Spanned;
use super::{raw, suggest};

/// The settings of a flow of `packet_size` as its kind says, with what is written in its table on top.
pub(super) fn config(
    flow: &raw::Flow,
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
    let mut culprit = match settings.validate() {
        Ok(_) => flow.kind.span(),
        Err(_) => flow.guarantee.as_ref().map_or(flow.kind.span(), Spanned::span),
    };
    let table = flow.tfrc.iter().flatten();
    for (key, value) in table.clone() {
        rate_control::axis(key.get_ref())
            .map_err(|refusal| axis::refused(refusal, key.span(), "not a key"))?;
        if key.get_ref() == "packet_size" && packet_size != PacketSize::Own && value.get_ref().0 != "tfrc-sp"
        {
            let what = "the kind `tfrc-sp` has a packet size of its own";
            return Err(
                Mistake::new(Fault::Conflict, value.span(), what, "another").hint("write kind = \"tfrc\"")
            );
        }
    }
    for axis in AXES {
        let Some((_, value)) = table.clone().find(|(key, _)| key.get_ref() == axis.key) else { continue };
        let was = settings.validate();
        axis.set(&mut settings, &value.get_ref().0)
            .map_err(|refusal| axis::refused(refusal, value.span(), "here"))?;
        // A later key may mend it; if none does, this is the one to show.
        if was.is_ok() && settings.validate().is_err() {
            culprit = value.span();
        }
    }
    let config = settings.validate().map_err(|error: ConfigError| {
        Mistake::new(Fault::Conflict, culprit, error.to_string(), "out of range, or against another key")
    })?;
    let dscp = dscp(flow)?;
    if let Some(promised) = &flow.guarantee
        && settings.circuit_breaker.limits(settings.guarantee).is_none()
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

fn guarantee(flow: &raw::Flow) -> Checked<Guarantee> {
    let Some(promised) = &flow.guarantee else {
        let start = flow.guarantee_start.as_ref().map(Spanned::span);
        return match start.or(flow.guarantee_threshold.as_ref().map(Spanned::span)) {
            None => Ok(Guarantee::None),
            Some(place) => {
                Err(Mistake::new(Fault::Idle, place, "nothing is guaranteed", "does nothing here")
                    .hint("add guarantee = \"500kbit/s\""))
            }
        };
    };
    let y = flow.guarantee_threshold.as_ref();
    let rate = parsed(promised, text::rate)?;
    let broken = y.map_or(BrokenPromise::Ignore, |y| BrokenPromise::GiveWayBelow(*y.get_ref()));
    let target = Target { rate, broken };
    match flow.guarantee_start.as_ref() {
        None => Ok(Guarantee::FromFirstRtt(target)),
        Some(start) => match start.get_ref().as_str() {
            "first-rtt" => Ok(Guarantee::FromFirstRtt(target)),
            "first-loss-report" => Ok(Guarantee::FromFirstLossReport(target)),
            other => {
                let what = format!("`guarantee_start` cannot be `{other}`");
                Err(Mistake::new(Fault::Word, start.span(), what, "not understood")
                    .hint(suggest::hint(other, &["first-rtt", "first-loss-report"])))
            }
        },
    }
}

pub(super) fn dscp(flow: &raw::Flow) -> Checked<Dscp> {
    let Some(given) = &flow.dscp else { return Ok(Dscp::DEFAULT) };
    let written = &given.get_ref().0;
    written.parse().map_err(|NotADscp| {
        Mistake::new(Fault::Quantity, given.span(), format!("`{written}` is no DSCP"), "not understood")
            .hint("possible: af11 to af43, cs0 to cs7, ef, or a number from 0 to 63")
    })
}
