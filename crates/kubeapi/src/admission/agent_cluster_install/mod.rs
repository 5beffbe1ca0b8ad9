//! Rules on AgentClusterInstalls (kube-api §5.2, §5.3).

mod image_mode;
mod immutable;
mod networking;

use assisted_crd::condition::find;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, AgentClusterInstallSpec};
use serde_json::{Value, json};

use super::verdict::{Addition, Denial, Verdict};
use super::webhook::{Change, Kind, Operation, Webhook};

/// Condition by which it is known whether the installation has begun, and its reasons that say so.
const COMPLETED: &str = "Completed";
const STARTED: &[&str] =
    &["InstallationFailed", "InstallationCompleted", "InstallationInProgress", "ClusterAlreadyInstalling"];
/// Those that say that it has ended.
const ENDED: &[&str] = &["InstallationFailed", "InstallationCompleted"];

pub(super) struct AgentClusterInstallValidator;

impl Webhook for AgentClusterInstallValidator {
    type Object = AgentClusterInstall;

    const NAME: &'static str = "agentclusterinstallvalidators";
    const KIND: Kind = Kind::Validating;
    const OPERATIONS: &'static [Operation] = &[Operation::Create, Operation::Update];

    fn review(change: &Change<AgentClusterInstall>) -> Verdict {
        validate(change).into()
    }
}

pub(super) struct AgentClusterInstallMutator;

impl Webhook for AgentClusterInstallMutator {
    type Object = AgentClusterInstall;

    const NAME: &'static str = "agentclusterinstallmutators";
    const KIND: Kind = Kind::Mutating;
    const OPERATIONS: &'static [Operation] = &[Operation::Create, Operation::Update];

    fn review(change: &Change<AgentClusterInstall>) -> Verdict {
        mutate(change.after())
    }
}

fn validate(change: &Change<AgentClusterInstall>) -> Result<(), Denial> {
    let (old, new) = (change.before(), change.after());
    if let Some(old) = old
        && image_set(&old.spec) != image_set(&new.spec)
    {
        return Err(Denial::bad_request(
            "Attempted to change AgentClusterInstall.ImageSetRef which is immutable",
        ));
    }
    networking::check(old.map(|old| &old.spec), &new.spec)?;
    image_mode::check(old, new)?;
    if let Some(old) = old {
        immutable::check(old, new)?;
    }
    Ok(())
}

fn image_set(spec: &AgentClusterInstallSpec) -> Option<&str> {
    spec.image_set_ref.as_ref().map(|reference| reference.name.as_str())
}

/// Fills in who manages the networking, as long as nothing depends on it yet.
fn mutate(new: &AgentClusterInstall) -> Verdict {
    let networking = &new.spec.networking;
    if started(new).is_some()
        || new.metadata.deletion_timestamp.is_some()
        || networking.user_managed_networking.is_some()
    {
        return Verdict::Allowed;
    }
    let Some(value) = networking::default(&new.spec) else { return Verdict::Allowed };
    let is_empty = serde_json::to_value(networking).is_ok_and(|networking| networking == json!({}));
    // The whole member where it is empty, since it may be missing.
    Verdict::Changed(if is_empty {
        Addition { path: "/spec/networking", value: json!({"userManagedNetworking": value}) }
    } else {
        Addition { path: "/spec/networking/userManagedNetworking", value: Value::Bool(value) }
    })
}

/// The reason by which it is known that the installation has begun.
fn started(object: &AgentClusterInstall) -> Option<&str> {
    let conditions = &object.status.as_ref()?.conditions;
    let reason = find(conditions, COMPLETED)?.reason.as_str();
    STARTED.contains(&reason).then_some(reason)
}
