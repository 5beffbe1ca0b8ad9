//! One pass over a machine: what it and its Agent are to become (kube-api §6.6.2 to §6.6.8). A second pass changes nothing.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::condition::find;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::{BareMetalHost, Image};
use assisted_kube::finalizer;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::Value;

use super::agent::{makes_fencing_credentials, wanted};
use super::hardware;
use crate::text::same_json;

/// Who keeps metal3's hands off.
const OWN: &str = "assisted-service-controller";
/// Stages in which the installer, or what it installed, restarts the machine by itself.
const INSTALLED: &[&str] = &["Failed", "Rebooting", "Joined", "Done"];
/// States of a machine in which metal3 takes an image.
const TAKES_IMAGE: &[&str] = &["ready", "available"];

/// What a pass looks at beside the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// The one that the machine's label names.
    pub(super) infra_env: Option<&'a InfraEnv>,
    pub(super) agent: Option<&'a Agent>,
    /// Whether metal3 is paused where it keeps its hands off.
    pub(super) pauses: bool,
    /// The machine's status with all of its fields, where it is needed.
    pub(super) whole_status: Option<&'a Value>,
    /// How long an image rests before machines boot it.
    pub(super) cool_down: SignedDuration,
    pub(super) now: Timestamp,
}

/// What both are to become.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) host: BareMetalHost,
    /// `None`: there is none, or it is none of this pass's business.
    pub(super) agent: Option<Agent>,
    /// The Agent names credentials that have to be made.
    pub(super) makes_fencing_credentials: bool,
    /// When to look again, if nothing changes earlier.
    pub(super) again: Option<Timestamp>,
    /// What stands in the way of a part.
    pub(super) problem: Option<String>,
}

/// Whether a pass goes on after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Continue,
    Stop,
    Again(Timestamp),
}

/// Decides.
pub(super) fn decide(object: &BareMetalHost, seen: &Seen<'_>) -> Decision {
    let host = object.clone();
    let mut decision =
        Decision { host, agent: None, makes_fencing_credentials: false, again: None, problem: None };
    match on_machine(&mut decision.host, seen) {
        Step::Continue => {}
        Step::Stop => return decision,
        Step::Again(at) => {
            decision.again = Some(at);
            return decision;
        }
    }
    let Some(agent) = seen.agent else { return decision };
    let (agent, problem) = wanted(agent, object, seen.infra_env);
    let inspected = object.status.as_ref().and_then(|status| status.hardware.as_ref());
    let is_known = inspected.is_some_and(|hardware| !hardware.hostname.is_empty());
    if problem.is_none()
        && !is_known
        && !object.annotations().contains_key(annotation::HARDWARE_DETAILS)
        && let Some(details) = hardware::details(&agent)
    {
        annotate(&mut decision.host, annotation::HARDWARE_DETAILS, details);
    }
    (decision.agent, decision.problem) = (Some(agent), problem);
    decision.makes_fencing_credentials = makes_fencing_credentials(object);
    decision
}

fn on_machine(host: &mut BareMetalHost, seen: &Seen<'_>) -> Step {
    if seen.infra_env.is_some() {
        let labels = host.metadata.labels.get_or_insert_default();
        labels.entry(label::BACKUP.to_owned()).or_insert_with(|| "true".to_owned());
    }
    let steps: [fn(&mut BareMetalHost, &Seen<'_>) -> Step; 4] = [keep, unbound, detach, boot];
    for step in steps {
        let next = step(host, seen);
        if next != Step::Continue {
            return next;
        }
    }
    Step::Continue
}

/// The machine is kept as long as it has an InfraEnv; its Agent stays when it goes.
fn keep(host: &mut BareMetalHost, seen: &Seen<'_>) -> Step {
    if !host.labels().contains_key(label::INFRA_ENV) {
        finalizer::remove(&mut host.metadata, names::BARE_METAL_HOST);
        return Step::Stop;
    }
    if !finalizer::is_deleting(&host.metadata) {
        finalizer::add(&mut host.metadata, names::BARE_METAL_HOST);
        return Step::Continue;
    }
    let was_kept = finalizer::remove(&mut host.metadata, names::BARE_METAL_HOST);
    if !was_kept || seen.agent.is_none() {
        withdraw(host, &[annotation::BMH_PAUSED]);
    }
    Step::Stop
}

fn waits_for_reboot(agent: &Agent) -> bool {
    let conditions = agent.status.iter().flat_map(|status| &status.conditions);
    find(conditions, "Bound").is_some_and(|bound| bound.reason == "UnbindingPendingUserAction")
}

/// A host that left its cluster boots the image again: metal3 takes the machine back.
fn unbound(host: &mut BareMetalHost, seen: &Seen<'_>) -> Step {
    let is_detached = host.annotations().contains_key(annotation::BMH_DETACHED);
    if !is_detached || !seen.agent.is_some_and(waits_for_reboot) {
        return Step::Continue;
    }
    withdraw(
        host,
        &[
            annotation::BMH_DETACHED,
            annotation::BMH_PAUSED,
            annotation::HARDWARE_DETAILS,
            annotation::BMAC_SPOKE_CREATED,
        ],
    );
    host.spec.image = None;
    Step::Stop
}

/// metal3 keeps its hands off a machine that the installer restarts.
fn detach(host: &mut BareMetalHost, seen: &Seen<'_>) -> Step {
    let progress = |agent: &Agent| {
        agent.status.as_ref()?.progress.as_ref().map(|progress| progress.current_stage.clone())
    };
    let stage = seen.agent.filter(|agent| !waits_for_reboot(agent)).and_then(progress);
    if stage.is_some_and(|stage| INSTALLED.contains(&stage.as_str())) {
        annotate(host, annotation::BMH_DETACHED, OWN.to_owned());
    }
    if !seen.pauses {
        return Step::Continue;
    }
    // Only then does the status tell nothing that passes.
    if let Some(status) = seen.whole_status {
        let status = status.to_string();
        let is_fresh =
            host.annotations().get(annotation::BMH_STATUS).is_some_and(|kept| same_json(kept, &status));
        if !is_fresh {
            annotate(host, annotation::BMH_STATUS, status);
        }
        annotate(host, annotation::BMH_PAUSED, OWN.to_owned());
    }
    let is_new = host.status.as_ref().is_none_or(|status| status.provisioning.state.is_empty());
    if is_new && host.annotations().contains_key(annotation::BMH_STATUS) {
        // It came from another hub: metal3 takes over its status.
        withdraw(host, &[annotation::BMH_PAUSED]);
    }
    Step::Continue
}

/// The machine boots the image of its InfraEnv.
fn boot(host: &mut BareMetalHost, seen: &Seen<'_>) -> Step {
    let Some(infra_env) = seen.infra_env else { return Step::Stop };
    if host.annotations().contains_key(annotation::BMH_DETACHED) {
        return Step::Continue;
    }
    let annotations = host.metadata.annotations.get_or_insert_default();
    annotations.entry(annotation::INSPECT.to_owned()).or_insert_with(|| "disabled".to_owned());
    "disabled".clone_into(&mut host.spec.automated_cleaning_mode);
    let Some(status) = infra_env.status.as_ref().filter(|status| !status.iso_download_url.is_empty()) else {
        return Step::Stop;
    };
    let url = &status.iso_download_url;
    if host.spec.image.as_ref().is_some_and(|image| image.url == *url) {
        return Step::Continue;
    }
    let rested = status.created_time.as_ref().and_then(|made| made.0.checked_add(seen.cool_down).ok());
    if let Some(rested) = rested.filter(|rested| *rested > seen.now) {
        return Step::Again(rested);
    }
    let state = host.status.as_ref().map_or("", |status| status.provisioning.state.as_str());
    if TAKES_IMAGE.contains(&state) {
        host.spec.image = Some(Image { url: url.clone(), format: "live-iso".to_owned(), ..Image::default() });
        host.spec.online = true;
    } else {
        // metal3 takes the old image away first, and fetches the new one then.
        host.spec.image = None;
    }
    Step::Stop
}

fn annotate(host: &mut BareMetalHost, name: &str, value: String) {
    host.metadata.annotations.get_or_insert_default().insert(name.to_owned(), value);
}

fn withdraw(host: &mut BareMetalHost, annotations: &[&str]) {
    if let Some(known) = &mut host.metadata.annotations {
        known.retain(|name, _| !annotations.contains(&name.as_str()));
    }
}

#[cfg(test)]
mod tests;
