//! What a pass found out, and the status that says it. What a pass does not speak of stays as it was.

use std::time::Duration;

use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::{
    Initialization, OpenshiftAssistedControlPlane, OpenshiftAssistedControlPlaneStatus,
};
use assisted_crd::condition::{Statement, find, set};
use assisted_reconcile::Failure;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::objects::sort;

/// When a control plane is looked at again, while something is about to happen.
pub(super) const SOON: Duration = Duration::from_secs(10);
/// The same, for the next step of several.
pub(super) const NEXT: Duration = Duration::from_millis(100);

/// What a pass found out.
#[derive(Debug, Default)]
pub(super) struct Report {
    statements: Vec<Statement>,
    pub(super) counts: Option<Counts>,
    /// Version of Kubernetes.
    pub(super) version: Option<String>,
    /// Version that the cluster runs.
    pub(super) distribution_version: Option<String>,
    /// Whether the API of the cluster has answered.
    pub(super) is_initialized: bool,
    pub(super) selector: Option<String>,
    /// When what no watch tells of is looked for again.
    pub(super) again: Option<Duration>,
    /// The first thing that went wrong: the pass is tried again.
    pub(super) failure: Option<Failure>,
}

/// Machines by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) all: usize,
    pub(super) ready: usize,
    pub(super) available: usize,
    pub(super) up_to_date: usize,
}

impl Report {
    pub(super) fn say(&mut self, statement: Statement) {
        self.statements.push(statement);
    }

    /// Says whether the service has the cluster as it is wanted: at an API server nothing else tells that.
    pub(super) fn described(&mut self, refusal: Option<&Failure>) {
        let (status, reason) = match refusal {
            None => ("True", "Described"),
            Some(_) => ("False", "NotDescribed"),
        };
        let message = refusal.map(|failure| failure.message.clone()).unwrap_or_default();
        self.say(Statement { r#type: "ClusterDescribed", status, reason, message, generation: None });
    }

    /// Has it looked at again after a while, or earlier.
    pub(super) fn again(&mut self, pause: Duration) {
        self.again = Some(self.again.map_or(pause, |known| known.min(pause)));
    }

    /// Notes a failure: the rest of the pass goes on.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// The status that says this.
    pub(super) fn status(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        now: &Time,
    ) -> OpenshiftAssistedControlPlaneStatus {
        let mut status = plane.status.clone().unwrap_or_default();
        let generation = plane.metadata.generation;
        for statement in &self.statements {
            set(&mut status.conditions, Statement { generation, ..statement.clone() }, now);
        }
        let ready = summary(&status);
        set(&mut status.conditions, Statement { generation, ..ready }, now);
        sort(&mut status.conditions);
        if let Some(counts) = self.counts {
            let number = |count: usize| Some(i32::try_from(count).unwrap_or(i32::MAX));
            status.replicas = number(counts.all);
            status.ready_replicas = number(counts.ready);
            status.available_replicas = number(counts.available);
            status.up_to_date_replicas = number(counts.up_to_date);
        }
        if let Some(version) = &self.version {
            status.version.clone_from(version);
        }
        if let Some(version) = &self.distribution_version {
            status.distribution_version.clone_from(version);
        }
        if let Some(selector) = &self.selector {
            status.selector.clone_from(selector);
        }
        // What has been so once stays so.
        if self.is_initialized {
            status.initialization = Some(Initialization { control_plane_initialized: Some(true) });
        }
        if self.failure.is_none() {
            status.observed_generation = generation;
        }
        status
    }
}

/// The sum of what has to be so.
fn summary(status: &OpenshiftAssistedControlPlaneStatus) -> Statement {
    let missing: Vec<String> = ["MachinesReady", "KubeconfigAvailable", "Available", "MachinesCreated"]
        .into_iter()
        .filter_map(|kind| match find(&status.conditions, kind) {
            Some(found) if found.status == "True" => None,
            Some(found) if found.message.is_empty() => Some(format!("{kind}: {}", found.reason)),
            Some(found) => Some(format!("{kind}: {}", found.message)),
            None => Some(format!("{kind}: nothing is known yet")),
        })
        .collect();
    if missing.is_empty() { says::READY.with(&[]) } else { says::NOT_READY.with(&[&missing.join("; ")]) }
}

/// Whether the API of the cluster has answered before.
pub(super) fn was_initialized(plane: &OpenshiftAssistedControlPlane) -> bool {
    let initialization = plane.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.and_then(|initialization| initialization.control_plane_initialized) == Some(true)
}

/// Whether a condition says `True`.
pub(super) fn is_true(plane: &OpenshiftAssistedControlPlane, kind: &str) -> bool {
    let status = plane.status.as_ref();
    status.and_then(|status| find(&status.conditions, kind)).is_some_and(|found| found.status == "True")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_not_spoken_of_stays() {
        let now = Time(Timestamp::UNIX_EPOCH);
        let mut plane = OpenshiftAssistedControlPlane::default();
        plane.metadata.generation = Some(3);
        let mut report = Report {
            counts: Some(Counts { all: 3, ready: 3, available: 3, up_to_date: 3 }),
            ..Report::default()
        };
        report.is_initialized = true;
        for statement in [says::MACHINES_READY, says::KUBECONFIG_AVAILABLE, says::MACHINES_CREATED] {
            report.say(statement.with(&[]));
        }
        report.say(says::INSTALLING.with(&["installing"]));
        let status = report.status(&plane, &now);
        let ready = |status: &OpenshiftAssistedControlPlaneStatus| {
            find(&status.conditions, "Ready").cloned().unwrap()
        };
        assert_eq!(ready(&status).message, "Available: Controlplane installing, status: installing");
        let kinds: Vec<_> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(kinds, ["Available", "Ready", "KubeconfigAvailable", "MachinesCreated", "MachinesReady"]);
        assert_eq!((status.replicas, status.observed_generation), (Some(3), Some(3)));
        assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
        plane.status = Some(status);
        plane.metadata.generation = Some(4);
        let mut later = Report::default();
        later.say(says::AVAILABLE.with(&[]));
        later.fail(Failure::passing("first"));
        later.fail(Failure::passing("second"));
        assert_eq!(later.failure.as_ref().unwrap().message, "first");
        let status = later.status(&plane, &now);
        assert_eq!(ready(&status).status, "True");
        assert_eq!((status.replicas, status.observed_generation), (Some(3), Some(3)));
        plane.status = Some(status);
        assert!(was_initialized(&plane) && is_true(&plane, "Available") && !is_true(&plane, "Paused"));
    }
}
