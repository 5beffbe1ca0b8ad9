//! Hardware that OpenShift requires of a host, by version and role.

pub mod bytes;
mod operators;
mod preflight;
mod selection;
mod selection_input;

pub use preflight::{cluster_host_requirements, preflight_requirements};
pub use selection::{
    HardwareError, MEMORY_TOLERANCE_MIB, Minimum, base, is_edge_worker, minimum, total, version_of,
};
pub use selection_input::SelectionInput;

/// The most that a host's clock may be behind the service's, minutes (validations §4.3).
pub const MAX_CLOCK_BEHIND_MINUTES: i64 = 20;
/// The most that a host's clock may be ahead of the service's, minutes.
pub const MAX_CLOCK_AHEAD_MINUTES: i64 = 60;
/// The rate in MB/s below which an image counts as unavailable.
pub const MIN_IMAGE_RATE_MB_S: f64 = 0.001;
