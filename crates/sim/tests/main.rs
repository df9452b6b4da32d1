//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod agents;
mod delivery;
mod delivery_traces;
mod hops;
mod models;
mod ns2;
mod order;
mod tcp_alone;
mod tcp_links;
mod tcp_network;
mod tcp_properties;
mod traffic;
