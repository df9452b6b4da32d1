//! Rhee and Xu, ToN 15(4), 2007: what the equation alone says.

use tfrc::equation::{Equation, EquationForm};
use tfrc_units::{Duration, Probability};

use super::{Context, Values};
use crate::syntax::Profile;
use tfrc_lab::formula::number;

/// The RTO of a standard TCP on all of these paths.
const TCP_RTO: Duration = Duration::from_secs(1);
/// Segments of any size: only ratios are taken.
const SEGMENT: f64 = 1000.0;

/// Figure 13: F(p; R, 4R) over F(p; R, 1 s). The paper's form is PFTK's with the timeout term
/// capped; in the other profile it is the core's.
pub(super) fn figure_13(context: &Context<'_>) -> Values {
    context.fill(|context, keys, column| {
        let p = Probability::saturating(number(keys.first()?)?);
        let rtt = Duration::from_secs_f64(number(column.strip_prefix("ratio_")?)?);
        let form = match context.profile {
            Profile::AsPublished => EquationForm::TimeoutTermCapped,
            Profile::Rfc => EquationForm::Tfrc,
        };
        let equation = Equation { form, ..Equation::default() };
        let rate = |rto: Duration| equation.rate_with_timeout(SEGMENT, rtt, rto, p).bytes_per_sec();
        Some(rate(rtt * 4) / rate(TCP_RTO))
    })
}
