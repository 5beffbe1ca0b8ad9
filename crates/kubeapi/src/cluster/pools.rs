//! What is set for the nodes of a role.

use assisted_crd::hive_extensions::agent_cluster_install::{Hyperthreading, MachinePool};
use assisted_wire::cluster::{DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::RoleSet;

use super::ClusterSpec;

impl ClusterSpec<'_> {
    /// The roles whose nodes use CPU threads; none when no pool is described.
    pub(super) fn hyperthreading(&self) -> Option<RoleSet> {
        let spec = &self.install.spec;
        let workers = spec.compute.iter().find(|pool| pool.name == "worker");
        if spec.control_plane.is_none() && spec.arbiter.is_none() && spec.compute.is_empty() {
            return None;
        }
        // A pool that says nothing has them: so the definition's default.
        let on = |pool: Option<&MachinePool>| {
            pool.is_some_and(|pool| {
                matches!(pool.hyperthreading, None | Some(Hyperthreading::Enabled | Hyperthreading::Unset))
            })
        };
        Some(match (on(spec.control_plane.as_ref()), on(spec.arbiter.as_ref()), on(workers)) {
            (false, false, false) => RoleSet::None,
            (true, false, false) => RoleSet::Masters,
            (false, true, false) => RoleSet::Arbiters,
            (false, false, true) => RoleSet::Workers,
            (true, true, false) => RoleSet::MastersAndArbiters,
            (true, false, true) => RoleSet::MastersAndWorkers,
            (false, true, true) => RoleSet::ArbitersAndWorkers,
            (true, true, true) => RoleSet::MastersAndArbitersAndWorkers,
        })
    }

    /// Which disks are encrypted, and how; none when nobody asks for it.
    pub(super) fn disk_encryption(&self) -> Option<DiskEncryption> {
        let given = self.install.spec.disk_encryption.as_ref()?;
        let enable_on = given.enable_on.filter(|roles| *roles != RoleSet::None)?;
        Some(DiskEncryption {
            enable_on: Some(enable_on),
            mode: Some(given.mode.unwrap_or(DiskEncryptionMode::Tpmv2)),
            tang_servers: given.tang_servers.clone(),
        })
    }
}
