//! What the choice of requirements depends on.

use assisted_wire::host::HostRole;
use assisted_wire::inventory::Inventory;

use crate::model::facts::{Facts, HostFacts};

/// A host in a role, with the facts that its requirements depend on.
#[derive(Clone, Copy, Debug)]
pub struct SelectionInput<'a> {
    pub facts: &'a Facts,
    pub host: &'a HostFacts,
    /// The inventory to judge, which need not be the stored one.
    pub inventory: Option<&'a Inventory>,
    /// The effective role to judge the host in.
    pub role: HostRole,
    /// The role that the user gave the host, or that is being tried on it.
    pub assigned: HostRole,
}

impl<'a> SelectionInput<'a> {
    /// A host with its stored inventory, in its effective role.
    pub fn of(facts: &'a Facts, host: &'a HostFacts) -> Self {
        let inventory = host.inventory.as_deref();
        Self { facts, host, inventory, role: host.effective_role(), assigned: Self::assigned_role(host) }
    }

    /// A host with its stored inventory, as if it had been given a role.
    pub fn trying(facts: &'a Facts, host: &'a HostFacts, role: HostRole) -> Self {
        Self { role, assigned: role, ..Self::of(facts, host) }
    }

    /// The role that the user gave a host.
    pub(crate) fn assigned_role(host: &HostFacts) -> HostRole {
        host.record.host.role.unwrap_or(HostRole::AutoAssign)
    }
}
