//! OpenshiftAssistedControlPlane v1alpha3: the control plane of a cluster of Cluster API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::cluster_api::common::{ContractReference, MachineDeletion, TemplateMetadata};
use crate::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
use crate::resource::resource;

use super::config::ControlPlaneConfig;

resource! {
    /// The control plane of a cluster of Cluster API.
    OpenshiftAssistedControlPlane, "controlplane.cluster.x-k8s.io", "v1alpha3", "openshiftassistedcontrolplanes", Namespaced {
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
    #[serde(skip_serializing_if = "String::is_empty")]
    pub distribution_version: String,
    /// What each control plane machine is made of.
    pub machine_template: MachineTemplate,
    /// Bootstrap configuration of each control plane machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift_assisted_config_spec: Option<OpenshiftAssistedConfigSpec>,
    /// How many machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Version of OpenShift as a topology of Cluster API says it, with a `v` before it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// What each control plane machine is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplate {
    /// How long each step of a machine's deletion may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
    /// Template of the infrastructure's machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,
    /// Labels and annotations of each machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What a topology of Cluster API says of each machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<MachineTemplateSpec>,
}

/// What a topology of Cluster API says of each machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplateSpec {
    /// How long each step of a machine's deletion may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
    /// Template of the infrastructure's machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,
}

/// The control plane as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneStatus {
    /// How many are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Version of OpenShift.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub distribution_version: String,
    /// What Cluster API waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Generation of the object that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// How many machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Label selector, as text, for the scale subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// How many are as the spec wants them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// What Cluster API waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Initialization {
    /// Whether the API of the cluster has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}
