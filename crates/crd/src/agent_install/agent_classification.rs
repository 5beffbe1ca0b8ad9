//! AgentClassification: a label for Agents whose inventory a query is true of.

use serde::{Deserialize, Serialize};

use crate::common::Condition;
use crate::resource::resource;

resource! {
    /// A label for Agents whose inventory a query is true of.
    AgentClassification, "agent-install.openshift.io", "v1beta1", "agentclassifications", Namespaced {
        spec: AgentClassificationSpec,
        status: AgentClassificationStatus,
    }
}

/// The query and the label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentClassificationSpec {
    /// Key of the label, behind `agentclassification.agent-install.openshift.io/`. Can't change.
    pub label_key: String,
    /// Value of the label. Can't change.
    pub label_value: String,
    /// Query in the language of jq over the inventory; true or false.
    pub query: String,
}

/// How often it held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentClassificationStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// For how many Agents the query failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_count: Option<i64>,
    /// How many Agents carry the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_count: Option<i64>,
}
