//! OpenshiftAssistedControlPlane v1alpha2: the control plane of a cluster of Cluster API.

use k8s_openapi::api::core::v1::ObjectReference;
use serde::{Deserialize, Serialize};

use crate::cluster_api::common::{TemplateMetadata, V1Beta1Condition};
use crate::cluster_api::openshift_assisted_config::v1alpha1::OpenshiftAssistedConfigSpec;
use crate::resource::resource;

use super::config::ControlPlaneConfig;

resource! {
    /// The control plane of a cluster of Cluster API.
    OpenshiftAssistedControlPlane, "controlplane.cluster.x-k8s.io", "v1alpha2", "openshiftassistedcontrolplanes", Namespaced {
        spec: OpenshiftAssistedControlPlaneSpec,
        status: OpenshiftAssistedControlPlaneStatus,
    }
}

/// The control plane as it is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneSpec {
    /// Settings of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ControlPlaneConfig>,
    /// Version of OpenShift.
    pub distribution_version: String,
    /// What each control plane machine is made of.
    pub machine_template: MachineTemplate,
    /// Bootstrap configuration of each control plane machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift_assisted_config_spec: Option<OpenshiftAssistedConfigSpec>,
    /// How many machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What each control plane machine is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplate {
    /// Template of the infrastructure's machines.
    pub infrastructure_ref: ObjectReference,
    /// Labels and annotations of each machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// How long the node may take to go away, as a duration like `10m`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_deletion_timeout: String,
    /// How long draining may take, as a duration like `10m`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_drain_timeout: String,
    /// How long volumes may take to be detached, as a duration like `10m`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_volume_detach_timeout: String,
}

/// The control plane as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneStatus {
    /// ClusterDeployment of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_ref: Option<ObjectReference>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Version of OpenShift.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub distribution_version: String,
    /// The same for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Short reason of a failure that does not go away.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_reason: String,
    /// Whether the API of the cluster has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialized: Option<bool>,
    /// Whether the control plane takes requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// How many are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// How many machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Label selector, as text, for the scale subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// How many are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// How many are of the wanted version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}
