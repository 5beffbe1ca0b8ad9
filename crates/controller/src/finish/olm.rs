//! Operators that OLM installs: they come by subscriptions, get their manifests, and are ready when their
//! ClusterServiceVersion has succeeded. None of them makes an installation fail (installer-and-controller §B6.4).

use assisted_base::error::chain;
use assisted_wire::cluster::{Cluster, FinalizingStage};
use assisted_wire::operator::{MonitoredOperator, OperatorStatus, OperatorType};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, DynamicObject, ListParams, PropagationPolicy};
use kube::{Api, Client, ResourceExt};
use tracing::{info, warn};

use super::operators::{is_available, tell};
use super::{Stages, manifests};
use crate::cluster::{CLUSTER_SERVICE_VERSION, INSTALL_PLAN, OperatorState, SUBSCRIPTION, text};
use crate::error::ReconcileError;
use crate::run::Context;
use crate::wait::poll_until;

/// Where OLM unpacks bundles.
const MARKETPLACE: &str = "openshift-marketplace";
/// Attempts to tell which operators never came.
const SWEEPS: usize = 10;
const TIMED_OUT: &str = "Waiting for operator timed out";

/// Follows the operators of OLM until they are ready, or their time is up.
pub(super) async fn follow(stages: &Stages<'_>) {
    let (context, stop) = (stages.context, stages.stop);
    let first = FinalizingStage::WaitingForOlmOperatorsCsvInitialization;
    stages.tell(first).await;
    let listed =
        poll_until(stop, context.config.intervals.router_ca, None, async || match operators(context).await {
            Ok(operators) => Some(Some(operators)),
            Err(error) => {
                warn!(error = chain(&error), "operators of OLM are not known");
                is_timed_out(context, first).await.then_some(None)
            }
        });
    let Ok(Some(listed)) = listed.await else { return };
    if listed.is_empty() {
        return;
    }
    let mut done = stages.wait(first, async || all_initialised(context).await).await;
    stages.tell(FinalizingStage::ApplyingOlmManifests).await;
    done &= stages
        .wait(FinalizingStage::ApplyingOlmManifests, async || manifests::apply_initialised(context).await)
        .await;
    stages.tell(FinalizingStage::WaitingForOlmOperatorsCsv).await;
    done &= stages.wait(FinalizingStage::WaitingForOlmOperatorsCsv, async || all_ready(context).await).await;
    if !done {
        sweep(stages).await;
    }
}

impl Stages<'_> {
    /// Waits for something of a stage; false when the stage's time is up before.
    async fn wait(
        &self,
        stage: FinalizingStage,
        mut condition: impl AsyncFnMut() -> Result<bool, ReconcileError>,
    ) -> bool {
        let context = self.context;
        let waited =
            poll_until(self.stop, context.config.intervals.resync, None, async || match condition().await {
                Ok(true) => Some(true),
                outcome => {
                    if let Err(error) = outcome {
                        warn!(%stage, error = chain(&error), "trying again");
                    }
                    is_timed_out(context, stage).await.then_some(false)
                }
            });
        waited.await.unwrap_or(false)
    }
}

async fn is_timed_out(context: &Context, stage: FinalizingStage) -> bool {
    let timed_out = |cluster: Cluster| {
        cluster.progress.is_some_and(|progress| {
            progress.finalizing_stage == Some(stage) && progress.finalizing_stage_timed_out
        })
    };
    context.service.cluster().await.is_ok_and(timed_out)
}

/// The operators of OLM that the service waits for.
async fn operators(context: &Context) -> Result<Vec<MonitoredOperator>, ReconcileError> {
    let operators = context.service.operators().await?;
    Ok(operators.into_iter().filter(|operator| operator.operator_type == Some(OperatorType::Olm)).collect())
}

/// The operators whose subscription has brought a ClusterServiceVersion, and those for which none has come yet.
pub(super) async fn initialised(
    context: &Context,
) -> Result<(Vec<MonitoredOperator>, Vec<MonitoredOperator>), ReconcileError> {
    let (mut ready, mut waiting) = (Vec::new(), Vec::new());
    for operator in operators(context).await? {
        if version_of(context, &operator).await.is_ok() {
            ready.push(operator);
        } else {
            waiting.push(operator);
        }
    }
    Ok((ready, waiting))
}

async fn all_initialised(context: &Context) -> Result<bool, ReconcileError> {
    let (_, waiting) = initialised(context).await?;
    for operator in &waiting {
        info!(operator = operator.name, "its subscription has brought nothing yet");
        if let Err(error) = repair(context, operator).await {
            warn!(operator = operator.name, error = chain(&error), "what failed too early can't be removed");
        }
    }
    Ok(waiting.is_empty())
}

/// What a subscription has brought.
pub(crate) async fn service_version(
    kube: &Client,
    namespace: &str,
    subscription: &str,
) -> Result<DynamicObject, ReconcileError> {
    let found = SUBSCRIPTION.within(kube, namespace).get(subscription).await?;
    // An empty name would ask for the list.
    let name = Some(text(&found.data, "/status/currentCSV")).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        ReconcileError::not_yet(format!("the subscription {subscription} has brought nothing yet"))
    })?;
    Ok(CLUSTER_SERVICE_VERSION.within(kube, namespace).get(name).await?)
}

async fn version_of(
    context: &Context,
    operator: &MonitoredOperator,
) -> Result<DynamicObject, ReconcileError> {
    service_version(&context.kube, &operator.namespace, &operator.subscription_name).await
}

/// OLM that starts too early fails for good: without its failed jobs and plans it tries again.
async fn repair(context: &Context, operator: &MonitoredOperator) -> Result<(), kube::Error> {
    let away =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..DeleteParams::default() };
    let jobs = Api::<Job>::namespaced(context.kube.clone(), MARKETPLACE);
    for job in jobs.list(&ListParams::default()).await?.items.iter().filter(|job| has_failed(job)) {
        info!(job = job.name_any(), "removing what failed");
        jobs.delete(&job.name_any(), &away).await?;
    }
    let plans = INSTALL_PLAN.within(&context.kube, &operator.namespace);
    for plan in plans.list(&ListParams::default()).await?.items {
        let owned = plan.owner_references().iter().any(|owner| owner.name == operator.subscription_name);
        if owned && text(&plan.data, "/status/phase") == "Failed" {
            info!(plan = plan.name_any(), "removing what failed");
            plans.delete(&plan.name_any(), &away).await?;
        }
    }
    Ok(())
}

fn has_failed(job: &Job) -> bool {
    let Some(status) = &job.status else { return false };
    let failed = status.conditions.iter().flatten().find(|condition| condition.type_ == "Failed");
    status.failed.unwrap_or_default() > 0 || failed.is_some_and(|condition| condition.status == "True")
}

/// Tells the service of each that is not done there. A failure is not told before its time is up: many recover.
async fn all_ready(context: &Context) -> Result<bool, ReconcileError> {
    let mut all = true;
    for operator in operators(context).await?.iter().filter(|operator| is_pending(operator)) {
        match version_of(context, operator).await {
            Ok(version) => {
                let state = state(&version);
                if state.status == OperatorStatus::Failed {
                    info!(operator = operator.name, message = state.message, "it has failed for now");
                    all = false;
                } else {
                    all &= is_available(context, Some(operator), async || Ok(state)).await;
                }
            }
            Err(error) => {
                warn!(operator = operator.name, error = chain(&error), "its state is not known");
                all = false;
            }
        }
    }
    Ok(all)
}

fn is_pending(operator: &MonitoredOperator) -> bool {
    !matches!(operator.status, Some(OperatorStatus::Available | OperatorStatus::Failed))
}

fn state(version: &DynamicObject) -> OperatorState {
    let status = match text(&version.data, "/status/phase") {
        "Succeeded" => OperatorStatus::Available,
        "Failed" => OperatorStatus::Failed,
        _ => OperatorStatus::Progressing,
    };
    OperatorState {
        status,
        message: text(&version.data, "/status/message").to_owned(),
        version: text(&version.data, "/spec/version").to_owned(),
    }
}

/// What is not there when its time is up has failed.
async fn sweep(stages: &Stages<'_>) {
    let context = stages.context;
    let mut attempts = 0;
    let swept = poll_until(stages.stop, context.config.intervals.resync, None, async || {
        attempts += 1;
        let told = tell_failed(context).await;
        told.then_some(()).or_else(|| (attempts >= SWEEPS).then_some(()))
    });
    // Once is enough for whoever is stopped.
    let _ = swept.await;
}

async fn tell_failed(context: &Context) -> bool {
    let operators = match operators(context).await {
        Ok(operators) => operators,
        Err(error) => {
            warn!(error = chain(&error), "operators of OLM are not known");
            return false;
        }
    };
    let mut all = true;
    for operator in operators.iter().filter(|operator| is_pending(operator)) {
        let state = OperatorState {
            status: OperatorStatus::Failed,
            message: TIMED_OUT.to_owned(),
            version: operator.version.clone(),
        };
        context.degraded.add_operator(&operator.name);
        all &= tell(context, &operator.name, &state).await;
    }
    all
}
