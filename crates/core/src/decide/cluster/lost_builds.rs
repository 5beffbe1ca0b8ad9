//! Builds of the images of nodes whose builder says nothing any more, and what becomes of a build that failed.

use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::on_cluster_layering::{BuildState, LayeringBuild, LayeringErrorCode};
use jiff::Timestamp;

use crate::model::cluster::ClusterRecord;
use crate::model::deadline;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::Facts;

/// How long a builder may say nothing before it counts as lost.
pub const SILENCE: Duration = Duration::from_secs(10 * 60);
/// The states of a cluster in which builders report.
pub(super) const REPORTED_IN: [ClusterStatus; 3] =
    [ClusterStatus::Installing, ClusterStatus::InstallingPendingUserAction, ClusterStatus::Finalizing];

/// The moment from which on the next build counts as lost, unless its builder says something.
pub(crate) fn silent_until(facts: &Facts) -> Option<Timestamp> {
    let record = facts.cluster.as_ref().filter(|record| REPORTED_IN.contains(&record.cluster.status))?;
    let active = record.layering.builds.iter().filter(|build| !build.state.is_terminal());
    active.filter_map(|build| build.updated_at.map(|at| deadline::after(at.0, SILENCE))).min()
}

/// Gives up builds whose builder has said nothing for too long.
pub(crate) fn give_up(facts: &mut Facts, events: &mut Vec<NewEvent>) -> bool {
    if silent_until(facts).is_none_or(|until| until > facts.now) {
        return false;
    }
    let now = facts.now;
    let Some(record) = &mut facts.cluster else { return false };
    let lost: Vec<LayeringBuild> =
        record.layering.builds.iter().filter(|build| !build.state.is_terminal()).cloned().collect();
    for mut build in lost {
        if build.updated_at.is_none_or(|at| deadline::after(at.0, SILENCE) > now) {
            continue;
        }
        build.state = BuildState::Failed;
        build.error_code = Some(LayeringErrorCode::Lost);
        build.error = Some("its builder has reported nothing for 10 minutes".to_owned());
        build.completed_at = Some(now.into());
        events.push(failed(record.cluster.id, &build));
        keep(record, build);
    }
    true
}

/// What users are told of a build that failed.
pub(super) fn failed(id: assisted_wire::id::ClusterId, build: &LayeringBuild) -> NewEvent {
    let code = build.error_code.map_or("", LayeringErrorCode::as_str);
    let error = build.error.as_deref().unwrap_or_default();
    catalogue::OCL_BUILD_FAILED.of_cluster(id, &[("pool", &build.pool), ("code", &code), ("error", &error)])
}

/// Puts a build in the place of what was known of its pool.
pub(super) fn keep(record: &mut ClusterRecord, build: LayeringBuild) {
    record.layering.builds.retain(|known| known.pool != build.pool);
    record.layering.builds.push(build);
    record.layering.builds.sort_by_key(|build| build.pool);
}
