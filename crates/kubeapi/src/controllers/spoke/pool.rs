//! Workers that are to have labels and a pool of their own must not be updated for the pool of all workers first: that one pauses as
//! long as such a host joins (kube-api §6.1.13).

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::machine_config::machine_config_pool::MachineConfigPool;
use assisted_kube::write::{Guard, object};
use assisted_wire::host::{Host, HostStage, HostStatus};
use kube::{Api, Client, ResourceExt};

/// The pool of all workers.
const WORKERS: &str = "worker";

/// Whether the workers' pool is to pause; `None`: it is nobody's business here. `agents` are those of the cluster.
pub(super) fn pause(agents: &[impl AsRef<Agent>], hosts: &[Host]) -> Option<bool> {
    let moves =
        |agent: &Agent| !agent.spec.node_labels.is_empty() && !agent.spec.machine_config_pool.is_empty();
    let of = |agent: &Agent| {
        let name = agent.name_any();
        hosts.iter().find(|host| host.id.to_string() == name)
    };
    let hosts = agents.iter().map(AsRef::as_ref).filter(|agent| moves(agent)).filter_map(of);
    let mut moving = hosts.filter(|host| host.status != HostStatus::Installed).peekable();
    moving.peek()?;
    Some(moving.any(|host| {
        matches!(host.status, HostStatus::Installing | HostStatus::InstallingInProgress)
            && host.stage() != Some(HostStage::Done)
    }))
}

/// Pauses the pool, or lets it go on.
///
/// # Errors
/// The API server's.
pub(super) async fn set(client: &Client, paused: bool) -> Result<(), kube::Error> {
    let api = Api::<MachineConfigPool>::all(client.clone());
    let pool = api.get(WORKERS).await?;
    if pool.spec.paused.unwrap_or(false) == paused {
        return Ok(());
    }
    let mut wanted = pool.clone();
    wanted.spec.paused = Some(paused);
    object(&api, &pool, &wanted, Guard::Free).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assisted_wire::id::HostId;
    use serde_json::json;

    use super::*;

    fn pair(status: &str, stage: &str, spec: &serde_json::Value) -> (Arc<Agent>, Host) {
        let (id, at) = (HostId::random(), "2024-01-01T00:00:00.000Z");
        let agent = json!({"metadata": {"name": id.to_string()}, "spec": spec});
        let progress = json!({"current_stage": stage, "stage_started_at": at, "stage_updated_at": at});
        let host = json!({
            "kind": "AddToExistingClusterHost", "id": id, "href": "", "status": status, "status_info": "",
            "created_at": at, "updated_at": at, "progress": (!stage.is_empty()).then_some(progress),
        });
        (Arc::new(serde_json::from_value(agent).unwrap()), serde_json::from_value(host).unwrap())
    }

    #[test]
    fn the_pool_pauses_until_all_that_move_are_done() {
        let moving =
            json!({"approved": true, "role": "", "nodeLabels": {"a": "b"}, "machineConfigPool": "infra"});
        let labelled = json!({"approved": true, "role": "", "nodeLabels": {"a": "b"}});
        let (running, done) = ("installing-in-progress", "added-to-existing-cluster");
        for (all, expected) in [
            (vec![], None),
            (vec![pair(running, "Rebooting", &labelled)], None),
            (vec![pair("installed", "Done", &moving)], None),
            (vec![pair("known", "", &moving)], Some(false)),
            (vec![pair(running, "Rebooting", &moving)], Some(true)),
            (vec![pair(done, "Done", &moving), pair(running, "Joined", &moving)], Some(true)),
            (vec![pair(done, "Done", &moving), pair(done, "Done", &moving)], Some(false)),
        ] {
            let (agents, hosts): (Vec<_>, Vec<_>) = all.into_iter().unzip();
            assert_eq!(pause(&agents, &hosts), expected, "{hosts:?}");
        }
    }
}
