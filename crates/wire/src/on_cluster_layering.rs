//! Images of nodes that are built while a cluster is installed: what the service tells of them, and what is reported to it
//! (ocl-day1 §B10). An addition to the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::HostId;
use crate::secret::Secret;
use crate::text_enum;
use crate::time::DateTime;

/// What a cluster's user asks of image mode beside the install config: the field `onClusterLayering`, in this API's spelling (ocl-day1 §B2).
/// Words and numbers are judged where those of the install config are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-settings")]
pub struct LayeringSettings {
    /// `Disabled` or `Enabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub mode: Option<String>,
    /// `Required` or `Generate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub machine_os_configs: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub registry: Option<LayeringRegistry>,
    /// `ControlPlane` or `Bootstrap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub worker_build_location: Option<String>,
    /// `Deploy` or `Switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub rollout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub bake_configs: Option<bool>,
    /// `Auto`, `Disk` or `Memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub scratch: Option<String>,
    /// For each pool, with all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub build_timeout_minutes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub wait_for_adoption: Option<bool>,
    /// Containerfiles of MachineOSConfigs that are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub pools: Option<Vec<LayeringPoolFile>>,
}

/// Where built images are pushed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-registry")]
pub struct LayeringRegistry {
    /// `Embedded` or `External`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub r#type: Option<String>,
    /// Of the embedded registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub port: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub load_balancer_configured: Option<bool>,
    /// Where MachineOSConfigs that are made push, without pool and tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub push_repository: Option<String>,
    /// Credentials with which MachineOSConfigs that are made push and pull: the text of a docker config. It is never told back; one that is
    /// not given leaves the one that is kept, an empty one takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub push_secret: Option<Secret>,
}

/// The Containerfile of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-pool-file")]
pub struct LayeringPoolFile {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub container_file: Option<String>,
}

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

/// What is reported of one pool: the whole record of its build by whoever builds, and what hosts do. A host reports without a build, which
/// stays as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "on-cluster-layering-report")]
pub struct LayeringReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<LayeringBuild>,
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
    /// What is asked for beside the install config, without its secret; left out where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<LayeringSettings>,
    /// Whether a push secret is kept; left out where there is none.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub push_secret_set: bool,
}
