//! Tests of `tfrc-capture` on captures of Linux 6.1 and on files made here.
mod linux;
