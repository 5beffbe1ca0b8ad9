//! Writes until it is killed; the crash tests judge what it leaves behind.
//!
//! `writer ADDRESS WORKERS STEPS`: each worker makes a cluster and then, step by step, changes it together with a host's
//! report, an event, a due mark and every fifth time a new host. A step is told on the standard output once it is
//! acknowledged: `WORKER STEP CLUSTER`.

use std::error::Error;
use std::io::Write;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::event::NewEvent;
use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::report::ReportKind;
use assisted_store::{Batch, Due, Store, Version};
use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().ok_or("usage: writer ADDRESS WORKERS STEPS");
    let store = Store::open(&argument()?).await?;
    let workers: usize = argument()?.parse()?;
    let steps: u64 = argument()?.parse()?;
    let mut running = tokio::task::JoinSet::new();
    for worker in 0..workers {
        running.spawn(work(store.clone(), worker, steps));
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

async fn work(store: Store, worker: usize, steps: u64) -> Outcome<()> {
    let id = ClusterId::random();
    let mut cluster: ClusterRecord = serde_json::from_value(json!({"cluster": {
        "kind": "Cluster", "id": id, "href": "", "name": format!("w{worker}"), "image_info": {},
        "status": "insufficient", "status_info": "0", "created_at": Timestamp::now().to_string(),
    }}))?;
    let infra_env_id = InfraEnvId::random();
    let mut host: HostRecord = serde_json::from_value(json!({"host": {
        "kind": "Host", "id": HostId::random(), "href": "", "infra_env_id": infra_env_id, "cluster_id": id,
        "status": "discovering", "status_info": "",
    }}))?;
    let key = HostKey { infra_env_id, host_id: host.host.id };
    let mut version = Version::FIRST;
    for step in 0..=steps {
        let mut batch = Batch::new();
        cluster.cluster.status_info = step.to_string();
        if step == 0 {
            batch.insert_cluster(&cluster);
        } else {
            batch.update_cluster(&cluster, version);
            version = version.next();
        }
        if step % 5 == 0 {
            batch.insert_host(&host);
            host.host.id = HostId::random();
        }
        batch.put_report(key, ReportKind::Inventory, step.to_string());
        let event = NewEvent {
            name: "step",
            severity: EventSeverity::Info,
            category: EventCategory::User,
            cluster_id: Some(id),
            host_id: None,
            infra_env_id: None,
            message: step.to_string(),
            props: None,
        };
        let now = Timestamp::now();
        batch.insert_event(&event, now, None).mark_due(Due::Cluster(id), now);
        store.write(batch).await?;
        {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{worker} {step} {id}")?;
            out.flush()?;
        }
        if step % 3 == 0 {
            refresh(&store, step).await?;
        }
        store.flush_checkins(&[(key, now)]).await?;
    }
    Ok(())
}

/// Takes due work as the scheduler does; some of it fails, some is dropped under its lease, none is forgotten.
async fn refresh(store: &Store, step: u64) -> Outcome<()> {
    let now = Timestamp::now();
    let taken = store.take_due("writer", now, 3, SignedDuration::from_mins(1)).await?;
    let mut batch = Batch::new();
    for taken in &taken {
        match step % 4 {
            0 => batch.fail_due(taken, "on purpose", now),
            1 => &mut batch,
            _ => batch.finish_due(taken, Some(now)),
        };
    }
    store.write(batch).await?;
    Ok(())
}
