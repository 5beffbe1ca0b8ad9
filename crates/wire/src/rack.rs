//! Machines of a rack, by their management controllers (Redfish). An addition to the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::InfraEnvId;
use crate::secret::Secret;
use crate::text_enum;
use crate::time::DateTime;

/// A machine to be known.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine-create-params")]
pub struct MachineCreateParams {
    /// What people call it; none is called so twice.
    pub name: String,
    /// The machine's resource at its controller, such as `https://192.0.2.1/redfish/v1/Systems/1`.
    pub system: String,
    /// Account at the controller.
    pub user: String,
    pub password: Secret,
    /// Whether any certificate of the controller is taken: most sign their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
}

text_enum! {
    /// How a machine's power is changed; `off` does not ask what runs on it, `reset` presses its button.
    #[schemars(inline)]
    pub enum MachinePower {
        On = "on",
        Off = "off",
        Reset = "reset",
    }
}

/// What is asked of a machine's power.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine-power-params")]
pub struct MachinePowerParams {
    pub power: MachinePower,
}

/// What a machine is to boot, once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine-boot-params")]
pub struct MachineBootParams {
    /// The infra-env whose discovery image it is.
    pub infra_env_id: InfraEnvId,
}

/// What was asked of a machine last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine-action")]
pub struct MachineAction {
    /// `on`, `off`, `reset` or `boot`.
    pub what: String,
    /// `running`, `done` or `failed`.
    pub state: String,
    pub started_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime>,
    /// What it waits for, or what it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A machine that is known. Its password is told to nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine")]
pub struct RackMachine {
    pub id: Uuid,
    pub name: String,
    pub system: String,
    pub user: String,
    pub insecure: bool,
    pub created_at: DateTime,
    /// `On`, `Off`, or what its controller says else; told for one machine that is asked for, not in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
    /// Why its power is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<MachineAction>,
}

/// All machines, by their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine-list")]
pub struct MachineList(pub Vec<RackMachine>);
