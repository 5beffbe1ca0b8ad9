//! Secrets in the database: sealed, bound to their rows, sealed anew with other keys.

use assisted_seal::{Key, Keyring, Keys};
use assisted_store::{Batch, Deleted, Error, HostFilter, Store, UnlockError, Version};

use crate::support::{self, Database, on_both};

on_both! {
    secrets_are_not_in_the_database,
    a_sealed_value_stays_in_its_row,
    other_keys_are_refused,
    of_keys_that_come_at_once_one_is_taken,
    the_next_key_is_needed_before_it_seals,
    rows_of_an_older_program_are_sealed,
    rows_are_sealed_anew,
    what_is_written_meanwhile_is_not_lost,
    secrets_of_the_service_are_kept_once_and_sealed,
}

/// Words that stand in no database.
const SECRETS: [&str; 11] = [
    "s-pull",
    "s-proxy",
    "s-overrides",
    "s-push",
    "s-container-file",
    "s-key",
    "s-network",
    "s-ignition",
    "s-token",
    "s-header",
    "s-fencing",
];

struct Records {
    cluster: assisted_core::model::cluster::ClusterRecord,
    infra_env: assisted_core::model::infra_env::InfraEnvRecord,
    host: assisted_core::model::host::HostRecord,
}

fn records() -> Records {
    let mut cluster = support::cluster("one", 1);
    cluster.pull_secret = "s-pull".into();
    cluster.cluster.http_proxy = "http://u:s-proxy@proxy".to_owned();
    cluster.cluster.install_config_overrides = "s-overrides".to_owned();
    cluster.layering.push_secret = "s-push".into();
    let asked = serde_json::json!({"pools": [{"name": "master", "container_file": "s-container-file"}]});
    cluster.layering.asked = Some(serde_json::from_value(asked).unwrap());
    let mut infra_env = support::infra_env(Some(cluster.cluster.id), 1);
    infra_env.pull_secret = "s-pull".into();
    infra_env.image_token_key = "s-key".into();
    infra_env.infra_env.static_network_config = "s-network".to_owned();
    infra_env.infra_env.ignition_config_override = "s-ignition".to_owned();
    let mut host = support::host(infra_env.infra_env.id, Some(cluster.cluster.id), 1);
    host.ignition_endpoint_token = "s-token".into();
    host.ignition_endpoint_http_headers = "s-header".to_owned();
    host.host.fencing_credentials = "s-fencing".to_owned();
    Records { cluster, infra_env, host }
}

impl Records {
    fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        batch.insert_cluster(&self.cluster).insert_infra_env(&self.infra_env).insert_host(&self.host);
        batch
    }

    async fn are_in(&self, store: &Store) {
        let loaded = store.load_cluster(self.cluster.cluster.id, Deleted::Hidden).await.unwrap().unwrap();
        assert_eq!(loaded.cluster.record, self.cluster);
        assert_eq!(loaded.infra_envs[0].record, self.infra_env);
        assert_eq!(loaded.hosts[0].record.host.fencing_credentials, "s-fencing");
        let hosts = store.hosts(&HostFilter::default()).await.unwrap();
        assert_eq!(hosts[0].record.ignition_endpoint_token.expose(), "s-token");
    }
}

/// Everything that is in the database, as text.
async fn contents(database: &Database) -> String {
    match database.address.strip_prefix("sqlite:") {
        Some(path) => {
            let folder = std::path::Path::new(path).parent().unwrap();
            let files =
                std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
            files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
        }
        None => {
            let rows = database.query("select doc from clusters union all select doc from infra_envs union all select doc from hosts union all select sealed from service_secrets").await;
            rows.join("\n")
        }
    }
}

fn assert_sealed(contents: &str) {
    for secret in SECRETS {
        assert!(!contents.contains(secret), "{secret} is in the database");
    }
}

async fn secrets_are_not_in_the_database(database: Database) {
    let store = database.open().await;
    let keys = Keyring::generate().unwrap();
    store.unlock(&keys).await.unwrap();
    let records = records();
    store.write(records.batch()).await.unwrap();
    let mut update = Batch::new();
    update.update_cluster(&records.cluster, Version::FIRST);
    store.write(update).await.unwrap();
    records.are_in(&store).await;
    assert_sealed(&contents(&database).await);
    assert_eq!(store.seal_keys().await.unwrap(), [keys.primary().id()]);
}

async fn a_sealed_value_stays_in_its_row(database: Database) {
    let store = database.open().await;
    store.unlock(&Keyring::generate().unwrap()).await.unwrap();
    let (one, other) = (records(), records());
    store.write(one.batch()).await.unwrap();
    store.write(other.batch()).await.unwrap();
    database.execute("update clusters set doc = (select min(doc) from clusters)").await;
    let found =
        [one.cluster.cluster.id, other.cluster.cluster.id].map(|id| store.cluster(id, Deleted::Hidden));
    let found = futures::future::join_all(found).await;
    assert_eq!(found.iter().filter(|found| found.is_ok()).count(), 1, "one of them is where it was");
    assert!(found.iter().any(|found| matches!(found, Err(Error::Seal(_)))), "{found:?}");
}

async fn other_keys_are_refused(database: Database) {
    let keys = Keyring::generate().unwrap();
    let records = records();
    let store = database.open().await;
    store.unlock(&keys).await.unwrap();
    store.write(records.batch()).await.unwrap();
    drop(store);

    let store = database.open().await;
    let none = store.cluster(records.cluster.cluster.id, Deleted::Hidden).await;
    assert!(matches!(none, Err(Error::Locked)), "{none:?}");
    let other = Keyring::generate().unwrap();
    let error = store.unlock(&other).await.unwrap_err();
    assert!(matches!(error, UnlockError::Missing { id, .. } if id == keys.primary().id()), "{error}");
    assert_eq!(store.seal_keys().await.unwrap(), [keys.primary().id()], "nothing was changed");
    store.unlock(&keys).await.unwrap();
    records.are_in(&store).await;
}

async fn of_keys_that_come_at_once_one_is_taken(database: Database) {
    let rings: Vec<_> = (0..4).map(|_| Keyring::generate().unwrap()).collect();
    let unlocked = rings.iter().map(|keys| async {
        let store = database.open().await;
        store.unlock(keys).await
    });
    let unlocked = futures::future::join_all(unlocked).await;
    let taken: Vec<_> = unlocked.iter().zip(&rings).filter(|(unlocked, _)| unlocked.is_ok()).collect();
    assert_eq!(taken.len(), 1, "{unlocked:?}");
    let noted = database.open().await.seal_keys().await.unwrap();
    assert_eq!(noted, [taken[0].1.primary().id()], "it can be started again");
}

async fn the_next_key_is_needed_before_it_seals(database: Database) {
    let keys = Keys { next: Some(Key::generate().unwrap()), ..Keys::of(Key::generate().unwrap()) };
    database.open().await.unlock(&Keyring::new(keys.clone())).await.unwrap();
    let without = database.open().await.unlock(&Keyring::new(Keys::of(keys.seals))).await;
    assert!(matches!(without, Err(UnlockError::Missing { .. })), "{without:?}");
}

/// The documents as they were before secrets were sealed.
async fn as_before(database: &Database, records: &Records) {
    for (table, document) in [
        ("clusters", serde_json::to_string(&records.cluster).unwrap()),
        ("infra_envs", serde_json::to_string(&records.infra_env).unwrap()),
        ("hosts", serde_json::to_string(&records.host).unwrap()),
    ] {
        let document = document.replace('\'', "''");
        database.execute(&format!("update {table} set doc = '{document}'")).await;
    }
}

async fn rows_of_an_older_program_are_sealed(database: Database) {
    let store = database.open().await;
    let records = records();
    store.write(records.batch()).await.unwrap();
    as_before(&database, &records).await;
    assert!(contents(&database).await.contains("s-fencing"));
    records.are_in(&store).await;
    drop(store);

    let store = database.open().await;
    store.unlock(&Keyring::generate().unwrap()).await.unwrap();
    records.are_in(&store).await;
    assert_eq!(store.seal_rows().await.unwrap(), 3);
    // Ended before it was noted: it is looked through again, and there is nothing to do.
    assert_eq!(store.seal_rows().await.unwrap(), 0);
    store.clear_remains().await.unwrap();
    assert_sealed(&contents(&database).await);
    records.are_in(&store).await;
    assert!(!store.is_sealing_done().await.unwrap());
    store.sealing_done().await.unwrap();
    assert!(store.is_sealing_done().await.unwrap());
}

async fn rows_are_sealed_anew(database: Database) {
    let (old, new) = (Key::generate().unwrap(), Key::generate().unwrap());
    let keys = Keyring::new(Keys::of(old.clone()));
    let store = database.open().await;
    store.unlock(&keys).await.unwrap();
    let records = records();
    store.write(records.batch()).await.unwrap();
    store.sealing_done().await.unwrap();

    keys.replace(Keys { opens: vec![old], ..Keys::of(new.clone()) });
    store.unlock(&keys).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap().len(), 2, "both are needed");
    records.are_in(&store).await;
    assert_eq!(store.seal_rows().await.unwrap(), 3);
    store.sealing_done().await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap().len(), 2, "somebody may still seal with the old one");
    store.forget_other_keys().await.unwrap();
    keys.replace(Keys::of(new.clone()));
    records.are_in(&store).await;
    assert_eq!(store.seal_keys().await.unwrap(), [new.id()]);
    let found = store.cluster(records.cluster.cluster.id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(found.version, Version::FIRST, "for those who decide, nothing has changed");
}

async fn what_is_written_meanwhile_is_not_lost(database: Database) {
    let store = database.open().await;
    let records = records();
    store.write(records.batch()).await.unwrap();
    as_before(&database, &records).await;
    store.unlock(&Keyring::generate().unwrap()).await.unwrap();
    let id = records.cluster.cluster.id;
    let writing = async {
        for number in 1..=20 {
            let mut stored = store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
            stored.record.cluster.name = format!("name-{number}");
            let mut batch = Batch::new();
            batch.update_cluster(&stored.record, stored.version);
            store.write(batch).await.unwrap();
        }
    };
    let sealing = async {
        for _ in 0..20 {
            store.seal_rows().await.unwrap();
        }
    };
    tokio::join!(writing, sealing);
    let found = store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(
        (found.record.cluster.name.as_str(), found.record.pull_secret.expose()),
        ("name-20", "s-pull")
    );
}

async fn secrets_of_the_service_are_kept_once_and_sealed(database: Database) {
    let (old, new) = (Key::generate().unwrap(), Key::generate().unwrap());
    let keys = Keyring::new(Keys::of(old.clone()));
    let stores: Vec<_> = futures::future::join_all((0..3).map(|_| database.open())).await;
    let locked = stores[0].service_secret("key").await;
    assert!(matches!(locked, Err(Error::Locked)), "{locked:?}");
    for store in &stores {
        store.unlock(&keys).await.unwrap();
    }
    assert!(stores[0].service_secret("key").await.unwrap().is_none());
    let words = ["s-first", "s-second", "s-third"];
    let kept = stores
        .iter()
        .zip(words)
        .map(|(store, word)| async move { store.keep_service_secret("key", &word.into()).await });
    for kept in futures::future::join_all(kept).await {
        kept.unwrap();
    }
    let read = futures::future::join_all(stores.iter().map(|store| store.service_secret("key"))).await;
    let read: Vec<_> = read.into_iter().map(|secret| secret.unwrap().unwrap().expose().to_owned()).collect();
    assert!(words.contains(&read[0].as_str()) && read.iter().all(|word| *word == read[0]), "{read:?}");
    assert!(stores[0].service_secret("other").await.unwrap().is_none());

    keys.replace(Keys { opens: vec![old], ..Keys::of(new.clone()) });
    stores[0].unlock(&keys).await.unwrap();
    assert_eq!(stores[0].seal_rows().await.unwrap(), 1);
    assert_eq!(stores[0].seal_rows().await.unwrap(), 0);
    keys.replace(Keys::of(new));
    assert_eq!(stores[2].service_secret("key").await.unwrap().unwrap().expose(), read[0]);
    // What is sealed for one name is worth nothing under another.
    let sealed = "insert into service_secrets (name, sealed) select 'other', sealed from service_secrets";
    database.execute(sealed).await;
    let moved = stores[0].service_secret("other").await;
    assert!(matches!(moved, Err(Error::Seal(_))), "{moved:?}");
    let found = contents(&database).await;
    assert!(words.iter().all(|word| !found.contains(word)), "{found}");
}
