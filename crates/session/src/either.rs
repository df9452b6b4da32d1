//! The choice between carriers. It is made for each packet, by a `match` and not by a dynamic call.

/// Calls a method of the carrier, which has the same name and arguments for each.
macro_rules! either {
    ($of:expr, $one:ident => $does:expr) => {
        match $of {
            Self::Dccp($one) => $does,
            #[cfg(feature = "quic")]
            Self::Quic($one) => $does,
        }
    };
}

pub(crate) use either;
