//! Operators that OLM installs: they come by subscriptions, get their objects, and are ready when their ClusterServiceVersion has
//! succeeded, their objects are applied and their setup job is complete. None of them makes an installation fail
//! (installer-and-controller §B6.4).

use std::time::Duration;

use assisted_base::error::chain;
use assisted_wire::cluster::{Cluster, FinalizingStage};
use assisted_wire::operator::{MonitoredOperator, OperatorStatus, OperatorType};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, DynamicObject, ListParams, PropagationPolicy};
use kube::{Api, Client, ResourceExt};
use tracing::{info, warn};

use super::Stages;
use super::manifests::{Left, Manifests};
use super::operators::{is_available, report};
use super::setup_job::{self, SetupJob};
use crate::cluster::{CLUSTER_SERVICE_VERSION, INSTALL_PLAN, OperatorState, SUBSCRIPTION, text};
use crate::context::Context;
use crate::error::ReconcileError;
use crate::wait::poll_until;

/// Where OLM unpacks bundles.
const MARKETPLACE: &str = "openshift-marketplace";
/// Attempts to report which operators never came.
const SWEEPS: usize = 10;
const TIMED_OUT: &str = "Waiting for operator timed out";

/// Follows the operators of OLM until they are ready, or their time is up.
pub(super) async fn follow(stages: &Stages<'_>) {
    let (context, stop) = (stages.context, stages.stop);
    let first = FinalizingStage::WaitingForOlmOperatorsCsvInitialization;
    stages.report(first).await;
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
    stages.report(FinalizingStage::ApplyingOlmManifests).await;
    let mut manifests = None;
    let applying = FinalizingStage::ApplyingOlmManifests;
    done &= stages.wait(applying, async || apply(context, &mut manifests).await).await;
    stages.report(FinalizingStage::WaitingForOlmOperatorsCsv).await;
    let waiting = FinalizingStage::WaitingForOlmOperatorsCsv;
    done &= stages.wait(waiting, async || Ok(reconcile(context, &mut manifests).await?.waiting == 0)).await;
    let in_setup = reconcile(context, &mut manifests).await.is_ok_and(|seen| seen.in_setup > 0);
    if in_setup {
        let setup = FinalizingStage::WaitingForOLMOperatorSetupJobs;
        stages.report(setup).await;
        let limit = setup_limit(&listed).min(context.config.intervals.setup_jobs_limit);
        done &= stages
            .wait_within(setup, Some(limit), async || {
                Ok(reconcile(context, &mut manifests).await?.in_setup == 0)
            })
            .await;
    }
    if !done {
        sweep(stages, manifests.as_ref()).await;
    }
}

/// How long setup jobs are waited for: less than the service waits for the stage, since it ends the installation in error then
/// (state-machines §3.9).
fn setup_limit(operators: &[MonitoredOperator]) -> Duration {
    const MARGIN: Duration = Duration::from_secs(60);
    let seconds = operators.iter().filter_map(|operator| u64::try_from(operator.timeout_seconds).ok()).max();
    Duration::from_secs(seconds.unwrap_or_default()).saturating_sub(MARGIN)
}

/// Applies the objects of the operators that have been brought; true when no other attempt is needed.
async fn apply(context: &Context, manifests: &mut Option<Manifests>) -> Result<bool, ReconcileError> {
    let (ready, _) = initialised(context).await?;
    let manifests = match manifests {
        Some(manifests) => manifests,
        None => manifests.insert(Manifests::load(context).await?),
    };
    manifests.apply(context, &ready).await?;
    Ok(manifests.are_settled(&ready))
}

impl Stages<'_> {
    /// Waits for something of a stage; false when the stage's time is up before.
    async fn wait(
        &self,
        stage: FinalizingStage,
        condition: impl AsyncFnMut() -> Result<bool, ReconcileError>,
    ) -> bool {
        self.wait_within(stage, None, condition).await
    }

    /// As [`Self::wait`], and no longer than a limit.
    async fn wait_within(
        &self,
        stage: FinalizingStage,
        limit: Option<Duration>,
        mut condition: impl AsyncFnMut() -> Result<bool, ReconcileError>,
    ) -> bool {
        let context = self.context;
        let waited =
            poll_until(self.stop, context.config.intervals.resync, limit, async || match condition().await {
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

/// How many operators are not done.
#[derive(Clone, Copy, Debug, Default)]
struct Unfinished {
    /// Those that are waited for.
    waiting: usize,
    /// Those that are done but for their setup job.
    in_setup: usize,
}

/// Tells the service of each operator that is not done there, and applies what is left of its objects.
async fn reconcile(
    context: &Context,
    manifests: &mut Option<Manifests>,
) -> Result<Unfinished, ReconcileError> {
    if let Err(error) = apply(context, manifests).await {
        warn!(error = chain(&error), "objects are not applied");
    }
    let mut seen = Unfinished::default();
    for operator in operators(context).await?.iter().filter(|operator| is_pending(operator)) {
        match readiness(context, operator, manifests.as_ref()).await {
            // A failure of OLM is not reported before its time is up: many recover.
            Ok(Readiness::FailedForNow(message)) => {
                info!(operator = operator.name, message, "it has failed for now");
                seen.waiting += 1;
            }
            Ok(Readiness::InSetup(state)) => {
                is_available(context, Some(operator), async || Ok(state)).await;
                seen.in_setup += 1;
            }
            Ok(Readiness::Progressing(state) | Readiness::Unapplied(state)) => {
                is_available(context, Some(operator), async || Ok(state)).await;
                seen.waiting += 1;
            }
            Ok(Readiness::Ready(state)) => {
                let is_available = is_available(context, Some(operator), async || Ok(state)).await;
                seen.waiting += usize::from(!is_available);
            }
            Ok(Readiness::Failed(state)) => {
                context.degraded.add_operator(&operator.name);
                seen.waiting += usize::from(!report(context, &operator.name, &state).await);
            }
            Err(error) => {
                warn!(operator = operator.name, error = chain(&error), "its state is not known");
                seen.waiting += 1;
            }
        }
    }
    Ok(seen)
}

/// How far an operator is, and what is reported of it.
enum Readiness {
    Progressing(OperatorState),
    /// Its ClusterServiceVersion has failed, which it may recover from.
    FailedForNow(String),
    /// It is there, but not all of its objects are.
    Unapplied(OperatorState),
    InSetup(OperatorState),
    Ready(OperatorState),
    Failed(OperatorState),
}

async fn readiness(
    context: &Context,
    operator: &MonitoredOperator,
    manifests: Option<&Manifests>,
) -> Result<Readiness, ReconcileError> {
    let OperatorState { status, message, version } = state(&version_of(context, operator).await?);
    let reported = |status, message: String| OperatorState { status, message, version: version.clone() };
    match status {
        OperatorStatus::Failed => return Ok(Readiness::FailedForNow(message)),
        OperatorStatus::Progressing => return Ok(Readiness::Progressing(reported(status, message))),
        OperatorStatus::Available => {}
    }
    let unread = || Some(Left::Pending("they could not be read".to_owned()));
    if let Some(left) = manifests.map_or_else(unread, |manifests| manifests.unapplied(&operator.name)) {
        let text = left.to_string();
        return Ok(match left {
            Left::Refused(_) => Readiness::Failed(reported(OperatorStatus::Failed, text)),
            Left::Pending(_) => Readiness::Unapplied(reported(OperatorStatus::Progressing, text)),
        });
    }
    Ok(match setup_job::of(&context.kube, &operator.namespace, &operator.name).await? {
        SetupJob::Complete => Readiness::Ready(reported(OperatorStatus::Available, message)),
        SetupJob::Running(text) => Readiness::InSetup(reported(OperatorStatus::Progressing, text)),
        SetupJob::Failed(text) => Readiness::Failed(reported(OperatorStatus::Failed, text)),
    })
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

/// What is not there when its time is up has failed; where it is known what it waits for, that is reported.
async fn sweep(stages: &Stages<'_>, manifests: Option<&Manifests>) {
    let context = stages.context;
    let mut attempts = 0;
    let swept = poll_until(stages.stop, context.config.intervals.resync, None, async || {
        attempts += 1;
        let reported = report_failed(context, manifests).await;
        reported.then_some(()).or_else(|| (attempts >= SWEEPS).then_some(()))
    });
    // Once is enough for whoever is stopped.
    let _ = swept.await;
}

async fn report_failed(context: &Context, manifests: Option<&Manifests>) -> bool {
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
            message: why_late(context, operator, manifests).await,
            version: operator.version.clone(),
        };
        context.degraded.add_operator(&operator.name);
        all &= report(context, &operator.name, &state).await;
    }
    all
}

async fn why_late(context: &Context, operator: &MonitoredOperator, manifests: Option<&Manifests>) -> String {
    match readiness(context, operator, manifests).await {
        Ok(Readiness::InSetup(state) | Readiness::Unapplied(state)) => {
            format!("{TIMED_OUT}: {}", state.message)
        }
        Ok(Readiness::Failed(state)) => state.message,
        // Of a ClusterServiceVersion nothing else is reported than by the replaced controller.
        _ => TIMED_OUT.to_owned(),
    }
}
