//! What an Agent becomes by the annotations of its machine (kube-api §6.6.7).

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent::inventory::HostDisk;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::common::ClusterReference;
use assisted_crd::labels::{annotation, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_wire::inventory::{Disk, DiskInstallationEligibility};
use kube::ResourceExt;

use super::fencing;
use crate::host::choose_disk;

/// The Agent as it is to be, and what stands in the way of a part of it.
pub(super) fn wanted(
    agent: &Agent,
    machine: &BareMetalHost,
    infra_env: Option<&InfraEnv>,
) -> (Agent, Option<String>) {
    let mut wanted = agent.clone();
    let value =
        |name: &str| machine.annotations().get(&format!("{}{name}", annotation::BMAC_PREFIX)).cloned();
    let spec = &mut wanted.spec;
    spec.approved = true;
    for (field, name) in [
        (&mut spec.role, "role"),
        (&mut spec.hostname, "hostname"),
        (&mut spec.machine_config_pool, "machine-config-pool"),
        (&mut spec.installer_args, "installer-args"),
        (&mut spec.ignition_config_overrides, "ignition-config-overrides"),
        (&mut spec.fencing_credentials_secret_ref, "fencing-credentials-secret-name"),
    ] {
        if let Some(value) = value(name) {
            *field = value;
        }
    }
    if makes_fencing_credentials(machine) {
        spec.fencing_credentials_secret_ref = fencing::name(agent);
    }
    // The machine says all of them: those that somebody else has set go.
    spec.node_labels = prefixed(machine, annotation::BMAC_NODE_LABEL_PREFIX);
    if let Some(hints) = &machine.spec.root_device_hints {
        let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
        if let Some(inventory) = inventory {
            let disks: Vec<_> = inventory.disks.iter().map(disk).collect();
            spec.installation_disk_id = choose_disk(hints, &disks, &spec.installation_disk_id);
        }
    }
    let mut problem = None;
    if let Some(reference) = value("cluster-reference") {
        match cluster(&reference, infra_env) {
            Ok(cluster) => spec.cluster_deployment_name = cluster,
            Err(text) => problem = Some(text),
        }
    }
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.extend(prefixed(machine, annotation::BMAC_AGENT_LABEL_PREFIX));
    labels.insert(label::BARE_METAL_HOST.to_owned(), machine.name_any());
    (wanted, problem)
}

/// Whether credentials for fencing are made of those of the machine's BMC.
pub(super) fn makes_fencing_credentials(machine: &BareMetalHost) -> bool {
    let has = |name: &str| machine.annotations().contains_key(&format!("{}{name}", annotation::BMAC_PREFIX));
    has("create-fencing-credentials-secret") && !has("fencing-credentials-secret-name")
}

fn prefixed(machine: &BareMetalHost, prefix: &str) -> BTreeMap<String, String> {
    let named =
        |(key, value): (&String, &String)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone()));
    machine.annotations().iter().filter_map(named).collect()
}

/// The ClusterDeployment that a machine's annotation names; an empty one names none.
fn cluster(reference: &str, infra_env: Option<&InfraEnv>) -> Result<Option<ClusterReference>, String> {
    const FAILED: &str = "failed to reconcile cluster reference. ";
    if let Some(own) = infra_env.and_then(|infra_env| infra_env.spec.cluster_ref.as_ref()) {
        let ClusterReference { namespace, name } = own;
        return Err(format!("{FAILED} InfraEnv already has cluster reference {namespace}/{name}"));
    }
    if reference.is_empty() {
        return Ok(None);
    }
    match reference.split_once('/') {
        Some((namespace, name)) if !name.contains('/') => {
            Ok(Some(ClusterReference { namespace: namespace.to_owned(), name: name.to_owned() }))
        }
        _ => Err(format!("{FAILED} Parse of cluster reference {reference} failed")),
    }
}

/// A disk as hints look at it.
fn disk(disk: &HostDisk) -> Disk {
    let eligible = disk.installation_eligibility.as_ref().and_then(|eligibility| eligibility.eligible);
    Disk {
        id: disk.id.clone(),
        path: disk.path.clone(),
        by_path: disk.by_path.clone(),
        hctl: disk.hctl.clone(),
        serial: disk.serial.clone(),
        wwn: disk.wwn.clone(),
        model: disk.model.clone(),
        vendor: disk.vendor.clone(),
        size_bytes: disk.size_bytes.unwrap_or_default(),
        drive_type: disk.drive_type.parse().ok(),
        installation_eligibility: DiskInstallationEligibility {
            eligible: eligible.unwrap_or_default(),
            ..DiskInstallationEligibility::default()
        },
        ..Disk::default()
    }
}
