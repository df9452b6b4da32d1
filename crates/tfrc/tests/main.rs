//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod circuit_breaker;
mod encoder;
mod examples;
mod fixed_point;
mod receive_rate;
mod rfc4828_table8;
mod rfc4828_tables;
mod sigcomm2000;
