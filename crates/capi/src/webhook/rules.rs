//! Rules on the objects of the providers' kinds.

use assisted_crd::cluster_api::conversion::convert;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::{
    OpenshiftAssistedConfig, OpenshiftAssistedConfigSpec,
};
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_kubeapi::admission::review::Request;
use assisted_kubeapi::admission::{Addition, Denial, Verdict};
use serde_json::Value;

use crate::control_plane::NODE_DELETION;

/// A rule, as an API server knows it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Name of the webhook.
    pub name: &'static str,
    pub path: &'static str,
    /// Whether it can change the object, or only refuse it.
    pub is_mutating: bool,
    /// Group, version and plural name of what it judges.
    pub resource: [&'static str; 3],
    /// Whether it judges objects of other versions, too, converted to its own.
    pub is_of_all_versions: bool,
    pub operations: &'static [&'static str],
    pub(super) judge: fn(&Request<'_>) -> Result<Verdict, String>,
}

const BOOTSTRAP_GROUP: &str = "bootstrap.cluster.x-k8s.io";
const CONFIGS: &str = "openshiftassistedconfigs";
const CONTROL_PLANES: [&str; 3] =
    ["controlplane.cluster.x-k8s.io", "v1alpha3", "openshiftassistedcontrolplanes"];

/// Creation and deletion need nobody: what is not asked can't stand in their way.
pub(super) const BOOTSTRAP: &[Rule] = &[
    Rule {
        name: "v1alpha1.validation.openshiftassistedconfig.bootstrap.cluster.x-k8s.io",
        path: "/validate-bootstrap-cluster-x-k8s-io-v1alpha1-openshiftassistedconfig",
        is_mutating: false,
        resource: [BOOTSTRAP_GROUP, "v1alpha1", CONFIGS],
        is_of_all_versions: false,
        operations: &["UPDATE"],
        judge: immutable,
    },
    Rule {
        name: "v1alpha2.validation.openshiftassistedconfig.bootstrap.cluster.x-k8s.io",
        path: "/validate-bootstrap-cluster-x-k8s-io-v1alpha2-openshiftassistedconfig",
        is_mutating: false,
        resource: [BOOTSTRAP_GROUP, "v1alpha2", CONFIGS],
        is_of_all_versions: false,
        operations: &["UPDATE"],
        judge: immutable,
    },
];

pub(super) const CONTROL_PLANE: &[Rule] = &[Rule {
    name: "default.openshiftassistedcontrolplane.controlplane.cluster.x-k8s.io",
    path: "/mutate-controlplane-cluster-x-k8s-io-v1alpha3-openshiftassistedcontrolplane",
    is_mutating: true,
    resource: CONTROL_PLANES,
    is_of_all_versions: true,
    operations: &["CREATE", "UPDATE"],
    judge: filled,
}];

/// How a machine boots can't be changed: it has booted. What a version can't say counts, too.
fn immutable(request: &Request<'_>) -> Result<Verdict, String> {
    let (old, new) = (spec(&request.old_object()?)?, spec(&request.object()?)?);
    Ok(if old == new { Verdict::Allowed } else { Denial::bad_request("spec is immutable").into() })
}

fn spec(object: &Value) -> Result<OpenshiftAssistedConfigSpec, String> {
    let hub = convert(object, "bootstrap.cluster.x-k8s.io/v1alpha2").map_err(|error| error.to_string())?;
    let hub: OpenshiftAssistedConfig = serde_json::from_value(hub).map_err(|error| error.to_string())?;
    Ok(hub.spec)
}

/// Timeouts that say something else than how long a node may take to go get what machines get there: else no machine would be what
/// its control plane says.
fn filled(request: &Request<'_>) -> Result<Verdict, String> {
    let plane: OpenshiftAssistedControlPlane = request.object()?;
    let deletion = plane.spec.machine_template.deletion;
    Ok(match deletion {
        Some(deletion) if deletion.node_deletion_timeout_seconds.is_none() => Verdict::Changed(Addition {
            path: "/spec/machineTemplate/deletion/nodeDeletionTimeoutSeconds",
            value: NODE_DELETION.into(),
        }),
        _ => Verdict::Allowed,
    })
}
