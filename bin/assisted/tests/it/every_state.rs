//! Clusters, hosts, infra-envs and events in every state that there is, as copies of those of an installed cluster.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

use assisted_blob::{Blob, Key};
use assisted_seal::{KeyFile, Keyring};
use assisted_store::{Batch, Store};
use assisted_wire::cluster::{
    ClusterKind, ClusterStatus, FinalizingStage, InstallationPreparationStatus, LogsState,
};
use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::host::{HostKind, HostRole, HostStage, HostStatus, MediaStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::infra_env::ImageType;
use assisted_wire::operator::OperatorStatus;

/// States of hosts that belong to no cluster.
const UNBOUND: [HostStatus; 9] = [
    HostStatus::DisconnectedUnbound,
    HostStatus::InsufficientUnbound,
    HostStatus::DisabledUnbound,
    HostStatus::DiscoveringUnbound,
    HostStatus::KnownUnbound,
    HostStatus::Unbinding,
    HostStatus::UnbindingPendingUserAction,
    HostStatus::Reclaiming,
    HostStatus::ReclaimingRebooting,
];

/// The values of an enumeration over and over again.
fn cycle<T: Copy>(all: &'static [T]) -> impl FnMut() -> T {
    let mut all = all.iter().copied().cycle();
    move || all.next().unwrap()
}

/// Writes them into the database of a service that does not run, and gives each cluster its files; returns their names.
pub fn write(data: &Path) -> BTreeSet<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Store::open(&format!("sqlite:{}", data.join("assisted.db").display())).await.unwrap();
        let keys = Keyring::read(&KeyFile::new(data.join("seal-keys"), None)).await.unwrap();
        store.unlock(&keys).await.unwrap();
        let files = Blob::open(data.join("files")).await.unwrap().sealed(keys);
        let mut batch = Batch::new();
        let home = clusters(&store, &mut batch, &files).await;
        hosts(&store, &mut batch, home).await;
        infra_envs(&store, &mut batch).await;
        events(&store, &mut batch, home).await;
        store.write(batch).await.unwrap();
    });
    names()
}

fn names() -> BTreeSet<String> {
    fn of<T: Display>(what: &str, all: &[T]) -> Vec<String> {
        all.iter().map(|value| format!("{what} {value}")).collect()
    }
    let all = [
        of("cluster", ClusterStatus::ALL),
        of("cluster kind", ClusterKind::ALL),
        of("cluster logs", LogsState::ALL),
        of("preparation", InstallationPreparationStatus::ALL),
        of("finalizing", FinalizingStage::ALL),
        of("operator", OperatorStatus::ALL),
        of("host", HostStatus::ALL),
        of("host kind", HostKind::ALL),
        of("host logs", LogsState::ALL),
        of("role", HostRole::ALL),
        of("media", MediaStatus::ALL),
        of("stage", HostStage::ALL),
        of("image", ImageType::ALL),
        of("severity", EventSeverity::ALL),
    ];
    all.concat().into_iter().collect()
}

/// A cluster in each state, with the files of the one that is copied; returns the last of them.
async fn clusters(store: &Store, batch: &mut Batch, files: &Blob) -> ClusterId {
    let known = store.clusters(&Default::default()).await.unwrap().remove(0).record;
    let (mut kind, mut stage) = (cycle(ClusterKind::ALL), cycle(FinalizingStage::ALL));
    let (mut logs, mut operator) = (cycle(LogsState::ALL), cycle(OperatorStatus::ALL));
    let mut preparation = cycle(InstallationPreparationStatus::ALL);
    let mut last = known.cluster.id;
    for status in ClusterStatus::ALL {
        let mut record = known.clone();
        let cluster = &mut record.cluster;
        (cluster.id, cluster.name) = (ClusterId::random(), status.as_str().to_owned());
        cluster.href = cluster.href.replace(&known.cluster.id.to_string(), &cluster.id.to_string());
        (cluster.status, cluster.kind, cluster.logs_info) = (*status, kind(), Some(logs()));
        cluster.progress.get_or_insert_default().finalizing_stage = Some(stage());
        cluster.last_installation_preparation.get_or_insert_default().status = Some(preparation());
        for monitored in cluster.monitored_operators.iter_mut().flatten() {
            monitored.cluster_id = Some(cluster.id);
            monitored.status = Some(operator());
        }
        let [from, to] = [known.cluster.id, cluster.id].map(|id| id.to_string());
        for (key, object) in files.list(&Key::new(&from).unwrap()).await.unwrap() {
            let content = files.get(&key, object.size).await.unwrap();
            let copy = Key::new(key.as_str().replacen(&from, &to, 1)).unwrap();
            files.put(&copy, content).await.unwrap();
        }
        last = cluster.id;
        batch.insert_cluster(&record);
    }
    last
}

/// A host in each state, those that are in a cluster in this one.
async fn hosts(store: &Store, batch: &mut Batch, home: ClusterId) {
    let known = store.hosts(&Default::default()).await.unwrap().remove(0).record;
    let (mut kind, mut stage, mut logs) =
        (cycle(HostKind::ALL), cycle(HostStage::ALL), cycle(LogsState::ALL));
    let (mut role, mut media) = (cycle(HostRole::ALL), cycle(MediaStatus::ALL));
    for status in HostStatus::ALL {
        let mut record = known.clone();
        let host = &mut record.host;
        host.id = HostId::random();
        host.href = host.href.replace(&known.host.id.to_string(), &host.id.to_string());
        host.cluster_id = (!UNBOUND.contains(status)).then_some(home);
        (host.status, host.kind, host.logs_info) = (*status, kind(), Some(logs()));
        (host.role, host.media_status) = (Some(role()), Some(media()));
        host.progress.get_or_insert_default().current_stage = Some(stage());
        batch.insert_host(&record);
    }
}

async fn infra_envs(store: &Store, batch: &mut Batch) {
    let known = store.infra_envs(&Default::default()).await.unwrap().remove(0).record;
    for image in ImageType::ALL {
        let mut record = known.clone();
        let infra_env = &mut record.infra_env;
        (infra_env.id, infra_env.name) = (InfraEnvId::random(), image.as_str().to_owned());
        infra_env.r#type = *image;
        batch.insert_infra_env(&record);
    }
}

async fn events(store: &Store, batch: &mut Batch, of: ClusterId) {
    let page = store.events(&Default::default()).await.unwrap();
    let known = page.events.first().unwrap().clone();
    let mut category = cycle(EventCategory::ALL);
    for severity in EventSeverity::ALL {
        let mut event = known.clone();
        (event.cluster_id, event.host_id, event.infra_env_id) = (Some(of), None, None);
        (event.severity, event.category) = (*severity, Some(category()));
        batch.insert_client_event(&event);
    }
}
