//! Tests of `tfrc-capture` on captures of Linux 6.1, in every form, and on bytes that are no
//! capture.

mod forms;
mod hostile;
mod linux;
mod qlog;
mod rtp;
