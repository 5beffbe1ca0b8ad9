//! OpenshiftAssistedControlPlaneTemplate v1alpha3: what a ClusterClass makes control planes from.

use serde::{Deserialize, Serialize};

use crate::cluster_api::common::{MachineDeletion, TemplateMetadata};
use crate::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
use crate::cluster_api::openshift_assisted_control_plane::config::ControlPlaneConfig;
use crate::resource::resource;

resource! {
    /// What a ClusterClass makes control planes from.
    OpenshiftAssistedControlPlaneTemplate, "controlplane.cluster.x-k8s.io", "v1alpha3", "openshiftassistedcontrolplanetemplates", Namespaced {
        spec: OpenshiftAssistedControlPlaneTemplateSpec,
    }
}

/// What is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneTemplateSpec {
    /// What each control plane is made from.
    pub template: OpenshiftAssistedControlPlaneTemplateResource,
}

/// What each control plane is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneTemplateResource {
    /// Labels and annotations of each control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of each control plane.
    pub spec: OpenshiftAssistedControlPlaneTemplateResourceSpec,
}

/// Spec of each control plane, without what the topology of each Cluster says: version, number of machines, their infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedControlPlaneTemplateResourceSpec {
    /// Settings of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ControlPlaneConfig>,
    /// What each control plane machine is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_template: Option<TemplateMachineTemplate>,
    /// Bootstrap configuration of each control plane machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift_assisted_config_spec: Option<OpenshiftAssistedConfigSpec>,
}

/// What each control plane machine is made of, but for its infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TemplateMachineTemplate {
    /// How long each step of a machine's deletion may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
    /// Labels and annotations of each machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
}
