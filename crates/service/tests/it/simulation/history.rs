//! What clients were told that had been done, and whether it is so in the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_service::cluster::{GetCluster, ListClusters};
use assisted_service::event::ListEvents;
use assisted_service::file::manifest::ManifestFile;
use assisted_service::{Caller, Service};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::event::Event;
use assisted_wire::host::HostStage;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::ManifestFolder;
use serde_json::{Value, json};
use uuid::Uuid;

use super::replica::Replica;
use super::world::World;
use crate::lab::{content, eventually};

/// What happens once in an installation; each message of theirs, where there are several.
const ONCE: [&str; 4] = [
    "cluster_prepare_installation_started",
    "cluster_installation_completed",
    "host_install_progress_updated",
    "cluster_finalizing_stage_updated",
];

/// What is generated at the beginning of an installation.
const GENERATED: [&str; 5] =
    ["metadata.json", "kubeadmin-password", "kubeconfig-noingress", "install-config.yaml", "bootstrap.ign"];

#[derive(Default)]
pub struct History {
    pub cluster: Option<(ClusterId, HostKey)>,
    /// Clusters that may have been made beside it: attempts of which nobody heard.
    pub unknown_clusters: u32,
    pub edits: u32,
    /// What they were set to last.
    pub tags: String,
    /// Names and contents.
    pub manifests: Vec<(String, String)>,
    /// Names, and how many times each may have been written besides.
    pub events: Vec<(String, u32)>,
    /// The last one of the host.
    pub stage: Option<HostStage>,
}

/// Everything that was acknowledged is kept, was told once, and each replica says the same.
pub async fn check(world: &Arc<World>, histories: &[History]) {
    let caller = Caller::admin(Uuid::new_v4());
    let services: Vec<_> =
        world.replicas.iter().filter_map(Replica::service).map(|(_, service)| service).collect();
    assert_eq!(services.len(), world.replicas.len());
    for history in histories {
        let (id, host) = history.cluster.unwrap();
        let mut first = None;
        for service in &services {
            let cluster = settled(service, &caller, id, host, history).await;
            let files = generated(service, &caller, id).await;
            let metadata: Value = serde_json::from_str(&files["metadata.json"]).unwrap();
            let known = &cluster["cluster"]["openshift_cluster_id"];
            assert!(known.is_string() && metadata["clusterID"] == *known, "{metadata} {cluster}");
            let found = (cluster, files);
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "two replicas differ");
        }
        told_once(&events(&services[0], &caller, id).await, history);
        let kept = manifests(&services[0], &caller, id).await;
        for (name, text) in &history.manifests {
            assert_eq!(kept.get(name), Some(text), "{name}");
        }
    }
    let unknown: u32 = histories.iter().map(|history| history.unknown_clusters).sum();
    let all = services[0].clusters().list(&caller, ListClusters::default()).await.unwrap();
    let count = all.0.len();
    assert!((histories.len()..=histories.len() + unknown as usize).contains(&count), "{count} clusters");
}

/// A cluster with its host as one replica tells them, once it has heard of the last changes.
async fn settled(
    service: &Service,
    caller: &Caller,
    id: ClusterId,
    host: HostKey,
    history: &History,
) -> Value {
    eventually("what was acknowledged", async || {
        let query = GetCluster { cluster_id: id, get_unregistered_clusters: false, exclude_hosts: true };
        let cluster = service.clusters().get(caller, query).await.map_err(|error| error.to_string())?;
        let host = service.hosts().get(caller, host).await.map_err(|error| error.to_string())?;
        let is_kept = cluster.status == ClusterStatus::Installed
            && cluster.tags == history.tags
            && host.progress.as_ref().and_then(|progress| progress.current_stage) == history.stage;
        let mut told = json!({"cluster": cluster, "host": host});
        // Each replica knows of the polls that it heard.
        let host = told["host"].as_object_mut().unwrap();
        host.retain(|field, _| !["checked_in_at", "timestamp"].contains(&field.as_str()));
        if is_kept { Ok(told) } else { Err(told.to_string()) }
    })
    .await
}

async fn events(service: &Service, caller: &Caller, id: ClusterId) -> Vec<Event> {
    let query = ListEvents { cluster_id: Some(id), ..ListEvents::default() };
    service.events().list(caller, query).await.unwrap().events.0
}

/// What was generated for a cluster, each with its text. In each try, some of it is another.
async fn generated(service: &Service, caller: &Caller, id: ClusterId) -> BTreeMap<&'static str, String> {
    eventually("the files of an installation", async || {
        let mut texts = BTreeMap::new();
        for name in GENERATED {
            let file = service.files().download_cluster_files(caller, id, name).await;
            let file = file.map_err(|error| format!("{name}: {error}"))?;
            texts.insert(name, String::from_utf8(content(file).await).unwrap());
        }
        Ok(texts)
    })
    .await
}

/// The manifests of users, each with its text.
async fn manifests(service: &Service, caller: &Caller, id: ClusterId) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for manifest in service.files().list_cluster_manifests(caller, id, false).await.unwrap().0 {
        let name = manifest.file_name;
        let file =
            ManifestFile { cluster_id: id, folder: ManifestFolder::Manifests, file_name: name.clone() };
        let file = service.files().download_cluster_manifest(caller, file).await.unwrap();
        texts.insert(name, String::from_utf8(content(file).await).unwrap());
    }
    texts
}

fn told_once(events: &[Event], history: &History) {
    let mut told: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for event in events {
        *told.entry((&event.name, &event.message)).or_default() += 1;
    }
    for name in ONCE {
        let of: Vec<_> = told.iter().filter(|((known, _), _)| *known == name).collect();
        assert!(!of.is_empty(), "{name}: {told:#?}");
        assert!(of.iter().all(|(_, times)| **times == 1), "{name}: {of:#?}");
    }
    for (name, unknown) in &history.events {
        let times: u32 = told.iter().filter(|((known, _), _)| known == name).map(|(_, times)| times).sum();
        assert!((1..=1 + unknown).contains(&times), "{name}: {times} times, {unknown} unheard");
    }
}
