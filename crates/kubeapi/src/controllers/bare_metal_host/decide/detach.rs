//! metal3 takes a machine back whose host left its cluster, and keeps its hands off one that was installed (kube-api §6.6.4, §6.6.5).

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::condition::find;
use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use kube::ResourceExt;

use super::keep::takes_agent_along;
use super::{Observed, Step, annotate, state, withdraw};
use crate::text::same_json;

/// Who keeps metal3's hands off.
const OWN: &str = "assisted-service-controller";
/// The same, for a machine whose Agent goes first when it is deleted.
const DELAYS_DELETION: &str = r#"{"deleteAction":"delay"}"#;
/// Stages in which the installer, or what it installed, restarts the machine by itself.
const INSTALLED: &[&str] = &["Failed", "Rebooting", "Joined", "Done"];
/// The state of a machine that metal3 has installed.
const PROVISIONED: &str = "provisioned";

fn waits_for_reboot(agent: &Agent) -> bool {
    let conditions = agent.status.iter().flat_map(|status| &status.conditions);
    find(conditions, "Bound").is_some_and(|bound| bound.reason == "UnbindingPendingUserAction")
}

/// A host that left its cluster boots the image again: metal3 takes the machine back.
pub(super) fn unbound(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    if !seen.agent.is_some_and(waits_for_reboot) {
        return Step::Continue;
    }
    let mut next = Step::Stop;
    if seen.flow.is_converged() {
        match state(host) {
            PROVISIONED => host.spec.custom_deploy = None,
            "deprovisioning" => {}
            _ => next = Step::Continue,
        }
    } else if host.annotations().contains_key(annotation::BMH_DETACHED) {
        host.spec.image = None;
    } else {
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
    next
}

/// metal3 keeps its hands off a machine that is installed, or that the installer restarts.
pub(super) fn detach(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    if host.annotations().contains_key(annotation::BMAC_ALLOW_MANAGEMENT) {
        if seen.flow.is_converged() && !takes_agent_along(host) {
            withdraw(host, &[annotation::BMH_DETACHED, annotation::BMH_PAUSED]);
            return Step::Continue;
        }
        tracing::warn!(
            machine = host.name_any(),
            "metal3 does not look after this machine once it is installed, whatever its annotation {} says: that is so where metal3 \
             inspects machines, and not together with {}",
            annotation::BMAC_ALLOW_MANAGEMENT,
            annotation::BMAC_REMOVE_AGENT
        );
    }
    if is_installed(host, seen) {
        let delays = seen.flow.is_converged() && takes_agent_along(host);
        annotate(host, annotation::BMH_DETACHED, if delays { DELAYS_DELETION } else { OWN }.to_owned());
    }
    if seen.pauses {
        pause(host, seen);
    }
    Step::Continue
}

fn is_installed(host: &BareMetalHost, seen: &Observed<'_>) -> bool {
    if seen.agent.is_some_and(waits_for_reboot) {
        return false;
    }
    if seen.flow.is_converged() {
        return state(host) == PROVISIONED;
    }
    let progress = seen.agent.and_then(|agent| agent.status.as_ref()?.progress.as_ref());
    progress.is_some_and(|progress| INSTALLED.contains(&progress.current_stage.as_str()))
}

/// metal3 does nothing at all with a machine that it keeps its hands off, and its status is kept.
fn pause(host: &mut BareMetalHost, seen: &Observed<'_>) {
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
    if state(host).is_empty() && host.annotations().contains_key(annotation::BMH_STATUS) {
        // It came from another hub: metal3 takes over its status.
        withdraw(host, &[annotation::BMH_PAUSED]);
    }
}
