//! Rules on InfraEnvs (kube-api §5.2).

use assisted_crd::agent_install::infra_env::InfraEnv;

use super::verdict::{Denial, Verdict};
use super::webhook::{Change, Kind, Operation, Webhook};

pub(super) struct InfraEnvValidator;

impl Webhook for InfraEnvValidator {
    type Object = InfraEnv;

    const NAME: &'static str = "infraenvvalidators";
    const KIND: Kind = Kind::Validating;
    const OPERATIONS: &'static [Operation] = &[Operation::Create, Operation::Update];

    fn review(change: &Change<InfraEnv>) -> Verdict {
        match change {
            Change::Create(new) => create(new),
            Change::Update { old, new } => update(old, new),
        }
    }
}

fn create(new: &InfraEnv) -> Verdict {
    if new.spec.cluster_ref.is_some() && !new.spec.os_image_version.is_empty() {
        return Denial::bad_request(
            "Either Spec.ClusterRef or Spec.OSImageVersion should be specified (not both).",
        )
        .into();
    }
    Verdict::Allowed
}

fn update(old: &InfraEnv, new: &InfraEnv) -> Verdict {
    let (old, new) = (&old.spec, &new.spec);
    if old.cluster_ref != new.cluster_ref {
        return Denial::bad_request(
            "Attempted to change Spec.ClusterRef which is immutable after InfraEnv creation.",
        )
        .into();
    }
    if architecture(&old.cpu_architecture) != architecture(&new.cpu_architecture) {
        return Denial::bad_request(
            "Attempted to change Spec.CpuArchitecture which is immutable after InfraEnv creation.",
        )
        .into();
    }
    match &new.cluster_ref {
        // Hosts that are added to a cluster may boot another version than it was installed from.
        Some(cluster) if old.os_image_version.is_empty() && !new.os_image_version.is_empty() => {
            Verdict::DeniedUnlessInstalled {
                cluster: cluster.clone(),
                denial: Denial::bad_request(
                    "spec.OSImageVersion is not valid. It can't be added alongside with a clusterRef when the cluster is \
                     not installed yet.",
                ),
            }
        }
        _ => Verdict::Allowed,
    }
}

/// The default of the definition may be missing in objects that are older than it.
fn architecture(text: &str) -> &str {
    if text.is_empty() { "x86_64" } else { text }
}
