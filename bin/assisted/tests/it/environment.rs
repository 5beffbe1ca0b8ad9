//! The environment file of the replaced service and a PostgreSQL as it has one: the service starts with both, and serves.

use std::process::Command;

use assisted_testkit::{Authority, Postgres};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::import::{FILL, SCHEMA, poll};
use crate::service::{Service, text};
use crate::start::refused;

const PUBLISHED: &str = include_str!("../data/published.env");

/// The variables of that file.
pub fn published() -> Vec<(&'static str, &'static str)> {
    let lines = PUBLISHED.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('=').unwrap()).collect()
}

/// A database server as the published file names it, but for its port.
fn database() -> Postgres {
    let database = Postgres::with_tls(&Authority::new("ours").unwrap(), &["localhost"]).unwrap();
    database.execute("create role admin login password 'admin'").unwrap();
    database.execute("create database installer owner admin").unwrap();
    database
}

/// Runs statements in the database that the published file names, as its user.
fn execute(database: &Postgres, sql: &str) {
    let mut config = tokio_postgres::Config::new();
    config.host_path(database.socket().parent().unwrap()).port(database.port());
    config.user("admin").dbname("installer");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
}

#[test]
fn the_published_environment_and_a_database_start_and_serve() {
    let database = database();
    let port = database.port().to_string();
    // Nothing is changed but the port that the database has here.
    let mut env = published();
    env.retain(|(name, _)| *name != "DB_PORT");
    env.push(("DB_PORT", &port));
    let service = Service::start_with_env(&env);

    let (cluster, _) = service.cluster("published");
    let shown = service.json(&["cluster", "show", &cluster]);
    assert_eq!((&shown["name"], &shown["openshift_version"]), (&"published".into(), &"4.20.1".into()));
    let dump = text(&database.dump(&format!("postgres://admin@localhost:{port}/installer")).unwrap());
    assert!(dump.contains(&cluster), "the cluster is in the database that the file names");

    let log = service.log();
    assert_eq!(log.matches("change nothing").count(), 1, "what differs is told once: {log}");
    for told in ["DEPLOY_TARGET has no effect", "ASSISTED_SERVICE_HOST has no effect"] {
        assert!(log.contains(told), "{told} is not in {log}");
    }
    assert!(!log.contains("DB_HOST has no effect"), "{log}");

    let explain = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .env_clear()
        .args(["config", "explain", "--set", "-o", "json"])
        .envs(published())
        .output()
        .unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&explain.stdout).unwrap();
    let refused: Vec<_> = rows.iter().filter(|row| row["effect"] == "refused").collect();
    assert!(refused.is_empty(), "{refused:?}");
    let known = |name: &&str| rows.iter().any(|row| row["name"] == *name);
    let strange: Vec<_> = published().into_iter().map(|(name, _)| name).filter(|name| !known(name)).collect();
    // Those of its other containers, and what is empty.
    let others = [
        "AIUI_CHAT_API_URL",
        "ASSISTED_SERVICE_HOST",
        "ASSISTED_SERVICE_SCHEME",
        "LISTEN_PORT",
        "NTP_DEFAULT_SERVER",
        "POSTGRESQL_DATABASE",
        "POSTGRESQL_PASSWORD",
        "POSTGRESQL_USER",
    ];
    assert!(strange.iter().all(|name| others.contains(name)), "{strange:?}");
}

#[test]
fn the_published_environment_and_a_database_in_use_are_taken_over() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    execute(&database, &format!("{SCHEMA}{FILL}"));
    // As docs/import.md advises: no cluster is being prepared. One that is would be prepared again, from a registry outside.
    execute(&database, "update clusters set status = 'ready' where status = 'preparing-for-installation'");
    let (port, work_dir) = (database.port().to_string(), dir.path().display().to_string());
    let cluster = "10000000-0000-4000-8000-000000000007";
    std::fs::create_dir(dir.path().join(cluster)).unwrap();
    std::fs::write(dir.path().join(cluster).join("kubeconfig"), "clusters: []").unwrap();
    // Here, too, nothing is changed but the port of the database; its files are where the file says.
    let mut env = published();
    env.retain(|(name, _)| *name != "DB_PORT");
    env.extend([("DB_PORT", port.as_str()), ("WORK_DIR", work_dir.as_str())]);

    let told = text(&refused(dir.path(), &[], &env).stderr);
    assert!(told.contains("another program's"), "{told}");
    assert!(told.contains("assisted import --from postgres://"), "{told}");
    let kept: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, [cluster], "nothing is made beside their files");

    database.execute("create database assisted owner admin").unwrap();
    env.retain(|(name, _)| *name != "DB_NAME");
    env.push(("DB_NAME", "assisted"));
    let theirs = format!("postgres://admin:admin@127.0.0.1:{port}/installer");
    let came = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["import", "--from", &theirs, "--files", &work_dir, "-o", "json"])
        .envs(env.iter().copied())
        .output()
        .unwrap();
    assert!(came.status.success(), "{}", text(&came.stderr));
    let report: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(report["counts"]["clusters"], json!({"taken": 100, "there": 0, "left": 1}), "{report}");
    assert_eq!(report["counts"]["files"]["taken"], 1, "{report}");

    let service = Service::on_with_env(dir, &env);
    assert_eq!(service.json(&["cluster", "list"]).as_array().unwrap().len(), 100);
    let hosts = service.json(&["host", "list"]);
    assert_eq!(report["counts"]["hosts"]["taken"], json!(hosts.as_array().unwrap().len()), "{report}");
    let got = service.cli(&["cluster", "download", cluster, "kubeconfig", "--to", "kubeconfig.yaml"]);
    assert!(got.status.success(), "{}\n{}", text(&got.stderr), service.log());
    let kubeconfig = std::fs::read_to_string(service.dir.path().join("kubeconfig.yaml")).unwrap();
    assert_eq!(kubeconfig, "clusters: []");
    let host =
        "/v2/infra-envs/20000000-0000-4000-8000-000000000001/hosts/30000000-0000-4000-8000-000000000001";
    let status = poll(&service, host, None);
    assert!(status.contains(" 200"), "{status}\n{}", service.log());
    let dump = text(&database.dump(&format!("postgres://admin@localhost:{port}/installer")).unwrap());
    assert!(dump.contains("cluster-100"), "the database of the replaced service is as it was");
}
