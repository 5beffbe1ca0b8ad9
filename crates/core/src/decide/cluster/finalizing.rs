//! The controller reports the finalizing stage (state-machines §3.9).

use assisted_wire::cluster::FinalizingStage;

use crate::admission::precondition::{self, Operation};
use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::state::cluster::{effect, progress};

/// Notes the stage. Any may follow any; the one that is noted already changes nothing.
///
/// # Errors
///
/// `Invalid` when the cluster is not being installed.
pub fn report(facts: &Facts, stage: FinalizingStage) -> Result<Decision, Refusal> {
    let mut draft = WorkingCopy::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        let cluster = &mut record.cluster;
        precondition::check(Operation::FinalizingStage, cluster)?;
        if progress::stage(cluster) != Some(stage) {
            cluster.progress.get_or_insert_default().finalizing_stage = Some(stage);
            effect::restart_stage(cluster, facts.now.into());
            let spec = catalogue::CLUSTER_FINALIZING_STAGE_UPDATED;
            draft.events.push(spec.of_cluster(cluster.id, &[("finalizing_stage", &stage)]));
        }
    }
    Ok(draft.reconciled())
}
