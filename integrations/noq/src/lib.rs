//! Frames of an encoder over noq: `examples/frames`.
