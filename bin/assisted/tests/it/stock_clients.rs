//! Published clients that know nothing of us.

use std::process::Command;

use crate::service::{Service, python, text};

#[test]
fn the_published_python_client_reads_every_answer() {
    let service = Service::start();
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let output = Command::new(python())
        .args([&format!("{tests}/stock_client.py"), &service.url, &format!("{tests}/inventory.json")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), service.log());
}

#[test]
fn aicli_lists_and_shows() {
    let service = Service::start();
    let cluster = service.id(&[
        "cluster",
        "create",
        "demo",
        "--base-domain",
        "example.com",
        "--pull-secret-file",
        "pull-secret.json",
    ]);
    let infra_env = service.id(&[
        "infra-env",
        "create",
        "demo_infra-env",
        "--cluster",
        &cluster,
        "--pull-secret-file",
        "pull-secret.json",
    ]);
    let host = "11111111-2222-4333-8444-555555555555";
    let path = format!("{}/api/assisted-install/v2/infra-envs/{infra_env}/hosts", service.url);
    let register = format!(
        "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], data=b'{{\"host_id\":\"{host}\"}}', headers={{'content-type':'application/json'}}))"
    );
    let registered = Command::new(python()).args(["-c", &register, &path]).output().unwrap();
    assert!(registered.status.success(), "{}\n{}", text(&registered.stderr), service.log());

    let aicli = |args: &[&str]| {
        let output = Command::new(python().with_file_name("aicli"))
            .args(["--url", &service.url])
            .args(args)
            .env("HOME", service.dir.path())
            .output()
            .unwrap();
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{args:?}: {shown}\n{}", service.log());
        shown
    };
    for (args, expected) in [
        (["list", "cluster"].as_slice(), "demo"),
        (&["info", "cluster", "demo"], cluster.as_str()),
        (&["list", "infraenv"], "demo_infra-env"),
        (&["info", "infraenv", "demo_infra-env"], infra_env.as_str()),
        (&["list", "host"], host),
        (&["info", "host", host], host),
    ] {
        let shown = aicli(args);
        assert!(shown.contains(expected), "{args:?} does not show {expected}:\n{shown}");
    }
}
