//! Reads rows of clusters of the replaced service.

use std::net::IpAddr;

use assisted_core::model::cluster::{ClusterRecord, IpStack, MirrorRegistry, PayloadImages};
use assisted_core::model::layering::LayeringRecord;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::subscription::SubscriptionRecord;
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::secret::Secret;
use ipnet::IpNet;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::row::{API, Row};

/// What stands in other tables and belongs to a cluster.
#[derive(Debug, Default)]
pub(crate) struct Related {
    pub(crate) operators: Vec<Value>,
    pub(crate) cluster_networks: Vec<Value>,
    pub(crate) service_networks: Vec<Value>,
    pub(crate) machine_networks: Vec<Value>,
    pub(crate) api_vips: Vec<Value>,
    pub(crate) ingress_vips: Vec<Value>,
}

/// Reads a cluster; `addresses` are those of its bootstrap host, as far as they are known.
pub(crate) fn read(mut row: Row, related: Related, addresses: &[IpAddr]) -> Result<ClusterRecord, String> {
    let primary = match row.number("primary_ip_stack") {
        Some(4) => Some(IpStack::V4),
        Some(6) => Some(IpStack::V6),
        _ => None,
    };
    let mut record = ClusterRecord {
        pull_secret: Secret::from(row.text("pull_secret")),
        primary_ip_stack: primary,
        machine_network_cidr_updated_at: row.parsed::<Timestamp>("machine_network_cidr_updated_at"),
        ui_settings: row.text("ui_settings").to_owned(),
        ignored_host_validations: row.text("ignored_host_validations").to_owned(),
        ignored_cluster_validations: row.text("ignored_cluster_validations").to_owned(),
        api_vip_lease: row.text("api_vip_lease").to_owned(),
        ingress_vip_lease: row.text("ingress_vip_lease").to_owned(),
        lease_timeout_told_for: None,
        payload: PayloadImages::default(),
        generated_for: None,
        generated_folder: None,
        dns_asked_for: None,
        dns_made_for: None,
        kubeconfig_stored: false,
        mirror_registry: mirror_registry(row.text("mirror_registry_configuration"))?,
        connectivity_print: None,
        layering: LayeringRecord::default(),
        subscription: SubscriptionRecord {
            console_url_told: row.parsed("is_ams_subscription_console_url_set").unwrap_or_default(),
            ..SubscriptionRecord::default()
        },
        object_key: object_key(row.text("kube_key_namespace"), row.text("kube_key_name")),
        cluster: cluster(&mut row, related, primary, addresses)?,
    };
    if has_files(&record.cluster) {
        // They are where they always were: in no folder of their own.
        record.generated_for = Some(record.cluster.install_started_at.0.into());
    }
    Ok(record)
}

fn cluster(
    row: &mut Row,
    related: Related,
    primary: Option<IpStack>,
    addresses: &[IpAddr],
) -> Result<Cluster, String> {
    for gone in ["ignored_host_validations", "ignored_cluster_validations", "primary_ip_stack"] {
        row.take(gone);
    }
    if row.text("ams_subscription_id").is_empty() {
        row.take("ams_subscription_id");
    }
    row.nest("image_", "image_info").put("image_info", json!({}));
    row.nest("progress_", "progress");
    row.nest("disk_encryption_", "disk_encryption");
    row.nest("ignition_endpoint_", "ignition_endpoint");
    row.nest("last_installation_preparation_", "last-installation-preparation");
    row.nest("load_balancer_", "load_balancer");
    row.nest("platform_external_", "external");
    if let Some(external) = row.take("external") {
        row.put("platform_external", external);
    }
    row.nest("platform_", "platform");
    let href = format!("{API}/clusters/{}", row.text("id"));
    row.or("status_info", "").or("href", href);
    row.put("monitored_operators", list(related.operators));
    row.put("cluster_networks", list(sorted(related.cluster_networks, "cidr", primary)));
    row.put("service_networks", list(sorted(related.service_networks, "cidr", primary)));
    let machine = sorted(related.machine_networks, "cidr", primary);
    row.put("machine_networks", list(with_bootstrap_first(machine, primary, addresses)));
    row.put("api_vips", list(sorted(related.api_vips, "ip", primary)));
    row.put("ingress_vips", list(sorted(related.ingress_vips, "ip", primary)));
    std::mem::take(row).read()
}

fn list(rows: Vec<Value>) -> Value {
    rows.into_iter().map(|row| Row::new(row).read::<Value>().unwrap_or_default()).collect()
}

fn family(text: &str) -> IpStack {
    if text.contains(':') { IpStack::V6 } else { IpStack::V4 }
}

/// The order of networks and addresses, which is not stored: those of the primary family come first (running §8.1).
fn sorted(mut rows: Vec<Value>, member: &str, primary: Option<IpStack>) -> Vec<Value> {
    if let Some(primary) = primary {
        rows.sort_by_key(|row| family(text(row, member)) != primary);
    }
    rows
}

/// Of machine networks that with an address of the bootstrap host comes first, in its family.
fn with_bootstrap_first(mut rows: Vec<Value>, primary: Option<IpStack>, addresses: &[IpAddr]) -> Vec<Value> {
    let has_bootstrap = |row: &Value| {
        let network: Option<IpNet> = text(row, "cidr").parse().ok();
        network.is_some_and(|network| addresses.iter().any(|address| network.contains(address)))
    };
    rows.sort_by_key(|row| {
        (primary.is_some_and(|primary| family(text(row, "cidr")) != primary), !has_bootstrap(row))
    });
    rows
}

fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Whether hosts are, or were, installed with files that are there.
fn has_files(cluster: &Cluster) -> bool {
    use ClusterStatus as S;
    let begun = [S::Installing, S::Finalizing, S::Installed, S::InstallingPendingUserAction, S::AddingHosts];
    begun.contains(&cluster.status) && !cluster.install_started_at.is_zero()
}

pub(crate) fn object_key(namespace: &str, name: &str) -> Option<ObjectKey> {
    (!namespace.is_empty() && !name.is_empty()).then(|| ObjectKey::new(namespace, name))
}

/// Registries that stand in for others, as the service keeps them.
#[derive(Deserialize)]
struct Mirrors {
    #[serde(rename = "registriesConf", default)]
    registries_conf: Option<String>,
    #[serde(rename = "caBundleCrt", default)]
    ca_bundle: Option<String>,
}

pub(crate) fn mirror_registry(text: &str) -> Result<Option<MirrorRegistry>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let read: Mirrors =
        serde_json::from_str(text).map_err(|_| "mirror_registry_configuration can't be read".to_owned())?;
    let mirrors = MirrorRegistry {
        registries_conf: read.registries_conf.unwrap_or_default(),
        authorities: read.ca_bundle.unwrap_or_default(),
    };
    Ok((mirrors != MirrorRegistry::default()).then_some(mirrors))
}
