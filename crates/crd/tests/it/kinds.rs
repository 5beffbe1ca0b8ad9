//! All kinds that there are types of.

use assisted_crd::{
    agent_install, cluster_api, cluster_management, config, hive, hive_extensions, machine_config, metal3,
};
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::walker::{Findings, Walker};

/// A kind in one version.
pub struct Kind {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    /// Whether there is a type's field for each published one.
    pub whole: bool,
    /// Walks the type along a schema.
    pub walk: fn(&Value, &Findings),
    /// Reads an object, and writes what was read.
    pub round_trip: fn(&Value) -> Result<Value, serde_json::Error>,
}

impl Kind {
    /// Whether the definition is ours to install.
    pub fn is_ours(&self) -> bool {
        ["agent-install.openshift.io", "extensions.hive.openshift.io"].contains(&self.group.as_str())
            || ["bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"].contains(&self.group.as_str())
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.kind, self.version)
    }
}

/// A kind by its type. What reads its fields is a function of the type itself: its `Deserialize` shows nobody a field.
macro_rules! kind {
    ($type:ty, $whole:literal) => {
        kind::<$type>($whole, |schema, findings| {
            if let Err(error) = <$type>::deserialize(Walker::new(schema, findings)) {
                findings.add("", &error.to_string());
            }
        })
    };
}

fn kind<T>(whole: bool, walk: fn(&Value, &Findings)) -> Kind
where
    T: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    Kind {
        group: T::group(&()).into_owned(),
        version: T::version(&()).into_owned(),
        plural: T::plural(&()).into_owned(),
        kind: T::kind(&()).into_owned(),
        whole,
        walk,
        round_trip: |value| serde_json::to_value(serde_json::from_value::<T>(value.clone())?),
    }
}

/// Every kind.
pub fn all() -> Vec<Kind> {
    vec![
        kind!(agent_install::infra_env::InfraEnv, true),
        kind!(agent_install::agent::Agent, true),
        kind!(agent_install::nmstate_config::NMStateConfig, true),
        kind!(agent_install::agent_classification::AgentClassification, true),
        kind!(agent_install::agent_service_config::AgentServiceConfig, true),
        kind!(agent_install::hypershift_agent_service_config::HypershiftAgentServiceConfig, true),
        kind!(hive_extensions::agent_cluster_install::AgentClusterInstall, true),
        kind!(cluster_api::openshift_assisted_config::v1alpha1::OpenshiftAssistedConfig, true),
        kind!(cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig, true),
        kind!(cluster_api::openshift_assisted_config_template::v1alpha1::OpenshiftAssistedConfigTemplate, true),
        kind!(cluster_api::openshift_assisted_config_template::v1alpha2::OpenshiftAssistedConfigTemplate, true),
        kind!(cluster_api::openshift_assisted_control_plane::v1alpha2::OpenshiftAssistedControlPlane, true),
        kind!(cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane, true),
        kind!(cluster_api::openshift_assisted_control_plane_template::v1alpha3::OpenshiftAssistedControlPlaneTemplate, true),
        kind!(cluster_api::cluster::Cluster, false),
        kind!(cluster_api::machine::Machine, false),
        kind!(cluster_api::machine_deployment::MachineDeployment, false),
        kind!(cluster_api::metal3_machine::Metal3Machine, false),
        kind!(cluster_api::metal3_machine_template::Metal3MachineTemplate, false),
        kind!(machine_config::machine_os_config::MachineOSConfig, true),
        kind!(machine_config::machine_os_build::MachineOSBuild, true),
        kind!(machine_config::machine_config_pool::MachineConfigPool, false),
        kind!(hive::cluster_deployment::ClusterDeployment, false),
        kind!(hive::cluster_image_set::ClusterImageSet, true),
        kind!(metal3::bare_metal_host::BareMetalHost, false),
        kind!(metal3::preprovisioning_image::PreprovisioningImage, true),
        kind!(metal3::provisioning::Provisioning, false),
        kind!(config::api_server::APIServer, false),
        kind!(config::cluster_operator::ClusterOperator, false),
        kind!(config::cluster_version::ClusterVersion, false),
        kind!(config::image_digest_mirror_set::ImageDigestMirrorSet, true),
        kind!(config::image_tag_mirror_set::ImageTagMirrorSet, true),
        kind!(config::infrastructure::Infrastructure, false),
        kind!(config::proxy::Proxy, true),
        kind!(cluster_management::managed_cluster::ManagedCluster, false),
    ]
}
