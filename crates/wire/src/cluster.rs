//! Clusters as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::cluster_options::{CpuArchitecture, HighAvailabilityMode, NetworkType, RoleSet};
use crate::host::Host;
use crate::id::ClusterId;
use crate::infra_env::ImageInfo;
pub use crate::logs::LogsState;
use crate::network::{
    ApiVip, ClusterNetwork, DnsRecord, HostNetwork, IngressVip, LoadBalancer, MachineNetwork, ServiceNetwork,
};
use crate::operator::{BundleCreateParams, MonitoredOperator};
use crate::own_operators::{operator_enum, with_own_operators};
use crate::platform::Platform;
use crate::text_enum;
use crate::time::DateTime;

text_enum! {
    #[schemars(rename = "finalizing-stage")]
    pub enum FinalizingStage {
        WaitingForClusterOperators = "Waiting for cluster operators",
        AddingRouterCa = "Adding router ca",
        ApplyingOlmManifests = "Applying olm manifests",
        WaitingForOlmOperatorsCsvInitialization = "Waiting for olm operators csv initialization",
        WaitingForOlmOperatorsCsv = "Waiting for olm operators csv",
        WaitingForOLMOperatorSetupJobs = "Waiting for OLM operator setup jobs",
        Done = "Done",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum ClusterKind {
        Cluster = "Cluster",
        AddHostsCluster = "AddHostsCluster",
        DisconnectedCluster = "DisconnectedCluster",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum ClusterStatus {
        Insufficient = "insufficient",
        Ready = "ready",
        Error = "error",
        PreparingForInstallation = "preparing-for-installation",
        PendingForInput = "pending-for-input",
        Installing = "installing",
        Finalizing = "finalizing",
        Installed = "installed",
        AddingHosts = "adding-hosts",
        Cancelled = "cancelled",
        InstallingPendingUserAction = "installing-pending-user-action",
        Unmonitored = "unmonitored",
    }
}

/// A cluster that is described, being installed, or installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster")]
pub struct Cluster {
    pub kind: ClusterKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Full"))]
    pub high_availability_mode: Option<HighAvailabilityMode>,
    pub id: ClusterId,
    pub href: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub user_name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub org_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub email_domain: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub openshift_version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ocp_release_image: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openshift_cluster_id: Option<Uuid>,
    pub image_info: ImageInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub base_dns_domain: String,
    /// The DNS records that the service keeps for the cluster; left out where it keeps none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_records: Vec<DnsRecord>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::SUBNET))]
    pub cluster_network_cidr: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(range(min = 1, max = 128))]
    pub cluster_network_host_prefix: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::SUBNET))]
    pub service_network_cidr: String,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub api_vips: Option<Vec<ApiVip>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub api_vip_dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::SUBNET))]
    pub machine_network_cidr: String,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub ingress_vips: Option<Vec<IngressVip>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ssh_public_key: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub http_proxy: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub https_proxy: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub no_proxy: String,
    pub status: ClusterStatus,
    pub status_info: String,
    #[serde(default)]
    pub status_updated_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ClusterProgressInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    #[serde(default)]
    pub hosts: Option<Vec<Host>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "int64"))]
    pub ready_host_count: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "int64"))]
    pub enabled_host_count: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(extend("format" = "int64"))]
    pub total_host_count: i64,
    /// Always written (service-api §1.4).
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub schedulable_masters: bool,
    /// Always written (service-api §1.4).
    #[serde(default)]
    #[schemars(extend("default" = true))]
    pub schedulable_masters_forced_true: bool,
    #[serde(default, with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub updated_at: DateTime,
    #[serde(default, with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub created_at: DateTime,
    #[serde(default)]
    pub install_started_at: DateTime,
    #[serde(default)]
    pub install_completed_at: DateTime,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub host_networks: Option<Vec<HostNetwork>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub pull_secret_set: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub vip_dhcp_allocation: Option<bool>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub validations_info: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs_info: Option<LogsState>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub install_config_overrides: String,
    #[serde(default)]
    pub controller_logs_collected_at: DateTime,
    #[serde(default)]
    pub controller_logs_started_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub connectivity_majority_groups: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ip_collisions: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignored_host_validations: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignored_cluster_validations: String,
    /// `null` while the object lives.
    #[serde(default)]
    #[schemars(with = "Value")]
    pub deleted_at: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub user_managed_networking: Option<bool>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub additional_ntp_source: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ntp_sources: String,
    #[serde(default)]
    pub monitored_operators: Option<Vec<MonitoredOperator>>,
    #[serde(default)]
    pub operator_bundles: Option<Vec<BundleCreateParams>>,
    /// What the account service calls the cluster's subscription, which is no UUID, whatever the contract says (running §7.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uuid"))]
    pub ams_subscription_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperthreading: Option<RoleSet>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub feature_usage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub network_type: Option<NetworkType>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_networks: Option<Vec<ClusterNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub service_networks: Option<Vec<ServiceNetwork>>,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub machine_networks: Option<Vec<MachineNetwork>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = false), extend("default" = "x86_64"))]
    pub cpu_architecture: Option<CpuArchitecture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint: Option<IgnitionEndpoint>,
    /// Always written (service-api §1.4).
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub imported: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tags: String,
    #[serde(rename = "last-installation-preparation", default, skip_serializing_if = "Option::is_none")]
    pub last_installation_preparation: Option<LastInstallationPreparation>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub org_soft_timeouts_enabled: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub control_plane_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
}

text_enum! {
    #[schemars(inline)]
    pub enum InstallationPreparationStatus {
        NotStarted = "not_started",
        Failed = "failed",
        Success = "success",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "last-installation-preparation")]
pub struct LastInstallationPreparation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = false), extend("default" = "not_started"))]
    pub status: Option<InstallationPreparationStatus>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ignition-endpoint")]
pub struct IgnitionEndpoint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ca_certificate: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-list")]
pub struct ClusterList(pub Vec<Cluster>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-progress-info")]
pub struct ClusterProgressInfo {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub total_percentage: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub preparing_for_installation_stage_percentage: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installing_stage_percentage: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub finalizing_stage_percentage: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizing_stage: Option<FinalizingStage>,
    #[serde(default)]
    pub finalizing_stage_started_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub finalizing_stage_timed_out: bool,
}

text_enum! {
    #[schemars(inline)]
    pub enum DiskEncryptionMode {
        Tpmv2 = "tpmv2",
        Tang = "tang",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk-encryption")]
pub struct DiskEncryption {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "none"))]
    pub enable_on: Option<RoleSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "tpmv2"))]
    pub mode: Option<DiskEncryptionMode>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tang_servers: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster_default_config")]
pub struct ClusterDefaultConfig {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::IPV4_SUBNET))]
    pub cluster_network_cidr: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(range(min = 1, max = 32))]
    pub cluster_network_host_prefix: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub inactive_deletion_hours: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    #[schemars(regex(pattern = crate::pattern::IPV4_SUBNET))]
    pub service_network_cidr: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ntp_source: String,
    #[serde(default)]
    pub cluster_networks_ipv4: Option<Vec<ClusterNetwork>>,
    #[serde(default)]
    pub cluster_networks_dualstack: Option<Vec<ClusterNetwork>>,
    #[serde(default)]
    pub service_networks_ipv4: Option<Vec<ServiceNetwork>>,
    #[serde(default)]
    pub service_networks_dualstack: Option<Vec<ServiceNetwork>>,
    #[serde(default)]
    pub forbidden_hostnames: Option<Vec<String>>,
}

with_own_operators! { operator_enum! validation
    #[schemars(rename = "cluster-validation-id")]
    pub enum ClusterValidationId {
        MachineCidrDefined = "machine-cidr-defined",
        ClusterCidrDefined = "cluster-cidr-defined",
        ServiceCidrDefined = "service-cidr-defined",
        NoCidrsOverlapping = "no-cidrs-overlapping",
        NetworksSameAddressFamilies = "networks-same-address-families",
        NetworkPrefixValid = "network-prefix-valid",
        MachineCidrEqualsToCalculatedCidr = "machine-cidr-equals-to-calculated-cidr",
        ApiVipsDefined = "api-vips-defined",
        ApiVipsValid = "api-vips-valid",
        IngressVipsDefined = "ingress-vips-defined",
        IngressVipsValid = "ingress-vips-valid",
        AllHostsAreReadyToInstall = "all-hosts-are-ready-to-install",
        SufficientMastersCount = "sufficient-masters-count",
        DnsDomainDefined = "dns-domain-defined",
        PullSecretSet = "pull-secret-set",
        NtpServerConfigured = "ntp-server-configured",
        LsoRequirementsSatisfied = "lso-requirements-satisfied",
        OcsRequirementsSatisfied = "ocs-requirements-satisfied",
        OdfRequirementsSatisfied = "odf-requirements-satisfied",
        CnvRequirementsSatisfied = "cnv-requirements-satisfied",
        LvmRequirementsSatisfied = "lvm-requirements-satisfied",
        MceRequirementsSatisfied = "mce-requirements-satisfied",
        MtvRequirementsSatisfied = "mtv-requirements-satisfied",
        OscRequirementsSatisfied = "osc-requirements-satisfied",
        NetworkTypeValid = "network-type-valid",
        CustomManifestsRequirementsSatisfied = "custom-manifests-requirements-satisfied",
        PlatformRequirementsSatisfied = "platform-requirements-satisfied",
        NodeFeatureDiscoveryRequirementsSatisfied = "node-feature-discovery-requirements-satisfied",
        NvidiaGpuRequirementsSatisfied = "nvidia-gpu-requirements-satisfied",
        PipelinesRequirementsSatisfied = "pipelines-requirements-satisfied",
        ServicemeshRequirementsSatisfied = "servicemesh-requirements-satisfied",
        ServerlessRequirementsSatisfied = "serverless-requirements-satisfied",
        OpenshiftAiRequirementsSatisfied = "openshift-ai-requirements-satisfied",
        OpenshiftAiGpuRequirementsSatisfied = "openshift-ai-gpu-requirements-satisfied",
        AuthorinoRequirementsSatisfied = "authorino-requirements-satisfied",
        NmstateRequirementsSatisfied = "nmstate-requirements-satisfied",
        AmdGpuRequirementsSatisfied = "amd-gpu-requirements-satisfied",
        KmmRequirementsSatisfied = "kmm-requirements-satisfied",
        NodeHealthcheckRequirementsSatisfied = "node-healthcheck-requirements-satisfied",
        SelfNodeRemediationRequirementsSatisfied = "self-node-remediation-requirements-satisfied",
        FenceAgentsRemediationRequirementsSatisfied = "fence-agents-remediation-requirements-satisfied",
        NodeMaintenanceRequirementsSatisfied = "node-maintenance-requirements-satisfied",
        KubeDeschedulerRequirementsSatisfied = "kube-descheduler-requirements-satisfied",
        ClusterObservabilityRequirementsSatisfied = "cluster-observability-requirements-satisfied",
        NumaResourcesRequirementsSatisfied = "numa-resources-requirements-satisfied",
        OadpRequirementsSatisfied = "oadp-requirements-satisfied",
        MetallbRequirementsSatisfied = "metallb-requirements-satisfied",
        LokiRequirementsSatisfied = "loki-requirements-satisfied",
        OpenshiftLoggingRequirementsSatisfied = "openshift-logging-requirements-satisfied",
    } added {
        // Variant = "id": "why it is checked",
        OclConfigurationValid = "ocl-configuration-valid": "image mode at installation: each MachineOSConfig can be built",
        OclMachineOsConfigsPresent = "ocl-machine-os-configs-present": "image mode at installation: each pool has a MachineOSConfig",
        OclSecretsPresent = "ocl-secrets-present": "image mode at installation: the secrets that are named open their registries",
        OclVersionSupported = "ocl-version-supported": "image mode at installation: release, architecture and hosts know it",
        OclArchitectureUniform = "ocl-architecture-uniform": "image mode at installation: one image is for one architecture",
        OclMachineConfigsCompatible = "ocl-machine-configs-compatible": "image mode at installation: nothing of the user's replaces the image",
        OclRegistryReachableByNodes = "ocl-registry-reachable-by-nodes": "image mode at installation: load balancers forward the registry's port",
    }
}

text_enum! {
    #[schemars(rename = "logs_type")]
    pub enum LogsType {
        Host = "host",
        Controller = "controller",
        All = "all",
        Empty = "",
    }
}
