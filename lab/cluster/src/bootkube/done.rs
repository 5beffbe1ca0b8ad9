//! Whether the temporary control plane has done its part, and how often that and anything else is looked at.

use std::time::Duration;

/// Written when the temporary control plane has done its part.
pub const DONE: &str = "/opt/openshift/.bootkube.done";
/// Between two looks at anything.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);
