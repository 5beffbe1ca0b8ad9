//! What the operators of GPUs have in common.

use assisted_wire::host::HostRole;
use assisted_wire::inventory::Inventory;

use super::checks::without_secure_boot;
use super::view::{ClusterView, HostView};
use crate::model::facts::HostFacts;
use crate::model::outcome::Outcome;
use crate::model::topology;

/// A vendor of GPUs.
pub(super) struct Vendor {
    pub name: &'static str,
    /// Its number on the PCI bus, four hexadecimal digits.
    pub id: &'static str,
}

impl Vendor {
    /// Whether drivers for the vendor's GPUs can be loaded on a host, if it has some.
    pub fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing inventory in the host");
        };
        let has_one = inventory.gpus.iter().flatten().any(|gpu| gpu.vendor_id == self.id);
        if has_one {
            without_secure_boot(inventory, &format!("{} GPU drivers", self.name))
        } else {
            Outcome::success("")
        }
    }

    /// Whether a host that takes workloads has a GPU of one of these vendors; always, when none is required.
    pub fn check_cluster(&self, view: &ClusterView<'_>, required: bool, vendors: &[String]) -> Outcome {
        if !required || hosts_of_workloads(view).any(|host| has_gpu_of(host, vendors)) {
            return Outcome::success("");
        }
        let name = self.name;
        Outcome::failure(format!(
            "The {name} GPU operator requires at least one supported {name} GPU, but there is none in the discovered hosts."
        ))
        .measured("no such GPU")
        .required(format!("a GPU of vendor {}", vendors.join(" or ")))
        .remedy("Add a machine with such a GPU, or install without this operator.")
    }
}

fn has_gpu_of(host: &HostFacts, vendors: &[String]) -> bool {
    let listed = |id: &str| vendors.iter().any(|vendor| vendor.eq_ignore_ascii_case(id));
    let gpus = |inventory: &Inventory| inventory.gpus.iter().flatten().any(|gpu| listed(&gpu.vendor_id));
    host.inventory.as_deref().is_some_and(gpus)
}

/// Hosts that workloads may run on, by the roles that users gave them.
fn hosts_of_workloads<'a>(view: &ClusterView<'a>) -> impl Iterator<Item = &'a HostFacts> {
    let hosts = &view.facts.hosts;
    let masters =
        view.cluster.schedulable_masters || topology::masters_schedulable_forced(view.cluster, hosts);
    hosts.iter().filter(move |host| match host.record.host.role {
        Some(HostRole::Arbiter) => false,
        Some(HostRole::Master | HostRole::Bootstrap) => masters,
        Some(HostRole::Worker | HostRole::AutoAssign) | None => true,
    })
}
