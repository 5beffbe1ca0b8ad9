//! What the agent must know to start the installer (installer-and-controller §A1).

use assisted_base::version::at_least;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole;
use assisted_wire::infra_env::Proxy;
use assisted_wire::probe_requests::InstallCmdRequest;

use super::{images, installer_args};
use crate::catalogue::operators::CLUSTER_VERSION;
use crate::decide::host::simulated::may_be_installed;
use crate::model::cluster::ClusterRecord;
use crate::model::disk;
use crate::model::embedded;
use crate::model::facts::{Facts, HostFacts};
use crate::state::host::format::disks_to_format;
use crate::state::host::rule_context::{boots_persistently, keeps_partitions};

/// The first version whose nodes can do without their first reboot.
const SKIPS_REBOOT: (u64, u64) = (4, 15);

/// Domains inside the cluster, which no proxy knows.
const INSIDE: [&str; 4] = ["127.0.0.1", "localhost", ".svc", ".cluster.local"];

/// The installer's arguments; `None` when something that it needs is not known, or the host must not be installed.
pub(super) fn request(facts: &Facts, record: &ClusterRecord, host: &HostFacts) -> Option<InstallCmdRequest> {
    let (cluster, policy, fields) = (&record.cluster, &facts.policy, &host.record.host);
    if !may_be_installed(host, policy) {
        return None;
    }
    let inventory = host.inventory.as_deref()?;
    let boot_device = disk::chosen(fields);
    let boot_disk = disk::find(inventory, boot_device)?;
    let arguments = installer_args::of(facts, record, host)?;
    let day1 = !host.is_day2();
    let of_day1 = |text: &str| if day1 { text.to_owned() } else { String::new() };
    let coreos = if boots_persistently(inventory) { &record.payload.coreos } else { "" };
    if boots_persistently(inventory) && coreos.is_empty() {
        return None;
    }
    let (major, minor) = SKIPS_REBOOT;
    Some(InstallCmdRequest {
        cluster_id: cluster.id,
        infra_env_id: host.key().infra_env_id,
        host_id: fields.id,
        role: if fields.bootstrap { HostRole::Bootstrap } else { host.effective_role() },
        boot_device: boot_device.to_owned(),
        controller_image: policy.images.controller.clone(),
        installer_image: policy.images.installer.clone(),
        control_plane_count: cluster.control_plane_count,
        proxy: proxy(cluster),
        check_cvo: watches_version(cluster),
        disks_to_format: Some(disks_to_format(host)),
        must_gather_image: of_day1(&images::must_gather_text(facts, record)),
        mco_image: of_day1(&record.payload.mco),
        openshift_version: of_day1(&cluster.openshift_version),
        service_ips: None,
        skip_installation_disk_cleanup: keeps_partitions(&embedded::texts(&arguments)),
        installer_args: arguments,
        enable_skip_mco_reboot: policy.clusters.enable_skip_mco_reboot
            && cluster.cpu_architecture != Some(CpuArchitecture::S390x)
            && at_least(&cluster.openshift_version, major, minor)
            && !boot_disk.name.starts_with("dm-"),
        // Whoever follows nodes from a hub knows how often they were started.
        notify_num_reboots: !policy.service.kube_api,
        approve_all_csrs: policy.clusters.approve_all_csrs,
        coreos_image: coreos.to_owned(),
    })
}

/// Whether the version operator is among those that the cluster waits for. The setting may have changed since the cluster was
/// registered, and a controller that reported an operator without a row would wait for ever.
fn watches_version(cluster: &Cluster) -> bool {
    cluster.monitored_operators.iter().flatten().any(|operator| operator.name == CLUSTER_VERSION)
}

/// The cluster's proxy with what is reached without it; `None` without a proxy.
fn proxy(cluster: &Cluster) -> Option<Proxy> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (http, https) = (given(&cluster.http_proxy), given(&cluster.https_proxy));
    if http.is_none() && https.is_none() {
        return None;
    }
    let own = cluster.no_proxy.trim();
    let no_proxy = if own == "*" {
        own.to_owned()
    } else {
        let api = format!("api-int.{}.{}", cluster.name, cluster.base_dns_domain);
        let mut all: Vec<&str> = own.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        for name in INSIDE.into_iter().chain([api.as_str()]) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all.join(",")
    };
    Some(Proxy { http_proxy: http, https_proxy: https, no_proxy: Some(no_proxy) })
}
