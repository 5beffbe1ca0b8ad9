//! A machine is kept as long as it has an InfraEnv, and goes with or without its Agent (kube-api §6.6.3).

use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::finalizer;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::{Observed, Step, state, withdraw};

/// How metal3 cleans a machine that goes: only its tables of partitions.
const CLEANED: &str = "metadata";
/// When a machine that metal3 cleans is looked at again (kube-api §12).
const AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// Whether the Agent and the node go when the machine is deleted.
pub(in crate::controllers::bare_metal_host) fn takes_agent_along(host: &BareMetalHost) -> bool {
    host.annotations().contains_key(annotation::BMAC_REMOVE_AGENT)
}

pub(super) fn keep(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    if !host.labels().contains_key(label::INFRA_ENV) {
        finalizer::remove(&mut host.metadata, names::BARE_METAL_HOST);
        return Step::Stop;
    }
    if !finalizer::is_deleting(&host.metadata) {
        finalizer::add(&mut host.metadata, names::BARE_METAL_HOST);
        return Step::Continue;
    }
    let takes_along = seen.flow.is_converged() && takes_agent_along(host);
    let is_kept = finalizer::has(&host.metadata, names::BARE_METAL_HOST);
    if !is_kept || seen.agent.is_none() {
        if takes_along {
            withdraw(host, &[annotation::BMH_DETACHED]);
        }
        withdraw(host, &[annotation::BMH_PAUSED]);
    } else if takes_along {
        CLEANED.clone_into(&mut host.spec.automated_cleaning_mode);
        withdraw(host, &[annotation::BMH_DETACHED, annotation::BMH_PAUSED]);
        if state(host) != "deleting" {
            return Step::Again(seen.now.checked_add(AGAIN).unwrap_or(Timestamp::MAX));
        }
        finalizer::remove(&mut host.metadata, names::BARE_METAL_HOST);
        return Step::RemoveAgent;
    }
    finalizer::remove(&mut host.metadata, names::BARE_METAL_HOST);
    Step::Stop
}
