//! What a service still has to do for a cluster. An addition to the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// Work that a service does by itself, and tries again until it succeeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "pending-action")]
pub struct PendingAction {
    /// What is to be done: `generate`, `create_dns_records`, `delete_dns_records`, `update_subscription`, `delete_generated`,
    /// `delete_logs` or `delete_cluster`.
    pub action: String,
    /// When it was asked for.
    pub asked_at: DateTime,
    /// How often it was begun.
    pub attempts: i64,
    /// What the last attempt failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// In the order in which it is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "pending-action-list")]
pub struct PendingActionList(pub Vec<PendingAction>);
