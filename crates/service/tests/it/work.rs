//! Work that is set aside is seen and released.

use assisted_core::model::refusal::RefusalKind;
use assisted_service::Caller;
use assisted_store::{Batch, Due};
use assisted_wire::id::ClusterId;
use assisted_wire::operation::Role;
use jiff::SignedDuration;
use uuid::Uuid;

use crate::lab::{Database, Lab, eventually, on_both_engines, refusal};

on_both_engines! { work_that_is_set_aside_is_released, a_cluster_that_no_look_gets_to_the_end_of, }

async fn work_that_is_set_aside_is_released(database: Database) {
    let mut lab = Lab::start(&database).await;
    lab.stop_background().await;
    let (now, due) = (lab.time.now(), Due::Cluster(ClusterId::random()));
    let mut batch = Batch::new();
    batch.mark_due(due, now);
    lab.store.write(batch).await.unwrap();
    let taken = lab.store.take_due("test", now, 10, SignedDuration::from_secs(10)).await.unwrap();
    let mut batch = Batch::new();
    let later = now + SignedDuration::from_hours(1);
    batch.set_due_aside(&taken[0], "it hung", now, later);
    lab.store.write(batch).await.unwrap();

    // Another process comes, and what changes does not bring the row back.
    let lab = Lab::at(&database, lab.time.clone()).await;
    let mut batch = Batch::new();
    batch.mark_due(due, now);
    lab.store.write(batch).await.unwrap();
    lab.single_node().await;
    let list = async || lab.service.work().list(&lab.caller, None).await.unwrap();
    let aside = list().await.rows.into_iter().next().unwrap();
    assert_eq!((aside.state.as_str(), aside.attempts), ("set-aside", 1));
    assert_eq!((aside.last_error.as_deref(), aside.next_at.0), (Some("it hung"), later));

    let user = Caller { role: Role::User, ..Caller::admin(Uuid::new_v4()) };
    assert_eq!(refusal(lab.service.work().list(&user, None).await).0, RefusalKind::Forbidden);
    assert_eq!(refusal(lab.service.work().release(&user, &aside.id).await).0, RefusalKind::Forbidden);
    for unknown in ["", "nothing", &format!("cluster.{}", ClusterId::random())] {
        assert_eq!(
            refusal(lab.service.work().release(&lab.caller, unknown).await).0,
            RefusalKind::NotFound,
            "{unknown}"
        );
    }
    lab.service.work().release(&lab.caller, &aside.id).await.unwrap();
    eventually("worked on", async || {
        let rows = list().await.rows;
        if rows.iter().any(|row| row.id == aside.id) { Err(format!("{rows:?}")) } else { Ok(()) }
    })
    .await;
    assert_eq!(refusal(lab.service.work().release(&lab.caller, &aside.id).await).0, RefusalKind::NotFound);
    let drivers = list().await.drivers;
    assert_eq!(drivers[0].name, "due");
    assert!(drivers[0].finished > 0);
    lab.stop().await;
}

/// Processes that die over a cluster, one after the other: it is set aside and counted, until it is released and could be looked at.
async fn a_cluster_that_no_look_gets_to_the_end_of(database: Database) {
    let mut lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    lab.stop_background().await;
    let due = Due::Cluster(id);
    let mut batch = Batch::new();
    batch.mark_due(due, lab.time.now());
    lab.store.write(batch).await.unwrap();
    for _ in 0..20 {
        let now = lab.time.now();
        let taken = lab.store.take_due("dies", now, 100, SignedDuration::from_secs(10)).await.unwrap();
        assert!(taken.iter().any(|taken| taken.due == due), "{taken:?}");
        lab.pass(11);
    }

    let lab = Lab::at(&database, lab.time.clone()).await;
    let row = format!("cluster.{id}");
    let counted = async || {
        let times = lab.metric("cluster_blacklisted_events_total").await;
        (times, lab.metric("blacklisted_clusters_current").await)
    };
    let aside = eventually("set aside", async || {
        let rows = lab.service.work().list(&lab.caller, None).await.unwrap().rows;
        let found = rows.iter().find(|found| found.id == row && found.state == "set-aside");
        found.cloned().ok_or_else(|| format!("{rows:?}"))
    })
    .await;
    let error = aside.last_error.unwrap();
    assert!(error.contains("no attempt came to its end"), "{error}");
    assert_eq!(counted().await, (Some(1.0), Some(1.0)));

    lab.service.work().release(&lab.caller, &row).await.unwrap();
    eventually("looked at", async || {
        let seen = counted().await;
        if seen == (Some(1.0), Some(0.0)) { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;
    lab.stop().await;
}
