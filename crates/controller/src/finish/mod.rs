//! What remains when all hosts have come: the cluster's operators, the router's certificates, operators of OLM, and the
//! word that the installation is complete (installer-and-controller §B6).

mod ingress_ca;
mod manifests;
mod olm;
mod operators;
mod report;
mod setup_job;

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::cluster_params::CompletionParams;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::CLUSTER_OPERATOR;
use crate::context::Context;
use crate::layering;
use crate::wait::{PollError, Ticker, poll_until, tick_until};

pub(crate) use manifests::{administrator, apply};
pub(crate) use olm::service_version;

/// The stages in their order.
const STAGES: &[FinalizingStage] = &[
    FinalizingStage::WaitingForClusterOperators,
    FinalizingStage::AddingRouterCa,
    FinalizingStage::WaitingForOlmOperatorsCsvInitialization,
    FinalizingStage::ApplyingOlmManifests,
    FinalizingStage::WaitingForOlmOperatorsCsv,
    FinalizingStage::WaitingForOLMOperatorSetupJobs,
    FinalizingStage::Done,
];

/// Why an installation can't be finished; the service gets the text (installer-and-controller §B6).
#[derive(Debug, thiserror::Error)]
enum FinishError {
    #[error("Stopped waiting for cluster operators to be available: {0}")]
    Operators(#[source] PollError),
    #[error("Stopped waiting for the cluster to take over the images of its nodes: {0}")]
    Adoption(#[source] PollError),
    #[error("OS image: {0}")]
    Images(String),
    #[error("Stopped waiting for router ca data: {0}")]
    RouterCa(#[source] PollError),
}

/// Finishes the installation as soon as the service says that it is time.
pub(crate) async fn finish(context: &Context, stop: &CancellationToken) {
    let intervals = &context.config.intervals;
    let mut progress =
        Ticker::resyncing(intervals.resync, intervals.min_interval).and(Arc::clone(&context.progress));
    let started = tick_until(stop, &mut progress, None, async || {
        let cluster = context
            .service
            .cluster()
            .await
            .map_err(|error| warn!(error = chain(&error), "the cluster is not known"));
        cluster.ok().filter(|cluster| cluster.status == ClusterStatus::Finalizing)
    });
    let Ok(cluster) = started.await else { return };
    let reached = cluster.progress.and_then(|progress| progress.finalizing_stage);
    let overrides = &cluster.install_config_overrides;
    let awaits_images = Box::pin(layering::are_awaited(context, stop, overrides)).await;
    let stages = Stages { context, reached, awaits_images, stop };

    let operators = stages.operators().await;
    let report = report::of_operators(context).await;
    let outcome = match operators {
        Ok(()) => stages.router_ca().await,
        failed => failed,
    };
    olm::follow(&stages).await;
    let completion = match outcome {
        Ok(()) => {
            stages.report(FinalizingStage::Done).await;
            CompletionParams { is_success: true, ..CompletionParams::default() }
        }
        Err(error) => {
            let error_info = error.to_string();
            warn!(error_info, "the installation can't be finished");
            context.degraded.set();
            let data = report.map(|report| BTreeMap::from([("CLUSTER_OPERATORS_REPORT".to_owned(), report)]));
            CompletionParams { is_success: false, error_info, data }
        }
    };
    let reported = poll_until(stop, context.config.intervals.operators, None, async || {
        context
            .service
            .complete(&completion)
            .await
            .map_err(|error| warn!(error = chain(&error), "completion is not taken yet"))
            .ok()
    });
    if reported.await.is_ok() {
        info!(success = completion.is_success, "the end is reported");
    }
}

/// The stages, as they are reached and reported.
pub(super) struct Stages<'a> {
    context: &'a Context,
    /// What an earlier life of this controller has reported already.
    reached: Option<FinalizingStage>,
    /// Whether the cluster is to take over the images of its nodes first.
    awaits_images: bool,
    stop: &'a CancellationToken,
}

impl Stages<'_> {
    /// Tells a stage until the service takes it, unless it has come further already.
    async fn report(&self, stage: FinalizingStage) {
        let place = |stage| STAGES.iter().position(|known| *known == stage);
        if self.reached.is_some_and(|reached| place(reached) >= place(stage)) {
            return;
        }
        let reported = poll_until(self.stop, self.context.config.intervals.resync, None, async || {
            let reported = self.context.service.stage(stage).await;
            reported.map_err(|error| warn!(%stage, error = chain(&error), "the stage is not taken yet")).ok()
        });
        if reported.await.is_ok() {
            info!(%stage, "the stage is reported");
        }
    }

    async fn operators(&self) -> Result<(), FinishError> {
        self.report(FinalizingStage::WaitingForClusterOperators).await;
        let intervals = &self.context.config.intervals;
        let operators = CLUSTER_OPERATOR.all(&self.context.kube);
        let mut changes = Ticker::watching(operators, intervals.operators, intervals.min_interval);
        let available = tick_until(self.stop, &mut changes, Some(intervals.operators_limit), async || {
            operators::are_available(self.context).await.then_some(())
        });
        available.await.map_err(FinishError::Operators)?;
        if !self.awaits_images {
            return Ok(());
        }
        let (every, limit) = (intervals.min_interval, Some(intervals.adoption_limit));
        let ended = poll_until(self.stop, every, limit, async || self.context.images.lock().clone()).await;
        if ended == Err(PollError::TimedOut) {
            layering::give_up(self.context).await;
        }
        ended.map_err(FinishError::Adoption)?.map_err(FinishError::Images)
    }

    async fn router_ca(&self) -> Result<(), FinishError> {
        self.report(FinalizingStage::AddingRouterCa).await;
        let intervals = &self.context.config.intervals;
        let mut changes = Ticker::watching(
            ingress_ca::maps(&self.context.kube),
            intervals.router_ca,
            intervals.min_interval,
        );
        let added = tick_until(self.stop, &mut changes, None, async || {
            ingress_ca::add(self.context)
                .await
                .map_err(|error| warn!(error = chain(&error), "no certificates of the router yet"))
                .ok()
        });
        added.await.map_err(FinishError::RouterCa)
    }
}
