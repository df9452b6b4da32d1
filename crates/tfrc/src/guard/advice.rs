//! Packet sizes for an application with a fixed packet rate and a few sizes, such as a voice coder
//! (RFC 4828 §6).

use core::fmt;

use tfrc_units::{Duration, Instant, Rate};

/// The most sizes a coder can have here.
pub const MAX_SIZES: usize = 16;

/// Packet rate of the application, and how soon its packet size follows the allowed rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeAdviceSettings {
    /// Packets per second; above zero.
    pub packets_per_second: f64,
    /// Headers that the rate pays for, in bytes: 0 if the allowed rate is one of data only.
    pub header: u32,
    /// How long the rate must stay below what the present size needs before a smaller one is
    /// advised.
    pub patience_down: Duration,
    /// How long the rate must stay above what a larger size needs before that is advised.
    pub patience_up: Duration,
    /// Factor by which the rate must stay above that need: 1.1 is a tenth more. At least 1.
    pub headroom: f64,
}

impl SizeAdviceSettings {
    /// Down after one second, up after five with a tenth to spare. Our choice: RFC 4828 §6 leaves
    /// it to the application.
    #[must_use]
    pub const fn new(packets_per_second: f64, header: u32) -> Self {
        Self {
            packets_per_second,
            header,
            patience_down: Duration::from_secs(1),
            patience_up: Duration::from_secs(5),
            headroom: 1.1,
        }
    }
}

/// Why there can be no advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdviceError {
    /// There must be 1 to [`MAX_SIZES`] sizes, rising, from 1 byte on.
    Sizes,
    /// The packet rate must be above zero and finite.
    PacketRate,
    /// The headroom must be at least 1 and finite.
    Headroom,
}

impl fmt::Display for AdviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sizes => "give 1 to 16 packet sizes in rising order, from 1 byte on",
            Self::PacketRate => "the packet rate must be above zero and finite",
            Self::Headroom => "the headroom must be at least 1 and finite",
        })
    }
}

impl core::error::Error for AdviceError {}

/// Advice on the packet size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Packets with this much data, in bytes.
    Size(u32),
    /// Even the smallest, this one, needs more than the allowed rate now, and the size sent so far
    /// has for `patience_down`: send fewer packets, or stop ([`StopRule`](crate::guard::StopRule)).
    TooFast(u32),
}

impl Advice {
    /// The advised packet size, bytes.
    #[must_use]
    pub const fn size(self) -> u32 {
        match self {
            Self::Size(bytes) | Self::TooFast(bytes) => bytes,
        }
    }
}

/// Advises packet sizes, with hysteresis. Pass it the allowed rate at each change and about once
/// per round-trip time.
#[derive(Debug, Clone, Copy)]
pub struct SizeAdvice {
    settings: SizeAdviceSettings,
    sizes: [u32; MAX_SIZES],
    count: usize,
    current: usize,
    /// The time since which the rate has been too low for the present size.
    below: Option<Instant>,
    /// The time since which the rate has sufficed for the next size.
    above: Option<Instant>,
    advice: Advice,
}

impl SizeAdvice {
    /// Begins with the largest of `sizes`, data bytes of a packet in rising order.
    ///
    /// # Errors
    /// [`AdviceError`] for sizes out of order and for settings out of range.
    pub fn new(settings: SizeAdviceSettings, sizes: &[u32]) -> Result<Self, AdviceError> {
        let rising = sizes.is_sorted_by(|a, b| a < b) && sizes.first().is_some_and(|first| *first >= 1);
        if !rising || sizes.len() > MAX_SIZES {
            return Err(AdviceError::Sizes);
        }
        if settings.packets_per_second <= 0.0 || !settings.packets_per_second.is_finite() {
            return Err(AdviceError::PacketRate);
        }
        if settings.headroom.is_nan() || settings.headroom < 1.0 || settings.headroom.is_infinite() {
            return Err(AdviceError::Headroom);
        }
        let mut all = [0; MAX_SIZES];
        for (slot, size) in all.iter_mut().zip(sizes) {
            *slot = *size;
        }
        let largest = sizes.last().copied().ok_or(AdviceError::Sizes)?;
        Ok(Self {
            settings,
            sizes: all,
            count: sizes.len(),
            current: sizes.len() - 1,
            below: None,
            above: None,
            advice: Advice::Size(largest),
        })
    }

    /// The rate that packets of `size` bytes need.
    #[must_use]
    pub fn needed(&self, size: u32) -> Rate {
        let bytes = f64::from(size) + f64::from(self.settings.header);
        Rate::from_bytes_per_sec(bytes * self.settings.packets_per_second)
    }

    /// The allowed rate is now `allowed`.
    pub fn on_rate(&mut self, now: Instant, allowed: Rate) -> Advice {
        let low = allowed < self.needed(self.size(self.current));
        self.below = if low { self.below.or(Some(now)) } else { None };
        let next = self.current + 1;
        let high = next < self.count && allowed >= self.needed(self.size(next)) * self.settings.headroom;
        self.above = if high { self.above.or(Some(now)) } else { None };
        if lasted(self.below, now, self.settings.patience_down) {
            // At once to the largest that fits.
            let fitting = (0..self.current).rev().find(|i| self.needed(self.size(*i)) <= allowed);
            self.advice = match fitting {
                Some(i) => self.change_to(i),
                None => Advice::TooFast(self.change_to(0).size()),
            };
        } else if lasted(self.above, now, self.settings.patience_up) {
            // One step: what lies above it has not been tried yet.
            self.advice = self.change_to(next);
        } else if !low {
            self.advice = Advice::Size(self.size(self.current));
        }
        self.advice
    }

    /// The advice given last.
    #[must_use]
    pub const fn advice(&self) -> Advice {
        self.advice
    }

    fn change_to(&mut self, i: usize) -> Advice {
        if i != self.current {
            self.current = i;
            self.below = None;
            self.above = None;
        }
        Advice::Size(self.size(i))
    }

    fn size(&self, i: usize) -> u32 {
        self.sizes.get(i).copied().unwrap_or(1)
    }
}

fn lasted(since: Option<Instant>, now: Instant, patience: Duration) -> bool {
    since.is_some_and(|since| now.saturating_since(since) >= patience)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    /// 50 packets a second of 20, 40 or 160 bytes and 40 of headers: 3000, 4000 and 10,000 bytes a
    /// second.
    fn coder() -> SizeAdvice {
        let Ok(advice) = SizeAdvice::new(SizeAdviceSettings::new(50.0, 40), &[20, 40, 160]) else {
            panic!("sound settings")
        };
        advice
    }

    fn rate(bytes_per_sec: f64) -> Rate {
        Rate::from_bytes_per_sec(bytes_per_sec)
    }

    #[test]
    fn down_after_a_second_below() {
        let mut coder = coder();
        assert_eq!(coder.on_rate(at(0), rate(10_000.0)), Advice::Size(160));
        assert_eq!(coder.on_rate(at(100), rate(9_999.0)), Advice::Size(160));
        assert_eq!(coder.on_rate(at(1099), rate(5_000.0)), Advice::Size(160));
        let mut recovered = coder;
        recovered.on_rate(at(1099), rate(10_000.0));
        assert_eq!(recovered.on_rate(at(1100), rate(5_000.0)), Advice::Size(160), "a dip is not a second");
        assert_eq!(coder.on_rate(at(1100), rate(5_000.0)), Advice::Size(40));
        assert_eq!(coder.on_rate(at(1200), rate(4_000.0)), Advice::Size(40));
    }

    #[test]
    fn straight_to_what_fits_and_then_too_fast() {
        let mut coder = coder();
        coder.on_rate(at(0), rate(3_500.0));
        assert_eq!(coder.on_rate(at(1000), rate(3_500.0)), Advice::Size(20));
        coder.on_rate(at(1100), rate(2_999.0));
        assert_eq!(coder.on_rate(at(2099), rate(2_999.0)), Advice::Size(20));
        assert_eq!(coder.on_rate(at(2100), rate(2_999.0)), Advice::TooFast(20));
        assert_eq!(coder.on_rate(at(2200), rate(3_000.0)), Advice::Size(20));
        assert_eq!(coder.advice().size(), 20);
    }

    #[test]
    fn up_after_five_seconds_with_a_tenth_to_spare() {
        let mut coder = coder();
        coder.on_rate(at(0), rate(3_000.0));
        assert_eq!(coder.on_rate(at(1000), rate(3_000.0)), Advice::Size(20));
        for ms in [2000, 7000, 20_000] {
            assert_eq!(
                coder.on_rate(at(ms), rate(4_399.0)),
                Advice::Size(20),
                "enough, but nothing to spare"
            );
        }
        coder.on_rate(at(21_000), rate(20_000.0));
        assert_eq!(coder.on_rate(at(25_999), rate(20_000.0)), Advice::Size(20));
        assert_eq!(coder.on_rate(at(26_000), rate(20_000.0)), Advice::Size(40), "one step");
        coder.on_rate(at(26_100), rate(20_000.0));
        assert_eq!(coder.on_rate(at(31_099), rate(20_000.0)), Advice::Size(40));
        assert_eq!(coder.on_rate(at(31_100), rate(20_000.0)), Advice::Size(160));
        assert_eq!(coder.on_rate(at(99_000), rate(20_000.0)), Advice::Size(160));
    }

    #[test]
    fn what_is_refused() {
        let settings = SizeAdviceSettings::new(50.0, 40);
        let error = |settings, sizes: &[u32]| SizeAdvice::new(settings, sizes).err();
        assert_eq!(error(settings, &[1]), None);
        for sizes in [&[][..], &[0, 1], &[2, 2], &[2, 1], &[7; 17]] {
            assert_eq!(error(settings, sizes), Some(AdviceError::Sizes));
        }
        assert_eq!(
            error(SizeAdviceSettings { packets_per_second: 0.0, ..settings }, &[1]),
            Some(AdviceError::PacketRate)
        );
        assert_eq!(
            error(SizeAdviceSettings { headroom: f64::NAN, ..settings }, &[1]),
            Some(AdviceError::Headroom)
        );
    }
}
