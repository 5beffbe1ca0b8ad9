//! What an Agent wants of its host that the host does not have (kube-api §6.4.5).

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent::AgentSpec;
use assisted_service::object::DescribedHost;
use assisted_wire::host::{Host, HostRole, HostStatus};
use assisted_wire::host_params::{
    DiskConfigParams, DiskRole, FencingCredentialsParams, HostUpdateParams,
    IgnitionEndpointHttpHeadersParams, NodeLabelParams,
};
use assisted_wire::inventory::{Disk, Inventory};
use assisted_wire::secret::Secret;
use serde_json::Value;

use crate::problem::Problem;
use crate::text::same_json;

/// What an Agent refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Referred {
    /// Token for the Ignition endpoint; empty where none is referred to.
    pub(super) token: Secret,
    pub(super) fencing: Option<FencingCredentialsParams>,
}

/// What differs between a host and its Agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// Arguments of the installer.
    pub(super) installer_args: Option<Vec<String>>,
    /// Ignition config that is merged over the host's.
    pub(super) ignition: Option<String>,
    /// All else; held back once the installation has begun.
    pub(super) params: Option<HostUpdateParams>,
}

/// What differs.
///
/// # Errors
/// `Input` when the Agent can't be read.
pub(super) fn difference(
    spec: &AgentSpec,
    described: &DescribedHost,
    inventory: Option<&Inventory>,
    referred: &Referred,
) -> Result<Difference, Problem> {
    let host = &described.host;
    let mut params = HostUpdateParams::default();
    let labels = map(&host.node_labels);
    if spec.node_labels != labels {
        let label =
            |(key, value): (&String, &String)| NodeLabelParams { key: key.clone(), value: value.clone() };
        params.node_labels = Some(spec.node_labels.iter().map(label).collect());
    }
    if let Some(fencing) = &referred.fencing
        && !same_fencing(fencing, &host.fencing_credentials)
    {
        params.fencing_credentials = Some(fencing.clone());
    }
    params.host_name = differs(&spec.hostname, &host.requested_hostname);
    params.machine_config_pool_name = differs(&spec.machine_config_pool, &host.machine_config_pool_name);
    let role = host.role.map_or("", HostRole::as_str);
    if let Some(role) = differs(&spec.role, role) {
        let read = role.parse().map_err(|error| Problem::input(format!("spec.role: {error}")));
        params.host_role = Some(read?);
    }
    params.disks_selected_config = disk(spec, host, inventory);
    if referred.token != described.ignition_endpoint_token {
        params.ignition_endpoint_token = Some(referred.token.clone());
    }
    if spec.ignition_endpoint_http_headers != map(&described.ignition_endpoint_http_headers) {
        let header = |(key, value): (&String, &String)| IgnitionEndpointHttpHeadersParams {
            key: key.clone(),
            value: value.clone(),
        };
        params.ignition_endpoint_http_headers =
            Some(spec.ignition_endpoint_http_headers.iter().map(header).collect());
    }
    let is_updatable = updatable(host.status) && params != HostUpdateParams::default();
    Ok(Difference {
        installer_args: installer_args(spec, host)?,
        ignition: (spec.ignition_config_overrides != host.ignition_config_overrides)
            .then(|| spec.ignition_config_overrides.clone()),
        params: is_updatable.then_some(params),
    })
}

/// The states in which what is wanted of a host comes to it; in others it is held back, and that is no error.
fn updatable(status: HostStatus) -> bool {
    use HostStatus::{
        Binding, Disconnected, DisconnectedUnbound, Discovering, DiscoveringUnbound, Insufficient,
        InsufficientUnbound, Known, KnownUnbound, PendingForInput,
    };
    matches!(
        status,
        Discovering
            | Known
            | Disconnected
            | Insufficient
            | PendingForInput
            | DisconnectedUnbound
            | InsufficientUnbound
            | DiscoveringUnbound
            | KnownUnbound
            | Binding
    )
}

/// A text that is set, and another one.
fn differs(wanted: &str, current: &str) -> Option<String> {
    (!wanted.is_empty() && wanted != current).then(|| wanted.to_owned())
}

fn map(text: &str) -> BTreeMap<String, String> {
    serde_json::from_str(text).unwrap_or_default()
}

fn same_fencing(wanted: &FencingCredentialsParams, current: &str) -> bool {
    let wanted = serde_json::to_value(wanted).unwrap_or_default();
    serde_json::from_str::<Value>(current).is_ok_and(|current| current == wanted)
}

fn installer_args(spec: &AgentSpec, host: &Host) -> Result<Option<Vec<String>>, Problem> {
    let (wanted, current) = (spec.installer_args.as_str(), host.installer_args.as_str());
    let none = |text: &str| matches!(text, "" | "[]" | "null");
    if wanted == current || none(wanted) && none(current) || same_json(wanted, current) {
        return Ok(None);
    }
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let read = serde_json::from_str(wanted).map_err(|error| {
        let infra_env = host.infra_env_id.map(|id| id.to_string()).unwrap_or_default();
        Problem::input(format!(
            "Fail to unmarshal installer args for host {} in infraEnv {infra_env}: {error}",
            host.id
        ))
    });
    read.map(Some)
}

/// The disk that is wanted, unless it is the one that is chosen, by whatever name.
fn disk(spec: &AgentSpec, host: &Host, inventory: Option<&Inventory>) -> Option<Vec<DiskConfigParams>> {
    let wanted = [&spec.installation_disk_path, &spec.installation_disk_id]
        .into_iter()
        .find(|name| !name.is_empty())?;
    let mut disks = inventory.into_iter().flat_map(|inventory| inventory.disks.iter().flatten());
    let is_chosen = |disk: &&Disk| disk.id == host.installation_disk_id;
    let is_wanted = |disk: &Disk| {
        *wanted == disk.id || *wanted == disk.by_path || *wanted == format!("/dev/{}", disk.name)
    };
    if !host.installation_disk_id.is_empty() && disks.find(is_chosen).is_some_and(is_wanted) {
        return None;
    }
    Some(vec![DiskConfigParams { id: wanted.clone(), role: Some(DiskRole::Install) }])
}
