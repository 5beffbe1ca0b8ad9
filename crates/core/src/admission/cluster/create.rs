//! Registration of a cluster to install: the rules of service-api §4.2, in their order.

use std::borrow::Cow;

use assisted_base::version::{Base, Version, below};
use assisted_wire::cluster::{Cluster, ClusterKind, ClusterStatus, DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::{
    ClusterCreateParams, CpuArchitecture, HighAvailabilityMode, NetworkType, RoleSet,
};
use assisted_wire::id::ClusterId;
use assisted_wire::network::{ClusterNetwork, LoadBalancer, LoadBalancerType, ServiceNetwork, Subnet};
use assisted_wire::platform::PlatformType;
use assisted_wire::version::ReleaseImage;

use super::{Created, blank, check_ntp_exclusion, image_mode, refuse, set_pull_secret, text, usage};
use crate::admission::feature::{Configuration, compatibility};
use crate::admission::field::{
    cluster_name, disk_encryption, dns, ignition_endpoint, ntp, proxy, pull_secret, ssh_key, tags,
};
use crate::admission::network::lists::{self, Lists};
use crate::admission::network::vips::{self, VipConfiguration};
use crate::admission::network::{cidr, dual_stack, primary_stack};
use crate::admission::{NewObject, topology};
use crate::catalogue::feature::usage::Usages;
use crate::catalogue::operators::selection::{self, SelectionContext};
use crate::catalogue::platform::{Resolved, on_create};
use crate::catalogue::release::architecture::{for_image, normal, of_image};
use crate::catalogue::release::{os_image, release_image};
use crate::model::event::catalogue;
use crate::model::refusal::Refusal;
use crate::policy::Policy;

/// Registers a cluster.
///
/// # Errors
///
/// `Invalid` with the first rule that the request breaks.
pub fn create(
    params: &ClusterCreateParams,
    policy: &Policy,
    new: &NewObject<ClusterId>,
) -> Result<Created, Refusal> {
    let params = &*with_version(params, policy)?;
    let given = Lists::from(params);
    let primary = primary_stack::of(given)?;
    let (mode, count) = topology::resolve(params.high_availability_mode, params.control_plane_count);
    topology::check(mode, count, &params.openshift_version, policy)?;
    check_networks(params, given, policy)?;
    let architecture = normal(params.cpu_architecture.unwrap_or(CpuArchitecture::X8664));
    let platform = on_create(params.platform.as_ref(), params.user_managed_networking, count, architecture)?;
    let network_type = network_type(params, mode)?;
    check_fields(params, policy)?;
    check_single_node(params, count, network_type)?;
    check_platform(params, &platform)?;
    check_more_fields(params)?;
    check_platform_topology(&platform, count)?;
    topology::check(mode, count, &params.openshift_version, policy)?;
    check_architecture(params, policy)?;
    let image = release(params, architecture, policy)?;

    let mut record = blank::record(
        new,
        ClusterKind::Cluster,
        ClusterStatus::Insufficient,
        "Cluster is not ready for install",
    );
    record.primary_ip_stack = primary;
    fill(&mut record.cluster, params, policy, &platform);
    let cluster = &mut record.cluster;
    // Granted to all: the service takes it from those to whose organisation an account service does not grant it.
    cluster.org_soft_timeouts_enabled = true;
    cluster.high_availability_mode = Some(mode);
    cluster.control_plane_count = count;
    cluster.network_type = Some(network_type);
    cluster.openshift_version.clone_from(&image.version);
    cluster.ocp_release_image.clone_from(&image.url);
    cluster.cpu_architecture =
        Some(if release_image::is_multi(image) { CpuArchitecture::Multi } else { architecture });

    add_operators(cluster, params, policy)?;
    let configuration = Configuration { cluster: Some(&record), ..Configuration::default() };
    compatibility::check(&configuration, &record.cluster.openshift_version, params.cpu_architecture)?;
    pull_secret::check(&params.pull_secret, Some(&image.url), policy)
        .map_err(|problem| refuse(format!("pull secret for new cluster is invalid: {problem}")))?;
    set_pull_secret(&mut record, &params.pull_secret, policy)?;
    let kind = platform.platform.as_ref().map(|platform| platform.r#type);
    cluster_name::check(&params.name, kind).map_err(refuse)?;
    dns::check(&params.name, &params.base_dns_domain).map_err(refuse)?;
    if !params.ssh_public_key.is_empty() {
        ssh_key::check(&params.ssh_public_key).map_err(refuse)?;
        params.ssh_public_key.trim().clone_into(&mut record.cluster.ssh_public_key);
    }
    record.cluster.feature_usage = usages(&record.cluster, params).write();
    let values: [(&str, &dyn std::fmt::Display); 1] = [("cluster_kind", &ClusterKind::Cluster)];
    let mut events = vec![catalogue::CLUSTER_REGISTRATION_SUCCEEDED.of_cluster(new.id, &values)];
    if let Some(given) = &params.on_cluster_layering {
        events.extend(image_mode::apply(&mut record, given, policy)?);
    }
    Ok(Created { record, events })
}

/// The request with version and architecture of the release image that it names, where it names an image alone.
fn with_version<'a>(
    params: &'a ClusterCreateParams,
    policy: &Policy,
) -> Result<Cow<'a, ClusterCreateParams>, Refusal> {
    let url = &params.ocp_release_image;
    if url.is_empty() || !params.openshift_version.is_empty() {
        return Ok(Cow::Borrowed(params));
    }
    let image = image_of(url, policy)?;
    let several = release_image::is_multi(image);
    let architecture = if several { CpuArchitecture::Multi } else { image.cpu_architecture };
    Ok(Cow::Owned(ClusterCreateParams {
        openshift_version: image.version.clone(),
        cpu_architecture: params.cpu_architecture.or(Some(architecture)),
        ..params.clone()
    }))
}

fn image_of<'a>(url: &str, policy: &'a Policy) -> Result<&'a ReleaseImage, Refusal> {
    release_image::by_url(&policy.versions, url).map_err(|error| {
        refuse(format!("failed to get release image by URL {url} during cluster registration: {error}"))
    })
}

fn check_networks(params: &ClusterCreateParams, given: Lists<'_>, policy: &Policy) -> Result<(), Refusal> {
    let balancer = params.load_balancer.as_ref().and_then(|balancer| balancer.r#type);
    vips::check(&VipConfiguration {
        lists: given,
        version: &params.openshift_version,
        architecture: params.cpu_architecture.unwrap_or(CpuArchitecture::X8664),
        user_managed_networking: params.user_managed_networking == Some(true),
        vip_dhcp_allocation: params.vip_dhcp_allocation == Some(true),
        user_managed_load_balancer: balancer == Some(LoadBalancerType::UserManaged),
        ipv6_support: policy.clusters.ipv6_support,
        switching_user_managed_networking_on: false,
        hosts: None,
    })?;
    cidr::check_syntax(given).map_err(refuse)?;
    if dual_stack::in_lists(given) {
        dual_stack::check_networks(given, &params.openshift_version).map_err(refuse)?;
    }
    Ok(())
}

fn network_type(params: &ClusterCreateParams, mode: HighAvailabilityMode) -> Result<NetworkType, Refusal> {
    if let Some(given) = params.network_type {
        return Ok(given);
    }
    let version = &params.openshift_version;
    // A version that can't be read is the service's failure here, as existing clients know it (service-api §4.2 step 5).
    let parsed = Version::parse(version)
        .ok_or_else(|| Refusal::internal(format!("Failed to parse OCP version {version}")))?;
    let modern = parsed.base >= Base(4, 12) || mode == HighAvailabilityMode::None;
    Ok(if modern { NetworkType::OVNKubernetes } else { NetworkType::OpenShiftSDN })
}

fn check_fields(params: &ClusterCreateParams, policy: &Policy) -> Result<(), Refusal> {
    let version = Some(params.openshift_version.as_str());
    let (http, https) = (params.http_proxy.as_ref(), params.https_proxy.as_ref());
    proxy::check(http, https, params.no_proxy.as_ref(), version).map_err(refuse)?;
    match &params.disk_encryption {
        Some(encryption) => {
            disk_encryption::check(encryption, policy.clusters.disk_encryption_support).map_err(refuse)
        }
        None => Ok(()),
    }
}

fn check_single_node(params: &ClusterCreateParams, count: i64, network: NetworkType) -> Result<(), Refusal> {
    if count != 1 {
        return Ok(());
    }
    let version = &params.openshift_version;
    let parsed =
        Version::parse(version).ok_or_else(|| refuse(format!("Failed to parse OCP version {version}")))?;
    if parsed.base < Base(4, 8) {
        return Err(refuse(format!(
            "Invalid OCP version ({version}) for Single node, Single node OpenShift is supported for version 4.8 and above"
        )));
    }
    if params.user_managed_networking == Some(false) {
        return Err(refuse("User Managed Networking must be enabled on single node OpenShift"));
    }
    if params.vip_dhcp_allocation == Some(true) {
        return Err(refuse("VIP DHCP Allocation cannot be enabled on single node OpenShift"));
    }
    if network == NetworkType::OpenShiftSDN {
        return Err(refuse("OpenShiftSDN network type is not allowed in single node mode"));
    }
    Ok(())
}

fn check_platform(params: &ClusterCreateParams, platform: &Resolved) -> Result<(), Refusal> {
    let kind = platform.platform.as_ref().map(|platform| platform.r#type);
    let version = &params.openshift_version;
    if kind == Some(PlatformType::Nutanix) && below(version, 4, 11) {
        return Err(refuse(format!(
            "Invalid OCP version ({version}) for Nutanix, Nutanix integration is supported for version 4.11 and above"
        )));
    }
    Ok(())
}

fn check_more_fields(params: &ClusterCreateParams) -> Result<(), Refusal> {
    if let Some(endpoint) = &params.ignition_endpoint {
        ignition_endpoint::check(endpoint).map_err(refuse)?;
    }
    for sources in [&params.additional_ntp_source, &params.ntp_sources] {
        match text(sources.as_ref()) {
            "" => {}
            list => ntp::check(list).map_err(refuse)?,
        }
    }
    check_ntp_exclusion(text(params.ntp_sources.as_ref()), text(params.additional_ntp_source.as_ref()))?;
    tags::check(text(params.tags.as_ref())).map_err(refuse)
}

fn check_platform_topology(platform: &Resolved, count: i64) -> Result<(), Refusal> {
    match platform.platform.as_ref().map(|platform| platform.r#type) {
        Some(kind) if count == 1 && !matches!(kind, PlatformType::None | PlatformType::External) => {
            Err(refuse(format!("Single node cluster is not supported alongside {kind} platform")))
        }
        _ => Ok(()),
    }
}

fn check_architecture(params: &ClusterCreateParams, policy: &Policy) -> Result<(), Refusal> {
    let architecture = normal(params.cpu_architecture.unwrap_or(CpuArchitecture::X8664));
    if matches!(architecture, CpuArchitecture::X8664 | CpuArchitecture::Multi) {
        return Ok(());
    }
    let version = &params.openshift_version;
    let base = Version::parse(version).map(|version| version.base.to_string());
    let mut images = policy.versions.os_images.0.iter();
    let available = images.any(|image| {
        (image.openshift_version == *version || Some(&image.openshift_version) == base.as_ref())
            && of_image(image.cpu_architecture) == architecture
    });
    if available {
        Ok(())
    } else {
        Err(refuse(format!("Requested CPU architecture {architecture} is not available")))
    }
}

fn release<'a>(
    params: &ClusterCreateParams,
    architecture: CpuArchitecture,
    policy: &'a Policy,
) -> Result<&'a ReleaseImage, Refusal> {
    let versions = &policy.versions;
    let url = &params.ocp_release_image;
    if !url.is_empty() {
        let image = image_of(url, policy)?;
        if architecture == CpuArchitecture::Multi && !release_image::is_multi(image) {
            return Err(refuse(format!(
                "release image URL {url} does not support requested CPU architecture {architecture}"
            )));
        }
        if architecture != CpuArchitecture::Multi && !release_image::serves(image, architecture) {
            return Err(refuse(format!(
                "Requested CPU architecture {architecture} is not supported for release image URL {url}. Supported \
                 architectures in release image: [{}]",
                release_image::architectures(image).join(" ")
            )));
        }
        return Ok(image);
    }
    let version = &params.openshift_version;
    let image = release_image::resolve(versions, version, architecture).map_err(|error| {
        refuse(format!(
            "Openshift version {version} for CPU architecture {architecture} is not supported: {error}"
        ))
    })?;
    if policy.service.enable_image_service
        && !release_image::is_multi(image)
        && let Some(os_architecture) = for_image(architecture)
        && os_image::find(&versions.os_images.0, &image.version, os_architecture).is_err()
    {
        return Err(refuse(format!(
            "No OS images are available for version {version} and architecture {architecture}"
        )));
    }
    Ok(image)
}

fn fill(cluster: &mut Cluster, params: &ClusterCreateParams, policy: &Policy, platform: &Resolved) {
    let id = cluster.id;
    let clusters = &policy.clusters;
    cluster.name.clone_from(&params.name);
    cluster.base_dns_domain.clone_from(&params.base_dns_domain);
    text(params.http_proxy.as_ref()).clone_into(&mut cluster.http_proxy);
    text(params.https_proxy.as_ref()).clone_into(&mut cluster.https_proxy);
    text(params.no_proxy.as_ref()).clone_into(&mut cluster.no_proxy);
    text(params.tags.as_ref()).clone_into(&mut cluster.tags);
    cluster.hyperthreading = Some(params.hyperthreading.unwrap_or(RoleSet::All));
    cluster.schedulable_masters = params.schedulable_masters;
    cluster.schedulable_masters_forced_true = true;
    cluster.vip_dhcp_allocation = Some(params.vip_dhcp_allocation.unwrap_or(false));
    cluster.platform.clone_from(&platform.platform);
    cluster.user_managed_networking = platform.user_managed_networking;
    cluster.hosts = Some(Vec::new());
    cluster.host_networks = Some(Vec::new());
    cluster.operator_bundles = Some(Vec::new());

    match (&params.additional_ntp_source, &params.ntp_sources) {
        (None, None) => cluster.additional_ntp_source.clone_from(&clusters.ntp_default_server),
        (additional, sources) => {
            text(additional.as_ref()).clone_into(&mut cluster.additional_ntp_source);
            text(sources.as_ref()).clone_into(&mut cluster.ntp_sources);
        }
    }
    let default_cluster_networks = || {
        vec![ClusterNetwork {
            cluster_id: None,
            cidr: Subnet(clusters.cluster_network_cidr.to_string()),
            host_prefix: clusters.cluster_network_host_prefix,
        }]
    };
    let default_service_networks =
        || vec![ServiceNetwork { cluster_id: None, cidr: Subnet(clusters.service_network_cidr.to_string()) }];
    let cluster_networks = params.cluster_networks.clone().unwrap_or_else(default_cluster_networks);
    let service_networks = params.service_networks.clone().unwrap_or_else(default_service_networks);
    let given = Lists::from(params);
    cluster.cluster_networks = Some(lists::cluster_rows(id, &cluster_networks));
    cluster.service_networks = Some(lists::service_rows(id, &service_networks));
    cluster.machine_networks = Some(lists::machine_rows(id, given.machine_networks.unwrap_or_default()));
    cluster.api_vips = Some(lists::api_rows(id, given.api_vips.unwrap_or_default(), &[]));
    cluster.ingress_vips = Some(lists::ingress_rows(id, given.ingress_vips.unwrap_or_default(), &[]));

    let encryption = params.disk_encryption.clone().unwrap_or_default();
    cluster.disk_encryption = Some(DiskEncryption {
        enable_on: Some(encryption.enable_on.unwrap_or(RoleSet::None)),
        mode: Some(encryption.mode.unwrap_or(DiskEncryptionMode::Tpmv2)),
        tang_servers: encryption.tang_servers,
    });
    let balancer = params.load_balancer.as_ref().and_then(|balancer| balancer.r#type);
    cluster.load_balancer =
        Some(LoadBalancer { r#type: Some(balancer.unwrap_or(LoadBalancerType::ClusterManaged)) });
    cluster.ignition_endpoint = Some(params.ignition_endpoint.clone().unwrap_or_default());
}

fn add_operators(
    cluster: &mut Cluster,
    params: &ClusterCreateParams,
    policy: &Policy,
) -> Result<(), Refusal> {
    let selected = selection::select(
        SelectionContext::of(cluster, &policy.operators),
        params.olm_operators.as_deref().unwrap_or_default(),
        params.operator_bundles.as_deref().unwrap_or_default(),
    )?;
    cluster.operator_bundles = Some(selection::bundles_of(&selected));
    let mut operators = selection::builtin(cluster.id, policy.clusters.check_cluster_version);
    operators.extend(selected);
    cluster.monitored_operators = Some(operators);
    Ok(())
}

fn usages(cluster: &Cluster, params: &ClusterCreateParams) -> Usages {
    let mut usages = Usages::default();
    usage::record(&mut usages, cluster);
    let given = |member: &Option<String>| !text(member.as_ref()).is_empty();
    // The flag of the encrypted proxy follows the plain one, so that it alone is not noted (service-api §20, 13).
    let http = given(&params.http_proxy);
    usage::record_proxy(&mut usages, http, http, given(&params.no_proxy));
    usage::record_disk_encryption(&mut usages, cluster);
    usages
}
