//! How far an installation is, in percent (state-machines §3.8).

use assisted_wire::cluster::{Cluster, ClusterProgressInfo, FinalizingStage};
use assisted_wire::operator::{MonitoredOperator, OperatorStatus, OperatorType};

use crate::model::facts::HostFacts;
use crate::state::host::stage;

// Weights of the parts, percent of the whole. They make 95: the rest is completion itself.
const PREPARING: i64 = 10;
const INSTALLING: i64 = 70;
const FINALIZING: i64 = 15;

/// The finalizing stage that the controller reported.
pub(crate) fn stage(cluster: &Cluster) -> Option<FinalizingStage> {
    cluster.progress.as_ref().and_then(|progress| progress.finalizing_stage)
}

/// The preparation is done.
pub(crate) fn prepared(cluster: &mut Cluster) {
    let progress = cluster.progress.get_or_insert_default();
    progress.preparing_for_installation_stage_percentage = 100;
    // Operators may have been reported before.
    progress.total_percentage = PREPARING + FINALIZING * progress.finalizing_stage_percentage / 100;
}

/// The installation is done.
pub(crate) fn completed(cluster: &mut Cluster) {
    let progress = cluster.progress.get_or_insert_default();
    progress.finalizing_stage_percentage = 100;
    progress.total_percentage = 100;
}

/// Works out the share of stages that the hosts have reached; nothing changes unless that did.
pub(crate) fn install(cluster: &mut Cluster, hosts: &[HostFacts]) {
    let places = hosts.iter().map(|host| stage::place(&host.record.host, Some(&*cluster)));
    let (done, all) = places.fold((0, 0), |(done, all), place| (done + place.0, all + place.1));
    let percentage = percent(done, all);
    let progress = cluster.progress.get_or_insert_default();
    if percentage == progress.installing_stage_percentage {
        return;
    }
    progress.installing_stage_percentage = percentage;
    // Rounded in two parts, as clients know it (state-machines §11).
    let rest = PREPARING * progress.preparing_for_installation_stage_percentage
        + FINALIZING * progress.finalizing_stage_percentage;
    progress.total_percentage = INSTALLING * percentage / 100 + rest / 100;
}

/// Works out the share of operators that are done. What would lower the whole is not written.
pub(crate) fn finalize(cluster: &mut Cluster) {
    let operators = cluster.monitored_operators.as_deref().unwrap_or_default();
    let percentage = percent(operators.iter().filter(|each| is_done(each)).count(), operators.len());
    let progress = cluster.progress.get_or_insert_default();
    let rest = PREPARING * progress.preparing_for_installation_stage_percentage
        + INSTALLING * progress.installing_stage_percentage;
    let total = FINALIZING * percentage / 100 + rest / 100;
    if total >= progress.total_percentage {
        progress.finalizing_stage_percentage = percentage;
        progress.total_percentage = total;
    }
}

fn percent(done: usize, all: usize) -> i64 {
    i64::try_from(done * 100 / all.max(1)).unwrap_or(100)
}

/// Whether nothing more is to be expected of an operator. One from the catalogue may fail without failing the cluster.
pub(crate) fn is_done(operator: &MonitoredOperator) -> bool {
    match (operator.operator_type, operator.status) {
        (_, Some(OperatorStatus::Available)) => true,
        (Some(OperatorType::Olm), status) => status == Some(OperatorStatus::Failed),
        _ => false,
    }
}

/// Forgets how far an installation was.
pub(crate) fn forget(cluster: &mut Cluster) {
    cluster.progress = Some(ClusterProgressInfo::default());
}
