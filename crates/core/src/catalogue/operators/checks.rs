//! What several operators check alike.

use assisted_base::version::below;
use assisted_wire::inventory::{Inventory, SecureBootState};
use serde_json::{Value, json};

use super::definition::OperatorRequirements;
use super::view::{ClusterView, HostView};
use crate::catalogue::feature::rule::Target;
use crate::model::outcome::Outcome;

const MIB: i64 = 1 << 20;

/// Processors and usable memory (MiB) of a machine.
pub(super) fn resources(inventory: &Inventory) -> OperatorRequirements {
    OperatorRequirements::new(
        inventory.cpu.as_ref().map_or(0, |cpu| cpu.count),
        inventory.memory.as_ref().map_or(0, |memory| memory.usable_bytes / MIB),
    )
}

/// A machine that is too small.
pub(super) fn too_small(texts: &[String], has: OperatorRequirements, needs: OperatorRequirements) -> Outcome {
    Outcome::failure(texts.join("\n"))
        .measured(format!("{} CPU cores, {} MiB", has.cpu_cores, has.ram_mib))
        .required(format!("{} CPU cores, {} MiB", needs.cpu_cores, needs.ram_mib))
        .remedy("Give the machine more CPU cores or memory, or install without this operator.")
}

/// What is lacking for an operator, in its words; empty when nothing is.
pub(super) fn lacking(
    full_name: &str,
    has: OperatorRequirements,
    needs: OperatorRequirements,
) -> Vec<String> {
    let mut texts = Vec::new();
    if has.cpu_cores < needs.cpu_cores {
        // The blank at its end is part of the text.
        texts.push(format!(
            "Insufficient CPU to deploy {full_name}. Required CPU count is {} but found {} ",
            needs.cpu_cores, has.cpu_cores
        ));
    }
    if has.ram_mib < needs.ram_mib {
        texts.push(format!(
            "Insufficient memory to deploy {full_name}. Required memory is {} MiB but found {} MiB",
            needs.ram_mib, has.ram_mib
        ));
    }
    texts
}

/// Whether a machine has what an operator needs; `pending`: the text while nothing is known of it.
pub(super) fn has_resources(
    host: &HostView<'_>,
    full_name: &str,
    needs: OperatorRequirements,
    pending: &'static str,
) -> Outcome {
    let Some(inventory) = host.selection.inventory else { return Outcome::awaits_inventory(pending) };
    let has = resources(inventory);
    let texts = lacking(full_name, has, needs);
    if texts.is_empty() { Outcome::success("") } else { too_small(&texts, has, needs) }
}

/// Whether the cluster's architecture is one that the operator can be had on.
pub(super) fn architecture(view: &ClusterView<'_>, operator: &super::Operator) -> Option<Outcome> {
    let architecture = view.cluster.cpu_architecture?;
    let target = Target::new(&view.cluster.openshift_version, architecture);
    operator.rule.excludes_architecture(&target).then(|| {
        Outcome::failure(format!(
            "{} is not supported for {architecture} CPU architecture.",
            operator.full_name
        ))
        .measured(architecture.as_str())
        .required("another architecture")
        .remedy("Install on machines of another architecture, or without this operator.")
    })
}

/// Whether the cluster's architecture and version are ones that the operator can be had on and for.
pub(super) fn architecture_and_version(
    view: &ClusterView<'_>,
    operator: &super::Operator,
    (major, minor): (u64, u64),
) -> Outcome {
    if let Some(refused) = architecture(view, operator) {
        return refused;
    }
    if !below(&view.cluster.openshift_version, major, minor) {
        return Outcome::success("");
    }
    let least = format!("{major}.{minor}.0");
    let text = format!("{} is only supported for openshift versions {least} and above", operator.full_name);
    too_old(view, text, least)
}

/// A version that is too old.
pub(super) fn too_old(view: &ClusterView<'_>, text: String, least: impl Into<String>) -> Outcome {
    Outcome::failure(text)
        .measured(view.cluster.openshift_version.clone())
        .required(least.into())
        .remedy("Install a newer version, or without this operator.")
}

/// Whether the machine boots without secure boot; with it, drivers that the vendor of the OS has not signed can't be loaded.
pub(super) fn without_secure_boot(inventory: &Inventory, to: &str) -> Outcome {
    let state = inventory.boot.as_ref().and_then(|boot| boot.secure_boot_state);
    if state != Some(SecureBootState::Enabled) {
        return Outcome::success("");
    }
    Outcome::failure(format!("Secure boot is enabled, but it needs to be disabled in order to load {to}"))
        .measured("secure boot is enabled")
        .required("secure boot is disabled")
        .remedy("Disable secure boot in the machine's firmware, and boot it anew.")
}

/// Lets the cluster's monitoring read services of a namespace.
pub(super) fn prometheus(namespace: &str) -> Vec<(&'static str, Value)> {
    let name = format!("{namespace}-prometheus-k8s");
    vec![
        (
            "prometheus-role",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": name, "namespace": namespace},
                "rules": [{
                    "apiGroups": [""], "resources": ["services", "endpoints", "pods"],
                    "verbs": ["get", "list", "watch"],
                }],
            }),
        ),
        (
            "prometheus-rolebinding",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": name, "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "openshift-monitoring"}],
            }),
        ),
    ]
}

/// A machine config for a role.
pub(super) fn machine_config(name: &str, role: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": role}},
        "spec": spec,
    })
}
