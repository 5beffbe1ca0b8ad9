//! An infra-env, as its InfraEnv describes it.

mod create;
mod static_network;
mod update;

use assisted_crd::agent_install::infra_env::{InfraEnv, IpxeScriptType};
use assisted_wire::infra_env::HostStaticNetworkConfig;
use assisted_wire::secret::Secret;

pub use create::Cluster;
pub use update::Update;
pub(crate) use update::given_fields;

use crate::objects::{self, Objects};
use crate::sync_error::SyncError;

/// An InfraEnv, with what it refers to.
#[derive(Clone, Debug)]
pub struct InfraEnvSpec<'a> {
    object: &'a InfraEnv,
    pull_secret: Secret,
    networks: Vec<HostStaticNetworkConfig>,
}

impl<'a> InfraEnvSpec<'a> {
    /// Looks up what the object refers to.
    ///
    /// # Errors
    /// The first reference that leads nowhere.
    pub fn resolve(object: &'a InfraEnv, objects: &dyn Objects) -> Result<Self, SyncError> {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let pull_secret = objects::pull_secret(objects, namespace, &object.spec.pull_secret_ref.name)?;
        let networks = static_network::networks(object, objects)?;
        Ok(Self { object, pull_secret, networks })
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    /// The fields that are set and mean something to an API server alone.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let spec = &self.object.spec;
        let approval = spec.agent_approval.as_ref().and_then(|approval| approval.auto_approve);
        let fields = [
            ("agentLabels", !spec.agent_labels.is_empty()),
            ("agentApproval", approval.is_some()),
            ("ipxeScriptType", spec.ipxe_script_type.is_some_and(|kind| kind != IpxeScriptType::Unset)),
        ];
        fields.into_iter().filter(|(_, set)| *set).map(|(field, _)| field).collect()
    }

    /// How many hosts have a static network.
    pub fn networks(&self) -> usize {
        self.networks.len()
    }
}
