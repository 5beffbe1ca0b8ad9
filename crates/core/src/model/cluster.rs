//! The stored record of a cluster.

use assisted_wire::cluster::Cluster;
pub use assisted_wire::mirror_registry::MirrorRegistry;
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::action::Attempt;
use crate::model::layering::LayeringRecord;
use crate::model::object_key::ObjectKey;
use crate::model::subscription::SubscriptionRecord;

/// A cluster as it is stored: what the API shows, and what it never shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// What the API shows. Never filled here, but when it is read: hosts, host counts, host networks, image info.
    pub cluster: Cluster,
    /// The pull secret; the API only shows whether there is one.
    #[serde(default)]
    pub pull_secret: Secret,
    /// Address family that comes first in every network list, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_ip_stack: Option<IpStack>,
    /// When the machine networks last changed; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_network_cidr_updated_at: Option<Timestamp>,
    /// Stored text of the settings that a user interface keeps with the cluster.
    #[serde(default)]
    pub ui_settings: String,
    /// JSON list of host validations to ignore; empty: not set.
    #[serde(default)]
    pub ignored_host_validations: String,
    /// JSON list of cluster validations to ignore; empty: not set.
    #[serde(default)]
    pub ignored_cluster_validations: String,
    /// Lease of the API's VIP as the DHCP client wrote it; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_vip_lease: String,
    /// Lease of the ingress VIP as the DHCP client wrote it; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ingress_vip_lease: String,
    /// The change of the machine networks for which an event said that no leases came; `None`: no event said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_timeout_told_for: Option<Timestamp>,
    /// Images out of the release payload that hosts need to know.
    #[serde(default)]
    pub payload: PayloadImages,
    /// The attempt to install for which everything was generated; `None`: for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_for: Option<Attempt>,
    /// The folder, among the files of the cluster, of what was generated; `None`: they are not in a folder of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_folder: Option<String>,
    /// The attempt to install whose DNS records were asked for; `None`: for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_asked_for: Option<Attempt>,
    /// The attempt to install whose DNS records are there; `None`: of none. Which they are stands in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_made_for: Option<Attempt>,
    /// Whether the kubeconfig that trusts the cluster's own ingress is stored.
    #[serde(default)]
    pub kubeconfig_stored: bool,
    /// Registries that stand in for others for this cluster, in the place of the service's; `None`: the service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_registry: Option<MirrorRegistry>,
    /// Fingerprint of what connectivity groups and IP collisions were worked out from; `None`: of nothing yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connectivity_print: Option<u64>,
    /// The ClusterDeployment that describes the cluster; `None`: nobody does in the Kubernetes API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_key: Option<ObjectKey>,
    /// What is kept of image mode at installation.
    #[serde(default, skip_serializing_if = "LayeringRecord::is_empty")]
    pub layering: LayeringRecord,
    /// What the account service was told of the cluster.
    #[serde(default, skip_serializing_if = "SubscriptionRecord::is_empty")]
    pub subscription: SubscriptionRecord,
}

impl ClusterRecord {
    /// Whether somebody follows the nodes of hosts that join it once it is installed: the controllers of a hub do, where an object
    /// describes it.
    pub fn follows_nodes(&self) -> bool {
        self.object_key.is_some()
    }
}

/// Images that a release payload names; each empty until the payload was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadImages {
    /// The machine-config operator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mco: String,
    /// What collects data of a failed cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub must_gather: String,
    /// The operating system.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub coreos: String,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IpStack {
    #[serde(rename = "4")]
    V4,
    #[serde(rename = "6")]
    V6,
}
