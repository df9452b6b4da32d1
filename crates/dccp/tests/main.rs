//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod client_half;
mod clock_grain;
mod endings;
mod examples;
mod lifecycle;
mod negotiation;
mod operations;
mod out_of_step;
mod path_mtu;
mod send_queue;
mod server_half;
mod slow_reader;
mod small_packets;
mod transfer;
