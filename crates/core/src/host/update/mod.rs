//! A user changes how a host is to be installed (service-api §6.4).

mod disks;
mod labels;
mod role;

pub(crate) use role::{suits_arbiter, suits_fencing};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assisted_wire::host::HostStatus;
use assisted_wire::host_params::HostUpdateParams;
use regex::Regex;

use super::record::HostKey;
use super::reply::judge_inventory;
use super::reset::{self, Outcome};
use super::state::{self, DISCOVERY, UPDATABLE};
use crate::facts::Facts;
use crate::refusal::Refusal;

/// Changes a host. The caller writes the outcome and looks at host and cluster again.
///
/// # Errors
///
/// The first member that can't be applied; then nothing is changed.
pub fn update_host(facts: &Facts, key: HostKey, params: &HostUpdateParams) -> Result<Outcome, Refusal> {
    let before = facts
        .hosts
        .iter()
        .find(|host| host.key() == key)
        .ok_or_else(|| Refusal::not_found(format!("Host {} not found", key.host_id)))?;
    let mut after = before.clone();
    if let Some(role) = params.host_role {
        role::set(facts, &mut after, role)?;
    }
    if let Some(name) = &params.host_name {
        gate(after.record.host.status, 409, "host name")?;
        check_name(name)?;
        after.record.host.requested_hostname.clone_from(name);
    }
    if let Some(selected) = &params.disks_selected_config {
        gate(after.record.host.status, 409, "installation disk path")?;
        disks::select(&mut after, selected)?;
    }
    if let Some(pool) = &params.machine_config_pool_name {
        gate(after.record.host.status, 409, "host machine config pool")?;
        after.record.host.machine_config_pool_name.clone_from(pool);
    }
    if let Some(token) = &params.ignition_endpoint_token {
        if !token.is_empty() {
            gate(after.record.host.status, 409, "host ignition endpoint token")?;
        }
        after.record.host.ignition_endpoint_token_set = !token.is_empty();
        after.record.ignition_endpoint_token = token.clone();
    }
    if let Some(headers) = &params.ignition_endpoint_http_headers {
        gate(after.record.host.status, 500, "ignition endpoint HTTP headers")?;
        let headers: BTreeMap<&str, &str> =
            headers.iter().map(|header| (header.key.as_str(), header.value.as_str())).collect();
        after.record.ignition_endpoint_http_headers = text(&headers)?;
    }
    if let Some(labels) = &params.node_labels {
        gate(after.record.host.status, 500, "labels")?;
        after.record.host.node_labels = labels::stored(labels)?;
    }
    if let Some(skipped) = &params.disks_skip_formatting {
        gate(after.record.host.status, 500, "skip disk formatting")?;
        disks::skip_formatting(&mut after, skipped)?;
    }
    if let Some(credentials) = &params.fencing_credentials {
        gate(after.record.host.status, 500, "fencing credentials")?;
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
        judge_inventory(facts, &mut after, (*inventory).clone())?;
    }
    Ok(Outcome { host: reset::change(before, after, facts.now), events: Vec::new() })
}

/// Refuses a change when the installation has begun.
fn gate(status: HostStatus, refusal: u16, what: &str) -> Result<(), Refusal> {
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
    serde_json::to_string(value).map_err(|error| Refusal::new(500, error))
}

const LONGEST_NAME: usize = 63;
const NAME_PATTERN: &str = r"^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$";
const FORBIDDEN: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

// The pattern is a constant; a test holds that it compiles.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAME_PATTERN).ok());

/// Refuses a host name that can't be one (service-api §4.6).
fn check_name(name: &str) -> Result<(), Refusal> {
    if name.len() > LONGEST_NAME {
        return Err(Refusal::bad_request(format!(
            "hostname is too long, must be 63 characters or less. Hostname: {name} has {} characters",
            name.len()
        )));
    }
    if !NAME.as_ref().is_some_and(|pattern| pattern.is_match(name)) {
        return Err(Refusal::bad_request(format!(
            "Hostname does not pass required regex validation: {NAME_PATTERN}. Hostname: {name}"
        )));
    }
    if FORBIDDEN.contains(&name) {
        return Err(Refusal::bad_request(format!("The host name {name} is forbidden")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let refusal = |name: &str| check_name(name).err().map(|refusal| refusal.reason);
        assert_eq!(refusal("master-0.lab.example.com"), None);
        assert_eq!(refusal("0"), None);
        assert_eq!(refusal("localhost4").as_deref(), Some("The host name localhost4 is forbidden"));
        for name in ["", "-a", "A", "a_b", "a..b", "ü", "a;reboot"] {
            assert!(refusal(name).unwrap().starts_with("Hostname does not pass"), "{name}");
        }
        let long = "a".repeat(64);
        assert!(refusal(&long).unwrap().ends_with("has 64 characters"));
        assert_eq!(refusal(&long[1..]), None);
    }
}
