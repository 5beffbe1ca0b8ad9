//! What one pass over a config works with, and what stands in its way.

use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::conditions::config as says;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::condition::{Outcome, Statement};
use assisted_reconcile::Failure;

use super::decide::BootMethod;

/// When what no watch tells of is looked for again.
pub(super) const AGAIN: Duration = Duration::from_secs(60);
/// The same, while something is about to happen.
pub(super) const SOON: Duration = Duration::from_secs(10);

/// What stands in the way of something.
pub(super) struct Obstacle {
    pub(super) statement: Statement,
    pub(super) next: Next,
}

/// What is done about an obstacle.
pub(super) enum Next {
    /// A watch tells when it is gone; and it is looked for after a while.
    Wait(Duration),
    /// It is tried again.
    Retry(Failure),
}

impl Obstacle {
    pub(super) fn waiting(statement: Statement, pause: Duration) -> Self {
        Self { statement, next: Next::Wait(pause) }
    }

    /// A failure that is told in a condition whose message it is.
    pub(super) fn failed(outcome: Outcome, failure: Failure) -> Self {
        Self { statement: outcome.with(&[&failure.message]), next: Next::Retry(failure) }
    }

    /// Somebody has to change the object.
    pub(super) fn invalid(why: &str) -> Self {
        Self::waiting(says::INVALID.with(&[why]), AGAIN)
    }
}

/// What a pass works with.
pub(super) struct Work<'a> {
    pub(super) key: &'a ObjectKey,
    pub(super) config: &'a OpenshiftAssistedConfig,
    pub(super) machine: &'a Machine,
    pub(super) method: BootMethod,
}
