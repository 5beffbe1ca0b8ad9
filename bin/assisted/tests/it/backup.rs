//! A service is backed up while it works, and goes on elsewhere.

use std::path::Path;
use std::process::{Command, Output};

use assisted_testkit::Postgres;
use serde_json::Value;

use crate::service::{Service, on_terminal, text};

const SETTINGS: [(&str, &str); 2] = [("GENERATOR", "simulation"), ("AUTH_TYPE", "none")];

/// Settings of a service with its records in a database; none: the embedded one.
fn settings(database: Option<&str>) -> Vec<(&str, &str)> {
    SETTINGS.into_iter().chain(database.map(|address| ("ASSISTED_DATABASE", address))).collect()
}

/// Runs the program in a folder, with data there.
fn assisted(dir: &Path, database: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
    command.args(args).current_dir(dir).env("ASSISTED_DATA_DIR", dir);
    if let Some(database) = database {
        command.env("ASSISTED_DATABASE", database);
    }
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_service_is_backed_up_at_work_and_goes_on_in_postgresql() {
    let database = Postgres::start().unwrap().create_database().unwrap();
    is_backed_up_at_work_and_goes_on(None, Some(&database));
}

#[test]
fn a_service_in_postgresql_is_backed_up_at_work_and_goes_on_in_the_embedded_database() {
    let database = Postgres::start().unwrap().create_database().unwrap();
    is_backed_up_at_work_and_goes_on(Some(&database), None);
}

/// Backs a service up while it installs a cluster, and after it; what was made after it goes on in the second database.
fn is_backed_up_at_work_and_goes_on(first: Option<&str>, second: Option<&str>) {
    let service = Service::start_with_env(&settings(first));
    let mut installing = service.simulation(&["--topology", "sno", "--speed", "600"]).spawn().unwrap();
    let mut amid = 0;
    while installing.try_wait().unwrap().is_none() {
        let archive = format!("amid-{amid}.tar.gz");
        json(&assisted(service.dir.path(), first, &["backup", &archive, "-o", "json"]));
        amid += 1;
    }
    assert!(installing.wait().unwrap().success(), "{}", service.log());
    assert!(amid > 1, "{amid}");

    let report = json(&assisted(service.dir.path(), first, &["backup", "after.tar.gz", "-o", "json"]));
    assert_eq!((&report["clusters"], &report["has_keys"]), (&Value::from(1), &Value::from(false)));
    let refused = assisted(service.dir.path(), first, &["backup", "after.tar.gz"]);
    assert!(text(&refused.stderr).contains("after.tar.gz can't be written"), "{}", text(&refused.stderr));
    let clusters = service.json(&["cluster", "list"]);
    let id = clusters[0]["id"].as_str().unwrap();
    assert_eq!(clusters[0]["status"], "installed");
    let events = service.json(&["event", "list", "--cluster", id]);
    let download = |service: &Service| {
        let got = service.cli(&["cluster", "download", id, "kubeconfig", "--to", "kubeconfig.yaml"]);
        assert!(got.status.success(), "{}", text(&got.stderr));
        std::fs::read(service.dir.path().join("kubeconfig.yaml")).unwrap()
    };
    let kubeconfig = download(&service);
    let from = service.stop();

    let to = tempfile::tempdir().unwrap();
    let archive = from.path().join("after.tar.gz").display().to_string();
    let restored = assisted(to.path(), second, &["restore", &archive]);
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert!(text(&restored.stdout).contains("put the key file to"), "{}", text(&restored.stdout));
    std::fs::copy(from.path().join("seal-keys"), to.path().join("seal-keys")).unwrap();
    assert_eq!(to.path().join("assisted.db").exists(), second.is_none());
    let service = Service::on_with_env(to, &settings(second));
    assert_eq!(service.json(&["cluster", "list"]), clusters);
    assert_eq!(service.json(&["event", "list", "--cluster", id]), events);
    assert_eq!(download(&service), kubeconfig);
    service.stop();

    // One that was made amid the installation is a service, too.
    let to = tempfile::tempdir().unwrap();
    let archive = from.path().join(format!("amid-{}.tar.gz", amid - 1)).display().to_string();
    json(&assisted(to.path(), None, &["restore", &archive, "-o", "json"]));
    std::fs::copy(from.path().join("seal-keys"), to.path().join("seal-keys")).unwrap();
    let service = Service::on_with_env(to, &SETTINGS);
    assert_eq!(service.json(&["cluster", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn an_archive_and_its_way_back_are_shown_on_a_terminal_and_nowhere_else() {
    let service = Service::start();
    let (dir, other) = (service.dir.path(), tempfile::tempdir().unwrap());
    let archive = dir.join("a.tar.gz").display().to_string();
    for (dir, command, told) in
        [(dir, "backup", "writes the archive"), (other.path(), "restore", "puts the archive back")]
    {
        let mut terminal = on_terminal(&[command, &archive]);
        let output = terminal.current_dir(dir).env("ASSISTED_DATA_DIR", dir).output().unwrap();
        let shown = text(&output.stdout);
        assert!(output.status.success() && shown.contains(told), "{shown:?}");
        // It is gone before the report begins.
        let first = shown.rsplit('\r').find(|line| line.contains("Archive"));
        assert!(first.is_some_and(|line| !line.contains(told)), "{shown:?}");
    }
    let quiet = assisted(dir, None, &["backup", "b.tar.gz"]);
    assert!(quiet.status.success() && !text(&quiet.stderr).contains("writes the archive"), "{quiet:?}");
}

#[test]
fn what_cannot_be_put_back_says_why() {
    let service = Service::start();
    let dir = service.dir.path();
    json(&assisted(dir, None, &["backup", "a.tar.gz", "--with-keys", "-o", "json"]));
    let whole = std::fs::read(dir.join("a.tar.gz")).unwrap();
    std::fs::write(dir.join("cut.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    let other = tempfile::tempdir().unwrap();
    let told = |dir: &Path, args: &[&str]| {
        let output = assisted(dir, None, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output.stdout));
        text(&output.stderr)
    };
    let cut = dir.join("cut.tar.gz").display().to_string();
    let refused = told(other.path(), &["restore", &cut]);
    assert!(refused.contains("damaged or cut") && refused.contains("nothing was changed"), "{refused}");
    assert!(!other.path().join("assisted.db").exists());
    let refused = told(dir, &["restore", "a.tar.gz"]);
    assert!(refused.contains("another service is at work"), "{refused}");
    let refused = told(other.path(), &["backup", "none.tar.gz"]);
    assert!(
        refused.contains("there is no database") && !other.path().join("none.tar.gz").exists(),
        "{refused}"
    );
    // With its keys, an archive is all that is needed.
    let archive = dir.join("a.tar.gz").display().to_string();
    json(&assisted(other.path(), None, &["restore", &archive, "-o", "json"]));
    drop(Service::on_with_env(other, &[]));
}
