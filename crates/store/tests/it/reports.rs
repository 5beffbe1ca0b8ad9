//! Reports of hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use assisted_core::model::report::ReportKind;
use assisted_store::{Batch, Deleted, ReportHash};
use futures::future::{join, join_all};

use crate::support::{self, Database, on_both};

on_both! {
    reports_are_replaced_and_removed, a_big_report_survives, texts_that_nobody_wants_are_not_cached_for_ever,
    what_is_large_holds_up_nobody,
}

async fn reports_are_replaced_and_removed(database: Database) {
    let store = database.open().await;
    let host = support::host(support::infra_env(None, 1).infra_env.id, None, 1);
    let key = support::key(&host);
    let mut batch = Batch::new();
    batch.insert_host(&host).put_report(key, ReportKind::Inventory, "old").put_report(
        key,
        ReportKind::DisksInfo,
        "d",
    );
    store.write(batch).await.unwrap();

    let mut batch = Batch::new();
    batch.put_report(key, ReportKind::Inventory, "new").put_report(key, ReportKind::DisksInfo, "");
    batch.put_report(key, ReportKind::NtpSources, "n").put_report(key, ReportKind::Connectivity, "c");
    batch.delete_report(key, ReportKind::NtpSources).delete_report(key, ReportKind::TangConnectivity);
    store.write(batch).await.unwrap();

    let reports = store.reports(key).await.unwrap();
    let texts: Vec<_> = reports.iter().map(|(kind, report)| (*kind, &*report.text)).collect();
    assert_eq!(texts, [(ReportKind::Inventory, "new"), (ReportKind::Connectivity, "c")]);
    assert_eq!(reports[&ReportKind::Inventory].hash, ReportHash::of("new"));
    assert_eq!(store.report(key, ReportKind::DisksInfo).await.unwrap(), None);

    let mut batch = Batch::new();
    batch.delete_reports(key);
    store.write(batch).await.unwrap();
    assert!(store.reports(key).await.unwrap().is_empty());
}

async fn a_big_report_survives(database: Database) {
    let store = database.open().await;
    let host = support::host(support::infra_env(None, 1).infra_env.id, None, 1);
    let text: String = (0..400_000).map(|n| format!("{n:x} ")).collect();
    let mut batch = Batch::new();
    batch.insert_host(&host).put_report(support::key(&host), ReportKind::Inventory, text.as_str());
    store.write(batch).await.unwrap();
    let read = store.report(support::key(&host), ReportKind::Inventory).await.unwrap().unwrap();
    assert_eq!((read.text.len(), read.hash), (text.len(), ReportHash::of(&text)));
}

/// Much is written without a pause.
#[tokio::test]
async fn the_log_of_the_database_is_bounded() {
    let database = Database::sqlite();
    let store = database.open().await;
    let host = support::host(support::infra_env(None, 1).infra_env.id, None, 1);
    let mut batch = Batch::new();
    batch.insert_host(&host);
    store.write(batch).await.unwrap();
    for text in ["a", "b"].iter().cycle().take(24) {
        let mut batch = Batch::new();
        batch.put_report(support::key(&host), ReportKind::Inventory, text.repeat(4 << 20));
        store.write(batch).await.unwrap();
    }
    let [file, log] = database.files().map(|file| std::fs::metadata(file).unwrap().len());
    assert!(file > 4 << 20, "nothing of the log is in the file: {file}");
    assert!(log < 16 << 20, "the log has {log} bytes");
}

async fn texts_that_nobody_wants_are_not_cached_for_ever(database: Database) {
    let store = database.open().await;
    let host = support::host(support::infra_env(None, 1).infra_env.id, None, 1);
    let (key, text) = (support::key(&host), "an inventory");
    let mut batch = Batch::new();
    batch.insert_host(&host).put_report(key, ReportKind::Inventory, text);
    store.write(batch).await.unwrap();
    store.age_texts();
    assert_eq!(store.cached_bytes(), text.len());
    store.age_texts();
    assert_eq!(store.cached_bytes(), 0);
    // It is read anew.
    let read = store.load_host(key, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(&*read.host.reports[&ReportKind::Inventory].text, text);
    assert_eq!(store.cached_bytes(), text.len());
}

/// Reports of megabytes, and what comes after them.
async fn what_is_large_holds_up_nobody(database: Database) {
    const REPORTS: i64 = 8;
    let store = database.open().await;
    let infra_env = support::infra_env(None, 1).infra_env.id;
    let hosts: Vec<_> = (1..=REPORTS + 1).map(|number| support::host(infra_env, None, number)).collect();
    let mut batch = Batch::new();
    for host in &hosts {
        batch.insert_host(host);
    }
    store.write(batch).await.unwrap();

    let text: Arc<str> = (0..1_200_000).map(|number| format!("{number:x} ")).collect::<String>().into();
    let ended = AtomicI64::new(0);
    let report = |host, text: Arc<str>| {
        let mut batch = Batch::new();
        batch.put_report(support::key(host), ReportKind::Inventory, text);
        batch
    };
    let (last, others) = hosts.split_last().unwrap();
    // They are hashed first.
    let large: Vec<_> = others.iter().map(|host| report(host, Arc::clone(&text))).collect();
    let small = report(last, "small".into());
    let write = async |batch| {
        store.write(batch).await.unwrap();
        ended.fetch_add(1, Ordering::Relaxed)
    };
    let (_, before) = join(join_all(large.into_iter().map(write)), write(small)).await;
    assert!(before < REPORTS / 2, "{before} large ones were before it");
    for host in others {
        let stored = store.report(support::key(host), ReportKind::Inventory).await.unwrap().unwrap();
        assert_eq!(stored.hash, ReportHash::of(&text));
    }
}
