//! The request that changes of a cluster what differs.

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterUpdateParams, RoleSet};
use assisted_wire::network::{ApiVip, ClusterNetwork, IngressVip, MachineNetwork, ServiceNetwork};
use assisted_wire::secret::Secret;

use super::ClusterSpec;
use crate::problem::Problem;
use crate::text::joined;

/// What differs between a cluster and its objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Holds nothing but what differs.
    pub params: ClusterUpdateParams,
    /// The fields that differ, as the REST API calls them, in the order of kube-api §6.1.8.
    pub changed: Vec<&'static str>,
}

impl Update {
    /// Sets a field of the request if the cluster has another value.
    fn compare<T: PartialEq>(
        &mut self,
        name: &'static str,
        wanted: T,
        current: &T,
        field: impl FnOnce(&mut ClusterUpdateParams) -> &mut Option<T>,
    ) {
        if wanted != *current {
            *field(&mut self.params) = Some(wanted);
            self.changed.push(name);
        }
    }
}

impl ClusterSpec<'_> {
    /// The request that makes the cluster what its objects describe (kube-api §6.1.8). What the objects do not set stays as it
    /// is; lists that are emptied leave the cluster's as they are. `pull_secret` is the cluster's own; without it, which is not
    /// told by the REST API, it is not compared.
    ///
    /// # Errors
    /// The first field that can't be said in a request.
    pub fn update(&self, cluster: &Cluster, pull_secret: Option<&Secret>) -> Result<Update, Problem> {
        let mut update = Update::default();
        self.names(cluster, &mut update);
        self.networks(cluster, &mut update)?;
        let spec = &self.install.spec;
        if let Some(wanted) = self.load_balancer() {
            let current = cluster.load_balancer.clone().unwrap_or_default();
            update.compare("load_balancer", wanted, &current, |params| &mut params.load_balancer);
        }
        if !spec.ssh_public_key.is_empty() {
            let current = cluster.ssh_public_key.trim().to_owned();
            let wanted = spec.ssh_public_key.trim().to_owned();
            update.compare("ssh_public_key", wanted, &current, |params| &mut params.ssh_public_key);
        }
        if let Some(wanted) = joined(&spec.ntp_sources) {
            update.compare("ntp_sources", wanted, &cluster.ntp_sources, |params| &mut params.ntp_sources);
        }
        self.ignition(cluster, &mut update);
        if let (Some(wanted), Some(current)) = (&self.pull_secret, pull_secret) {
            update.compare("pull_secret", wanted.clone(), current, |params| &mut params.pull_secret);
        }
        if let Some(wanted) = self.hyperthreading() {
            let current = cluster.hyperthreading.unwrap_or(RoleSet::All);
            update.compare("hyperthreading", wanted, &current, |params| &mut params.hyperthreading);
        }
        if let Some(wanted) = self.platform()? {
            // The type alone: what an external platform is called can't change.
            let current = cluster.platform.as_ref().map(|platform| platform.r#type);
            if current != Some(wanted.r#type) {
                update.params.platform = Some(wanted);
                update.changed.push("platform");
            }
        }
        if let Some(wanted) = self.disk_encryption() {
            let current = cluster.disk_encryption.clone().unwrap_or_default();
            update.compare("disk_encryption", wanted, &current, |params| &mut params.disk_encryption);
        }
        if let Some(proxy) = &spec.proxy {
            update.compare("http_proxy", proxy.http_proxy.clone(), &cluster.http_proxy, |params| {
                &mut params.http_proxy
            });
            update.compare("https_proxy", proxy.https_proxy.clone(), &cluster.https_proxy, |params| {
                &mut params.https_proxy
            });
            update.compare("no_proxy", proxy.no_proxy.clone(), &cluster.no_proxy, |params| {
                &mut params.no_proxy
            });
        }
        let schedulable = spec.masters_schedulable.unwrap_or(false);
        update.compare("schedulable_masters", schedulable, &cluster.schedulable_masters, |params| {
            &mut params.schedulable_masters
        });
        let count = spec.provision_requirements.control_plane_agents;
        if count > 0 {
            update.compare("control_plane_count", count, &cluster.control_plane_count, |params| {
                &mut params.control_plane_count
            });
        }
        if let Some(tag) = self.consumer() {
            update.compare("tags", tag.to_owned(), &cluster.tags, |params| &mut params.tags);
        }
        Ok(update)
    }

    fn names(&self, cluster: &Cluster, update: &mut Update) {
        let spec = &self.deployment.spec;
        update.compare("name", spec.cluster_name.clone(), &cluster.name, |params| &mut params.name);
        update.compare("base_dns_domain", spec.base_domain.clone(), &cluster.base_dns_domain, |params| {
            &mut params.base_dns_domain
        });
    }

    fn networks(&self, cluster: &Cluster, update: &mut Update) -> Result<(), Problem> {
        let current = cluster.cluster_networks.as_deref().unwrap_or_default();
        let wanted = self.cluster_networks();
        if differs(&wanted, current, |network: &ClusterNetwork| (&network.cidr, network.host_prefix)) {
            update.params.cluster_networks = Some(wanted);
            update.changed.push("cluster_networks");
        }
        let current = cluster.service_networks.as_deref().unwrap_or_default();
        let wanted = self.service_networks();
        if differs(&wanted, current, |network: &ServiceNetwork| &network.cidr) {
            update.params.service_networks = Some(wanted);
            update.changed.push("service_networks");
        }
        let current = cluster.machine_networks.as_deref().unwrap_or_default();
        let wanted = self.machine_networks();
        if !self.machine_network_follows()
            && differs(&wanted, current, |network: &MachineNetwork| &network.cidr)
        {
            update.params.machine_networks = Some(wanted);
            update.changed.push("machine_networks");
        }
        if let Some(wanted) = self.install.spec.networking.network_type
            && Some(wanted) != cluster.network_type
        {
            update.params.network_type = Some(wanted);
            update.changed.push("network_type");
        }
        let current = cluster.api_vips.as_deref().unwrap_or_default();
        let wanted = self.api_vips()?;
        if differs(&wanted, current, |vip: &ApiVip| &vip.ip) {
            update.params.api_vips = Some(wanted);
            update.changed.push("api_vips");
        }
        let current = cluster.ingress_vips.as_deref().unwrap_or_default();
        let wanted = self.ingress_vips()?;
        if differs(&wanted, current, |vip: &IngressVip| &vip.ip) {
            update.params.ingress_vips = Some(wanted);
            update.changed.push("ingress_vips");
        }
        let current = cluster.user_managed_networking.unwrap_or(false);
        update.compare("user_managed_networking", self.user_managed_networking(), &current, |params| {
            &mut params.user_managed_networking
        });
        Ok(())
    }

    /// An endpoint that is taken away is told as an empty one.
    fn ignition(&self, cluster: &Cluster, update: &mut Update) {
        let mut wanted = self.ignition_endpoint.clone().unwrap_or_default();
        let mut current = cluster.ignition_endpoint.clone().unwrap_or_default();
        for endpoint in [&mut wanted, &mut current] {
            endpoint.url.get_or_insert_default();
            endpoint.ca_certificate.get_or_insert_default();
        }
        update.compare("ignition_endpoint", wanted, &current, |params| &mut params.ignition_endpoint);
    }
}

/// Whether a list is given and is another one.
fn differs<'a, T, K: PartialEq>(wanted: &'a [T], current: &'a [T], key: impl Fn(&'a T) -> K) -> bool {
    !wanted.is_empty()
        && (wanted.len() != current.len()
            || wanted.iter().zip(current).any(|(wanted, current)| key(wanted) != key(current)))
}
