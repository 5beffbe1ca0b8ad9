//! Logging in from the command line by an identity provider.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use assisted_testkit::IdentityProvider;
use serde_json::json;

use crate::service::{Service, text};

#[test]
fn somebody_confirms_a_code_in_a_browser() {
    let provider = IdentityProvider::start("assisted", "client-secret");
    provider.set_person(json!({"sub": "1", "preferred_username": "ann", "groups": ["metal"]}));
    let service = Service::start_with_env(&[
        ("AUTH_TYPE", "users"),
        ("OIDC_ISSUER", &provider.issuer()),
        ("OIDC_CLIENT_ID", "assisted"),
        ("OIDC_CLIENT_SECRET", "client-secret"),
        ("OIDC_EDITORS", "metal"),
    ]);
    let command = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &service.url]).args(args).env("XDG_CONFIG_HOME", service.dir.path());
        command
    };
    let mut login = command(&["login"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(login.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(
        line.contains(&format!("open {}/activate", provider.issuer())) && line.contains("WDJB-MJHT"),
        "{line}"
    );
    assert_eq!(provider.devices(), 1);
    provider.approve_devices();
    let mut said = String::new();
    login.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(login.wait().unwrap().success(), "{said}");
    assert!(said.starts_with("logged in as ann, editor, until "), "{said}");
    let list = command(&["cluster", "list"]).output().unwrap();
    assert!(list.status.success(), "{}", text(&list.stderr));
    let kept = std::fs::read_to_string(service.dir.path().join("assisted/logins.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let log = service.log();
    assert!(log.contains("somebody has logged in by the identity provider"), "{log}");
    for secret in ["client-secret", "device-1", "asst_"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
    assert!(kept.to_string().contains("asst_"));
}

#[test]
fn a_second_service_on_the_same_folder_does_not_start() {
    let service = Service::start();
    let second = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(service.dir.path())
        .output()
        .unwrap();
    let told = text(&second.stderr);
    assert!(!second.status.success() && told.contains("another service is at work"), "{told}");
    // The first goes on.
    service.cluster("one");
}
