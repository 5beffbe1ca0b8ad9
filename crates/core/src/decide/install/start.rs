//! A user starts the installation (state-machines §8.1).

use assisted_wire::host::{HostRole, HostStatus};

use crate::admission::precondition::{self, Operation};
use crate::catalogue::feature::usage::Usages;
use crate::decide::cluster::layering;
use crate::decide::host;
use crate::decide::refresh::WorkingCopy;
use crate::model::action::Action;
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::embedded;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::state::cluster::refresh::request;
use crate::state::cluster::transition::INSTALL;

/// Of so many hosts or fewer, all become masters anyway.
const FEW_HOSTS: usize = 3;

/// Starts the installation: fixes the roles that were left to the service, looks whether everything is ready with them,
/// and begins to prepare.
///
/// # Errors
///
/// `Invalid` when a host is not ready, `Conflict` when the cluster is not, or when the service only simulates and a host is real, `Internal` when no master can be bootstrap. Nothing is changed
/// then.
pub fn install(facts: &Facts) -> Result<Decision, Refusal> {
    let mut draft = WorkingCopy::new(facts);
    let left_open = draft.facts.hosts.iter().any(|host| host.record.host.role == Some(HostRole::AutoAssign));
    if host::role::fix(&mut draft.facts, &mut draft.events) {
        for host in draft.facts.hosts.iter().filter(|host| !host.is_day2()) {
            let status = host.record.host.status;
            if status != HostStatus::Known {
                let name = host.name();
                let reason = format!("Host {name} is in status {status} and not ready for install");
                return Err(Refusal::invalid(reason));
            }
        }
        draft.reconcile();
    }
    let many = draft.facts.hosts.len() > FEW_HOSTS;
    let Some(record) = &mut draft.facts.cluster else {
        return Err(Refusal::not_found("record not found"));
    };
    draft.events.extend(record_usage(record, left_open && many));
    precondition::check(Operation::Install, &record.cluster)?;
    let cluster_id = record.cluster.id;
    for host in draft.facts.hosts.iter().filter(|host| !host.is_day2()) {
        host::simulated::check(facts, host)?;
    }
    if facts.policy.service.simulated {
        draft.events.push(catalogue::INSTALLATION_SIMULATED.of_cluster(cluster_id, &[]));
    }
    layering::forget(&mut draft.facts);
    draft.events.extend(layering::warnings(&draft.facts));
    request(&mut draft.facts, INSTALL, &mut draft.events);
    host::bootstrap::choose(&mut draft.facts.hosts, &mut draft.events)?;
    let attempt = draft.facts.cluster.as_ref().map(|record| record.cluster.install_started_at.0.into());
    draft.actions.push(Action::DeleteLogs { cluster_id });
    draft.actions.extend(attempt.map(|attempt| Action::Generate { cluster_id, attempt }));
    Ok(draft.reconciled())
}

/// Notes which features an installation uses, and emits an event if the user does without some validations.
fn record_usage(record: &mut ClusterRecord, roles_assigned: bool) -> Option<NewEvent> {
    let ignored = !embedded::ignored_host_validations(record).is_empty()
        || !embedded::ignored_cluster_validations(record).is_empty();
    if roles_assigned || ignored {
        let mut usages = Usages::read(&record.cluster.feature_usage);
        if roles_assigned {
            usages.set("auto assign role", true);
        }
        if ignored {
            usages.set("Validations have been ignored for this cluster", true);
        }
        record.cluster.feature_usage = usages.write();
    }
    ignored.then(|| catalogue::VALIDATIONS_IGNORED.of_cluster(record.cluster.id, &[]))
}
