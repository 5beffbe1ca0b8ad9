//! A machine whose host is of a cluster that is installed (kube-api §6.6.9, §6.6.10): it is told whom its configuration comes from, and
//! made known to the cluster that it joins.

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::PlatformType;
use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_ignition_spec::resource::Resource;
use assisted_ignition_spec::{Config, overlay};
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome};
use kube::ResourceExt;
use serde_json::Value;

use super::{hardware, unless_gone};
use crate::cluster::install_of;
use crate::controllers::cache::{get, key};
use crate::controllers::hub::{Hub, now, service_failure};
use crate::controllers::relations::bound_to;
use crate::controllers::spoke::{Member, Membership, add_member, looks_after_machines, server_authority};

const VERSION: &str = "3.1.0";
/// Annotation of a machine, behind the prefix: config that is merged over that of its host.
const OVERRIDES: &str = "ignition-config-overrides";

/// Does what is left to do; `whole`: the spec of the machine with all of its fields.
///
/// # Errors
/// The cluster can't be reached, or has something else than is expected.
pub(super) async fn join(
    hub: &Hub,
    machine: &BareMetalHost,
    agent: &Agent,
    whole: impl AsyncFnOnce() -> Result<Option<Value>, Failure>,
) -> Result<Outcome, Failure> {
    let Some(cluster) = bound_to(agent) else { return Ok(Outcome::Done) };
    let deployment = get(&hub.cache.cluster_deployments, &cluster);
    let Some(deployment) = deployment.filter(|deployment| deployment.spec.installed == Some(true)) else {
        return Ok(Outcome::Done);
    };
    if trust(hub, &cluster, machine).await? {
        // The change leads here again.
        return Ok(Outcome::Done);
    }
    if machine.annotations().contains_key(annotation::BMAC_SPOKE_CREATED) || !is_joining(agent) {
        return Ok(Outcome::Done);
    }
    if !is_known_by_machines(hub, &cluster, &deployment).await? {
        return Ok(Outcome::Done);
    }
    let Some(spec) = whole().await? else { return Ok(Outcome::Done) };
    let member = Member {
        name: machine.name_any(),
        cluster: cluster.name.clone(),
        role: agent.status.as_ref().map(|status| status.role.clone()).unwrap_or_default(),
        spec,
        hardware: hardware::details(agent),
    };
    let added = hub.in_spoke(&cluster, |client| add_member(client, member)).await;
    match added.map_err(Failure::passing)? {
        Membership::Added => {}
        Membership::NoMaster => {
            tracing::info!(machine = machine.name_any(), %cluster, "There are no machines with master label");
            return Ok(Outcome::Done);
        }
        Membership::Unreadable(what) => return Err(Failure::of_row(what)),
    }
    annotate(hub, machine, annotation::BMAC_SPOKE_CREATED, now().0.to_string()).await?;
    Ok(Outcome::Done)
}

/// Whether the host is being installed.
fn is_joining(agent: &Agent) -> bool {
    let debug = agent.status.as_ref().and_then(|status| status.debug_info.as_ref());
    debug.is_some_and(|debug| matches!(debug.state.as_str(), "installing" | "installing-in-progress"))
}

/// Whether the cluster looks after machines.
async fn is_known_by_machines(
    hub: &Hub,
    cluster: &ObjectKey,
    deployment: &ClusterDeployment,
) -> Result<bool, Failure> {
    let Some(name) = install_of(deployment) else { return Ok(false) };
    let Some(install) = get(&hub.cache.installs, &ObjectKey::new(&cluster.namespace, name)) else {
        return Ok(false);
    };
    let by_object = install.spec.networking.user_managed_networking != Some(true)
        && install.spec.platform_type != Some(PlatformType::None);
    let found = hub.service.clusters().of_object(cluster).await.map_err(|error| service_failure(&error))?;
    Ok(by_object && found.is_some_and(|found| looks_after_machines(&found.cluster)))
}

/// Has the host trust whom its configuration comes from; whether that was news.
async fn trust(hub: &Hub, cluster: &ObjectKey, machine: &BareMetalHost) -> Result<bool, Failure> {
    let found = hub.spokes.authority(cluster);
    let authority = match found {
        Some(authority) => authority,
        None => {
            let found = hub.in_spoke(cluster, |client| async move { server_authority(&client).await }).await;
            let found = found.map_err(Failure::passing)?;
            let found = found.ok_or_else(|| {
                Failure::passing(format!("cluster {cluster} shows no authority of its machine config server"))
            })?;
            let authority = found.map_err(Failure::of_row)?;
            hub.spokes.keep_authority(cluster, &authority);
            authority
        }
    };
    let name = format!("{}{OVERRIDES}", annotation::BMAC_PREFIX);
    let before = machine.annotations().get(&name).map_or("", String::as_str);
    match with_authority(before, &authority).map_err(Failure::of_row)? {
        Some(after) => annotate(hub, machine, &name, after).await.map(|()| true),
        None => Ok(false),
    }
}

/// The overrides of a machine with an authority below them; `None`: they have it.
fn with_authority(overrides: &str, authority: &str) -> Result<Option<String>, String> {
    let authority = Resource::bytes(authority);
    if authority.source.as_deref().is_some_and(|source| overrides.contains(encoded(source))) {
        return Ok(None);
    }
    let mut config = Config::new(VERSION);
    config.ignition.security.tls.certificate_authorities.push(authority);
    if !overrides.is_empty() {
        config = overlay(&config, overrides)
            .map_err(|error| format!("annotation {}{OVERRIDES}: {error}", annotation::BMAC_PREFIX))?;
    }
    let json = config.to_json().map_err(|error| error.to_string())?;
    String::from_utf8(json).map(Some).map_err(|error| error.to_string())
}

/// The base64 text of a data URL.
fn encoded(source: &str) -> &str {
    source.rsplit_once(',').map_or(source, |(_, text)| text)
}

async fn annotate(hub: &Hub, machine: &BareMetalHost, name: &str, value: String) -> Result<(), Failure> {
    let mut annotated = machine.clone();
    annotated.metadata.annotations.get_or_insert_default().insert(name.to_owned(), value);
    let api = hub.api::<BareMetalHost>(&key(machine).namespace);
    unless_gone(write::object(&api, machine, &annotated, Guard::Version).await).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_lies_below_what_the_user_says() {
        let alone = with_authority("", "PEM").unwrap().unwrap();
        assert!(alone.contains("data:text/plain;charset=utf-8;base64,UEVN"), "{alone}");
        assert_eq!(with_authority(&alone, "PEM"), Ok(None));
        let own = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/own","contents":{"source":"data:,x"}}]}}"#;
        let both = with_authority(own, "PEM").unwrap().unwrap();
        assert!(both.contains("/etc/own") && both.contains("UEVN") && both.contains("3.2.0"), "{both}");
        assert_eq!(with_authority(&both, "PEM"), Ok(None));
        assert!(with_authority("{", "PEM").unwrap_err().starts_with("annotation bmac."));
    }
}
