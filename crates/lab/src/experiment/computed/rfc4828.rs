//! RFC 4828: the closed forms of its first tables.

use tfrc::Equation;
use tfrc_units::{Duration, Probability};

use super::{Context, Values};
use crate::experiment::raw::Profile;
use crate::experiment::table::number;

/// The round-trip time of Tables 1 to 4.
const RTT: Duration = Duration::from_millis(100);
/// Bytes of headers that Tables 1 to 4 count with each segment.
const HEADER: f64 = 40.0;

/// kB/s of `bytes` in each packet at the packet drop rate `p`. As published it is the equation with its two constants
/// rounded to three digits, which gives every printed digit; in the other profile it is the core's.
fn response(profile: Profile, bytes: f64, p: f64) -> f64 {
    match profile {
        Profile::AsPublished => {
            let f = 0.816 * p.sqrt() + 7.34 * p * p.sqrt() * (1.0 + 32.0 * p * p);
            bytes / (RTT.as_secs_f64() * f) / 1000.0
        }
        Profile::Rfc => {
            Equation::default().rate(bytes, RTT, Probability::saturating(p)).bytes_per_sec() / 1000.0
        }
    }
}

/// The segment size in the name of a column, such as `tcp_tfrc_536B_KBps`.
fn segment(column: &str) -> Option<f64> {
    column.split('_').find_map(|part| part.strip_suffix('B')?.parse().ok())
}

/// Table 1: TCP and TFRC at packet drop rates.
pub(super) fn table_01(context: &Context<'_>) -> Values {
    context.fill(|context, keys, column| {
        let p = number(keys.first()?)?;
        Some(response(context.profile, segment(column)? + HEADER, p))
    })
}
