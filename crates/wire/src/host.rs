//! Hosts as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::id::{ClusterId, HostId, InfraEnvId};
use crate::logs::LogsState;
use crate::own_operators::{operator_enum, with_own_operators};
use crate::text_enum;
use crate::time::DateTime;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct NextStepRunnerCommand {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub command: String,
    #[serde(default)]
    pub args: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub retry_seconds: i64,
}

/// Answer to a registration: the host, and what to start on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host_registration_response")]
pub struct HostRegistrationResponse {
    #[serde(flatten)]
    pub host: Host,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_runner_command: Option<NextStepRunnerCommand>,
}

text_enum! {
    #[schemars(inline)]
    pub enum HostKind {
        Host = "Host",
        AddToExistingClusterHost = "AddToExistingClusterHost",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum HostStatus {
        Discovering = "discovering",
        Known = "known",
        Disconnected = "disconnected",
        Insufficient = "insufficient",
        Disabled = "disabled",
        PreparingForInstallation = "preparing-for-installation",
        PreparingFailed = "preparing-failed",
        PreparingSuccessful = "preparing-successful",
        PendingForInput = "pending-for-input",
        Installing = "installing",
        InstallingInProgress = "installing-in-progress",
        InstallingPendingUserAction = "installing-pending-user-action",
        ResettingPendingUserAction = "resetting-pending-user-action",
        Installed = "installed",
        Error = "error",
        Resetting = "resetting",
        AddedToExistingCluster = "added-to-existing-cluster",
        Cancelled = "cancelled",
        Binding = "binding",
        Unbinding = "unbinding",
        UnbindingPendingUserAction = "unbinding-pending-user-action",
        KnownUnbound = "known-unbound",
        DisconnectedUnbound = "disconnected-unbound",
        InsufficientUnbound = "insufficient-unbound",
        DisabledUnbound = "disabled-unbound",
        DiscoveringUnbound = "discovering-unbound",
        Reclaiming = "reclaiming",
        ReclaimingRebooting = "reclaiming-rebooting",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum MediaStatus {
        Connected = "connected",
        Disconnected = "disconnected",
    }
}

/// A machine that booted a discovery image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host")]
pub struct Host {
    pub kind: HostKind,
    pub id: HostId,
    pub href: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    pub status: HostStatus,
    pub status_info: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub validations_info: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs_info: Option<LogsState>,
    #[serde(default)]
    pub status_updated_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<HostProgressInfo>,
    #[serde(default)]
    pub stage_started_at: DateTime,
    #[serde(default)]
    pub stage_updated_at: DateTime,
    #[serde(default)]
    #[schemars(extend("x-nullable" = true))]
    pub progress_stages: Option<Vec<HostStage>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub connectivity: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub api_vip_connectivity: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tang_connectivity: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub inventory: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub free_addresses: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ntp_sources: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub disks_info: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<HostRole>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_role: Option<HostRole>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub bootstrap: bool,
    #[serde(default)]
    pub logs_collected_at: DateTime,
    #[serde(default)]
    pub logs_started_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installer_version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installation_disk_path: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installation_disk_id: String,
    #[serde(default, with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub updated_at: DateTime,
    #[serde(default, with = "crate::time::precise")]
    #[schemars(with = "DateTime")]
    pub created_at: DateTime,
    #[serde(default)]
    pub checked_in_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub connection_timed_out: bool,
    #[serde(default)]
    pub registered_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub discovery_agent_version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub requested_hostname: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub user_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("default" = "connected"))]
    pub media_status: Option<MediaStatus>,
    /// `null` while the object lives.
    #[serde(default)]
    #[schemars(with = "Value")]
    pub deleted_at: Option<DateTime>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition_config_overrides: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installer_args: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub timestamp: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub machine_config_pool_name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub images_status: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub domain_name_resolutions: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ignition_endpoint_token_set: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub node_labels: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub disks_to_be_formatted: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub skip_formatting_disks: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub fencing_credentials: String,
}

impl Host {
    /// The stage of the installation that the host is in; `None` before it begins.
    pub fn stage(&self) -> Option<HostStage> {
        self.progress.as_ref()?.current_stage
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-list")]
pub struct HostList(pub Vec<Host>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-progress")]
pub struct HostProgress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_stage: Option<HostStage>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub progress_info: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-progress-info")]
pub struct HostProgressInfo {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installation_percentage: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_stage: Option<HostStage>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub progress_info: String,
    #[serde(default)]
    pub stage_started_at: DateTime,
    #[serde(default)]
    pub stage_updated_at: DateTime,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub stage_timed_out: bool,
}

text_enum! {
    #[schemars(rename = "host-stage")]
    pub enum HostStage {
        StartingInstallation = "Starting installation",
        WaitingForControlPlane = "Waiting for control plane",
        WaitingForBootkube = "Waiting for bootkube",
        WaitingForController = "Waiting for controller",
        Installing = "Installing",
        WritingImageToDisk = "Writing image to disk",
        CopyingRegistryDataToDisk = "Copying registry data to disk",
        Rebooting = "Rebooting",
        WaitingForIgnition = "Waiting for ignition",
        Configuring = "Configuring",
        Joined = "Joined",
        Done = "Done",
        Failed = "Failed",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk_speed")]
pub struct DiskSpeed {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tested: bool,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub exit_code: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub speed_ms: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "disk_info")]
pub struct DiskInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_speed: Option<DiskSpeed>,
}

text_enum! {
    #[schemars(rename = "host-role")]
    pub enum HostRole {
        AutoAssign = "auto-assign",
        Master = "master",
        Arbiter = "arbiter",
        Worker = "worker",
        Bootstrap = "bootstrap",
    }
}

with_own_operators! { operator_enum! validation
    #[schemars(rename = "host-validation-id")]
    pub enum HostValidationId {
        Connected = "connected",
        MediaConnected = "media-connected",
        HasInventory = "has-inventory",
        InventoryNotPartiallyTruncated = "inventory-not-partially-truncated",
        InventoryNotFullyTruncated = "inventory-not-fully-truncated",
        HasMinCpuCores = "has-min-cpu-cores",
        HasMinValidDisks = "has-min-valid-disks",
        HasMinMemory = "has-min-memory",
        MachineCidrDefined = "machine-cidr-defined",
        HasCpuCoresForRole = "has-cpu-cores-for-role",
        HasMemoryForRole = "has-memory-for-role",
        HostnameUnique = "hostname-unique",
        HostnameValid = "hostname-valid",
        BelongsToMachineCidr = "belongs-to-machine-cidr",
        IgnitionDownloadable = "ignition-downloadable",
        BelongsToMajorityGroup = "belongs-to-majority-group",
        ValidPlatformNetworkSettings = "valid-platform-network-settings",
        NtpSynced = "ntp-synced",
        TimeSyncedBetweenHostAndService = "time-synced-between-host-and-service",
        ContainerImagesAvailable = "container-images-available",
        LsoRequirementsSatisfied = "lso-requirements-satisfied",
        OcsRequirementsSatisfied = "ocs-requirements-satisfied",
        OdfRequirementsSatisfied = "odf-requirements-satisfied",
        LvmRequirementsSatisfied = "lvm-requirements-satisfied",
        MceRequirementsSatisfied = "mce-requirements-satisfied",
        MtvRequirementsSatisfied = "mtv-requirements-satisfied",
        OscRequirementsSatisfied = "osc-requirements-satisfied",
        SufficientInstallationDiskSpeed = "sufficient-installation-disk-speed",
        CnvRequirementsSatisfied = "cnv-requirements-satisfied",
        SufficientNetworkLatencyRequirementForRole = "sufficient-network-latency-requirement-for-role",
        SufficientPacketLossRequirementForRole = "sufficient-packet-loss-requirement-for-role",
        HasDefaultRoute = "has-default-route",
        ApiDomainNameResolvedCorrectly = "api-domain-name-resolved-correctly",
        ApiIntDomainNameResolvedCorrectly = "api-int-domain-name-resolved-correctly",
        AppsDomainNameResolvedCorrectly = "apps-domain-name-resolved-correctly",
        ReleaseDomainNameResolvedCorrectly = "release-domain-name-resolved-correctly",
        CompatibleWithClusterPlatform = "compatible-with-cluster-platform",
        DnsWildcardNotConfigured = "dns-wildcard-not-configured",
        DiskEncryptionRequirementsSatisfied = "disk-encryption-requirements-satisfied",
        NonOverlappingSubnets = "non-overlapping-subnets",
        VsphereDiskUuidEnabled = "vsphere-disk-uuid-enabled",
        CompatibleAgent = "compatible-agent",
        NoSkipInstallationDisk = "no-skip-installation-disk",
        NoSkipMissingDisk = "no-skip-missing-disk",
        NoIpCollisionsInNetwork = "no-ip-collisions-in-network",
        NoIscsiNicBelongsToMachineCidr = "no-iscsi-nic-belongs-to-machine-cidr",
        NodeFeatureDiscoveryRequirementsSatisfied = "node-feature-discovery-requirements-satisfied",
        NvidiaGpuRequirementsSatisfied = "nvidia-gpu-requirements-satisfied",
        PipelinesRequirementsSatisfied = "pipelines-requirements-satisfied",
        ServicemeshRequirementsSatisfied = "servicemesh-requirements-satisfied",
        ServerlessRequirementsSatisfied = "serverless-requirements-satisfied",
        OpenshiftAiRequirementsSatisfied = "openshift-ai-requirements-satisfied",
        AuthorinoRequirementsSatisfied = "authorino-requirements-satisfied",
        MtuValid = "mtu-valid",
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
        OclDiskCompatible = "ocl-disk-compatible": "image mode at installation: the image is put onto the disk before its first start",
        OclBuildResources = "ocl-build-resources": "image mode at installation: any control plane host may be the one that builds",
    }
}
