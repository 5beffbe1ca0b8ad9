//! Update of a cluster: the rules of service-api §4.4, in their order.

use assisted_wire::cluster::DiskEncryptionMode;
use assisted_wire::cluster::{Cluster, ClusterKind};
use assisted_wire::cluster_params::{
    ClusterUpdateParams, CpuArchitecture, HighAvailabilityMode, NetworkType, RoleSet,
};
use assisted_wire::host::HostRole;
use assisted_wire::operator::{MonitoredOperator, OperatorType};
use assisted_wire::platform::PlatformType;

use super::{check_ntp_exclusion, image_mode, refuse, set_pull_secret, text, update_network, usage};
use crate::admission::feature::{Configuration, compatibility};
use crate::admission::field::{
    cluster_name, disk_encryption, dns, ignition_endpoint, ntp, proxy, pull_secret, ssh_key, tags,
};
use crate::admission::network::lists::Lists;
use crate::admission::network::{cidr, dual_stack, primary_stack};
use crate::admission::precondition::{self, Operation};
use crate::admission::topology;
use crate::catalogue::feature::usage::Usages;
use crate::catalogue::operators::selection::{self, SelectionContext};
use crate::catalogue::platform::{Resolved, on_update};
use crate::catalogue::release::architecture::of_image;
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::{Facts, HostFacts};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::Refusal;
use crate::model::topology::is_two_nodes_with_fencing;
use crate::policy::{Operators, Policy};

/// A cluster after an update, and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The whole cluster as it is to be stored.
    pub record: ClusterRecord,
    pub events: Vec<NewEvent>,
    /// The set of operators changed: roles that were chosen automatically must be chosen anew.
    pub reset_roles: bool,
    /// Whether anything changed.
    pub changed: bool,
}

/// Updates the cluster of `facts`. `infra_envs`: those bound to it, with or without hosts.
///
/// # Errors
///
/// `NotFound` without a cluster, `Conflict` in a state that allows no update, else `Invalid` with the first rule that the request breaks.
pub fn update(
    facts: &Facts,
    infra_envs: &[InfraEnvRecord],
    params: &ClusterUpdateParams,
) -> Result<Updated, Refusal> {
    let facts = &facts.clone().without_disabled();
    let stored = facts.cluster.as_ref().ok_or_else(|| Refusal::not_found("record not found"))?;
    let policy = &*facts.policy;
    let given = Lists::from(params);
    let primary = primary_stack::updated(given, stored.primary_ip_stack)?;
    check_params(facts, stored, params, policy)?;
    check_dual_stack(&stored.cluster, given)?;
    let version = Some(stored.cluster.openshift_version.as_str()).filter(|version| !version.is_empty());
    let (http, https) = (params.http_proxy.as_ref(), params.https_proxy.as_ref());
    proxy::check(http, https, params.no_proxy.as_ref(), version).map_err(refuse)?;
    precondition::check(Operation::Update, &stored.cluster)?;
    let platform = on_update(&stored.cluster, params.platform.as_ref(), params.user_managed_networking)?;
    check_single_node(&stored.cluster, params)?;
    let name = params.name.as_deref().unwrap_or(&stored.cluster.name);
    let domain = params.base_dns_domain.as_deref().unwrap_or(&stored.cluster.base_dns_domain);
    if params.name.is_some() || params.base_dns_domain.is_some() {
        dns::check(name, domain).map_err(refuse)?;
    }
    if let Some(encryption) = &params.disk_encryption {
        disk_encryption::check(encryption, policy.clusters.disk_encryption_support).map_err(refuse)?;
    }
    check_platform_topology(&stored.cluster, &platform, params)?;
    check_sources_and_tags(&stored.cluster, params)?;

    let mut record = stored.clone();
    let old_operators = operator_names(&record.cluster);
    apply_platform(&mut record.cluster, &platform);
    if let Some(secret) = &params.pull_secret {
        set_pull_secret(&mut record, secret, policy)?;
    }
    apply_plain(&mut record, params)?;
    if update_network::apply(&mut record.cluster, &stored.cluster, facts, params)? {
        record.machine_network_cidr_updated_at = Some(facts.now);
    }
    let is_dual = dual_stack::is_dual(&record.cluster);
    record.primary_ip_stack = primary.filter(|_| is_dual);
    if params.olm_operators.is_some() || params.operator_bundles.is_some() {
        replace_operators(&mut record.cluster, params, &facts.policy.operators)?;
    }
    check_compatibility(&record, &facts.hosts, infra_envs)?;

    let mut usages = Usages::read(&stored.cluster.feature_usage);
    record_usage(&mut usages, &record.cluster, &stored.cluster, params, facts);
    record.cluster.feature_usage = usages.write();
    let mut events = Vec::new();
    if let Some(given) = &params.on_cluster_layering {
        events.extend(image_mode::apply(&mut record, given, policy)?);
    }
    if proxy_changed(&stored.cluster, &record.cluster) {
        events.push(catalogue::PROXY_SETTINGS_CHANGED.of_cluster(record.cluster.id, &[]));
    }
    let reset_roles = operator_names(&record.cluster) != old_operators;
    let changed = record != *stored;
    if changed {
        record.cluster.updated_at = facts.now.into();
    }
    Ok(Updated { record, events, reset_roles, changed })
}

fn check_params(
    facts: &Facts,
    stored: &ClusterRecord,
    params: &ClusterUpdateParams,
    policy: &Policy,
) -> Result<(), Refusal> {
    let cluster = &stored.cluster;
    if let Some(count) = params.control_plane_count
        && cluster.kind != ClusterKind::AddHostsCluster
    {
        let mode = cluster.high_availability_mode.unwrap_or(HighAvailabilityMode::Full);
        topology::check(mode, count, &cluster.openshift_version, policy)?;
    }
    if let Some(secret) = params.pull_secret.as_ref().filter(|secret| !secret.is_empty()) {
        let image = Some(cluster.ocp_release_image.as_str()).filter(|image| !image.is_empty());
        pull_secret::check(secret, image, policy).map_err(refuse)?;
    }
    if let Some(name) = params.name.as_deref().filter(|name| !name.is_empty()) {
        let platform = params.platform.as_ref().or(cluster.platform.as_ref()).map(|platform| platform.r#type);
        cluster_name::check(name, platform).map_err(refuse)?;
    }
    cidr::check_syntax(params.into()).map_err(refuse)?;
    update_network::check_vips(cluster, facts, params)?;
    if let Some(keys) = params.ssh_public_key.as_deref().filter(|keys| !keys.is_empty()) {
        ssh_key::check(keys).map_err(refuse)?;
    }
    if let Some(endpoint) = &params.ignition_endpoint {
        ignition_endpoint::check(endpoint).map_err(refuse)?;
    }
    Ok(())
}

/// What is judged only when it is applied, so that a wrong state is reported first.
fn check_sources_and_tags(cluster: &Cluster, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    for sources in [&params.additional_ntp_source, &params.ntp_sources].into_iter().flatten() {
        if !sources.is_empty() {
            ntp::check(sources).map_err(refuse)?;
        }
    }
    let sources = params.ntp_sources.as_deref().unwrap_or(&cluster.ntp_sources);
    let additional = params.additional_ntp_source.as_deref().unwrap_or(&cluster.additional_ntp_source);
    check_ntp_exclusion(sources, additional)?;
    tags::check(text(params.tags.as_ref())).map_err(refuse)
}

fn check_dual_stack(cluster: &Cluster, given: Lists<'_>) -> Result<(), Refusal> {
    let has_networks = given.machine_networks.is_some()
        || given.service_networks.is_some()
        || given.cluster_networks.is_some();
    let others = given.service_networks.is_some() || given.cluster_networks.is_some();
    // Machine networks alone don't decide it: what the cluster already is decides.
    let is_dual = dual_stack::in_lists(given) || (!others && dual_stack::is_dual(cluster));
    if has_networks && is_dual {
        dual_stack::check_networks(given, &cluster.openshift_version).map_err(refuse)?;
    }
    Ok(())
}

fn check_single_node(cluster: &Cluster, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    if cluster.control_plane_count != 1 {
        return Ok(());
    }
    if params.user_managed_networking == Some(false) {
        return Err(refuse("disabling UserManagedNetworking is not allowed in single node mode"));
    }
    if params.network_type == Some(NetworkType::OpenShiftSDN) {
        return Err(refuse("OpenShiftSDN network type is not allowed in single node mode"));
    }
    Ok(())
}

fn check_platform_topology(
    cluster: &Cluster,
    platform: &Resolved,
    params: &ClusterUpdateParams,
) -> Result<(), Refusal> {
    let count = params.control_plane_count.unwrap_or(cluster.control_plane_count);
    match platform.platform.as_ref().map(|platform| platform.r#type) {
        Some(kind) if count == 1 && !matches!(kind, PlatformType::None | PlatformType::External) => {
            Err(refuse(format!("Single node cluster is not supported alongside {kind} platform")))
        }
        _ => Ok(()),
    }
}

fn apply_platform(cluster: &mut Cluster, resolved: &Resolved) {
    if let Some(user_managed) = resolved.user_managed_networking {
        cluster.user_managed_networking = Some(user_managed);
    }
    let Some(given) = &resolved.platform else { return };
    let kept = cluster
        .platform
        .take()
        .filter(|stored| stored.r#type == PlatformType::External && given.r#type == PlatformType::External);
    let mut platform = given.clone();
    if let (Some(external), Some(kept)) = (&mut platform.external, kept.and_then(|kept| kept.external)) {
        if external.platform_name.is_none() {
            external.platform_name = kept.platform_name;
        }
        external.cloud_controller_manager =
            external.cloud_controller_manager.or(kept.cloud_controller_manager);
    }
    cluster.platform = Some(platform);
}

fn apply_plain(record: &mut ClusterRecord, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    let cluster = &mut record.cluster;
    let copies = [
        (&params.name, &mut cluster.name),
        (&params.base_dns_domain, &mut cluster.base_dns_domain),
        (&params.http_proxy, &mut cluster.http_proxy),
        (&params.https_proxy, &mut cluster.https_proxy),
        (&params.no_proxy, &mut cluster.no_proxy),
        (&params.tags, &mut cluster.tags),
        (&params.additional_ntp_source, &mut cluster.additional_ntp_source),
        (&params.ntp_sources, &mut cluster.ntp_sources),
    ];
    for (given, kept) in copies {
        if let Some(given) = given {
            kept.clone_from(given);
        }
    }
    if let Some(keys) = &params.ssh_public_key {
        keys.trim().clone_into(&mut cluster.ssh_public_key);
    }
    cluster.hyperthreading = params.hyperthreading.or(cluster.hyperthreading);
    cluster.network_type = params.network_type.or(cluster.network_type);
    cluster.schedulable_masters = params.schedulable_masters.unwrap_or(cluster.schedulable_masters);
    cluster.control_plane_count = params.control_plane_count.unwrap_or(cluster.control_plane_count);
    if let Some(kind) = params.load_balancer.as_ref().and_then(|balancer| balancer.r#type) {
        cluster.load_balancer.get_or_insert_default().r#type = Some(kind);
    }
    if let Some(given) = &params.ignition_endpoint {
        let endpoint = cluster.ignition_endpoint.get_or_insert_default();
        if given.url.is_some() {
            endpoint.url.clone_from(&given.url);
        }
        if given.ca_certificate.is_some() {
            endpoint.ca_certificate.clone_from(&given.ca_certificate);
        }
    }
    if let Some(name) = &params.api_vip_dns_name {
        if cluster.kind != ClusterKind::AddHostsCluster {
            return Err(refuse(format!("Can't update api vip to {name} for day1 cluster {}", cluster.id)));
        }
        cluster.api_vip_dns_name = Some(name.clone());
    }
    apply_disk_encryption(cluster, params)
}

fn apply_disk_encryption(cluster: &mut Cluster, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    let Some(given) = &params.disk_encryption else { return Ok(()) };
    if cluster.imported {
        return Err(refuse(format!(
            "cannot update cluster {}, it is not permitted to change disk encryption settings for an imported cluster",
            cluster.id
        )));
    }
    let kept = cluster.disk_encryption.get_or_insert_default();
    kept.enable_on = Some(given.enable_on.unwrap_or(RoleSet::None));
    kept.mode = Some(given.mode.unwrap_or(DiskEncryptionMode::Tpmv2));
    // An empty list of servers is ignored, so it can't be cleared (service-api §20, 10).
    if !given.tang_servers.is_empty() {
        kept.tang_servers.clone_from(&given.tang_servers);
    }
    Ok(())
}

fn replace_operators(
    cluster: &mut Cluster,
    params: &ClusterUpdateParams,
    policy: &Operators,
) -> Result<(), Refusal> {
    let selected = selection::select(
        SelectionContext::of(cluster, policy),
        params.olm_operators.as_deref().unwrap_or_default(),
        params.operator_bundles.as_deref().unwrap_or_default(),
    )?;
    cluster.operator_bundles = Some(selection::bundles_of(&selected));
    let operators = cluster.monitored_operators.get_or_insert_default();
    operators.retain(|row| row.operator_type != Some(OperatorType::Olm));
    operators.extend(selected);
    Ok(())
}

fn operator_names(cluster: &Cluster) -> Vec<String> {
    let olm = |row: &&MonitoredOperator| row.operator_type == Some(OperatorType::Olm);
    let mut names: Vec<_> =
        cluster.monitored_operators.iter().flatten().filter(olm).map(|row| row.name.clone()).collect();
    names.sort_unstable();
    names
}

fn check_compatibility(
    record: &ClusterRecord,
    hosts: &[HostFacts],
    infra_envs: &[InfraEnvRecord],
) -> Result<(), Refusal> {
    let version = &record.cluster.openshift_version;
    let alone = Configuration {
        cluster: Some(record),
        with_arbiter: hosts.iter().any(|host| host.record.host.role == Some(HostRole::Arbiter)),
        with_fencing: is_two_nodes_with_fencing(&record.cluster, hosts),
        ..Configuration::default()
    };
    compatibility::check(&alone, version, None)?;
    for infra_env in infra_envs {
        let infra_env = &infra_env.infra_env;
        let both = Configuration { image_type: Some(infra_env.r#type), ..alone.clone() };
        compatibility::check(&both, version, infra_env.cpu_architecture.map(of_image))?;
    }
    Ok(())
}

fn record_usage(
    usages: &mut Usages,
    cluster: &Cluster,
    stored: &Cluster,
    params: &ClusterUpdateParams,
    facts: &Facts,
) {
    usage::record(usages, cluster);
    let given = |member: &Option<String>| !text(member.as_ref()).is_empty();
    usage::record_proxy(
        usages,
        given(&params.http_proxy),
        given(&params.https_proxy),
        given(&params.no_proxy),
    );
    if params.schedulable_masters.is_some() {
        usages.set("Schedulable masters", cluster.schedulable_masters);
    }
    // Noted only where it was on before (service-api §18.2).
    let was_on = stored
        .disk_encryption
        .as_ref()
        .and_then(|encryption| encryption.enable_on)
        .is_some_and(|roles| roles != RoleSet::None);
    if params.disk_encryption.is_some() && was_on {
        usage::record_disk_encryption(usages, cluster);
    }
    for (architecture, name) in [
        (CpuArchitecture::Arm64, "arm64 architecture"),
        (CpuArchitecture::Ppc64le, "ppc64le architecture"),
        (CpuArchitecture::S390x, "s390x architecture"),
    ] {
        if cluster.cpu_architecture == Some(architecture) {
            usages.set(name, true);
        }
    }
    let platform = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    let by_cluster = cluster.user_managed_networking != Some(true)
        && matches!(platform, PlatformType::Baremetal | PlatformType::None);
    let is_virtual = |host: &&HostFacts| {
        let vendor = host.inventory.as_ref().and_then(|inventory| inventory.system_vendor.as_ref());
        vendor.is_some_and(|vendor| vendor.r#virtual)
    };
    let virtual_hosts: Vec<_> =
        facts.hosts.iter().filter(is_virtual).map(|host| host.record.host.id.to_string()).collect();
    usages.set_with(
        "Cluster managed networking with VMs",
        by_cluster && !virtual_hosts.is_empty(),
        [("VM Hosts", virtual_hosts.into())],
    );
}

fn proxy_changed(before: &Cluster, after: &Cluster) -> bool {
    before.http_proxy != after.http_proxy
        || before.https_proxy != after.https_proxy
        || before.no_proxy != after.no_proxy
}
