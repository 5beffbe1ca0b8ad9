//! Hosts that only play an installation, and the services that take no others.
//!
//! A service with GENERATOR=simulation gives out files that no cluster comes of. A real host that was told to install them
//! would lose its disk for nothing.

use assisted_wire::inventory::SystemVendor;

use crate::model::facts::{Facts, HostFacts, takes_part};
use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// Whether a host is simulated: simulated hosts say so in their inventory, in words that no firmware uses.
pub fn is_simulated(host: &HostFacts) -> bool {
    let vendor = host.inventory.as_deref().and_then(|inventory| inventory.system_vendor.as_ref());
    vendor.is_some_and(|vendor| vendor.product_name == SystemVendor::SIMULATED_PRODUCT)
}

/// Whether a host may be told to install at all.
pub(super) fn may_be_installed(host: &HostFacts, policy: &Policy) -> bool {
    !policy.service.simulated || is_simulated(host)
}

/// Refuses the installation of a real host by a service that simulates.
///
/// # Errors
///
/// `Conflict` that names the host.
pub(crate) fn check(facts: &Facts, host: &HostFacts) -> Result<(), Refusal> {
    if !takes_part(host) || may_be_installed(host, &facts.policy) {
        return Ok(());
    }
    Err(Refusal::conflict(format!(
        "Host {} is not simulated, and this service only simulates installations: its disk would be overwritten, and no \
         cluster would come of it. Start the service with GENERATOR=openshift to install real hosts",
        host.name()
    )))
}
