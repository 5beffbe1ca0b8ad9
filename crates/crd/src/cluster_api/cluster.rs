//! Cluster: what of it is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::common::ContractReference;
use crate::resource::resource;

resource! {
    /// A cluster as Cluster API knows it. Only the fields that are read here.
    Cluster, "cluster.x-k8s.io", "v1beta2", "clusters", Namespaced {
        spec: ClusterSpec,
        status: ClusterStatus,
    }
}

/// The cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Networks inside of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the API is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// The control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractReference>,
    /// Nothing is done with the cluster while this is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// Networks inside of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// Networks of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<NetworkRanges>,
    /// Networks of the services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkRanges>,
}

/// Networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkRanges {
    /// Networks in CIDR form, one per address family.
    pub cidr_blocks: Vec<String>,
}

/// Where an API is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

impl Endpoint {
    /// Whether it names a place.
    pub fn is_set(&self) -> bool {
        !self.host.is_empty() && self.port.is_some_and(|port| port != 0)
    }
}

/// The cluster as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Where machines can be placed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// What has been there once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<ClusterInitialization>,
}

/// A place for machines that fails apart from others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FailureDomain {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Whether control plane machines can be placed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    pub name: String,
}

/// What has been there once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterInitialization {
    /// The API has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
    /// The infrastructure is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

impl Cluster {
    /// Whether the infrastructure is there.
    pub fn has_infrastructure(&self) -> bool {
        let initialization = self.status.as_ref().and_then(|status| status.initialization.as_ref());
        initialization.and_then(|initialization| initialization.infrastructure_provisioned) == Some(true)
    }
}
