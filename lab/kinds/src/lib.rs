//! The kinds of objects that an OpenShift cluster has beside Kubernetes' own. Tests and the lab's cluster define them at a real API, so that it
//! refuses what a real cluster's would: a wrong type, a missing member, a status in the wrong place.
//!
//! They are written here, in the fields that this project writes and reads, and held against the published definitions; tests of programs use
//! those where they are kept (`crates/crd`).

pub mod metal3;
mod outcome;
mod published;
mod schema;

use serde::Deserialize;
use serde_json::{Value, json};

pub use outcome::{Outcome, Outcomes};
pub use schema::{SchemaError, schema};

const KINDS: &str = include_str!("kinds.yaml");
const OPERATORS: &str = include_str!("operators.yaml");

/// A kind of objects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    /// `Cluster` or `Namespaced`.
    pub scope: String,
    /// Whether the status is a subresource.
    pub status: bool,
    /// Its fields, as `kinds.yaml` explains.
    pub fields: Value,
}

/// The kinds that an operator brings, once it is subscribed to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfOperator {
    pub operator: String,
    /// Name of its package, which a subscription asks for.
    pub package: String,
    pub kinds: Vec<Kind>,
}

/// Why the table can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the table of kinds can't be read: {0}")]
    Table(#[from] serde_yaml_ng::Error),
    #[error("{kind}: {source}")]
    Schema { kind: String, source: SchemaError },
}

/// All kinds.
///
/// # Errors
/// The table is wrong.
pub fn kinds() -> Result<Vec<Kind>, Error> {
    Ok(serde_yaml_ng::from_str(KINDS)?)
}

/// The kinds that operators bring, by operator; those that bring none of which this project writes objects are left out.
///
/// # Errors
/// The table is wrong.
pub fn operators() -> Result<Vec<OfOperator>, Error> {
    Ok(serde_yaml_ng::from_str(OPERATORS)?)
}

/// The definitions of all kinds, as an API takes them.
///
/// # Errors
/// The table is wrong.
pub fn definitions() -> Result<Vec<Value>, Error> {
    kinds()?.iter().map(Kind::definition).collect()
}

impl Kind {
    /// The definition of the kind.
    ///
    /// # Errors
    /// A field has no known type.
    pub fn definition(&self) -> Result<Value, Error> {
        let schema =
            schema(&self.fields).map_err(|source| Error::Schema { kind: self.kind.clone(), source })?;
        let subresources = if self.status { json!({"status": {}}) } else { json!({}) };
        Ok(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group, "scope": self.scope,
                "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()},
                "versions": [{
                    "name": self.version, "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema}, "subresources": subresources,
                }],
            },
        }))
    }
}
