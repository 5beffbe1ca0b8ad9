//! The installation of a cluster, from the request to its end: what users and workers ask for, put together from the
//! machines of the cluster and of its hosts.

mod cancel;
mod host;
mod preparation;
mod reset;
mod start;

pub use cancel::cancel;
pub use host::install_host;
pub use preparation::{Generated, awaits, generated, payload_read};
pub use reset::reset;
pub use start::install;

use crate::model::facts::Facts;
use crate::model::refusal::Refusal;

/// The refusal of a request about a cluster in a state in which there is nothing to be done about it.
fn wrong_state(facts: &Facts, verb: &str) -> Refusal {
    let status = facts.cluster.as_ref().map_or("unknown", |record| record.cluster.status.as_str());
    Refusal::conflict(format!("the installation of a cluster in {status} state can't be {verb}"))
}
