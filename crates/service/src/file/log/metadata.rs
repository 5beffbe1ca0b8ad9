//! What is known of a cluster, as it lies beside its logs (running §11): what the API shows and what it keeps to itself, but for secrets.

use assisted_core::model::cluster::ClusterRecord;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use crate::Error;
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::view::cluster::render_record;
use crate::view::host::raw_host;

/// Stands in place of what an archive that is passed around must not hold.
const SECRET: &str = "SECRET";

/// How deep a level is indented: one blank, as tools that read such archives find it.
const INDENT: &[u8] = b" ";

/// The cluster with its hosts, without its secrets.
pub(super) fn text(work: &UnitOfWork) -> Result<Vec<u8>, Error> {
    let record = work.cluster().ok_or_else(no_cluster)?;
    let mut cluster = render_record(record);
    let hosts = work.facts.hosts.iter().map(|host| {
        let mut host = raw_host(host);
        if !host.fencing_credentials.is_empty() {
            SECRET.clone_into(&mut host.fencing_credentials);
        }
        host
    });
    cluster.hosts = Some(hosts.collect());
    let mut metadata = serde_json::to_value(&cluster).map_err(Error::internal)?;
    if let Value::Object(members) = &mut metadata {
        members.extend(kept(record).into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let mut text = Vec::new();
    metadata
        .serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(INDENT)))
        .map_err(Error::internal)?;
    Ok(text)
}

/// What the API does not show. Names and forms are those of the replaced service's rows.
fn kept(record: &ClusterRecord) -> Vec<(&'static str, Value)> {
    let ClusterRecord {
        machine_network_cidr_updated_at: updated,
        ui_settings,
        ignored_host_validations,
        ignored_cluster_validations,
        api_vip_lease,
        ingress_vip_lease,
        mirror_registry,
        object_key,
        ..
    } = record;
    let (name, namespace) = match object_key {
        Some(key) => (key.name.as_str(), key.namespace.as_str()),
        None => ("", ""),
    };
    vec![
        ("pull_secret", json!(SECRET)),
        ("kube_key_name", json!(name)),
        ("kube_key_namespace", json!(namespace)),
        ("ui_settings", json!(ui_settings)),
        ("mirror_registry_configuration", json!(mirror_registry)),
        ("MachineNetworkCidrUpdatedAt", json!(updated)),
        ("ApiVipLease", json!(api_vip_lease)),
        ("IngressVipLease", json!(ingress_vip_lease)),
        ("IgnoredHostValidations", json!(ignored_host_validations)),
        ("IgnoredClusterValidations", json!(ignored_cluster_validations)),
    ]
}
