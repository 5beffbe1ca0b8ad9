//! How far the build in the cluster is, and what follows from it. Nothing of it is kept here: whoever looks next, be it this controller or
//! another one, sees the same.

use assisted_ocl::builder::{Failed, Progress};
use assisted_ocl::paths::{TOLD_AT, TOLD_PROGRESS};
use assisted_wire::on_cluster_layering::LayeringErrorCode;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

/// What a Job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobState {
    Absent,
    /// It was deleted, and its pods end.
    Ending,
    Active,
    Complete,
    /// It has failed: reason and message.
    Failed(String, String),
}

impl JobState {
    pub(super) fn of(job: Option<&Job>) -> Self {
        let Some(job) = job else { return Self::Absent };
        if job.metadata.deletion_timestamp.is_some() {
            return Self::Ending;
        }
        let conditions = || job.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let holds = |kind: &str| conditions().find(|each| each.type_ == kind && each.status == "True");
        if let Some(failed) = holds("Failed") {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            return Self::Failed(text(&failed.reason), text(&failed.message));
        }
        if holds("Complete").is_some() { Self::Complete } else { Self::Active }
    }
}

/// The builder's status: what it wrote last into its ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BuilderStatus {
    pub(super) at: String,
    pub(super) progress: Progress,
}

impl BuilderStatus {
    /// `None` where it has told nothing yet, or nothing that can be read.
    pub(super) fn of(map: Option<&ConfigMap>) -> Option<Self> {
        let data = map?.data.as_ref()?;
        let progress = serde_json::from_str(data.get(TOLD_PROGRESS)?)
            .map_err(|error| tracing::warn!(%error, "the builder's progress can't be read"))
            .ok()?;
        Some(Self { at: data.get(TOLD_AT).cloned().unwrap_or_default(), progress })
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To have a builder started.
    Begin,
    /// To follow it.
    Follow,
    /// To hand its image to the cluster.
    HandOver,
    /// Nothing will come of it.
    Fail(LayeringErrorCode, String),
}

/// What follows from the builder's status and from its Job. The builder's own word counts most: its Job may be gone by then.
pub(super) fn next(builder: Option<&BuilderStatus>, job: &JobState) -> Next {
    match builder.and_then(|builder| builder.progress.end()) {
        Some(Ok(())) => return Next::HandOver,
        Some(Err(Failed { code, reason, .. })) => return Next::Fail(code, reason),
        None => {}
    }
    match job {
        JobState::Absent => Next::Begin,
        JobState::Ending | JobState::Active => Next::Follow,
        JobState::Complete => {
            Next::Fail(LayeringErrorCode::Lost, "the builder has ended without a word".to_owned())
        }
        JobState::Failed(reason, message) if reason == "DeadlineExceeded" => {
            Next::Fail(LayeringErrorCode::Timeout, format!("the builder's Job took too long: {message}"))
        }
        JobState::Failed(reason, message) => {
            Next::Fail(LayeringErrorCode::Lost, format!("the builder's Job has failed: {reason}: {message}"))
        }
    }
}

/// Why no builder runs; `None` where one does, so that it has to speak for itself.
pub(super) fn waits(pods: &[Pod]) -> Option<String> {
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
    if pods.iter().any(|pod| phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none()) {
        return None;
    }
    let statuses = pods.iter().filter_map(|pod| pod.status.as_ref());
    let containers = statuses.flat_map(|status| status.container_statuses.iter().flatten());
    let states = containers.filter_map(|container| container.state.as_ref()?.waiting.as_ref());
    let mut reasons = states.map(|waiting| {
        let told = [&waiting.reason, &waiting.message].into_iter().flatten().map(String::as_str);
        told.collect::<Vec<_>>().join(": ")
    });
    let reason = reasons.find(|reason| !reason.is_empty());
    Some(reason.map_or_else(
        || "waiting for the builder's pod".to_owned(),
        |reason| format!("waiting for the builder's pod: {reason}"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn builder(state: &str, error: &Value) -> BuilderStatus {
        let progress = json!({"builds": [{
            "pool": "worker", "state": state, "attempt": 1, "step": null, "percent": 1, "started_at": null, "updated_at": null,
            "rendered_machine_config": null, "base_image": null, "image": null, "digest": null, "error": error,
        }]});
        let map = json!({"data": {"progress.json": progress.to_string(), "told-at": "t"}});
        BuilderStatus::of(Some(&serde_json::from_value(map).unwrap())).unwrap()
    }

    fn job(kind: &str, reason: &str) -> JobState {
        let condition = json!({"type": kind, "status": "True", "reason": reason, "message": "why"});
        let job = json!({"metadata": {}, "status": {"conditions": [condition]}});
        JobState::of(Some(&serde_json::from_value(job).unwrap()))
    }

    #[test]
    fn a_builder_is_started_followed_and_believed() {
        use LayeringErrorCode::{BuildUser, Lost, Timeout};
        let (ready, building) = (builder("Ready", &Value::Null), builder("Building", &Value::Null));
        let error =
            json!({"code": "build-user", "reason": "exit 1", "retriable": false, "state": "Building"});
        let failed = builder("Failed", &error);
        let active = job("Suspended", "");
        assert_eq!(active, JobState::Active);
        let is_failure = |next: Next| match next {
            Next::Fail(code, why) => (code, why),
            other => panic!("{other:?}"),
        };
        assert_eq!(next(None, &JobState::Absent), Next::Begin);
        assert_eq!(next(None, &active), Next::Follow);
        // Somebody has deleted the Job: another one goes on.
        assert_eq!(next(Some(&building), &JobState::Ending), Next::Follow);
        assert_eq!(next(Some(&building), &JobState::Absent), Next::Begin);
        for state in [JobState::Absent, active.clone(), job("Complete", "")] {
            assert_eq!(next(Some(&ready), &state), Next::HandOver, "{state:?}");
        }
        let late = job("Failed", "DeadlineExceeded");
        assert_eq!(is_failure(next(Some(&failed), &late)), (BuildUser, "exit 1".to_owned()));
        assert_eq!(is_failure(next(Some(&building), &late)).0, Timeout);
        assert_eq!(is_failure(next(Some(&building), &job("Failed", "BackoffLimitExceeded"))).0, Lost);
        assert_eq!(is_failure(next(None, &job("Complete", ""))).0, Lost);
    }

    #[test]
    fn what_is_no_progress_is_none() {
        let map = |data: Value| serde_json::from_value::<ConfigMap>(json!({"data": data})).unwrap();
        assert_eq!(BuilderStatus::of(None), None);
        assert_eq!(BuilderStatus::of(Some(&map(json!({})))), None);
        assert_eq!(BuilderStatus::of(Some(&map(json!({"progress.json": "{"})))), None);
    }

    #[test]
    fn a_pod_that_runs_speaks_for_itself() {
        let pod = |status: Value| serde_json::from_value::<Pod>(json!({"status": status})).unwrap();
        assert_eq!(waits(&[]).unwrap(), "waiting for the builder's pod");
        assert_eq!(waits(&[pod(json!({"phase": "Failed"})), pod(json!({"phase": "Running"}))]), None);
        let waiting = json!({"reason": "ImagePullBackOff", "message": "no such image"});
        let container = json!({"name": "builder", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": waiting}});
        let pods = [pod(json!({"phase": "Pending", "containerStatuses": [container]}))];
        assert_eq!(waits(&pods).unwrap(), "waiting for the builder's pod: ImagePullBackOff: no such image");
    }
}
