//! Changes of the bottleneck at the user's wish.

use std::fmt;

use tfrc_report::human;
use tfrc_units::{Probability, Rate};
use tfrc_world::world::relayed;

use crate::live::{Command, Controls, LinkLoss, LinkRate};

/// Random losses, where they are switched on.
const LOSS: f64 = 0.02;

/// The bottleneck, and the state of its controls.
#[derive(Debug)]
pub(super) struct Steering {
    hand: relayed::Steering,
    rate: Rate,
    /// The flow that starts next.
    next: usize,
    controls: Controls,
}

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LinkChange {
    Loss(Probability),
    OneTcpMore,
    Rate(Rate),
}

impl fmt::Display for LinkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(p) => write!(f, "random loss {}", human::percent(p.get())),
            Self::OneTcpMore => f.write_str("one TCP more"),
            Self::Rate(rate) => write!(f, "rate {}", human::rate(rate.bits_per_sec())),
        }
    }
}

impl Steering {
    /// A bottleneck of this rate for which the first `competing` flows of the scenario compete; the
    /// `spares` behind them wait.
    pub(super) const fn new(hand: relayed::Steering, rate: Rate, competing: usize, spares: usize) -> Self {
        let controls = Controls { rate: LinkRate::Whole, loss: LinkLoss::Off, spare_tcps: spares };
        Self { hand, rate, next: competing, controls }
    }

    pub(super) const fn controls(&self) -> Controls {
        self.controls
    }

    /// Does as the user wishes; `None` if that changes nothing.
    pub(super) fn obey(&mut self, command: Command) -> Option<LinkChange> {
        let change = changed(command, &mut self.controls, self.rate)?;
        match change {
            LinkChange::Loss(p) => self.hand.set_loss(p),
            LinkChange::Rate(rate) => self.hand.set_rate(rate),
            LinkChange::OneTcpMore => {
                self.hand.start_flow(self.next);
                self.next += 1;
            }
        }
        Some(change)
    }
}

/// The change that a command makes at a bottleneck that began with this rate.
fn changed(command: Command, controls: &mut Controls, rate: Rate) -> Option<LinkChange> {
    match command {
        Command::SwitchRate => {
            let (state, rate) = match controls.rate {
                LinkRate::Whole => (LinkRate::Halved, Rate::from_bits_per_sec(rate.bits_per_sec() / 2.0)),
                LinkRate::Halved => (LinkRate::Whole, rate),
            };
            controls.rate = state;
            Some(LinkChange::Rate(rate))
        }
        Command::SwitchLoss => {
            let (state, p) = match controls.loss {
                LinkLoss::Off => (LinkLoss::On, LOSS),
                LinkLoss::On => (LinkLoss::Off, 0.0),
            };
            controls.loss = state;
            Some(LinkChange::Loss(Probability::saturating(p)))
        }
        Command::OneTcpMore => {
            controls.spare_tcps = controls.spare_tcps.checked_sub(1)?;
            Some(LinkChange::OneTcpMore)
        }
        Command::End => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_switch_there_and_back() {
        let rate = Rate::from_bits_per_sec(2e6);
        let mut controls = Controls { rate: LinkRate::Whole, loss: LinkLoss::Off, spare_tcps: 1 };
        let first = controls;
        let mut press = |command| changed(command, &mut controls, rate).map(|change| change.to_string());
        let said = [
            Command::SwitchRate,
            Command::SwitchRate,
            Command::SwitchLoss,
            Command::SwitchLoss,
            Command::OneTcpMore,
            Command::OneTcpMore,
            Command::End,
        ]
        .map(|command| press(command).map(|words| words.replace('\u{a0}', " ")));
        let wanted =
            ["rate 1.00 Mbit/s", "rate 2.00 Mbit/s", "random loss 2.00 %", "random loss 0 %", "one TCP more"];
        let said: Vec<_> = said.iter().map(Option::as_deref).collect();
        assert_eq!(said, [&wanted.map(Some)[..], &[None, None]].concat());
        assert_eq!(controls, Controls { spare_tcps: 0, ..first });
    }
}
