//! A cluster in a state that nothing here leads to yet: put there while the service is down.

use assisted_store::{Batch, Deleted, Store};
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::id::ClusterId;

use crate::lab::{Database, Lab};

/// Stops the service, changes a cluster in the database, and starts the service again.
pub async fn changed(database: &Database, lab: Lab, id: ClusterId, change: impl FnOnce(&mut Cluster)) -> Lab {
    let time = lab.time.clone();
    lab.stop().await;
    let store = Store::open(&database.address).await.unwrap();
    let stored = store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    let mut record = stored.record;
    change(&mut record.cluster);
    let mut batch = Batch::new();
    batch.update_cluster(&record, stored.version);
    store.write(batch).await.unwrap();
    drop(store);
    Lab::at(database, time).await
}

/// The same for its status alone.
pub async fn in_status(database: &Database, lab: Lab, id: ClusterId, status: ClusterStatus) -> Lab {
    changed(database, lab, id, |cluster| cluster.status = status).await
}
