//! An installation of the replaced service is taken over, and its hosts go on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use assisted_testkit::Postgres;
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::images;
use crate::secrets::ask;
use crate::service::{Service, text};

/// The tables of the replaced service, and an installation in them.
pub const SCHEMA: &str = include_str!("../../../../crates/import/tests/data/schema.sql");
pub const FILL: &str = include_str!("../../../../crates/import/tests/data/fill.sql");

fn theirs() -> String {
    let address = Postgres::start().unwrap().create_database().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("{SCHEMA}{FILL}")).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
    address
}

fn import(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.arg("import").args(args).current_dir(dir).env("ASSISTED_DATA_DIR", dir).output().unwrap()
}

#[test]
fn a_service_is_taken_over_with_the_hosts_that_poll() {
    let (theirs, dir, files) = (theirs(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cluster = "10000000-0000-4000-8000-000000000007";
    std::fs::create_dir(files.path().join(cluster)).unwrap();
    std::fs::write(files.path().join(cluster).join("kubeconfig"), "clusters: []").unwrap();
    let place = files.path().display().to_string();
    let came = import(dir.path(), &["--from", &theirs, "--files", &place, "-o", "json"]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let report: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(report["counts"]["clusters"], json!({"taken": 100, "there": 0, "left": 1}), "{report}");
    assert_eq!(report["counts"]["files"]["taken"], 1, "{report}");
    let again = import(dir.path(), &["--from", &theirs, "--files", &place]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("WERE HERE"), "{}", text(&again.stdout));

    let service = Service::on_with_env(dir, &[("GENERATOR", "simulation")]);
    assert_eq!(service.json(&["cluster", "list"]).as_array().unwrap().len(), 100);
    let got = service.cli(&["cluster", "download", cluster, "kubeconfig", "--to", "kubeconfig.yaml"]);
    assert!(got.status.success(), "{}\n{}", text(&got.stderr), service.log());
    // A host of a cluster that is ready, with the id that its agent has.
    let host =
        "/v2/infra-envs/20000000-0000-4000-8000-000000000001/hosts/30000000-0000-4000-8000-000000000001";
    let path = host.strip_prefix("/v2").unwrap();
    let (status, body) = ask(&service, "GET", &format!("{path}/instructions"), &Value::Null);
    assert!(status.contains(" 200"), "{status}: {body}\n{}", service.log());
    let (_, body) = ask(&service, "GET", path, &Value::Null);
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert!(shown["checked_in_at"].as_str().unwrap() > "2026-03-01T00:00:02.000Z", "{shown}");
    assert!(shown["inventory"].as_str().unwrap().contains("host-1"), "{shown}");
    let told = import(service.dir.path(), &["--from", &theirs]);
    assert!(text(&told.stderr).contains("another service is at work"), "{}", text(&told.stderr));
    assert!(!service.log().contains("fence-secret"), "{}", service.log());
}

/// The status that a host's poll gets, with the token that its agent was given by the replaced service.
pub fn poll(service: &Service, host: &str, token: Option<&str>) -> String {
    let header = token.map_or_else(String::new, |token| format!("X-Secret-Key: {token}\r\n"));
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let path = format!("/api/assisted-install{host}/instructions");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn hosts_poll_on_with_the_tokens_that_they_have() {
    let (theirs, dir) = (theirs(), tempfile::tempdir().unwrap());
    let came = import(dir.path(), &["--from", &theirs]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let service = Service::on_with_env(
        dir,
        &[
            ("GENERATOR", "simulation"),
            ("AUTH_TYPE", "local"),
            ("EC_PRIVATE_KEY_PEM", images::ONE.private),
            ("EC_PUBLIC_KEY_PEM", images::ONE.public),
        ],
    );
    let infra_env = "20000000-0000-4000-8000-000000000001";
    let host = format!("/v2/infra-envs/{infra_env}/hosts/30000000-0000-4000-8000-000000000001");
    // The replaced service has signed with the same key.
    let status = poll(&service, &host, Some(&images::ONE.token(infra_env, 1)));
    assert!(status.contains(" 200"), "{status}\n{}", service.log());
    for token in [
        None,
        Some(images::OTHER.token(infra_env, 1)),
        Some(images::ONE.token("20000000-0000-4000-8000-000000000002", 1)),
        Some(images::ONE.token(infra_env, -1)),
    ] {
        let status = poll(&service, &host, token.as_deref());
        assert!(
            status.contains(" 401") || status.contains(" 403") || status.contains(" 404"),
            "{token:?}: {status}"
        );
    }
}

#[test]
fn what_is_no_database_of_the_replaced_service_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let told = |args: &[&str]| {
        let output = import(dir.path(), args);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    assert!(told(&["--from", "mysql://u:hunter2@db"]).contains("no address of a PostgreSQL"));
    let empty = Postgres::start().unwrap().create_database().unwrap();
    assert!(told(&["--from", &empty]).contains("it has no table clusters"));
    let unreachable = told(&["--from", "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=5"]);
    assert!(unreachable.contains("can't be read") && !unreachable.contains("hunter2"), "{unreachable}");
    assert!(told(&["--from", &empty, "--files", "/nowhere"]).contains("there is no folder /nowhere"));
}

#[test]
fn the_database_of_the_replaced_service_is_imported_and_not_opened() {
    let (theirs, dir) = (theirs(), tempfile::tempdir().unwrap());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_assisted"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--database", &theirs, "--data-dir"]).arg(dir.path());
    let output = serve.env("ENABLE_IMAGE_SERVICE", "false").output().unwrap();
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("another program's"), "{told}");
    assert!(told.contains("assisted import --from postgres://"), "{told}");
    // It was not touched: all of it can be taken over.
    let came = import(dir.path(), &["--from", &theirs, "-o", "json"]);
    assert!(came.status.success(), "{}", text(&came.stderr));
    let report: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(report["counts"]["clusters"]["taken"], 100, "{report}");
}
