//! TLS to PostgreSQL, and a PostgreSQL that does not answer.

use std::path::Path;
use std::time::Duration;

use assisted_store::{ClusterFilter, OpenError, Options, Store, Tls};
use assisted_testkit::{Authority, Hole, Postgres};

fn with(mode: &str, authorities: Option<&Path>) -> Options {
    let tls = Tls { mode: mode.to_owned(), authorities: authorities.map(Path::to_owned) };
    Options { tls, statement_limit: Duration::from_secs(1), ..Options::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_proves_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, other) = (Authority::new("ours").unwrap(), Authority::new("other").unwrap());
    let [ours_pem, other_pem] = ["ours.pem", "other.pem"].map(|name| dir.path().join(name));
    std::fs::write(&ours_pem, &ours.pem).unwrap();
    std::fs::write(&other_pem, &other.pem).unwrap();
    let server = Postgres::with_tls(&ours, &["localhost"]).unwrap();
    let (localhost, address) =
        (server.tcp_address("localhost", server.port()), server.tcp_address("127.0.0.1", server.port()));
    for (address, mode, authorities, works) in [
        (&localhost, "", Some(&ours_pem), true),
        (&localhost, "verify-full", Some(&ours_pem), true),
        (&localhost, "require", None, true),
        (&localhost, "", None, true),
        // Of another authority, or under another name.
        (&localhost, "", Some(&other_pem), false),
        (&localhost, "prefer", Some(&other_pem), false),
        (&localhost, "verify-full", None, false),
        (&address, "verify-full", Some(&ours_pem), false),
        // The server takes nobody in the clear.
        (&localhost, "disable", None, false),
        (&localhost, "verify-everything", None, false),
    ] {
        let opened = Store::open_with(address, &with(mode, authorities.map(AsRef::as_ref))).await;
        assert_eq!(opened.is_ok(), works, "{address} {mode} {authorities:?} {:?}", opened.err());
        if let Ok(store) = opened {
            store.ping().await.unwrap();
        }
    }
    // As PostgreSQL's own clients write it into an address.
    let told =
        format!("{localhost}?sslmode=verify-full&sslrootcert={}&connect_timeout=5", ours_pem.display());
    Store::open_with(&told, &with("", None)).await.unwrap().ping().await.unwrap();
    let told = format!("{localhost}?sslmode=nonsense");
    let refused = Store::open_with(&told, &with("", None)).await.err().unwrap();
    assert!(matches!(refused, OpenError::Tls(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_no_more_is_away_and_comes_back() {
    let server = Postgres::with_tls(&Authority::new("ours").unwrap(), &["localhost"]).unwrap();
    let hole = Hole::before(server.port()).await.unwrap();
    let address = server.tcp_address("127.0.0.1", hole.port());
    let store = Store::open_with(&address, &with("require", None)).await.unwrap();
    let filter = ClusterFilter::default();
    store.clusters(&filter).await.unwrap();
    hole.open(true);
    // On connections that there are, and on new ones; reads and writes.
    for _ in 0..2 {
        let looks = (0..20).map(|_| store.clusters(&filter));
        for look in futures::future::join_all(looks).await {
            assert!(look.unwrap_err().is_away());
        }
    }
    assert!(store.ping().await.unwrap_err().is_away());
    hole.open(false);
    let back = async {
        while store.ping().await.is_err() {}
        store.clusters(&filter).await
    };
    tokio::time::timeout(Duration::from_secs(60), back).await.unwrap().unwrap();
}
