//! A cluster with its settings and objects, as the rules of image mode read them.

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole;
use assisted_wire::on_cluster_layering::Pool;
use serde_json::Value;

use super::machine_os_config::{self, MachineOsConfig};
use super::settings::{OnClusterLayering, RegistryType};
use crate::model::facts::{Facts, HostFacts};
use crate::model::layering::ManifestObject;
use crate::model::topology;

/// A cluster with its settings and objects, as the rules read them.
pub struct Input<'a> {
    pub facts: &'a Facts,
    pub cluster: &'a Cluster,
    pub settings: OnClusterLayering,
    /// What of the user's manifests matters.
    pub objects: Vec<&'a ManifestObject>,
}

impl<'a> Input<'a> {
    /// What the rules look at in a cluster that is to be installed in image mode; `None` for any other.
    pub fn of(facts: &'a Facts) -> Option<Self> {
        let record = facts.cluster.as_ref()?;
        let objects = record.layering.objects().map(|(_, object)| object).collect();
        Self::with_objects(facts, objects)
    }

    /// As [`of`](Self::of), with objects out of manifests as they are in the end.
    pub fn with_objects(facts: &'a Facts, objects: Vec<&'a ManifestObject>) -> Option<Self> {
        let record = facts.cluster.as_ref()?;
        let settings = super::enabled(record).filter(|_| !topology::is_day2(&record.cluster))?;
        Some(Self { facts, cluster: &record.cluster, settings, objects })
    }

    /// Whether nodes get their images from registries on the control plane.
    pub fn is_embedded(&self) -> bool {
        self.settings.registry_type() == RegistryType::Embedded
    }

    /// Hosts that become workers.
    pub fn workers(&self) -> impl Iterator<Item = &'a HostFacts> {
        self.facts.hosts.iter().filter(|host| host.effective_role() == HostRole::Worker)
    }

    /// Pools whose image is built at installation: those that have hosts.
    pub fn pools(&self) -> Vec<Pool> {
        let mut pools = vec![Pool::Master];
        if self.workers().next().is_some() {
            pools.push(Pool::Worker);
        }
        pools
    }

    /// The architecture as Containerfiles call it; empty where several are possible.
    pub fn architecture(&self) -> &'static str {
        architecture(self.cluster)
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter_map(|object| match object {
            ManifestObject::MachineOsConfig(document) => Some(document),
            _ => None,
        })
    }

    /// The MachineOSConfigs that can be read, those first that are built first.
    pub fn configs(&self) -> Vec<MachineOsConfig> {
        let read = |document| machine_os_config::read(document, self.architecture()).ok();
        let mut configs: Vec<_> = self.documents().filter_map(read).collect();
        configs.sort_by_key(|config| config.pool);
        configs
    }

    /// Hosts of the pools whose image is built.
    pub(super) fn built_hosts(&self) -> impl Iterator<Item = &'a HostFacts> {
        let built = [HostRole::Master, HostRole::Bootstrap, HostRole::Worker];
        self.facts.hosts.iter().filter(move |host| built.contains(&host.effective_role()))
    }
}

/// The architecture of a cluster as Containerfiles call it; empty where several are possible.
pub fn architecture(cluster: &Cluster) -> &'static str {
    match cluster.cpu_architecture {
        Some(CpuArchitecture::X8664) => "amd64",
        Some(CpuArchitecture::Arm64 | CpuArchitecture::Aarch64) => "arm64",
        _ => "",
    }
}
