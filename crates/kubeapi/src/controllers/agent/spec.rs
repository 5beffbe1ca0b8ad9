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

use crate::sync_error::SyncError;
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
) -> Result<Difference, SyncError> {
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
        let read = role.parse().map_err(|error| SyncError::input(format!("spec.role: {error}")));
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

fn installer_args(spec: &AgentSpec, host: &Host) -> Result<Option<Vec<String>>, SyncError> {
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
        SyncError::input(format!(
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(status: &str, fields: &Value) -> DescribedHost {
        let at = "2024-01-01T00:00:00.000Z";
        let mut host = json!({
            "kind": "Host", "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": status,
            "status_info": "", "created_at": at, "updated_at": at,
        });
        host.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        DescribedHost {
            host: serde_json::from_value(host).unwrap(),
            infra_env: assisted_core::model::object_key::ObjectKey::new("site", "rack"),
            cluster: None,
            ignition_endpoint_token: Secret::default(),
            ignition_endpoint_http_headers: String::new(),
            approved: false,
        }
    }

    fn spec(fields: &Value) -> AgentSpec {
        let mut spec = json!({"approved": true, "role": ""});
        spec.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        serde_json::from_value(spec).unwrap()
    }

    fn differs(spec: &AgentSpec, described: &DescribedHost, inventory: Option<&Inventory>) -> Difference {
        difference(spec, described, inventory, &Referred::default()).unwrap()
    }

    #[test]
    fn what_is_wanted_is_held_back_once_the_installation_has_begun() {
        let wanted = spec(&json!({"hostname": "a", "role": "worker", "installerArgs": "[\"-n\"]"}));
        for status in HostStatus::ALL {
            let found = differs(&wanted, &described(status.as_str(), &json!({})), None);
            assert_eq!(found.params.is_some(), updatable(*status), "{status}");
            assert_eq!(found.installer_args, Some(vec!["-n".to_owned()]), "{status}");
        }
        assert!(updatable(HostStatus::Known) && !updatable(HostStatus::Installing));
        let same = json!({"requested_hostname": "a", "role": "worker", "installer_args": "[\"-n\"]"});
        assert_eq!(differs(&wanted, &described("known", &same), None), Difference::default());
        // What is not set any more stays as it is, but for labels.
        let kept = json!({"requested_hostname": "a", "node_labels": "{\"x\":\"y\"}"});
        let found = differs(&spec(&json!({})), &described("known", &kept), None).params.unwrap();
        assert_eq!((found.host_name, found.node_labels), (None, Some(Vec::new())));
    }

    #[test]
    fn arguments_are_compared_as_lists() {
        let host = |args: &str| described("known", &json!({"installer_args": args}));
        let own = |args: &str| spec(&json!({"installerArgs": args}));
        let args = |wanted: &str, current: &str| {
            difference(&own(wanted), &host(current), None, &Referred::default())
                .map(|found| found.installer_args)
                .map_err(|problem| problem.text)
        };
        assert_eq!(args("[ \"-n\" ]", "[\"-n\"]"), Ok(None));
        assert_eq!(args("[]", ""), Ok(None));
        assert_eq!(args("", "[\"-n\"]"), Ok(Some(Vec::new())));
        let told = args("[", "").unwrap_err();
        assert!(told.starts_with("Fail to unmarshal installer args for host 33333333"), "{told}");
    }

    #[test]
    fn a_disk_that_is_chosen_is_not_chosen_again() {
        let inventory: Inventory = serde_json::from_value(json!({"disks": [
            {"id": "/dev/disk/by-id/1", "by_path": "/dev/disk/by-path/1", "name": "sda"},
            {"id": "/dev/disk/by-id/2", "by_path": "/dev/disk/by-path/2", "name": "sdb"},
        ]}))
        .unwrap();
        let host = described("known", &json!({"installation_disk_id": "/dev/disk/by-id/1"}));
        let chosen = |fields: Value| {
            let found = differs(&spec(&fields), &host, Some(&inventory)).params?;
            Some(found.disks_selected_config?.remove(0).id)
        };
        for same in ["/dev/disk/by-id/1", "/dev/disk/by-path/1", "/dev/sda"] {
            assert_eq!(chosen(json!({"installation_disk_id": same})), None, "{same}");
        }
        assert_eq!(chosen(json!({"installation_disk_id": "/dev/sdb"})).as_deref(), Some("/dev/sdb"));
        let both = json!({"installation_disk_id": "/dev/sda", "installation_disk_path": "/dev/sdb"});
        assert_eq!(chosen(both).as_deref(), Some("/dev/sdb"));
        assert_eq!(chosen(json!({})), None);
    }
}
