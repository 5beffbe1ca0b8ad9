//! Images of nodes that are built while a cluster is installed: what the service tells of them, and what is reported to it
//! (ocl-day1 §B10). An addition to the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::HostId;
use crate::text_enum;
use crate::time::DateTime;

text_enum! {
    /// How far a cluster's images are, all pools together.
    #[schemars(rename = "on-cluster-layering-status")]
    pub enum LayeringStatus {
        Disabled = "disabled",
        Pending = "pending",
        Building = "building",
        Ready = "ready",
        Adopting = "adopting",
        Adopted = "adopted",
        Failed = "failed",
    }
}

text_enum! {
    /// The pools whose image can be built.
    #[schemars(rename = "on-cluster-layering-pool")]
    pub enum Pool {
        Master = "master",
        Worker = "worker",
    }
}

text_enum! {
    /// Where an image is built.
    #[schemars(rename = "on-cluster-layering-location")]
    pub enum BuildLocation {
        Bootstrap = "bootstrap",
        ControlPlane = "control-plane",
    }
}

text_enum! {
    /// What a build does, in this order (ocl-day1 §B5.1). `ready` and `failed` are the two ends.
    #[schemars(rename = "on-cluster-layering-build-state")]
    pub enum BuildState {
        Pending = "pending",
        WaitingForRender = "waiting-for-render",
        Rendered = "rendered",
        Preflight = "preflight",
        PreparingScratch = "preparing-scratch",
        StartingRegistry = "starting-registry",
        PullingBase = "pulling-base",
        Building = "building",
        Pushing = "pushing",
        Verifying = "verifying",
        Rerendering = "rerendering",
        Ready = "ready",
        Failed = "failed",
    }
}

impl BuildState {
    /// Whether nothing follows it in the same attempt.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Ready | Self::Failed)
    }
}

text_enum! {
    /// What made a build, or the roll-out of an image, fail (ocl-day1 §B12).
    #[schemars(rename = "on-cluster-layering-error-code")]
    pub enum LayeringErrorCode {
        Render = "render",
        Preflight = "preflight",
        Scratch = "scratch",
        Registry = "registry",
        Pull = "pull",
        BuildUser = "build-user",
        BuildInfra = "build-infra",
        Push = "push",
        Verify = "verify",
        Deploy = "deploy",
        Boot = "boot",
        Adopt = "adopt",
        Timeout = "timeout",
        Lost = "lost",
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// What a host does about its image: finer than the published stages, which get no new values.
    #[schemars(rename = "on-cluster-layering-host-phase")]
    pub enum HostPhase {
        Building = "building",
        Waiting = "waiting",
        Deploying = "deploying",
        Replicating = "replicating",
        Switching = "switching",
        Done = "done",
        Failed = "failed",
    }
}

/// The build of one pool's image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-build")]
pub struct LayeringBuild {
    pub pool: Pool,
    pub location: BuildLocation,
    /// The host that builds, once one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    pub state: BuildState,
    /// Counted from 1; 0 before the first.
    #[serde(default)]
    pub attempt: u32,
    /// Of the whole build, 0 to 100.
    #[serde(default)]
    pub percent: u8,
    /// What is done right now, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The MachineConfig that was rendered first, and is in the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_machine_config: Option<String>,
    /// The image that it is built from, by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_image: Option<String>,
    /// What nodes boot: the image by digest, once it is pushed and verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Bytes of the image's layers in the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<u64>,
    /// SHA-256 of all that the image is made from, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_hash: Option<String>,
    /// False when the release's machine config operator can't take the image over: the image is used, and no MachineOSConfig is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seedable: Option<bool>,
    /// Whether the cluster has taken the image over as its own.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub adopted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<DateTime>,
    /// Why it failed, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<LayeringErrorCode>,
}

/// What a host does about its image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-host")]
pub struct LayeringHost {
    pub host_id: HostId,
    pub phase: HostPhase,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub info: String,
}

/// What a builder, or the controller, reports: the whole record of one pool, and what hosts do if that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-report")]
pub struct LayeringReport {
    pub build: LayeringBuild,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LayeringHost>,
}

/// The images of a cluster's nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "on-cluster-layering-state")]
pub struct LayeringState {
    pub enabled: bool,
    /// `Embedded` or `External`.
    pub registry_type: String,
    /// Port of the embedded registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_port: Option<u16>,
    /// `Deploy` or `Switch`.
    pub rollout: String,
    pub status: LayeringStatus,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status_info: String,
    /// Whether the cluster has taken all images over as its own.
    pub adopted: bool,
    #[serde(default)]
    pub builds: Vec<LayeringBuild>,
    #[serde(default)]
    pub hosts: Vec<LayeringHost>,
}
