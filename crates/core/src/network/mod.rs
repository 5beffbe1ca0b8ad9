//! Network maths: which network holds an address, which hosts reach each other, what a cluster's networks are.
//!
//! Everything here is pure and strict: text that is not an address or a network is refused, never guessed at.

pub mod address;
pub mod collision;
pub mod connectivity;
pub mod family;
pub mod free_addresses;
pub mod host_networks;
pub mod hostname;
pub mod machine;
mod majority_group;
pub mod node_ip;
pub mod route;
pub mod vip;
