//! Disks of a host: which one can be installed on, which one is, and which ones are wiped.

mod choice;
mod eligibility;

pub use choice::{
    chosen, fill_ids, find, in_order_of_preference, installation_disk, is_same, speed_of, to_be_formatted,
};
pub(crate) use eligibility::paths;
pub use eligibility::{Policy, annotate, annotate_with};
