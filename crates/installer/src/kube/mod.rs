//! The cluster that forms, as the bootstrap host sees it: a few questions to its API, and one change.
//!
//! No library for Kubernetes: the installer needs nine calls of it, and must stay small.

mod api;
mod dry_run;
mod kubeconfig;
mod object;

use std::collections::BTreeMap;

pub use api::{Api, KubeError};
pub use dry_run::DryRunCluster;
pub use kubeconfig::{Kubeconfig, KubeconfigError};
pub use object::{Condition, Node, Taint};

/// Namespace of the controller.
pub const NAMESPACE: &str = "assisted-installer";

/// A cluster, real or pretended.
#[derive(Clone, Debug)]
pub enum Kube {
    Api(Box<Api>),
    DryRun(DryRunCluster),
}

impl Kube {
    /// Nodes with a label, such as `node-role.kubernetes.io/master`.
    ///
    /// # Errors
    /// When the cluster gives no answer.
    pub async fn nodes(&self, label: &str) -> Result<Vec<Node>, KubeError> {
        match self {
            Self::Api(api) => api.nodes(label).await,
            Self::DryRun(cluster) => Ok(cluster.nodes(label)),
        }
    }

    /// What a config map holds; `None` where there is none.
    ///
    /// # Errors
    /// When the cluster gives no answer.
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, KubeError> {
        match self {
            Self::Api(api) => api.config_map(namespace, name).await,
            Self::DryRun(cluster) => Ok(cluster.config_map(name)),
        }
    }

    /// Whether there is an event of this name in the controller's namespace.
    ///
    /// # Errors
    /// When the cluster gives no answer.
    pub async fn has_event(&self, name: &str) -> Result<bool, KubeError> {
        match self {
            Self::Api(api) => api.has_event(NAMESPACE, name).await,
            Self::DryRun(_) => Ok(true),
        }
    }

    /// Whether there is a machine config of this name.
    ///
    /// # Errors
    /// When the cluster gives no answer.
    pub async fn has_machine_config(&self, name: &str) -> Result<bool, KubeError> {
        match self {
            Self::Api(api) => api.has_machine_config(name).await,
            Self::DryRun(_) => Ok(true),
        }
    }

    /// Takes a taint off a node; nothing happens where it has none of that key.
    ///
    /// # Errors
    /// When the cluster refuses, or the node changed meanwhile.
    pub async fn remove_taint(&self, node: &Node, key: &str) -> Result<(), KubeError> {
        match self {
            Self::Api(api) => api.remove_taint(node, key).await,
            Self::DryRun(_) => Ok(()),
        }
    }

    /// The controller's log of so many seconds; `None` where it doesn't run.
    ///
    /// # Errors
    /// When the cluster gives no answer.
    pub async fn controller_log(&self, seconds: u32) -> Result<Option<Vec<u8>>, KubeError> {
        match self {
            Self::Api(api) => api.controller_log(seconds).await,
            Self::DryRun(_) => Ok(Some(b"a pretended controller\n".to_vec())),
        }
    }
}
