//! A host of a pool joins a cluster, and a host leaves its cluster (service-api §6.5).

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole;
use assisted_wire::version::ImageCpuArchitecture;
use jiff::Timestamp;

use super::registration::accepts_hosts;
use super::update::{suits_arbiter, suits_fencing};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::policy::Policy;
use crate::state::host::transition::{BIND, HostRule, RECLAIM, UNBIND, follow, rule_of};
use crate::state::host::{forget, state};

/// Binds a host to a cluster. That both exist, and that the caller may change the cluster, is the caller's to check.
///
/// # Errors
///
/// `Conflict` when it is bound or the cluster takes no hosts, `Invalid` when it does not fit, `Internal` when its state is wrong.
pub fn bind_host(
    host: &HostFacts,
    infra_env: &InfraEnvRecord,
    cluster: &ClusterRecord,
    policy: &Policy,
    now: Timestamp,
) -> Result<Decision, RefusalWithEvents> {
    let (id, cluster_id) = (host.record.host.id, cluster.cluster.id);
    if let Some(bound) = host.record.host.cluster_id {
        return Err(Refusal::conflict(format!("Host {id} is already bound to cluster {bound}")).into());
    }
    let refuse = |refusal: Refusal| {
        let values: &[(&str, &dyn std::fmt::Display)] =
            &[("cluster_id", &cluster_id), ("message", &refusal.reason)];
        let event =
            NewEvent { cluster_id: Some(cluster_id), ..catalogue::HOST_BIND_FAILED.of_host(host, values) };
        RefusalWithEvents::with_event(refusal, event)
    };
    fits(host, infra_env, cluster, policy).map_err(refuse)?;
    accepts_hosts(&cluster.cluster).map_err(refuse)?;
    let Some(rule) = rule_of(BIND, host) else {
        return Err(refuse(state::no_rule(RefusalKind::Internal, host)));
    };
    let (mut after, mut events) = (host.clone(), Vec::new());
    forget::forget(&mut after, false);
    after.record.host.cluster_id = Some(cluster_id);
    follow(rule, &mut after, now, &mut events);
    events.push(catalogue::HOST_BIND_SUCCEEDED.of_host(&after, &[]));
    Ok(Decision::of_host(host, after, now, events))
}

/// Whether the host suits the cluster.
fn fits(
    host: &HostFacts,
    infra_env: &InfraEnvRecord,
    cluster: &ClusterRecord,
    policy: &Policy,
) -> Result<(), Refusal> {
    let own = infra_env.infra_env.cpu_architecture.map(ImageCpuArchitecture::as_str);
    if let (Some(own), Some(wanted)) = (own, cluster.cluster.cpu_architecture)
        && wanted != CpuArchitecture::Multi
        && wanted.as_str() != own
    {
        let reason = format!("InfraEnv's CPU architecture ({own}) doesn't match the cluster ({wanted})");
        return Err(Refusal::invalid(reason));
    }
    let id = host.record.host.id;
    if host.record.host.role == Some(HostRole::Arbiter) {
        suits_arbiter(&cluster.cluster, policy).map_err(|reason| {
            Refusal::invalid(format!("Host {id} is assigned the arbiter role: {reason}"))
        })?;
    }
    if !host.record.host.fencing_credentials.is_empty() {
        suits_fencing(&cluster.cluster, policy)
            .map_err(|reason| Refusal::invalid(format!("Host {id} has fencing credentials: {reason}")))?;
    }
    Ok(())
}

/// Unbinds a host at a user's request.
///
/// # Errors
///
/// `Conflict` when it is being installed, not bound, or bound through its infra-env; `Internal` when its state is wrong.
pub fn unbind_host(
    host: &HostFacts,
    infra_env: &InfraEnvRecord,
    now: Timestamp,
) -> Result<Decision, RefusalWithEvents> {
    if state::INSTALLING.contains(&host.record.host.status) {
        let id = host.record.host.id;
        let reason = format!("Cannot unbind Host {id} while it is in the middle of installing.");
        return Err(Refusal::conflict(reason).into());
    }
    unbind_described_host(host, infra_env, false, now)
}

/// Unbinds a host because its object says so, which has looked itself whether it may leave an installation. `reclaimed`: the cluster
/// helps an installed host to boot the discovery image; else a person does.
///
/// # Errors
///
/// `Conflict` when it is not bound, or bound through its infra-env; `Internal` when its state is wrong.
pub fn unbind_described_host(
    host: &HostFacts,
    infra_env: &InfraEnvRecord,
    reclaimed: bool,
    now: Timestamp,
) -> Result<Decision, RefusalWithEvents> {
    let id = host.record.host.id;
    if host.record.host.cluster_id.is_none() {
        return Err(Refusal::conflict(format!("Host {id} is already unbound")).into());
    }
    let refuse = |refusal: Refusal| {
        let event = catalogue::HOST_UNBIND_FAILED.of_host(host, &[("message", &refusal.reason)]);
        RefusalWithEvents::with_event(refusal, event)
    };
    if let Some(cluster_id) = infra_env.infra_env.cluster_id {
        let infra_env_id = infra_env.infra_env.id;
        let reason =
            format!("Cannot unbind Host {id}. InfraEnv {infra_env_id} is bound to Cluster {cluster_id}");
        return Err(refuse(Refusal::conflict(reason)));
    }
    let left = if reclaimed { reclaim_host(host, now) } else { release_host(host, now) };
    left.map_err(refuse)
}

/// Takes a host out of its cluster, as when the cluster is removed.
///
/// # Errors
///
/// `Internal` when its state is wrong.
pub fn release_host(host: &HostFacts, now: Timestamp) -> Result<Decision, Refusal> {
    leave(UNBIND, host, now)
}

/// Takes a host out of its cluster; an installed one boots the discovery image by itself, with the help of the cluster
/// that it leaves.
///
/// # Errors
///
/// `Internal` when its state is wrong.
pub fn reclaim_host(host: &HostFacts, now: Timestamp) -> Result<Decision, Refusal> {
    leave(RECLAIM, host, now)
}

fn leave(table: &'static [HostRule], host: &HostFacts, now: Timestamp) -> Result<Decision, Refusal> {
    let rule = rule_of(table, host).ok_or_else(|| state::no_rule(RefusalKind::Internal, host))?;
    let (mut after, mut events) = (host.clone(), Vec::new());
    forget::leave_cluster(&mut after);
    follow(rule, &mut after, now, &mut events);
    events.push(catalogue::HOST_UNBIND_SUCCEEDED.of_host(&after, &[]));
    Ok(Decision::of_host(host, after, now, events))
}
