//! The request that changes of a cluster what differs.

use assisted_crd::common::Proxy;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstallSpec;
use assisted_wire::cluster::{Cluster, DiskEncryption, IgnitionEndpoint};
use assisted_wire::cluster_params::{ClusterUpdateParams, RoleSet};
use assisted_wire::secret::Secret;

use super::ClusterSpec;
use crate::difference::{given_list, same_by, set};
use crate::given::{or_emptied, was_given};
use crate::sync_error::SyncError;
use crate::text::{given, joined};

/// What differs between a cluster and its objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Holds nothing but what differs.
    pub params: ClusterUpdateParams,
    /// The fields that differ, as the REST API calls them, in the order of kube-api §6.1.8.
    pub changed: Vec<&'static str>,
}

/// Fields whose values go with those of the AgentClusterInstall, as the REST API calls them; the proxies are one.
const PROXY: &str = "proxy";
const NTP_SOURCES: &str = "ntp_sources";
const SSH_KEY: &str = "ssh_public_key";
const HYPERTHREADING: &str = "hyperthreading";
const DISK_ENCRYPTION: &str = "disk_encryption";
pub(super) const ON_CLUSTER_LAYERING: &str = "on_cluster_layering";

/// Those of them that an AgentClusterInstall gives.
pub(crate) fn given_fields(spec: &AgentClusterInstallSpec) -> Vec<&'static str> {
    let pools = spec.control_plane.is_some() || spec.arbiter.is_some() || !spec.compute.is_empty();
    let encrypted = spec.disk_encryption.as_ref().and_then(|given| given.enable_on);
    let fields = [
        (PROXY, spec.proxy.is_some()),
        (NTP_SOURCES, !spec.ntp_sources.is_empty()),
        (SSH_KEY, !spec.ssh_public_key.is_empty()),
        (HYPERTHREADING, pools),
        (DISK_ENCRYPTION, encrypted.is_some_and(|roles| roles != RoleSet::None)),
        (ON_CLUSTER_LAYERING, spec.on_cluster_layering.is_some()),
    ];
    fields.into_iter().filter(|(_, is_given)| *is_given).map(|(field, _)| field).collect()
}

impl ClusterSpec<'_> {
    /// The request that makes the cluster what its objects describe (kube-api §6.1.8). What the objects never set stays as it is, and
    /// what they set before goes; networks and addresses that are taken away leave the cluster's as they are. `pull_secret` is the
    /// cluster's own; without it, which is not told by the REST API, it is not compared.
    ///
    /// # Errors
    /// The first field that can't be said in a request.
    pub fn update(&self, cluster: &Cluster, pull_secret: Option<&Secret>) -> Result<Update, SyncError> {
        let mut update = Update::default();
        self.names(cluster, &mut update);
        self.networks(cluster, &mut update)?;
        let Update { mut params, mut changed } = update;
        let (spec, metadata) = (&self.install.spec, &self.install.metadata);
        set(&mut changed, "load_balancer", &mut params.load_balancer, self.load_balancer(), |wanted| {
            *wanted == cluster.load_balancer.clone().unwrap_or_default()
        });
        let wanted = given(&spec.ssh_public_key).map(|key| key.trim().to_owned());
        let wanted = or_emptied(wanted, metadata, SSH_KEY);
        set(&mut changed, SSH_KEY, &mut params.ssh_public_key, wanted, |wanted| {
            *wanted == cluster.ssh_public_key.trim()
        });
        let wanted = or_emptied(joined(&spec.ntp_sources), metadata, NTP_SOURCES);
        set(&mut changed, NTP_SOURCES, &mut params.ntp_sources, wanted, |wanted| {
            *wanted == cluster.ntp_sources
        });
        let wanted = Some(filled(self.ignition_endpoint.as_ref()));
        set(&mut changed, "ignition_endpoint", &mut params.ignition_endpoint, wanted, |wanted| {
            *wanted == filled(cluster.ignition_endpoint.as_ref())
        });
        let wanted = self.pull_secret.clone();
        set(&mut changed, "pull_secret", &mut params.pull_secret, wanted, |wanted| {
            pull_secret.is_none_or(|current| wanted == current)
        });
        let everywhere = || was_given(metadata, HYPERTHREADING).then_some(RoleSet::All);
        let wanted = self.hyperthreading().or_else(everywhere);
        set(&mut changed, HYPERTHREADING, &mut params.hyperthreading, wanted, |wanted| {
            *wanted == cluster.hyperthreading.unwrap_or(RoleSet::All)
        });
        // The type alone: what an external platform is called can't change.
        set(&mut changed, "platform", &mut params.platform, self.platform()?, |wanted| {
            cluster.platform.as_ref().is_some_and(|current| wanted.r#type == current.r#type)
        });
        let wanted = self.disk_encryption().or_else(|| was_given(metadata, DISK_ENCRYPTION).then(nowhere));
        set(&mut changed, DISK_ENCRYPTION, &mut params.disk_encryption, wanted, |wanted| {
            let current = cluster.disk_encryption.clone().unwrap_or_default();
            *wanted == current || is_nowhere(wanted) && is_nowhere(&current)
        });
        let no_proxy = || was_given(metadata, PROXY).then(Proxy::default);
        if let Some(proxy) = spec.proxy.clone().or_else(no_proxy) {
            let fields = [
                ("http_proxy", &mut params.http_proxy, proxy.http_proxy, &cluster.http_proxy),
                ("https_proxy", &mut params.https_proxy, proxy.https_proxy, &cluster.https_proxy),
                ("no_proxy", &mut params.no_proxy, proxy.no_proxy, &cluster.no_proxy),
            ];
            for (name, field, wanted, current) in fields {
                set(&mut changed, name, field, Some(wanted), |wanted| wanted == current);
            }
        }
        let wanted = Some(spec.masters_schedulable.unwrap_or(false));
        set(&mut changed, "schedulable_masters", &mut params.schedulable_masters, wanted, |wanted| {
            *wanted == cluster.schedulable_masters
        });
        let wanted = Some(spec.provision_requirements.control_plane_agents).filter(|count| *count > 0);
        set(&mut changed, "control_plane_count", &mut params.control_plane_count, wanted, |wanted| {
            *wanted == cluster.control_plane_count
        });
        let wanted = self.consumer().map(str::to_owned);
        set(&mut changed, "tags", &mut params.tags, wanted, |wanted| *wanted == cluster.tags);
        Ok(Update { params, changed })
    }

    fn names(&self, cluster: &Cluster, Update { params, changed }: &mut Update) {
        let spec = &self.deployment.spec;
        set(changed, "name", &mut params.name, Some(spec.cluster_name.clone()), |wanted| {
            *wanted == cluster.name
        });
        set(
            changed,
            "base_dns_domain",
            &mut params.base_dns_domain,
            Some(spec.base_domain.clone()),
            |wanted| *wanted == cluster.base_dns_domain,
        );
    }

    fn networks(&self, cluster: &Cluster, Update { params, changed }: &mut Update) -> Result<(), SyncError> {
        let wanted = given_list(self.cluster_networks());
        set(changed, "cluster_networks", &mut params.cluster_networks, wanted, |wanted| {
            let current = cluster.cluster_networks.as_deref().unwrap_or_default();
            same_by(wanted, current, |network| (&network.cidr, network.host_prefix))
        });
        let wanted = given_list(self.service_networks());
        set(changed, "service_networks", &mut params.service_networks, wanted, |wanted| {
            let current = cluster.service_networks.as_deref().unwrap_or_default();
            same_by(wanted, current, |network| &network.cidr)
        });
        let wanted = given_list(self.machine_networks()).filter(|_| !self.machine_network_follows());
        set(changed, "machine_networks", &mut params.machine_networks, wanted, |wanted| {
            let current = cluster.machine_networks.as_deref().unwrap_or_default();
            same_by(wanted, current, |network| &network.cidr)
        });
        let wanted = self.install.spec.networking.network_type;
        set(changed, "network_type", &mut params.network_type, wanted, |wanted| {
            Some(*wanted) == cluster.network_type
        });
        set(changed, "api_vips", &mut params.api_vips, given_list(self.api_vips()?), |wanted| {
            same_by(wanted, cluster.api_vips.as_deref().unwrap_or_default(), |vip| &vip.ip)
        });
        set(changed, "ingress_vips", &mut params.ingress_vips, given_list(self.ingress_vips()?), |wanted| {
            same_by(wanted, cluster.ingress_vips.as_deref().unwrap_or_default(), |vip| &vip.ip)
        });
        let wanted = Some(self.user_managed_networking());
        set(changed, "user_managed_networking", &mut params.user_managed_networking, wanted, |wanted| {
            *wanted == cluster.user_managed_networking.unwrap_or(false)
        });
        Ok(())
    }
}

/// Disks that nothing encrypts.
fn nowhere() -> DiskEncryption {
    DiskEncryption { enable_on: Some(RoleSet::None), ..DiskEncryption::default() }
}

fn is_nowhere(encryption: &DiskEncryption) -> bool {
    encryption.enable_on.is_none_or(|roles| roles == RoleSet::None)
}

/// An endpoint with each of its fields; one that is not there is an empty one, which also takes a current one away.
fn filled(endpoint: Option<&IgnitionEndpoint>) -> IgnitionEndpoint {
    let mut endpoint = endpoint.cloned().unwrap_or_default();
    endpoint.url.get_or_insert_default();
    endpoint.ca_certificate.get_or_insert_default();
    endpoint
}
