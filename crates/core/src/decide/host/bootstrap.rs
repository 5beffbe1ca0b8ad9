//! The host that brings up the control plane before it joins it (state-machines §4.14).

use assisted_wire::host::{HostRole, HostStatus};

use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;

/// Chooses the bootstrap host, unless there is one: the last of the masters that are ready.
///
/// # Errors
///
/// `Internal` when no master is ready.
pub fn choose(hosts: &mut [HostFacts], events: &mut Vec<NewEvent>) -> Result<(), Refusal> {
    if hosts.iter().any(|host| host.record.host.bootstrap) {
        return Ok(());
    }
    let is_ready = |host: &&mut HostFacts| {
        let status = host.record.host.status;
        host.effective_role() == HostRole::Master
            && matches!(status, HostStatus::Known | HostStatus::PreparingForInstallation)
    };
    let Some(host) = hosts.iter_mut().rev().find(is_ready) else {
        return Err(Refusal::internal("Cluster have no master hosts that can operate as bootstrap"));
    };
    host.record.host.bootstrap = true;
    events.push(catalogue::HOST_BOOTSTRAP_SET.of_host(host, &[]));
    Ok(())
}
