//! Hosts at the service.

use std::collections::BTreeSet;

use assisted_client::Client;
use assisted_reconcile::Failure;
use assisted_wire::host as wire;
use assisted_wire::host::{HostKind, HostRole, HostStatus};
use assisted_wire::host_params::{
    HostIgnitionParams, HostRoleUpdateParams, HostUpdateParams, InstallerArgsParams,
};
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::inventory::Inventory;
use serde_json::Value;

use super::{failed, optional};
use crate::installer::{Host, HostWanted};

/// States in which it can still be said how a host is to be installed.
const BEFORE: [HostStatus; 5] = [
    HostStatus::Discovering,
    HostStatus::Known,
    HostStatus::Disconnected,
    HostStatus::Insufficient,
    HostStatus::PendingForInput,
];

/// Whether a host belongs to a machine: it has a role, and takes part.
pub(crate) fn is_approved(host: &wire::Host) -> bool {
    host.role.is_some_and(|role| role != HostRole::AutoAssign) && host.status != HostStatus::Disabled
}

/// What matters of a host.
pub(super) fn host(host: &wire::Host) -> Host {
    let inventory: Option<Inventory> = assisted_wire::embedded::read(&host.inventory).ok().flatten();
    let interfaces = inventory.into_iter().flat_map(|inventory| inventory.interfaces.unwrap_or_default());
    let addresses: BTreeSet<_> =
        interfaces.map(|interface| interface.mac_address.to_ascii_lowercase()).collect();
    Host {
        name: host.id.to_string(),
        approved: is_approved(host),
        registered: Some(host.created_at.0.as_second()),
        addresses,
    }
}

fn id(host: &str) -> Result<HostId, Failure> {
    host.parse().map_err(|_| Failure::of_row(format!("{host} is no id of a host")))
}

/// What is still to be said of a host.
#[derive(Debug, Default, PartialEq)]
struct Missing {
    ignition: Option<String>,
    arguments: Option<Vec<String>>,
    params: Option<HostUpdateParams>,
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// What differs between a host and what is wanted of it.
fn missing(host: &wire::Host, wanted: &HostWanted) -> Result<Missing, Failure> {
    let own = |what: &str, error: &dyn std::fmt::Display| Failure::of_row(format!("{what}: {error}"));
    let is_same_ignition = host.ignition_config_overrides == wanted.ignition_overrides
        || json(&host.ignition_config_overrides)
            .is_some_and(|own| Some(own) == json(&wanted.ignition_overrides));
    let read = |text: &str| match text {
        "" => Ok(Vec::new()),
        text => serde_json::from_str::<Vec<String>>(text),
    };
    let arguments =
        read(&wanted.installer_arguments).map_err(|error| own("arguments of the installer", &error))?;
    let role: HostRoleUpdateParams = wanted.role.parse().map_err(|error| own("role", &error))?;
    let has_role = host.role.is_some_and(|own| own.as_str() == role.as_str());
    let host_name = wanted.hostname.clone().filter(|name| *name != host.requested_hostname);
    let params =
        HostUpdateParams { host_role: (!has_role).then_some(role), host_name, ..HostUpdateParams::default() };
    Ok(Missing {
        ignition: (!is_same_ignition).then(|| wanted.ignition_overrides.clone()),
        arguments: (read(&host.installer_args).ok().as_ref() != Some(&arguments)).then_some(arguments),
        params: (params != HostUpdateParams::default()).then_some(params),
    })
}

/// Brings a host to what is wanted of it. Its role comes last: who has one has everything. A host that joins an installed cluster is
/// installed as soon as it can be.
pub(super) async fn settle(
    client: &Client,
    infra_env: InfraEnvId,
    host: &str,
    wanted: &HostWanted,
) -> Result<bool, Failure> {
    let id = id(host)?;
    let Some(mut found) = optional(client.get_host(infra_env, id).await)? else { return Ok(false) };
    let told = |error: assisted_client::Error| failed(&error);
    if found.status == HostStatus::Disabled && wanted.approved {
        found = client.enable_host(infra_env, id).await.map_err(told)?;
    }
    // What an installation began with stays.
    if !BEFORE.contains(&found.status) {
        return Ok(false);
    }
    let Missing { ignition, arguments, params } = missing(&found, wanted)?;
    let is_settled = ignition.is_none() && arguments.is_none() && params.is_none();
    if let Some(config) = ignition {
        let params = HostIgnitionParams { config };
        client.update_host_ignition(infra_env, id, &params).await.map_err(told)?;
    }
    if let Some(args) = arguments {
        let params = InstallerArgsParams { args: Some(args) };
        client.update_host_installer_args(infra_env, id, &params).await.map_err(told)?;
    }
    if let Some(params) = params {
        client.update_host(infra_env, id, &params).await.map_err(told)?;
    }
    if is_settled && found.status == HostStatus::Known && found.kind == HostKind::AddToExistingClusterHost {
        client.install_host(infra_env, id).await.map_err(told)?;
        return Ok(true);
    }
    Ok(!is_settled)
}

/// Leaves a host out of its cluster.
pub(super) async fn disapprove(client: &Client, infra_env: InfraEnvId, host: &str) -> Result<(), Failure> {
    let id = id(host)?;
    let Some(found) = optional(client.get_host(infra_env, id).await)? else { return Ok(()) };
    if !BEFORE.contains(&found.status) {
        return Ok(());
    }
    client.disable_host(infra_env, id).await.map(drop).map_err(|error| failed(&error))
}

/// Has a host go. It is looked for first: the service answers 500, not 404, to who deregisters a host that is gone already.
pub(super) async fn remove(client: &Client, infra_env: InfraEnvId, host: &str) -> Result<(), Failure> {
    let id = id(host)?;
    if optional(client.get_host(infra_env, id).await)?.is_none() {
        return Ok(());
    }
    optional(client.deregister_host(infra_env, id).await).map(drop)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registered(fields: &Value) -> wire::Host {
        let at = "2026-01-01T00:00:00.000Z";
        let mut host = json!({
            "kind": "Host", "id": HostId::random(), "href": "", "status": "known", "status_info": "",
            "created_at": at, "updated_at": at, "role": "auto-assign",
        });
        host.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(host).unwrap()
    }

    fn wanted() -> HostWanted {
        HostWanted {
            approved: true,
            role: "worker",
            ignition_overrides: r#"{"ignition": {"version": "3.1.0"}}"#.to_owned(),
            installer_arguments: r#"["--append-karg", "a"]"#.to_owned(),
            hostname: Some("node".to_owned()),
        }
    }

    #[test]
    fn what_a_host_lacks_is_said_once() {
        let all = missing(&registered(&json!({})), &wanted()).unwrap();
        assert_eq!(all.ignition.as_deref(), Some(wanted().ignition_overrides.as_str()));
        assert_eq!(all.arguments.unwrap(), ["--append-karg", "a"]);
        let params = all.params.unwrap();
        assert_eq!(
            (params.host_role, params.host_name.as_deref()),
            (Some(HostRoleUpdateParams::Worker), Some("node"))
        );
        let settled = registered(&json!({
            "role": "worker", "requested_hostname": "node", "installer_args": r#"["--append-karg","a"]"#,
            "ignition_config_overrides": r#"{"ignition":{"version":"3.1.0"}}"#,
        }));
        assert_eq!(missing(&settled, &wanted()).unwrap(), Missing::default());
        let bare = HostWanted { installer_arguments: String::new(), hostname: None, ..wanted() };
        assert_eq!(missing(&settled, &bare).unwrap().arguments, Some(vec![]));
    }

    #[test]
    fn a_host_with_a_role_is_one_of_a_machine() {
        let inventory = json!({"interfaces": [{"mac_address": "02:AB"}]}).to_string();
        let of = |fields: &Value| host(&registered(fields));
        assert!(!of(&json!({})).approved);
        let own = of(&json!({"role": "master", "inventory": inventory}));
        assert!(own.approved && own.addresses.contains("02:ab"));
        assert!(!of(&json!({"role": "master", "status": "disabled"})).approved);
    }
}
