//! What is told of the images of a cluster's nodes, and what builders and the controller report of them (ocl-day1 §B10.1, §B12).

use assisted_wire::on_cluster_layering::{
    BuildLocation, BuildState, HostPhase, LayeringBuild, LayeringErrorCode, LayeringHost, LayeringReport,
    LayeringState, LayeringStatus, Pool,
};
use serde_json::Value;

use super::lost_builds::{REPORTED_IN, failed, keep};
use crate::decide::refresh::WorkingCopy;
use crate::layering::cluster_rules as rules;
use crate::layering::input::Input;
use crate::layering::reference::{PushSpec, is_digest_reference};
use crate::layering::settings::{BuildLocation as Asked, RegistryType, Rollout};
use crate::layering::{Rule, Violation};
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::Facts;
use crate::model::layering::{LayeringRecord, ManifestObject, failure};
use crate::model::refusal::{Refusal, RefusalKind};

const MOST_ATTEMPTS: u32 = 1000;
/// Longest text of a report, in characters; what is longer is cut.
const LONGEST: usize = 1024;

/// The state of the images of a cluster's nodes, as the API shows it.
pub fn state(facts: &Facts) -> LayeringState {
    let Some(record) = &facts.cluster else { return disabled(&LayeringRecord::default()) };
    let Some(input) = Input::of(facts) else { return disabled(&record.layering) };
    let builds = builds(&input, &record.layering);
    let (status, status_info) = overall(&builds);
    let registry_port =
        (input.settings.registry_type() == RegistryType::Embedded).then(|| input.settings.port());
    LayeringState {
        enabled: true,
        registry_type: input.settings.registry_type().as_str().to_owned(),
        registry_port,
        rollout: input.settings.rollout().as_str().to_owned(),
        status,
        status_info,
        adopted: status == LayeringStatus::Adopted,
        builds,
        hosts: record.layering.hosts.clone(),
        settings: record.layering.asked.as_deref().cloned(),
        push_secret_set: !record.layering.push_secret.is_empty(),
    }
}

fn disabled(record: &LayeringRecord) -> LayeringState {
    LayeringState {
        enabled: false,
        registry_type: RegistryType::Embedded.as_str().to_owned(),
        registry_port: None,
        rollout: Rollout::Deploy.as_str().to_owned(),
        status: LayeringStatus::Disabled,
        status_info: String::new(),
        adopted: false,
        builds: Vec::new(),
        hosts: Vec::new(),
        settings: record.asked.as_deref().cloned(),
        push_secret_set: !record.push_secret.is_empty(),
    }
}

/// One for each pool: as it was reported, else as it will begin.
fn builds(input: &Input<'_>, record: &LayeringRecord) -> Vec<LayeringBuild> {
    let of = |pool: Pool| {
        let reported = record.builds.iter().find(|build| build.pool == pool).cloned();
        reported.unwrap_or_else(|| pending(pool, location(input, pool)))
    };
    input.pools().into_iter().map(of).collect()
}

/// Where a pool's image is built. A service that runs on the bootstrap host is reached by nobody in the cluster, so everything is
/// built there.
fn location(input: &Input<'_>, pool: Pool) -> BuildLocation {
    let asked = input.settings.worker_build_location() == Asked::Bootstrap;
    if pool == Pool::Master || asked || is_on_bootstrap_host(input) {
        BuildLocation::Bootstrap
    } else {
        BuildLocation::ControlPlane
    }
}

/// Whether the service itself runs on the bootstrap host.
fn is_on_bootstrap_host(input: &Input<'_>) -> bool {
    input.facts.policy.service.install_invoker == "agent-installer"
}

fn pending(pool: Pool, location: BuildLocation) -> LayeringBuild {
    LayeringBuild {
        pool,
        location,
        host_id: None,
        state: BuildState::Pending,
        attempt: 0,
        percent: 0,
        step: None,
        rendered_machine_config: None,
        base_image: None,
        image: None,
        image_bytes: None,
        inputs_hash: None,
        seedable: None,
        adopted: false,
        started_at: None,
        updated_at: None,
        completed_at: None,
        error: None,
        error_code: None,
    }
}

fn overall(builds: &[LayeringBuild]) -> (LayeringStatus, String) {
    let of = |state: BuildState| builds.iter().find(|build| build.state == state);
    if let Some(failure) = failure(builds) {
        return (LayeringStatus::Failed, failure);
    }
    let active = builds.iter().find(|build| !build.state.is_terminal() && build.state != BuildState::Pending);
    if let Some(active) = active {
        return (LayeringStatus::Building, format!("Building image for pool {}", active.pool));
    }
    let waiting = builds.iter().filter(|build| build.state == BuildState::Pending).count();
    if waiting == builds.len() {
        return (LayeringStatus::Pending, "Waiting for the installation".to_owned());
    }
    if let Some(pending) = of(BuildState::Pending) {
        return (LayeringStatus::Building, format!("Waiting to build the image for pool {}", pending.pool));
    }
    if builds.iter().all(|build| build.adopted) {
        return (LayeringStatus::Adopted, "The cluster has taken over its images".to_owned());
    }
    match builds.iter().find(|build| build.adopted) {
        Some(_) => (LayeringStatus::Adopting, "The cluster takes over its images".to_owned()),
        None => (LayeringStatus::Ready, "The images of all pools are ready".to_owned()),
    }
}

/// The MachineOSConfig of a pool as its user brought it, without what says that an image is there already.
///
/// # Errors
///
/// `NotFound` when there is none.
pub fn machine_os_config(facts: &Facts, pool: &str) -> Result<Value, Refusal> {
    let missing = || Refusal::not_found(format!("There is no MachineOSConfig for pool {}", cut(pool)));
    let input = Input::of(facts).ok_or_else(missing)?;
    let found = input.objects.iter().find_map(|object| match object {
        ManifestObject::MachineOsConfig(document)
            if document["spec"]["machineConfigPool"]["name"] == pool =>
        {
            Some(document)
        }
        _ => None,
    });
    let mut document = match (found, pool.parse()) {
        (Some(document), _) => document.clone(),
        (None, Ok(pool))
            if input.settings.machine_os_configs()
                == crate::layering::settings::MachineOsConfigs::Generate =>
        {
            crate::layering::generated::machine_os_config(&input.settings, pool)
        }
        _ => return Err(missing()),
    };
    if let Some(annotations) = document.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(crate::layering::machine_os_config::PRE_BUILT_IMAGE);
    }
    Ok(document)
}

/// Takes what a builder, the controller or a host reports of a pool.
///
/// # Errors
///
/// `NotFound` for a pool whose image is not built, `Conflict` while the cluster is not installed or when the report is older than what is
/// known, `Unprocessable` for an image that nodes can't be given, or for a report that says nothing.
pub fn report(facts: &Facts, pool: &str, report: LayeringReport) -> Result<Decision, Refusal> {
    let input =
        Input::of(facts).ok_or_else(|| Refusal::not_found("The cluster is not installed in image mode"))?;
    let known = pool.parse::<Pool>().ok().filter(|pool| input.pools().contains(pool));
    let pool =
        known.ok_or_else(|| Refusal::not_found(format!("No image is built for pool {}", cut(pool))))?;
    let status = input.cluster.status;
    if !REPORTED_IN.contains(&status) {
        return Err(Refusal::conflict(format!(
            "Images are built while a cluster is installed, this one is {status}"
        )));
    }
    if report.build.is_none() && report.hosts.is_empty() {
        return Err(Refusal::new(RefusalKind::Unprocessable, "The report has neither a build nor hosts"));
    }
    let record = facts.cluster.as_ref();
    let before = record.and_then(|record| record.layering.builds.iter().find(|build| build.pool == pool));
    let build = report.build.map(|build| taken(&input, pool, build, before)).transpose()?;
    let mut draft = WorkingCopy::new(facts);
    let mut events = Vec::new();
    if let Some(record) = &mut draft.facts.cluster {
        if let Some(build) = build {
            events.extend(changed_events(input.cluster.id, before, &build));
            keep(record, build);
        }
        for host in report.hosts {
            events.extend(keep_host(facts, record, pool, host));
        }
    }
    draft.events.extend(events);
    Ok(draft.reconciled())
}

/// A build that was reported, with the times that the service gives it.
fn taken(
    input: &Input<'_>,
    pool: Pool,
    build: LayeringBuild,
    before: Option<&LayeringBuild>,
) -> Result<LayeringBuild, Refusal> {
    let now = Some(input.facts.now.into());
    let mut build = bounded(build);
    check(input, pool, &build, before)?;
    build.started_at = before.and_then(|before| before.started_at).or(build.started_at).or(now);
    build.updated_at = now;
    build.completed_at = now.filter(|_| build.state.is_terminal());
    if let Some(before) =
        before.filter(|before| before.state == build.state && before.attempt == build.attempt)
    {
        build.completed_at = before.completed_at.or(build.completed_at);
    }
    Ok(build)
}

/// Keeps what a host does, and gives what users are told of it. Of a host that the cluster doesn't have nothing is kept.
fn keep_host(
    facts: &Facts,
    record: &mut ClusterRecord,
    pool: Pool,
    mut host: LayeringHost,
) -> Option<NewEvent> {
    let known = facts.hosts.iter().find(|known| known.record.host.id == host.host_id)?;
    host.info = cut(&host.info);
    let place = record.layering.hosts.iter().position(|kept| kept.host_id == host.host_id);
    let was = place.map(|place| record.layering.hosts.remove(place));
    let was_phase = was.as_ref().map(|was| was.phase);
    // With a reason, a host switches because its disk didn't take the image.
    let gives_up = host.phase == HostPhase::Switching && !host.info.is_empty();
    let is_replicated = was_phase == Some(HostPhase::Replicating)
        && host.phase != HostPhase::Replicating
        && host.phase != HostPhase::Failed;
    let event = if gives_up && was.as_ref() != Some(&host) {
        Some(catalogue::OCL_DEPLOY_FAILED.of_host(known, &[("pool", &pool), ("error", &host.info)]))
    } else if is_replicated {
        Some(catalogue::OCL_IMAGE_REPLICATED.of_host(known, &[("pool", &pool)]))
    } else {
        None
    };
    record.layering.hosts.insert(place.unwrap_or(record.layering.hosts.len()), host);
    event
}

fn bounded(mut build: LayeringBuild) -> LayeringBuild {
    let texts = [
        &mut build.step,
        &mut build.error,
        &mut build.base_image,
        &mut build.image,
        &mut build.rendered_machine_config,
        &mut build.inputs_hash,
    ];
    for text in texts.into_iter().flatten() {
        *text = cut(text);
    }
    build.percent = build.percent.min(100);
    build
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

fn check(
    input: &Input<'_>,
    pool: Pool,
    build: &LayeringBuild,
    before: Option<&LayeringBuild>,
) -> Result<(), Refusal> {
    let unprocessable = |why: String| Err(Refusal::new(RefusalKind::Unprocessable, why));
    if build.pool != pool || build.attempt > MOST_ATTEMPTS {
        return unprocessable(format!("The report is not one of pool {pool}"));
    }
    if let Some(before) = before {
        let older = build.attempt < before.attempt;
        let ended = build.attempt == before.attempt
            && before.state.is_terminal()
            && build.state != before.state
            && !is_of_roll_out(before, build);
        if older || ended {
            return Err(Refusal::conflict(format!(
                "Attempt {} of pool {pool} is {}: what is reported is older",
                before.attempt, before.state
            )));
        }
    }
    match build.state {
        BuildState::Ready => {
            let image = build.image.as_deref().unwrap_or_default();
            let repository = image.split_once('@').map_or("", |parts| parts.0);
            if !is_digest_reference(image) || Some(repository) != expected(input, pool).as_deref() {
                return unprocessable(format!(
                    "The image of pool {pool} must be named by digest, in the repository that is agreed"
                ));
            }
            Ok(())
        }
        BuildState::Failed if build.error_code.is_none() => {
            unprocessable("A build that failed needs an error_code".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether an image that was built well has failed on the nodes.
fn is_of_roll_out(before: &LayeringBuild, build: &LayeringBuild) -> bool {
    use LayeringErrorCode::{Adopt, Boot, Deploy};
    before.state == BuildState::Ready
        && build.state == BuildState::Failed
        && matches!(build.error_code, Some(Deploy | Boot | Adopt))
}

/// The repository that a pool's image is in.
fn expected(input: &Input<'_>, pool: Pool) -> Option<String> {
    if input.is_embedded() {
        let cluster = input.cluster;
        let host = format!("api-int.{}.{}:{}", cluster.name, cluster.base_dns_domain, input.settings.port());
        return Some(format!("{host}/ocl/os-image-{pool}"));
    }
    let document = machine_os_config(input.facts, pool.as_str()).ok()?;
    let spec = document["spec"]["renderedImagePushSpec"].as_str()?;
    PushSpec::parse(spec).ok().map(|spec| spec.repository.to_owned())
}

/// The events of a change.
fn changed_events(
    id: assisted_wire::id::ClusterId,
    before: Option<&LayeringBuild>,
    after: &LayeringBuild,
) -> Vec<NewEvent> {
    let mut events = Vec::new();
    let (pool, attempt) = (after.pool, after.attempt);
    let was = before.map_or(BuildState::Pending, |before| before.state);
    let mut push = |event: NewEvent| {
        let props = serde_json::json!({"pool": pool, "attempt": attempt, "image": after.image, "duration_seconds": seconds(after)});
        events.push(NewEvent { props: Some(props), ..event });
    };
    if was == BuildState::Pending && after.state != BuildState::Pending {
        push(catalogue::OCL_BUILD_STARTED.of_cluster(id, &[("pool", &pool), ("location", &after.location)]));
    }
    if before.is_some_and(|before| before.attempt > 0 && before.attempt < attempt) {
        push(catalogue::OCL_BUILD_RETRY.of_cluster(id, &[("pool", &pool), ("attempt", &attempt)]));
    }
    if was != after.state {
        match after.state {
            BuildState::Ready => {
                let image = after.image.as_deref().unwrap_or_default();
                push(
                    catalogue::OCL_BUILD_SUCCEEDED
                        .of_cluster(id, &[("pool", &pool), ("image", &image), ("seconds", &seconds(after))]),
                );
            }
            BuildState::Failed => push(failed(id, after)),
            state => {
                push(
                    catalogue::OCL_BUILD_STATE_CHANGED.of_cluster(id, &[("pool", &pool), ("state", &state)]),
                );
            }
        }
    }
    if after.seedable == Some(false) && before.is_none_or(|before| before.seedable != Some(false)) {
        push(catalogue::OCL_NOT_SEEDABLE.of_cluster(id, &[("pool", &pool)]));
    }
    if after.adopted && before.is_none_or(|before| !before.adopted) {
        push(catalogue::OCL_POOL_ADOPTED.of_cluster(id, &[("pool", &pool)]));
    }
    events
}

fn seconds(build: &LayeringBuild) -> i64 {
    match (build.started_at, build.updated_at) {
        (Some(began), Some(now)) => (now.0.as_second() - began.0.as_second()).max(0),
        _ => 0,
    }
}

/// What does not hold an installation up, but may spoil it.
pub(crate) fn warnings(facts: &Facts) -> Vec<NewEvent> {
    let Some(input) = Input::of(facts) else { return Vec::new() };
    let mut violations = rules::v24(&input);
    if !input.is_embedded() {
        // With an external registry these nodes boot the release's image first.
        violations.extend(rules::not_deployable(&input));
    }
    for config in input.configs().iter().filter(|config| !config.ignored.is_empty()) {
        let (pool, ignored) = (config.pool, config.ignored.join(", "));
        let text = format!(
            "the Containerfiles of pool {pool} for {ignored} are not used, only the one for NoArch is"
        );
        violations.push(Violation::new(
            Rule::V07,
            text,
            "Remove them, or merge them into the one for NoArch.",
        ));
    }
    let id = input.cluster.id;
    let told = violations.iter().map(|broken| catalogue::OCL_WARNING.of_cluster(id, &[("warning", broken)]));
    let mut events: Vec<NewEvent> = told.collect();
    let asked = input.settings.worker_build_location == Some(Asked::ControlPlane);
    if asked && is_on_bootstrap_host(&input) && input.workers().next().is_some() {
        let text = "The image of workers is built on the bootstrap host, whatever workerBuildLocation says: the service runs there, and the cluster \
                    does not reach it.";
        events.push(catalogue::OCL_WARNING.of_cluster(id, &[("warning", &text)]));
    }
    events
}

/// Forgets the images of an earlier installation.
pub(crate) fn forget(facts: &mut Facts) {
    if let Some(record) = &mut facts.cluster {
        record.layering.builds.clear();
        record.layering.hosts.clear();
    }
}

#[cfg(test)]
mod tests;
