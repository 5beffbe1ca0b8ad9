//! What a host is told to do next.
//!
//! The table says which steps a state calls for; each step's arguments are made from facts. Both are done once per
//! change, into a [`HostView`], so that a poll only gives the steps their ids.

mod arguments;
mod dhcp;
mod images;
mod install;
mod installer_args;
mod logs;
mod reclaim;
mod table;
mod view;

pub use arguments::time_sources;
pub use dhcp::mac as vip_mac;
pub use view::{HostView, steps, view, views};
