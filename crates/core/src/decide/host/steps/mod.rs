//! What a host is told to do next.
//!
//! The table says which steps a state calls for; each step's arguments are made from facts. Both are done once per
//! change, into a [`HostView`], so that a poll only gives the steps their ids.

mod arguments;
mod dhcp;
mod images;
mod install;
mod installer_args;
mod interval;
mod logs;
mod reclaim;
mod table;
mod view;

pub use arguments::time_sources;
pub use dhcp::mac as vip_mac;
pub use interval::repeat_after;
pub(crate) use table::longest_pause;
pub use view::{HostView, prompt_steps, steps, view, views};
