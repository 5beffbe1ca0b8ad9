//! What remains when all hosts have come: the cluster's operators, the router's certificates, operators of OLM, and the
//! word that the installation is complete (installer-and-controller §B6).

mod ingress_ca;
mod manifests;
mod olm;
mod operators;
mod report;

use std::collections::BTreeMap;

use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::cluster_params::CompletionParams;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::run::Around;
use crate::wait::{GaveUp, until};

pub(crate) use manifests::apply;
pub(crate) use olm::service_version;

/// The stages in their order.
const STAGES: &[FinalizingStage] = &[
    FinalizingStage::WaitingForClusterOperators,
    FinalizingStage::AddingRouterCa,
    FinalizingStage::WaitingForOlmOperatorsCsvInitialization,
    FinalizingStage::ApplyingOlmManifests,
    FinalizingStage::WaitingForOlmOperatorsCsv,
    FinalizingStage::Done,
];

/// Finishes the installation as soon as the service says that it is time.
pub(crate) async fn finish(around: &Around<'_>, stop: &CancellationToken) {
    let started = until(stop, around.config.pace.look, None, async || {
        let cluster =
            around.service.cluster().await.map_err(|error| warn!(%error, "the cluster is not known"));
        cluster.ok().filter(|cluster| cluster.status == ClusterStatus::Finalizing)
    });
    let Ok(cluster) = started.await else { return };
    let reached = cluster.progress.and_then(|progress| progress.finalizing_stage);
    let stages = Stages { around, reached, stop };

    let operators = stages.operators().await;
    let report = report::of_operators(around).await;
    let outcome = match operators {
        Ok(()) => stages.router_ca().await,
        failed => failed,
    };
    olm::follow(&stages).await;
    let completion = match outcome {
        Ok(()) => {
            stages.tell(FinalizingStage::Done).await;
            CompletionParams { is_success: true, ..CompletionParams::default() }
        }
        Err(error_info) => {
            warn!(error_info, "the installation can't be finished");
            around.trouble.note();
            let data = report.map(|report| BTreeMap::from([("CLUSTER_OPERATORS_REPORT".to_owned(), report)]));
            CompletionParams { is_success: false, error_info, data }
        }
    };
    let told = until(stop, around.config.pace.operators, None, async || {
        around
            .service
            .complete(&completion)
            .await
            .map_err(|error| warn!(%error, "completion is not taken yet"))
            .ok()
    });
    if told.await.is_ok() {
        info!(success = completion.is_success, "completion is told");
    }
}

/// The stages, as they are reached and told.
pub(super) struct Stages<'a> {
    around: &'a Around<'a>,
    /// What an earlier life of this controller has told already.
    reached: Option<FinalizingStage>,
    stop: &'a CancellationToken,
}

impl Stages<'_> {
    /// Tells a stage until the service takes it, unless it has come further already.
    async fn tell(&self, stage: FinalizingStage) {
        let place = |stage| STAGES.iter().position(|known| *known == stage);
        if self.reached.is_some_and(|reached| place(reached) >= place(stage)) {
            return;
        }
        let told = until(self.stop, self.around.config.pace.look, None, async || {
            let told = self.around.service.stage(stage).await;
            told.map_err(|error| warn!(%stage, %error, "the stage is not taken yet")).ok()
        });
        if told.await.is_ok() {
            info!(%stage, "told");
        }
    }

    async fn operators(&self) -> Result<(), String> {
        self.tell(FinalizingStage::WaitingForClusterOperators).await;
        let pace = &self.around.config.pace;
        let available = until(self.stop, pace.operators, Some(pace.operators_limit), async || {
            operators::are_available(self.around).await.then_some(())
        });
        let failed = |why: GaveUp| format!("Stopped waiting for cluster operators to be available: {why}");
        available.await.map_err(failed)
    }

    async fn router_ca(&self) -> Result<(), String> {
        self.tell(FinalizingStage::AddingRouterCa).await;
        let added = until(self.stop, self.around.config.pace.router_ca, None, async || {
            ingress_ca::add(self.around)
                .await
                .map_err(|error| warn!(error, "no certificates of the router yet"))
                .ok()
        });
        added.await.map_err(|why| format!("Stopped waiting for router ca data: {why}"))
    }
}
