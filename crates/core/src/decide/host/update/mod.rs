//! A user changes how a host is to be installed (service-api §6.4).

mod disks;
mod role;

pub(crate) use role::{suits_arbiter, suits_fencing};

use std::collections::BTreeMap;

use assisted_wire::host::HostStatus;
use assisted_wire::host_params::HostUpdateParams;

use super::reply::evaluate_inventory;
use crate::admission::field::node_label;
use crate::model::decision::Decision;
use crate::model::facts::Facts;
use crate::model::host::HostKey;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::network::hostname;
use crate::state::host::state::{self, DISCOVERY, UPDATABLE};

/// Changes a host. The caller writes the outcome and looks at host and cluster again.
///
/// # Errors
///
/// The first member that can't be applied; then nothing is changed.
pub fn update_host(facts: &Facts, key: HostKey, params: &HostUpdateParams) -> Result<Decision, Refusal> {
    let before = facts.host(key)?;
    let mut after = before.clone();
    if let Some(role) = params.host_role {
        role::set(facts, &mut after, role)?;
    }
    if let Some(name) = &params.host_name {
        require_before_installation(after.record.host.status, RefusalKind::Conflict, "host name")?;
        hostname::check(name).map_err(Refusal::invalid)?;
        after.record.host.requested_hostname.clone_from(name);
    }
    if let Some(selected) = &params.disks_selected_config {
        require_before_installation(
            after.record.host.status,
            RefusalKind::Conflict,
            "installation disk path",
        )?;
        disks::select(&mut after, selected)?;
    }
    if let Some(pool) = &params.machine_config_pool_name {
        require_before_installation(
            after.record.host.status,
            RefusalKind::Conflict,
            "host machine config pool",
        )?;
        after.record.host.machine_config_pool_name.clone_from(pool);
    }
    if let Some(token) = &params.ignition_endpoint_token {
        if !token.is_empty() {
            require_before_installation(
                after.record.host.status,
                RefusalKind::Conflict,
                "host ignition endpoint token",
            )?;
        }
        after.record.host.ignition_endpoint_token_set = !token.is_empty();
        after.record.ignition_endpoint_token = token.clone();
    }
    if let Some(headers) = &params.ignition_endpoint_http_headers {
        require_before_installation(
            after.record.host.status,
            RefusalKind::Internal,
            "ignition endpoint HTTP headers",
        )?;
        let headers: BTreeMap<&str, &str> =
            headers.iter().map(|header| (header.key.as_str(), header.value.as_str())).collect();
        after.record.ignition_endpoint_http_headers = text(&headers)?;
    }
    if let Some(labels) = &params.node_labels {
        require_before_installation(after.record.host.status, RefusalKind::Internal, "labels")?;
        for label in labels {
            node_label::check(&label.key, &label.value).map_err(Refusal::invalid)?;
        }
        let labels: BTreeMap<&str, &str> =
            labels.iter().map(|label| (label.key.as_str(), label.value.as_str())).collect();
        after.record.host.node_labels = text(&labels)?;
    }
    if let Some(skipped) = &params.disks_skip_formatting {
        require_before_installation(after.record.host.status, RefusalKind::Internal, "skip disk formatting")?;
        disks::skip_formatting(&mut after, skipped)?;
    }
    if let Some(credentials) = &params.fencing_credentials {
        require_before_installation(after.record.host.status, RefusalKind::Internal, "fencing credentials")?;
        role::set_fencing(facts, &mut after, credentials)?;
    }
    if let Some(inventory) = after.inventory.clone() {
        let status = after.record.host.status;
        if after.record.host.cluster_id.is_some() && !UPDATABLE.contains(&status) {
            return Err(Refusal::conflict(format!(
                "Host is in {status} state, host can be updated only in one of {} states",
                state::list(UPDATABLE)
            )));
        }
        evaluate_inventory(facts, &mut after, (*inventory).clone())?;
    }
    Ok(Decision::of_host(before, after, facts.now, Vec::new()))
}

/// Refuses a change when the installation has begun.
fn require_before_installation(status: HostStatus, refusal: RefusalKind, what: &str) -> Result<(), Refusal> {
    if state::before_installation(status) {
        return Ok(());
    }
    let reason = format!(
        "Host is in {status} state, {what} can be set only in one of {} states",
        state::list(DISCOVERY)
    );
    Err(Refusal::new(refusal, reason))
}

fn text<T: serde::Serialize>(value: &T) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(Refusal::internal)
}
