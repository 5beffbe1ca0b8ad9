//! One pass over a machine: what it and its Agent are to become (kube-api §6.6.2 to §6.6.8). A second pass changes nothing.

mod boot;
mod detach;
mod keep;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{annotation, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::Value;

pub(super) use keep::takes_agent_along;

use super::agent::{makes_fencing_credentials, wanted};
use super::hardware;

/// How machines come to run the image of their InfraEnv.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flow<'a> {
    /// They boot it as virtual media, and metal3 does nothing else with them.
    VirtualMedia,
    /// metal3 inspects and cleans them with it, and has them installed; `image` is what it was shown.
    Converged { image: Option<&'a PreprovisioningImage> },
}

impl Flow<'_> {
    fn is_converged(self) -> bool {
        matches!(self, Self::Converged { .. })
    }
}

/// What a pass looks at beside the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    pub(super) flow: Flow<'a>,
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
    /// The Agent goes, and the machine after it.
    pub(super) removes_agent: bool,
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
    /// The Agent goes, and with it what is left to do.
    RemoveAgent,
}

/// Decides.
pub(super) fn decide(object: &BareMetalHost, seen: &Observed<'_>) -> Decision {
    let host = object.clone();
    let mut decision = Decision {
        host,
        agent: None,
        removes_agent: false,
        makes_fencing_credentials: false,
        again: None,
        problem: None,
    };
    match on_machine(&mut decision.host, seen) {
        Step::Continue => {}
        Step::Stop => return decision,
        Step::RemoveAgent => {
            decision.removes_agent = true;
            return decision;
        }
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
        && !seen.flow.is_converged()
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

fn on_machine(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    if seen.infra_env.is_some() {
        let labels = host.metadata.labels.get_or_insert_default();
        labels.entry(label::BACKUP.to_owned()).or_insert_with(|| "true".to_owned());
    }
    let steps: [fn(&mut BareMetalHost, &Observed<'_>) -> Step; 4] =
        [keep::keep, detach::unbound, detach::detach, boot::boot];
    for step in steps {
        let next = step(host, seen);
        if next != Step::Continue {
            return next;
        }
    }
    Step::Continue
}

/// The state of a machine, as metal3 tells it.
fn state(host: &BareMetalHost) -> &str {
    host.status.as_ref().map_or("", |status| status.provisioning.state.as_str())
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
mod converged;
#[cfg(test)]
mod tests;
