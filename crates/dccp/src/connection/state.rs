//! The states of a connection.

/// State of a connection (RFC 4340 §4.3). LISTEN and TIMEWAIT belong to the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// A client waits for the Response.
    Request,
    /// A server has answered a Request and waits for the acknowledgement.
    Respond,
    /// A client has the Response, and does not know yet that the server knows.
    PartOpen,
    /// Data flows.
    Open,
    /// The peer has sent Close; the application may still read and leave a closing text. (RFC 4340
    /// answers at once; this waits for a moment, and the peer repeats its Close.)
    CloseReceived,
    /// A server has asked its client to close.
    CloseReq,
    /// Close is sent, the Reset is waited for.
    Closing,
    /// The connection is over.
    Closed,
}

impl State {
    /// Returns true if both ends have agreed to talk.
    #[must_use]
    pub const fn is_established(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open | Self::CloseReceived | Self::CloseReq | Self::Closing)
    }

    /// Returns true if acknowledgements and options are still sent: until the peer says that it is
    /// done.
    pub(super) const fn carries_data(self) -> bool {
        self.is_established() && !matches!(self, Self::CloseReceived)
    }
}
