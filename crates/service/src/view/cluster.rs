//! A cluster as the API shows it: the stored record, and what is computed when it is read (service-api §1.4, §4.7).

use assisted_core::model::cluster::{ClusterRecord, IpStack};
use assisted_core::model::facts::DISABLED;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::network::host_networks::host_networks;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostStatus;
use assisted_wire::infra_env::{ImageInfo, InfraEnv};
use assisted_wire::network::HostNetwork;

use crate::view::host::render_host;

/// The record with its networks in order, and without what only a full answer has.
pub(crate) fn render_record(record: &ClusterRecord) -> Cluster {
    let mut cluster = record.cluster.clone();
    cluster.pull_secret_set = !record.pull_secret.is_empty();
    cluster.ignored_host_validations.clear();
    cluster.ignored_cluster_validations.clear();
    if let Some(first) = record.primary_ip_stack {
        let family = |text: &str| stack_of(text) != first;
        let sort = &mut cluster;
        sort.api_vips.iter_mut().for_each(|list| list.sort_by_key(|vip| family(&vip.ip.0)));
        sort.ingress_vips.iter_mut().for_each(|list| list.sort_by_key(|vip| family(&vip.ip.0)));
        sort.cluster_networks.iter_mut().for_each(|list| list.sort_by_key(|net| family(&net.cidr.0)));
        sort.service_networks.iter_mut().for_each(|list| list.sort_by_key(|net| family(&net.cidr.0)));
        sort.machine_networks.iter_mut().for_each(|list| list.sort_by_key(|net| family(&net.cidr.0)));
    }
    cluster
}

/// The answer without hosts, and without what is made from them.
pub(crate) fn render_without_hosts(record: &ClusterRecord) -> Cluster {
    let mut cluster = render_record(record);
    cluster.hosts = None;
    cluster.host_networks = Some(Vec::new());
    cluster.operator_bundles.get_or_insert_default();
    cluster
}

/// The full answer: hosts customised, counts, host networks.
pub(crate) fn render_cluster(facts: &Facts, record: &ClusterRecord, image: Option<&InfraEnv>) -> Cluster {
    let mut cluster = render_record(record);
    count_hosts(&mut cluster, facts.hosts.iter().map(|host| (host.record.host.status, 1)));
    bootstrap_network_first(&mut cluster, &facts.hosts);
    cluster.host_networks = Some(shared_networks(&facts.hosts));
    cluster.hosts = Some(facts.hosts.iter().map(|host| render_host(host, Some(record), true)).collect());
    if let Some(image) = image {
        cluster.image_info = image_info(image);
    }
    cluster
}

/// Fills the counts, which are made from the hosts' states and how many there are of each.
pub(crate) fn count_hosts(cluster: &mut Cluster, states: impl IntoIterator<Item = (HostStatus, u64)>) {
    let (mut total, mut enabled, mut ready) = (0, 0, 0);
    for (state, count) in states {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        total += count;
        enabled += if DISABLED.contains(&state) { 0 } else { count };
        ready += if state == HostStatus::Known { count } else { 0 };
    }
    (cluster.total_host_count, cluster.enabled_host_count, cluster.ready_host_count) =
        (total, enabled, ready);
}

/// The networks in which every host that reported its addresses has one.
fn shared_networks(hosts: &[HostFacts]) -> Vec<HostNetwork> {
    let known = || hosts.iter().filter_map(|host| Some((host.record.host.id, host.inventory.as_deref()?)));
    let all = known().count();
    let mut networks = host_networks(known());
    networks.retain(|network| network.host_ids.as_ref().is_some_and(|ids| ids.len() == all));
    networks
}

/// Within a family, the network of the bootstrap host stands first.
fn bootstrap_network_first(cluster: &mut Cluster, hosts: &[HostFacts]) {
    let bootstrap = hosts.iter().find(|host| host.record.host.bootstrap);
    let Some(inventory) = bootstrap.and_then(|host| host.inventory.as_deref()) else { return };
    let networks: Vec<_> = host_networks([(Default::default(), inventory)].into_iter())
        .into_iter()
        .map(|net| net.cidr)
        .collect();
    if let Some(list) = &mut cluster.machine_networks
        && let Some(first) = list.first().map(|net| stack_of(&net.cidr.0))
    {
        list.sort_by_key(|net| (stack_of(&net.cidr.0) != first, !networks.contains(&net.cidr.0)));
    }
}

fn stack_of(text: &str) -> IpStack {
    if text.contains(':') { IpStack::V6 } else { IpStack::V4 }
}

/// What a cluster shows of the infra-env that has the cluster's own id.
fn image_info(infra_env: &InfraEnv) -> ImageInfo {
    ImageInfo {
        ssh_public_key: infra_env.ssh_authorized_key.clone(),
        size_bytes: infra_env.size_bytes,
        download_url: infra_env.download_url.clone(),
        generator_version: infra_env.generator_version.clone(),
        created_at: infra_env.created_at,
        expires_at: infra_env.expires_at,
        static_network_config: infra_env.static_network_config.clone(),
        r#type: Some(infra_env.r#type),
    }
}
