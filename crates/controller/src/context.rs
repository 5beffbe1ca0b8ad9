//! What all reconcile loops of the controller share, and how its work ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assisted_wire::cluster::ClusterStatus;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Config;
use crate::service::Service;

/// How the installation ended for the controller. Each is an end in peace: its Job must not start it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The cluster has reached this state.
    Ended(ClusterStatus),
    /// The cluster's own API says that it is complete.
    Complete,
    /// The service does not know the cluster.
    Unknown,
    /// The service does not take the controller's token.
    Refused,
}

/// How the images of nodes end: each is the cluster's own, or one has failed, and why.
pub(crate) type ImagesEnd = Result<(), String>;

/// What all reconcile loops of the controller work with.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) kube: Client,
    pub(crate) service: Service,
    pub(crate) degraded: Degraded,
    /// How the images of nodes have ended; nothing while they are followed.
    pub(crate) images: Mutex<Option<ImagesEnd>>,
    /// Notified when the service has taken progress of a host: the state of the cluster may follow from it.
    pub(crate) progress: Arc<Notify>,
}

/// Flags of what is degraded: then the logs at the end hold more, for whoever has to look into it.
#[derive(Debug, Default)]
pub(crate) struct Degraded {
    installation: AtomicBool,
    operators: Mutex<BTreeSet<String>>,
}

impl Degraded {
    pub(crate) fn set(&self) {
        self.installation.store(true, Ordering::Relaxed);
    }

    pub(crate) fn add_operator(&self, name: &str) {
        self.operators.lock().insert(name.to_owned());
    }

    /// Whether the installation itself is degraded.
    pub(crate) fn is_installation(&self) -> bool {
        self.installation.load(Ordering::Relaxed)
    }

    /// The operators of OLM that never came.
    pub(crate) fn operators(&self) -> BTreeSet<String> {
        self.operators.lock().clone()
    }
}
