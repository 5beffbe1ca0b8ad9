//! Jobs that set something up once an operator's storage is there. They are made with the cluster and run by themselves; the
//! operator is reported as available when its job is complete.

use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

/// Label of setup jobs; its value is the operator's name.
const LABEL: &str = "agent-install.openshift.io/setup-job";

/// How far an operator's setup job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetupJob {
    /// There is none, or it is complete.
    Complete,
    /// What is waited for.
    Running(String),
    /// What went wrong.
    Failed(String),
}

/// Looks at the setup job of an operator.
pub(super) async fn of(kube: &Client, namespace: &str, operator: &str) -> Result<SetupJob, kube::Error> {
    let labelled = ListParams::default().labels(&format!("{LABEL}={operator}"));
    let jobs = Api::<Job>::namespaced(kube.clone(), namespace).list(&labelled).await?.items;
    let states: Vec<_> = jobs.iter().map(state).collect();
    let failed = states.iter().find(|state| matches!(state, SetupJob::Failed(_)));
    let open = failed.or_else(|| states.iter().find(|state| matches!(state, SetupJob::Running(_))));
    Ok(open.cloned().unwrap_or(SetupJob::Complete))
}

fn state(job: &Job) -> SetupJob {
    let name = format!("setup job {}/{}", job.namespace().unwrap_or_default(), job.name_any());
    let conditions = || job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let holds = |name: &str| conditions().find(|each| each.type_ == name && each.status == "True");
    if holds("Complete").is_some() {
        return SetupJob::Complete;
    }
    match holds("Failed") {
        Some(failed) => {
            let reason = failed.message.as_deref().or(failed.reason.as_deref()).unwrap_or("it has failed");
            SetupJob::Failed(format!("its {name} has failed: {reason}"))
        }
        None => SetupJob::Running(format!("its {name} is not complete yet")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_has_an_end() {
        let job = |conditions: serde_json::Value| {
            let job = json!({
                "metadata": {"name": "setup", "namespace": "openshift-kmm"}, "status": {"conditions": conditions},
            });
            state(&serde_json::from_value(job).unwrap())
        };
        let condition =
            |name: &str, message: &str| json!([{"type": name, "status": "True", "message": message}]);
        assert_eq!(job(condition("Complete", "")), SetupJob::Complete);
        let running = SetupJob::Running("its setup job openshift-kmm/setup is not complete yet".to_owned());
        assert_eq!(job(json!([])), running);
        assert_eq!(job(condition("Suspended", "")), running);
        let failed =
            "its setup job openshift-kmm/setup has failed: Job was active longer than specified deadline";
        assert_eq!(
            job(condition("Failed", "Job was active longer than specified deadline")),
            SetupJob::Failed(failed.to_owned())
        );
    }
}
