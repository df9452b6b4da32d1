//! The feature negotiation options: Change and Confirm (RFC 4340 §6).

/// Change L, Confirm L, Change R or Confirm R (RFC 4340 §6.1, 6.2): L is sent by the end where the
/// feature is located.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureOp {
    /// 32: the sender wants to change a feature of its own.
    ChangeL,
    /// 33: the sender has settled a feature of its own.
    ConfirmL,
    /// 34: the sender wants to change a feature of the receiver.
    ChangeR,
    /// 35: the sender has settled a feature of the receiver.
    ConfirmR,
}

impl FeatureOp {
    /// Its option type.
    #[must_use]
    pub const fn kind(self) -> u8 {
        match self {
            Self::ChangeL => 32,
            Self::ConfirmL => 33,
            Self::ChangeR => 34,
            Self::ConfirmR => 35,
        }
    }

    #[inline]
    pub(super) const fn from_kind(kind: u8) -> Option<Self> {
        match kind {
            32 => Some(Self::ChangeL),
            33 => Some(Self::ConfirmL),
            34 => Some(Self::ChangeR),
            35 => Some(Self::ConfirmR),
            _ => None,
        }
    }

    /// Returns true if it opens a negotiation.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::ChangeL | Self::ChangeR)
    }
}

/// One feature negotiation option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureOption<'a> {
    /// Change or Confirm, and at which end the feature is located.
    pub op: FeatureOp,
    /// The feature number.
    pub feature: u8,
    /// Its values: a preference list, a number, or nothing in an empty Confirm.
    pub values: &'a [u8],
}

impl<'a> FeatureOption<'a> {
    /// A Change needs at least one byte of value (length 4), a Confirm none (length 3).
    pub(super) fn parse(op: FeatureOp, data: &'a [u8]) -> Option<Self> {
        let (feature, values) = data.split_first()?;
        (!op.is_change() || !values.is_empty()).then_some(Self { op, feature: *feature, values })
    }
}
