//! Measurements that take minutes and so are not tests.

mod bernoulli;
mod demo;
mod emulation;
mod fixed_points;
mod tcp_alone;

pub(crate) use bernoulli::bernoulli;
pub(crate) use demo::demo;
pub(crate) use emulation::emulation;
pub(crate) use fixed_points::fixed_points;
pub(crate) use tcp_alone::tcp_alone;
