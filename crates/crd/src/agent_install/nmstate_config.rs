//! NMStateConfig: the static network of one host.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::resource::resource;

resource! {
    /// The static network of one host.
    NMStateConfig, "agent-install.openshift.io", "v1beta1", "nmstateconfigs", Namespaced {
        spec: NMStateConfigSpec,
    }
}

/// The network, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NMStateConfigSpec {
    /// State of the network as NMState describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// Which of the host's interfaces the names stand for, by hardware address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<NMStateConfigInterface>,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NMStateConfigInterface {
    /// Hardware address.
    pub mac_address: String,
    /// Name in `config`.
    pub name: String,
}
