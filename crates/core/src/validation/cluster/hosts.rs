//! `all-hosts-are-ready-to-install`: no host of the cluster holds the installation up.

use assisted_wire::host::HostStatus;

use super::View;
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let hosts = &view.facts.hosts;
    let ready = |status| {
        matches!(
            status,
            HostStatus::Known | HostStatus::PreparingForInstallation | HostStatus::PreparingSuccessful
        )
    };
    let count = hosts.iter().filter(|host| ready(host.record.host.status)).count();
    let outcome = if count == hosts.len() {
        Outcome::success("All hosts in the cluster are ready to install.")
    } else {
        Outcome::failure("The cluster has hosts that are not ready to install.")
            .remedy("See the validations of the hosts that are not ready, or remove those hosts.")
    };
    outcome.measured(format!("{count} of {} hosts ready", hosts.len())).required("all of them")
}
