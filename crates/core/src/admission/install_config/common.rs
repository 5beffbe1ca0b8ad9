//! What an install config says whatever the platform (install-generation §2.1, §2.2, §2.5).

use assisted_base::version::{self, Base, below};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{NetworkType, RoleSet};
use assisted_wire::host::HostRole;

use super::InstallConfigError;
use super::document::{
    ClusterNetwork, ControlPlane, Document, Fencing, FencingCredential, MachineNetwork, Metadata, Networking,
    Pool, Proxy,
};
use crate::model::cluster::ClusterRecord;
use crate::model::embedded;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology::{count_role, covers, is_two_nodes_with_fencing};
use crate::network::family;

/// Features that are not yet finished are switched on all together.
const TECH_PREVIEW: &str = "TechPreviewNoUpgrade";

pub(super) fn document(facts: &Facts, record: &ClusterRecord) -> Result<Document, InstallConfigError> {
    let (cluster, hosts) = (&record.cluster, &facts.hosts);
    let count = |role| count_role(hosts, role) as u64;
    let pool = |name: &str, role| Pool {
        hyperthreading: hyperthreading(cluster, role).to_owned(),
        name: name.to_owned(),
        replicas: count(role),
    };
    let fenced = is_two_nodes_with_fencing(cluster, hosts);
    let with_arbiter = count(HostRole::Arbiter) > 0;
    let early_arbiter = with_arbiter && version::base(&cluster.openshift_version) == Some(Base(4, 19));
    let early_fencing = fenced && below(&cluster.openshift_version, 4, 22);
    let masters = pool("master", HostRole::Master);
    Ok(Document {
        api_version: "v1".to_owned(),
        base_domain: cluster.base_dns_domain.clone(),
        metadata: Metadata { name: cluster.name.clone() },
        proxy: proxy(cluster),
        networking: networking(cluster),
        compute: vec![pool("worker", HostRole::Worker)],
        control_plane: ControlPlane {
            hyperthreading: masters.hyperthreading,
            name: masters.name,
            replicas: masters.replicas,
            fencing: if fenced { Some(fencing(hosts)?) } else { None },
        },
        arbiter: with_arbiter.then(|| pool("arbiter", HostRole::Arbiter)),
        feature_set: if early_arbiter || early_fencing { TECH_PREVIEW.to_owned() } else { String::new() },
        pull_secret: record.pull_secret.expose().to_owned(),
        ssh_key: cluster.ssh_public_key.clone(),
        ..Document::default()
    })
}

fn hyperthreading(cluster: &Cluster, role: HostRole) -> &'static str {
    if covers(cluster.hyperthreading.unwrap_or(RoleSet::None), role) { "Enabled" } else { "Disabled" }
}

fn proxy(cluster: &Cluster) -> Option<Proxy> {
    if cluster.http_proxy.is_empty() && cluster.https_proxy.is_empty() {
        return None;
    }
    Some(Proxy {
        http_proxy: cluster.http_proxy.clone(),
        https_proxy: cluster.https_proxy.clone(),
        no_proxy: no_proxy(cluster),
    })
}

/// What is reached without the proxy: what the user says, and all that is inside of the cluster.
fn no_proxy(cluster: &Cluster) -> String {
    if cluster.no_proxy.trim() == "*" {
        return cluster.no_proxy.clone();
    }
    let domain = format!(".{}.{}", cluster.name, cluster.base_dns_domain);
    let given = cluster.no_proxy.split(',').filter(|entry| !entry.is_empty());
    let inside = family::cluster_networks(cluster)
        .chain(family::service_networks(cluster))
        .chain(family::machine_networks(cluster));
    given.chain([domain.as_str()]).chain(inside).collect::<Vec<_>>().join(",")
}

fn networking(cluster: &Cluster) -> Networking {
    let cluster_network = cluster
        .cluster_networks
        .iter()
        .flatten()
        .map(|network| ClusterNetwork { cidr: network.cidr.0.clone(), host_prefix: network.host_prefix });
    let service_network = family::service_networks(cluster).map(str::to_owned);
    let cidr = |cidr: &str| MachineNetwork { cidr: cidr.to_owned() };
    Networking {
        // Networks of third parties come as manifests.
        network_type: match cluster.network_type {
            None | Some(NetworkType::None) => String::new(),
            Some(kind) => kind.as_str().to_owned(),
        },
        cluster_network: Some(cluster_network.collect()).filter(|list: &Vec<_>| !list.is_empty()),
        machine_network: family::machine_networks(cluster).map(cidr).collect(),
        service_network: Some(service_network.collect()).filter(|list: &Vec<_>| !list.is_empty()),
    }
}

/// How the two control plane nodes switch each other off.
fn fencing(hosts: &[HostFacts]) -> Result<Fencing, InstallConfigError> {
    let masters = hosts.iter().filter(|host| host.effective_role() == HostRole::Master);
    let credentials = masters.map(|host| {
        let given = embedded::fencing_credentials(&host.record.host)
            .ok_or_else(|| InstallConfigError::Fencing(host.name()))?;
        let mac_address = given.mac_address.unwrap_or_default();
        Ok(FencingCredential {
            hostname: if mac_address.is_empty() { host.name() } else { String::new() },
            mac_address,
            address: given.address,
            username: given.username,
            password: given.password.expose().to_owned(),
            certificate_verification: given
                .certificate_verification
                .map_or_else(String::new, |verification| verification.as_str().to_owned()),
        })
    });
    Ok(Fencing { credentials: credentials.collect::<Result<_, _>>()? })
}
