//! What a host is told to do, and what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum;

text_enum! {
    #[schemars(inline)]
    pub enum PostStepAction {
        Exit = "exit",
        Continue = "continue",
    }
}

/// Answer to a poll: what to do, and when to ask again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "steps")]
pub struct Steps {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub next_instruction_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "continue"))]
    pub post_step_action: Option<PostStepAction>,
    #[serde(default)]
    pub instructions: Option<Vec<Step>>,
}

text_enum! {
    #[schemars(rename = "step-type")]
    pub enum StepType {
        ConnectivityCheck = "connectivity-check",
        Execute = "execute",
        Inventory = "inventory",
        Install = "install",
        FreeNetworkAddresses = "free-network-addresses",
        DhcpLeaseAllocate = "dhcp-lease-allocate",
        ApiVipConnectivityCheck = "api-vip-connectivity-check",
        TangConnectivityCheck = "tang-connectivity-check",
        NtpSynchronizer = "ntp-synchronizer",
        InstallationDiskSpeedCheck = "installation-disk-speed-check",
        ContainerImageAvailability = "container-image-availability",
        DomainResolution = "domain-resolution",
        StopInstallation = "stop-installation",
        LogsGather = "logs-gather",
        NextStepRunner = "next-step-runner",
        UpgradeAgent = "upgrade-agent",
        DownloadBootArtifacts = "download-boot-artifacts",
        RebootForReclaim = "reboot-for-reclaim",
        VerifyVips = "verify-vips",
    } added {}
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "step")]
pub struct Step {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_type: Option<StepType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub step_id: String,
    #[serde(default)]
    pub args: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "steps-reply")]
pub struct StepsReply(pub Vec<StepReply>);

/// Outcome of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "step-reply")]
pub struct StepReply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_type: Option<StepType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub step_id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub exit_code: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub output: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub error: String,
}
