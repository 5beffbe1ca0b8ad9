//! What is known of a cluster besides what the installer makes for it.

use std::net::IpAddr;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::network::{address, node_ip};
use assisted_wire::host::HostRole;
use assisted_wire::operator::OperatorType;
use bytes::Bytes;
use ipnet::IpNet;

/// What is known besides what the installer made.
pub(super) struct ClusterInput {
    pub facts: Facts,
    pub record: ClusterRecord,
    /// The networks that machines are in.
    pub networks: Vec<IpNet>,
    /// The install config as it is kept.
    pub install_config: Bytes,
    /// The authority of the service's certificate, in PEM form; empty: none.
    pub authority: String,
}

impl ClusterInput {
    /// The hosts that are installed, by name.
    pub(super) fn hosts(&self) -> Vec<&HostFacts> {
        let mut hosts: Vec<_> = self.facts.hosts.iter().filter(|host| !host.is_day2()).collect();
        hosts.sort_by_key(|host| host.name());
        hosts
    }

    /// The operators that come with the cluster by subscriptions.
    pub(super) fn operators(&self) -> Vec<&str> {
        let all = self.record.cluster.monitored_operators.iter().flatten();
        let subscribed = all.filter(|operator| operator.operator_type == Some(OperatorType::Olm));
        subscribed.map(|operator| operator.name.as_str()).collect()
    }

    pub(super) fn has_arbiters(&self) -> bool {
        self.hosts().iter().any(|host| installed_as(host) == HostRole::Arbiter)
    }

    /// The address by which the bootstrap host is a node; `None` when it is not known.
    pub(super) fn bootstrap_ip(&self) -> Option<String> {
        self.address(self.facts.hosts.iter().find(|host| host.record.host.bootstrap)?)
    }

    /// The addresses of the control plane, that of the bootstrap host first.
    ///
    /// # Errors
    ///
    /// The host that has none.
    pub(super) fn control_plane_addresses(&self) -> Result<Vec<IpAddr>, String> {
        let mut hosts = self.hosts();
        hosts.retain(|host| installed_as(host) == HostRole::Master);
        hosts.sort_by_key(|host| !host.record.host.bootstrap);
        let parsed =
            |host: &&HostFacts| self.address(host).and_then(|ip| ip.parse().ok()).ok_or_else(|| host.name());
        hosts.iter().map(parsed).collect()
    }

    /// The address by which a host is a node; `None` when it is not known.
    fn address(&self, host: &HostFacts) -> Option<String> {
        if node_ip::is_chosen(&self.record.cluster) {
            let chosen = node_ip::allocate(&self.facts).inspect_err(|error| {
                tracing::warn!(cluster = %self.record.cluster.id, %error, "no addresses can be chosen for the nodes");
            });
            return chosen.ok()?.get(&host.record.host.id).map(|net| net.addr().to_string());
        }
        let primary = self.networks.first()?;
        let mut own = address::of_inventory(host.inventory.as_deref()?);
        own.find(|found| primary.contains(&found.net.addr())).map(|found| found.net.addr().to_string())
    }
}

/// The role that a host is installed with; the bootstrap host becomes a master.
pub(super) fn installed_as(host: &HostFacts) -> HostRole {
    if host.record.host.bootstrap { HostRole::Master } else { host.effective_role() }
}
