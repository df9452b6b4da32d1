//! Option space cut into options: type, length, data (RFC 4340 §5.8). Meaning comes in
//! [`super::options`].

/// One option, not interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Where its first byte lies in the option space.
    pub offset: usize,
    /// Its type.
    pub kind: u8,
    /// Bytes after type and length; empty for the one-byte options 0..=31.
    pub data: &'a [u8],
}

/// An option whose length byte makes no sense; it and everything after it are ignored
/// (RFC 4340 §5.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("option {option} at byte {offset} of the options: {kind}")]
pub struct OptionError {
    /// Where the option begins.
    pub offset: usize,
    /// Its type.
    pub option: u8,
    /// The kind of error.
    pub kind: OptionErrorKind,
}

/// Kind of error in a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionErrorKind {
    /// The option space ends before the length byte.
    #[error("no length byte")]
    NoLength,
    /// The length counts type and length byte, so it is at least 2.
    #[error("a length of {0}, but it must be at least 2")]
    TooSmall(
        /// The length field.
        u8,
    ),
    /// The option would reach past the option space.
    #[error("a length of {length}, but only {available} bytes are left")]
    TooLarge {
        /// The length field.
        length: u8,
        /// Bytes left, type included.
        available: usize,
    },
}

/// Iterates over the options of an option space, Padding included, and ends after the first error.
#[derive(Debug, Clone)]
pub struct RawOptions<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> RawOptions<'a> {
    /// Over the option space `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    #[inline]
    fn cut(&self, kind: u8, tail: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), OptionErrorKind> {
        if kind < 32 {
            return Ok((&[], tail));
        }
        let (length, tail) = tail.split_first().ok_or(OptionErrorKind::NoLength)?;
        let data = usize::from(*length).checked_sub(2).ok_or(OptionErrorKind::TooSmall(*length))?;
        tail.split_at_checked(data)
            .ok_or(OptionErrorKind::TooLarge { length: *length, available: self.rest.len() })
    }
}

impl<'a> Iterator for RawOptions<'a> {
    type Item = Result<RawOption<'a>, OptionError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (kind, tail) = self.rest.split_first()?;
        let offset = self.offset;
        match self.cut(*kind, tail) {
            Ok((data, rest)) => {
                self.offset += self.rest.len() - rest.len();
                self.rest = rest;
                Some(Ok(RawOption { offset, kind: *kind, data }))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(OptionError { offset, option: *kind, kind: error }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn cuts_one_byte_and_longer_options() {
        let found: Vec<_> = RawOptions::new(&[0, 2, 37, 3, 9, 99, 2, 1]).collect();
        let option = |offset, kind, data| Ok(RawOption { offset, kind, data });
        assert_eq!(
            found,
            [
                option(0, 0, &[][..]),
                option(1, 2, &[]),
                option(2, 37, &[9]),
                option(5, 99, &[]),
                option(7, 1, &[])
            ]
        );
    }

    #[test]
    fn a_nonsensical_length_ends_the_walk_and_says_where() {
        for (bytes, kind) in [
            (&[0, 40][..], OptionErrorKind::NoLength),
            (&[0, 40, 1, 0, 0], OptionErrorKind::TooSmall(1)),
            (&[0, 40, 5, 1, 1], OptionErrorKind::TooLarge { length: 5, available: 4 }),
        ] {
            let mut walk = RawOptions::new(bytes);
            assert!(walk.next().is_some_and(|first| first.is_ok()));
            assert_eq!(walk.next(), Some(Err(OptionError { offset: 1, option: 40, kind })));
            assert_eq!(walk.next(), None);
        }
    }
}
