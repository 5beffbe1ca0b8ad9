//! The environment file of the replaced service and a PostgreSQL as it has one: the service starts with both, and serves.

use std::process::Command;

use assisted_testkit::{Authority, Postgres};

use crate::service::{Service, text};

const PUBLISHED: &str = include_str!("../data/published.env");

fn published() -> Vec<(&'static str, &'static str)> {
    let lines = PUBLISHED.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('=').unwrap()).collect()
}

#[test]
fn the_published_environment_and_a_database_start_and_serve() {
    let database = Postgres::with_tls(&Authority::new("ours").unwrap(), &["localhost"]).unwrap();
    database.execute("create role admin login password 'admin'").unwrap();
    database.execute("create database installer owner admin").unwrap();
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
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&explain.stdout).unwrap();
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
