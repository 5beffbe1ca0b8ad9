//! AgentClusterInstall: how a cluster is to be installed, and how far that is.

use std::collections::BTreeMap;

use assisted_wire::cluster_params::NetworkType;
use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::common::{
    DebugInfo, DiskEncryption, ManifestsConfigMapReference, NamespacedReference, Proxy, ValidationResult,
};
use crate::resource::resource;

resource! {
    /// How the cluster of a ClusterDeployment is installed, and how far that is.
    AgentClusterInstall, "extensions.hive.openshift.io", "v1beta1", "agentclusterinstalls", Namespaced {
        spec: AgentClusterInstallSpec,
        status: AgentClusterInstallStatus,
    }
}

/// How the cluster is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentClusterInstallSpec {
    /// First address of the API; older than `apiVIPs`.
    #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
    pub api_vip: String,
    /// Addresses of the API, one per address family.
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<String>,
    /// Settings of the arbiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<MachinePool>,
    /// ClusterDeployment of the same namespace.
    pub cluster_deployment_ref: LocalObjectReference,
    /// What is known of the cluster once it is there; or, when it is given first, of a cluster that others installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_metadata: Option<ClusterMetadata>,
    /// Settings of the workers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<MachinePool>,
    /// Settings of the control plane nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<MachinePool>,
    /// Which disks are encrypted, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    /// What `External` as platform stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPlatform>,
    /// The installation does not begin by itself while this is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_installation: Option<bool>,
    /// Where workers added later fetch their Ignition config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    /// ClusterImageSet that names the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_set_ref: Option<ClusterImageSetReference>,
    /// First address of the ingress; older than `ingressVIPs`.
    #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
    pub ingress_vip: String,
    /// Addresses of the ingress, one per address family.
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<String>,
    /// Who balances the load of API and ingress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Older than `manifestsConfigMapRefs`, which counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifests_config_map_ref: Option<LocalObjectReference>,
    /// Config maps whose values are manifests to be applied while the cluster comes up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests_config_map_refs: Vec<ManifestsConfigMapReference>,
    /// Whether control plane nodes take ordinary pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
    /// Config map with `registries.conf` and, if wanted, `ca-bundle.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<NamespacedReference>,
    /// Networks of the cluster.
    pub networking: Networking,
    /// NTP servers, by name or address; nothing else is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    /// Whether nodes get images of their own that are built while the cluster is installed, as the install config says it (ocl-day1 §B2). An
    /// addition to the published definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cluster_layering: Option<OnClusterLayering>,
    /// Platform of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_type: Option<PlatformType>,
    /// How many hosts the installation waits for.
    pub provision_requirements: ProvisionRequirements,
    /// How hosts reach the network outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Public keys, one a line, that may log in as `core` on the nodes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_public_key: String,
}

/// Image mode at installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OnClusterLayering {
    /// Whether the rendered configuration becomes part of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake_configs: Option<bool>,
    /// For each pool, with all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_timeout_minutes: Option<i64>,
    /// `Required` or `Generate`.
    #[serde(rename = "machineOSConfigs", skip_serializing_if = "String::is_empty")]
    pub machine_os_configs: String,
    /// `Disabled` or `Enabled`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// Containerfiles of MachineOSConfigs that are made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<LayeringPool>,
    /// Where built images are pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<LayeringRegistry>,
    /// `Deploy` or `Switch`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rollout: String,
    /// `Auto`, `Disk` or `Memory`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scratch: String,
    /// Whether the installation ends only when the cluster has taken its images over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_adoption: Option<bool>,
    /// `ControlPlane` or `Bootstrap`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub worker_build_location: String,
}

/// Where built images are pushed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LayeringRegistry {
    /// Whether the user says that the load balancer forwards the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_configured: Option<bool>,
    /// Port of the embedded registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// Where MachineOSConfigs that are made push, without pool and tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub push_repository: String,
    /// `Embedded` or `External`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

/// The Containerfile of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LayeringPool {
    /// What makes its image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_file: String,
    /// `master` or `worker`.
    pub name: String,
}

/// Settings of the nodes of a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachinePool {
    /// Whether CPU threads are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyperthreading: Option<Hyperthreading>,
    /// Name.
    pub name: String,
}

/// What is known of a cluster that is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterMetadata {
    /// Secret with the kubeconfig.
    pub admin_kubeconfig_secret_ref: LocalObjectReference,
    /// Secret with the password of `kubeadmin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_password_secret_ref: Option<LocalObjectReference>,
    /// Id that the cluster gave itself.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// Name that the cluster's infrastructure has.
    #[serde(rename = "infraID")]
    pub infra_id: String,
    #[serde(rename = "metadataJSONSecretRef", skip_serializing_if = "Option::is_none")]
    pub metadata_json_secret_ref: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<ClusterPlatformMetadata>,
}

/// What is known of its cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterPlatformMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<GcpMetadata>,
}

/// What is known of a cluster in AWS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AwsMetadata {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hosted_zone_role: String,
}

/// What is known of a cluster in Azure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureMetadata {
    pub resource_group_name: String,
}

/// What is known of a cluster in GCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GcpMetadata {
    #[serde(rename = "networkProjectID", skip_serializing_if = "String::is_empty")]
    pub network_project_id: String,
}

/// A platform that OpenShift does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExternalPlatform {
    /// `External` where the nodes wait for a cloud controller manager.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_controller_manager: String,
    /// Name of the platform; can't change once it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform_name: String,
}

/// Where workers fetch their Ignition config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IgnitionEndpoint {
    /// Secret whose `tls.crt` is the certificate of the authority behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate_reference: Option<NamespacedReference>,
    /// Where it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A ClusterImageSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterImageSetReference {
    /// Name.
    pub name: String,
}

/// Who balances the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<LoadBalancerType>,
}

/// Networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Networking {
    /// Networks of the pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_network: Vec<ClusterNetwork>,
    /// Networks that the nodes' own addresses are in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetwork>,
    /// Network plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_type: Option<NetworkType>,
    /// Networks of the services, as CIDRs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_network: Vec<String>,
    /// Whether load balancers and DNS are somebody else's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
}

/// A network of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// Network as a CIDR.
    pub cidr: String,
    /// Prefix length of what one node gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_prefix: Option<i32>,
}

/// A network of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineNetwork {
    /// Network as a CIDR.
    pub cidr: String,
}

/// How many hosts an installation waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProvisionRequirements {
    /// How many arbiters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter_agents: Option<i64>,
    /// How many control plane nodes.
    pub control_plane_agents: i64,
    /// How many workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_agents: Option<i64>,
}

/// How far the installation is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentClusterInstallStatus {
    /// First address of the API; older than `apiVIPs`.
    #[serde(rename = "apiVIP", skip_serializing_if = "String::is_empty")]
    pub api_vip: String,
    /// Addresses of the API, one per address family.
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<String>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ClusterInstallCondition>,
    /// Who reaches whom, as JSON.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub connectivity_majority_groups: String,
    /// How many control plane nodes were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_agents_discovered: Option<i64>,
    /// How many control plane nodes are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_agents_ready: Option<i64>,
    /// Where to look further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<DebugInfo>,
    /// First address of the ingress; older than `ingressVIPs`.
    #[serde(rename = "ingressVIP", skip_serializing_if = "String::is_empty")]
    pub ingress_vip: String,
    /// Addresses of the ingress, one per address family.
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<String>,
    /// Networks that the nodes' own addresses are in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_network: Vec<MachineNetwork>,
    /// Platform of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_type: Option<PlatformType>,
    /// How far the installation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ClusterProgress>,
    /// Whether load balancers and DNS are somebody else's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_managed_networking: Option<bool>,
    /// Outcomes of the validations by their category.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub validations_info: BTreeMap<String, Vec<ValidationResult>>,
    /// How many workers were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_agents_discovered: Option<i64>,
    /// How many workers are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_agents_ready: Option<i64>,
}

/// What is known about an installation. Both times change with any of the other fields (kube-api §3.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterInstallCondition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub status: String,
    pub r#type: String,
}

/// How far an installation is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterProgress {
    /// In percent.
    pub total_percentage: i64,
}

/// Whether CPU threads are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hyperthreading {
    #[default]
    #[serde(rename = "")]
    Unset,
    Enabled,
    Disabled,
}

/// Who balances the load of API and ingress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadBalancerType {
    #[default]
    ClusterManaged,
    UserManaged,
}

/// Platform of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlatformType {
    #[default]
    #[serde(rename = "")]
    Unset,
    BareMetal,
    None,
    VSphere,
    Nutanix,
    External,
}
