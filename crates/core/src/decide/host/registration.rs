//! A host registers, for the first time or again, and is removed (service-api §6.2).

use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostKind, HostProgressInfo, HostRole, HostStatus, NextStepRunnerCommand};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::HostId;
use assisted_wire::infra_env::ImageType;
use assisted_wire::operation::BASE_PATH;
use assisted_wire::probe_requests::NextStepCmdRequest;
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::machine::{self, Origin};
use crate::admission::precondition::{self, Operation};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::host::{HostKey, HostRecord};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::refusal::Refusal;
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::model::{disk, topology};
use crate::policy::Policy;
use crate::state::cluster::preparation;
use crate::state::host::rule_context::RuleContext;
use crate::state::host::transition::{Effect, REGISTER};
use crate::state::host::{forget, stage, state, status_info};
use crate::state::machine::choose;

/// An accepted registration.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// Whether the host was not known before: `host` is to be inserted.
    pub created: bool,
    /// The host as it is now, without its reports.
    pub host: HostRecord,
    /// What else is to be written: of a host that was known, what changed, including reports that are gone; nothing of a new one.
    pub decision: Decision,
}

/// Whether a cluster accepts new hosts.
///
/// # Errors
///
/// `Conflict` when it is in the wrong state.
pub fn accepts_hosts(cluster: &Cluster) -> Result<(), Refusal> {
    precondition::check(Operation::AddHost, cluster)
}

/// Registers a host. `cluster` is that of the infra-env, else that of the known host.
///
/// # Errors
///
/// `Invalid` or `Conflict`, mostly with an event that is to be stored all the same.
pub fn register_host(
    existing: Option<&HostFacts>,
    infra_env: &InfraEnvRecord,
    cluster: Option<&ClusterRecord>,
    params: &HostCreateParams,
    user_name: &str,
    origin: &Origin,
    now: Timestamp,
) -> Result<Registered, RefusalWithEvents> {
    if infra_env.infra_env.r#type == ImageType::DisconnectedIso {
        let reason = "Cannot register a host to an InfraEnv with disconnected-iso type";
        return Err(Refusal::invalid(reason).into());
    }
    let mut candidate = candidate(infra_env, cluster.map(|record| &record.cluster), params, user_name, now);
    candidate.record.machine.clone_from(&origin.machine);
    candidate.record.agent_key.clone_from(&origin.key);
    candidate.record.registered_from = origin.peer;
    match existing {
        None => create(candidate, cluster, now),
        Some(host) => again(host, &candidate.record, origin, cluster, now),
    }
}

/// The host as it would be if it were new.
fn candidate(
    infra_env: &InfraEnvRecord,
    cluster: Option<&Cluster>,
    params: &HostCreateParams,
    user_name: &str,
    now: Timestamp,
) -> HostFacts {
    let infra_env_id = infra_env.infra_env.id;
    let mut host = blank(params.host_id);
    host.href = format!("{BASE_PATH}/v2/infra-envs/{infra_env_id}/hosts/{}", params.host_id);
    host.infra_env_id = Some(infra_env_id);
    host.cluster_id = cluster.map(|cluster| cluster.id);
    host.discovery_agent_version.clone_from(&params.discovery_agent_version);
    user_name.clone_into(&mut host.user_name);
    (host.registered_at, host.checked_in_at) = (now.into(), now.into());
    (host.created_at, host.updated_at, host.status_updated_at) = (now.into(), now.into(), now.into());
    if let Some(cluster) = cluster {
        host.status = HostStatus::Discovering;
        if topology::is_day2(cluster) {
            host.kind = HostKind::AddToExistingClusterHost;
            host.role = Some(HostRole::Worker);
            host.machine_config_pool_name = HostRole::Worker.as_str().to_owned();
        } else if topology::is_single_node(cluster) {
            host.role = Some(HostRole::Master);
            host.bootstrap = true;
        }
    }
    host.suggested_role = host.role;
    host.progress_stages = Some(stage::of(&host, cluster));
    let record = HostRecord {
        host,
        ignition_endpoint_token: Default::default(),
        ignition_endpoint_http_headers: String::new(),
        clock_ahead_seconds: None,
        machine: None,
        agent_key: None,
        registered_from: None,
        machine_released: false,
        approved: false,
    };
    HostFacts::new(record, now)
}

fn create(
    mut host: HostFacts,
    cluster: Option<&ClusterRecord>,
    now: Timestamp,
) -> Result<Registered, RefusalWithEvents> {
    if let Some(Err(refusal)) = cluster.map(|record| accepts_hosts(&record.cluster)) {
        let event = catalogue::HOST_REGISTRATION_FAILED.of_host(&host, &[("message", &refusal.reason)]);
        return Err(RefusalWithEvents::with_event(refusal, event));
    }
    status_info::DISCOVERING.clone_into(&mut host.record.host.status_info);
    host.record.host.status_updated_at = now.into();
    let events = vec![catalogue::HOST_REGISTRATION_SUCCEEDED.of_host(&host, &[])];
    let decision = Decision { events, ..Decision::default() };
    Ok(Registered { created: true, host: host.record.into_inner(), decision })
}

fn again(
    host: &HostFacts,
    candidate: &HostRecord,
    origin: &Origin,
    cluster: Option<&ClusterRecord>,
    now: Timestamp,
) -> Result<Registered, RefusalWithEvents> {
    let refuse = |refusal: Refusal| {
        let message = format!("Failed to register host {}: {}", host.name(), refusal.reason);
        RefusalWithEvents::with_event(
            refusal,
            catalogue::HOST_REGISTRATION_FAILED.of_host(host, &[("message", &message)]),
        )
    };
    if let Some(why) = machine::stranger(host, origin) {
        let text = format!(
            "another machine registers under the id of this host: {why}. If its board was changed, let it in by \
             `assisted host release-machine`"
        );
        return Err(refuse(Refusal::conflict(text)));
    }
    if let Some(left) = machine::still_there(host, origin, now) {
        // Time that is begun counts.
        let seconds = left.as_secs() + 1;
        let text = format!(
            "the agent that has registered as this host was heard a moment ago, and another one registers: if the \
             machine was started again, it is let in within {seconds} seconds"
        );
        let event = catalogue::HOST_REGISTRATION_DELAYED.of_host(host, &[("seconds", &seconds)]);
        return Err(RefusalWithEvents::with_event(Refusal::unavailable_for(left, text), event));
    }
    let status = host.record.host.status;
    let rule_context = RuleContext::alone(host);
    let rule = choose(REGISTER, &status, &|condition| condition.holds(&rule_context))
        .ok_or_else(|| refuse(Refusal::invalid("no condition found to run transition")))?;
    let (mut after, mut events, mut changed_cluster) = (host.clone(), Vec::new(), None);
    after.record.host.registered_at = now.into();
    after.record.machine.clone_from(&candidate.machine);
    after.record.agent_key.clone_from(&candidate.agent_key);
    after.record.registered_from = candidate.registered_from;
    after.record.machine_released = false;
    let mut info = rule.info.unwrap_or(&host.record.host.status_info).to_owned();
    for effect in rule.effects {
        match effect {
            Effect::Forget | Effect::ForgetButInventory => {
                forget::forget(&mut after, *effect == Effect::ForgetButInventory);
                after.record.host.kind = candidate.host.kind;
                let version = &candidate.host.discovery_agent_version;
                after.record.host.discovery_agent_version.clone_from(version);
            }
            Effect::RestartPreparation => changed_cluster = cluster.and_then(restart_preparation),
            Effect::DemandDiskBoot => info = demand_disk_boot(host).map_err(refuse)?,
            Effect::RefuseInstalled => return Err(refuse(Refusal::conflict(ALREADY_INSTALLED))),
            _ => {}
        }
    }
    state::enter(&mut after, rule.to.unwrap_or(status), &info, now, &mut events);
    let decision = Decision::of_host(host, after.clone(), now, events);
    let record = decision
        .hosts
        .first()
        .and_then(|change| change.record.clone())
        .unwrap_or_else(|| after.record.into_inner());
    Ok(Registered {
        created: false,
        host: record,
        decision: Decision { cluster: changed_cluster, ..decision },
    })
}

const ALREADY_INSTALLED: &str = "Host is trying to register after the cluster has already been installed. That most probably means that the host is booting from the installation ISO, and therefore not effectively joining the cluster. The request will be ignored. Fix the boot order and reboot the host.";

fn restart_preparation(cluster: &ClusterRecord) -> Option<ClusterRecord> {
    let mut after = cluster.clone();
    preparation::restart(&mut after.cluster);
    (after != *cluster).then_some(after)
}

/// The text that names the disk to boot from. A host that was asked for it already is refused: `Forbidden` that surfaces as `Invalid`
/// (service-api §20.5).
fn demand_disk_boot(host: &HostFacts) -> Result<String, Refusal> {
    let fields = &host.record.host;
    let named = disk::chosen(fields);
    if fields.status == HostStatus::InstallingPendingUserAction {
        return Err(Refusal::invalid(format!("Host is required to be booted from disk {named}")));
    }
    let found = host.inventory.as_deref().and_then(|inventory| disk::find(inventory, named));
    let disk = found.ok_or_else(|| {
        Refusal::invalid(format!("Failed to find the installation disk of host {}", fields.id))
    })?;
    let parts = [&disk.model, &disk.serial].into_iter().filter(|part| !part.is_empty());
    let parts: String = parts.map(|part| format!("{part} ")).collect();
    Ok(format!("{} {parts}({}, {})", status_info::WRONG_BOOT, disk.name, disk.id))
}

/// The event of a host that is removed.
pub fn deregistered(host: &HostFacts) -> NewEvent {
    catalogue::HOST_DEREGISTERED.of_host(host, &[])
}

/// What a registered agent is told to start: one JSON argument (service-api §6.2).
pub fn next_step_runner(policy: &Policy, key: HostKey) -> NextStepRunnerCommand {
    let request = NextStepCmdRequest {
        infra_env_id: key.infra_env_id,
        host_id: key.host_id,
        agent_version: policy.images.agent.clone(),
    };
    let argument = serde_json::to_value(request).map(|value| value.to_string()).unwrap_or_default();
    NextStepRunnerCommand { command: String::new(), args: Some(vec![argument]), retry_seconds: 0 }
}

/// A host of a pool of which nothing is known.
fn blank(id: HostId) -> Host {
    Host {
        kind: HostKind::Host,
        id,
        href: String::new(),
        cluster_id: None,
        infra_env_id: None,
        status: HostStatus::DiscoveringUnbound,
        status_info: String::new(),
        validations_info: String::new(),
        logs_info: None,
        status_updated_at: DateTime::ZERO,
        progress: Some(HostProgressInfo::default()),
        stage_started_at: DateTime::ZERO,
        stage_updated_at: DateTime::ZERO,
        progress_stages: None,
        connectivity: String::new(),
        api_vip_connectivity: String::new(),
        tang_connectivity: String::new(),
        inventory: String::new(),
        free_addresses: String::new(),
        ntp_sources: String::new(),
        disks_info: String::new(),
        role: Some(HostRole::AutoAssign),
        suggested_role: None,
        bootstrap: false,
        logs_collected_at: DateTime::ZERO,
        logs_started_at: DateTime::ZERO,
        installer_version: String::new(),
        installation_disk_path: String::new(),
        installation_disk_id: String::new(),
        updated_at: DateTime::ZERO,
        created_at: DateTime::ZERO,
        checked_in_at: DateTime::ZERO,
        connection_timed_out: false,
        registered_at: DateTime::ZERO,
        discovery_agent_version: String::new(),
        requested_hostname: String::new(),
        user_name: String::new(),
        media_status: None,
        deleted_at: None,
        ignition_config_overrides: String::new(),
        installer_args: String::new(),
        timestamp: 0,
        machine_config_pool_name: String::new(),
        images_status: String::new(),
        domain_name_resolutions: String::new(),
        ignition_endpoint_token_set: false,
        node_labels: String::new(),
        disks_to_be_formatted: String::new(),
        skip_formatting_disks: String::new(),
        fencing_credentials: String::new(),
    }
}
