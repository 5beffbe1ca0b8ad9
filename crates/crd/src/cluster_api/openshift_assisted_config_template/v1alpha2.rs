//! OpenshiftAssistedConfigTemplate v1alpha2: what OpenshiftAssistedConfigs are made from.

use serde::{Deserialize, Serialize};

use crate::cluster_api::common::TemplateMetadata;
use crate::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
use crate::resource::resource;

resource! {
    /// What OpenshiftAssistedConfigs are made from.
    OpenshiftAssistedConfigTemplate, "bootstrap.cluster.x-k8s.io", "v1alpha2", "openshiftassistedconfigtemplates", Namespaced {
        spec: OpenshiftAssistedConfigTemplateSpec,
    }
}

/// What is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedConfigTemplateSpec {
    /// What each config is made from.
    pub template: OpenshiftAssistedConfigTemplateResource,
}

/// What each config is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedConfigTemplateResource {
    /// Labels and annotations of each config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of each config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<OpenshiftAssistedConfigSpec>,
}
