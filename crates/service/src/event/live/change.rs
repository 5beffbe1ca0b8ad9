//! Changes of objects, as front ends see them.

use std::mem::size_of;
use std::sync::{Arc, OnceLock};

use assisted_wire::cluster::Cluster;
use assisted_wire::event::Event;
use assisted_wire::host::Host;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::InfraEnv;
use bytes::Bytes;

/// One change of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// What was sent before is void. The present state follows if one cluster is watched; who watches all of them lists what it
    /// wants to know.
    Reset,
    /// A cluster without its hosts; one that has `deleted_at` is gone.
    Cluster(Box<Cluster>),
    /// A host without its reports; one that has `deleted_at`, or another cluster than the one that is watched, is gone.
    Host(Box<Host>),
    /// An infra-env, for who asked for them.
    InfraEnv(Box<InfraEnv>),
    /// An infra-env was deleted.
    InfraEnvDeleted(InfraEnvId),
    /// An event, as the list of events shows it.
    Event(Box<Event>),
}

impl Change {
    /// Bytes that it takes, about: those of its long texts, and of everything else what it takes at the least.
    fn weight(&self) -> usize {
        match self {
            Self::Reset | Self::InfraEnvDeleted(_) => size_of::<Self>(),
            Self::Cluster(cluster) => {
                let Cluster { validations_info, feature_usage, install_config_overrides, .. } = &**cluster;
                let Cluster { connectivity_majority_groups, status_info, ssh_public_key, .. } = &**cluster;
                let texts = [validations_info, feature_usage, install_config_overrides, status_info];
                let texts = texts.into_iter().chain([connectivity_majority_groups, ssh_public_key]);
                size_of::<Cluster>() + texts.map(String::len).sum::<usize>()
            }
            Self::Host(host) => {
                let Host { validations_info, status_info, images_status, disks_info, .. } = &**host;
                let texts = [validations_info, status_info, images_status, disks_info];
                size_of::<Host>() + texts.into_iter().map(String::len).sum::<usize>()
            }
            Self::InfraEnv(infra_env) => {
                let InfraEnv { static_network_config, ignition_config_override, .. } = &**infra_env;
                size_of::<InfraEnv>() + static_network_config.len() + ignition_config_override.len()
            }
            Self::Event(event) => size_of::<Event>() + event.message.len() + event.props.len(),
        }
    }
}

/// A change that many watchers get, and what a front end made of it.
#[derive(Debug)]
pub(super) struct Shared {
    change: Change,
    rendered: OnceLock<Bytes>,
}

impl Shared {
    pub(super) fn new(change: Change) -> Arc<Self> {
        Arc::new(Self { change, rendered: OnceLock::new() })
    }

    /// Bytes that it takes, about, once it is rendered.
    pub(super) fn weight(&self) -> usize {
        2 * self.change.weight()
    }

    pub(super) fn change(&self) -> &Change {
        &self.change
    }

    /// The change as a front end sends it: made once, however many watch. All who ask must make the same of it.
    pub(super) fn rendered<E>(&self, render: impl FnOnce(&Change) -> Result<Bytes, E>) -> Result<Bytes, E> {
        if let Some(rendered) = self.rendered.get() {
            return Ok(rendered.clone());
        }
        let rendered = render(&self.change)?;
        Ok(self.rendered.get_or_init(|| rendered).clone())
    }
}
