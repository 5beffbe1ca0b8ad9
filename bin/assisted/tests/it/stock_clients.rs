//! Published clients that know nothing of us.

use std::collections::BTreeSet;
use std::process::Command;

use assisted_testkit::python;

use crate::every_state;
use crate::service::{Following, Service, follow, text};

const SSH_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com\n";

#[test]
fn the_published_python_client_reads_every_answer() {
    let service = Service::start();
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let output = Command::new(python().unwrap())
        .args([&format!("{tests}/stock_client.py"), &service.url, &format!("{tests}/inventory.json")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), service.log());
}

/// Runs aicli; returns what it shows.
fn aicli(service: &Service, args: &[&str]) -> String {
    let output = Command::new(python().unwrap().with_file_name("aicli"))
        .args(["--url", &service.url])
        .args(args)
        .env("HOME", service.dir.path())
        .current_dir(service.dir.path())
        .output()
        .unwrap();
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{args:?}: {shown}\n{}", service.log());
    shown
}

#[test]
fn aicli_lists_and_shows() {
    let service = Service::start();
    let (cluster, infra_env) = service.cluster("demo");
    let host = "11111111-2222-4333-8444-555555555555";
    let path = format!("{}/api/assisted-install/v2/infra-envs/{infra_env}/hosts", service.url);
    let register = format!(
        "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], data=b'{{\"host_id\":\"{host}\"}}', headers={{'content-type':'application/json'}}))"
    );
    let registered = Command::new(python().unwrap()).args(["-c", &register, &path]).output().unwrap();
    assert!(registered.status.success(), "{}\n{}", text(&registered.stderr), service.log());

    for (args, expected) in [
        (["list", "cluster"].as_slice(), "demo"),
        (&["info", "cluster", "demo"], cluster.as_str()),
        (&["list", "infraenv"], "demo_infra-env"),
        (&["info", "infraenv", "demo_infra-env"], infra_env.as_str()),
        (&["list", "host"], host),
        (&["info", "host", host], host),
    ] {
        let shown = aicli(&service, args);
        assert!(shown.contains(expected), "{args:?} does not show {expected}:\n{shown}");
    }
}

/// Starts simulated hosts. They run for as long as what is returned is kept.
fn simulated_hosts(
    service: &Service,
    cluster: &str,
    infra_env: &str,
    more: &[&str],
) -> (Following, impl Iterator<Item = String> + use<>) {
    let existing = ["--cluster", cluster, "--infra-env", infra_env];
    follow(service.simulation(&existing).args(more))
}

#[test]
fn aicli_installs_a_cluster() {
    let service = Service::simulating();
    let aicli = |args: &[&str]| aicli(&service, args);
    // It takes the user's key.
    let ssh = service.dir.path().join(".ssh");
    std::fs::create_dir(&ssh).unwrap();
    std::fs::write(ssh.join("id_rsa.pub"), SSH_KEY).unwrap();
    let secret = "pull_secret=pull-secret.json";
    aicli(&["create", "cluster", "-P", secret, "-P", "base_dns_domain=example.com", "aic"]);
    let id = |list: &str| service.json(&[list, "list"])[0]["id"].as_str().unwrap().to_owned();
    // Somebody else sets the cluster up and installs it.
    let alone = ["--hosts-only", "--speed", "600"];
    let (hosts, _report) = simulated_hosts(&service, &id("cluster"), &id("infra-env"), &alone);

    // Where the simulated hosts are: the service looks for the network of the addresses among theirs.
    service.hosts_with_inventory(3);
    aicli(&["update", "cluster", "-P", "api_vip=10.0.0.2", "-P", "ingress_vip=10.0.0.3", "aic"]);
    aicli(&["wait", "hosts", "-n", "3", "aic_infra-env"]);
    aicli(&["wait", "cluster", "-s", "ready", "aic"]);
    let validations = aicli(&["info", "validation", "-a", "aic"]);
    assert!(
        validations.contains("all-hosts-are-ready-to-install") && validations.contains("success"),
        "{validations}"
    );
    aicli(&["start", "cluster", "aic"]);
    aicli(&["wait", "cluster", "aic"]);
    let (code, told) = hosts.end();
    assert_eq!(code, Some(0), "{told}\n{}", service.log());
    aicli(&["download", "kubeconfig", "aic"]);
    let kubeconfig = std::fs::read_to_string(service.dir.path().join("kubeconfig.aic")).unwrap();
    assert!(kubeconfig.contains("clusters:"), "{kubeconfig}");
    aicli(&["delete", "cluster", "-y", "aic"]);
    assert_eq!(service.json(&["cluster", "list"]), serde_json::json!([]));
}

/// Reads everything of a cluster in each state until the last one has been read; returns the states that were read. What happens
/// to the cluster begins when the first state has been read.
fn states_read<T>(
    service: &Service,
    cluster: &str,
    infra_env: &str,
    last: &str,
    happens: impl FnOnce() -> T,
) -> BTreeSet<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/stock_client_states.py");
    let (reader, mut lines) =
        follow(Command::new(python().unwrap()).args([script, &service.url, cluster, infra_env, last]));
    let first = lines.next();
    let _happening = first.is_some().then(happens);
    let read = first.into_iter().chain(lines).collect();
    let (code, told) = reader.end();
    assert_eq!(code, Some(0), "{told}\n{}", service.log());
    read
}

fn holds_all(seen: &BTreeSet<String>, states: &[&str]) {
    for state in states {
        assert!(seen.contains(*state), "{state} was not read: {seen:?}");
    }
}

#[test]
fn the_published_python_client_reads_an_installation_while_it_goes_on() {
    let service = Service::simulating();
    // Read while it happens, up to a state that lasts.
    let reads = |name: &str, last: &str, more: &[&str]| {
        let (cluster, infra_env) = service.cluster(name);
        states_read(&service, &cluster, &infra_env, last, || {
            simulated_hosts(&service, &cluster, &infra_env, more)
        })
    };
    let seen = reads("demo", "cluster installed", &["--speed", "120"]);
    // States that last: a reader that is slow for a moment does not see those that pass at once.
    let installing = [
        "cluster installing",
        "cluster finalizing",
        "cluster installed",
        "host installing-in-progress",
        "host installed",
        "stage Writing image to disk",
        "stage Rebooting",
        "stage Done",
    ];
    holds_all(&seen, &installing);
    // In an installation it does not last.
    let seen = reads("waits", "cluster ready", &["--speed", "600", "--until", "ready"]);
    holds_all(&seen, &["cluster ready", "host known"]);
    let added = "host added-to-existing-cluster";
    let seen = reads("grows", added, &["--speed", "600", "--add-workers", "1"]);
    holds_all(&seen, &["cluster adding-hosts", added]);
}

/// Whatever can be stored, whether or not a simulation brings it about.
#[test]
fn the_published_python_client_reads_every_object_in_every_state() {
    let service = Service::simulating();
    let (cluster, infra_env) = service.cluster("demo");
    let (hosts, report) = simulated_hosts(&service, &cluster, &infra_env, &["--speed", "600"]);
    report.for_each(drop);
    let (code, told) = hosts.end();
    assert_eq!(code, Some(0), "{told}\n{}", service.log());
    // Nobody has marked what is written now as due: it stays as it is.
    let dir = service.stop();
    let written = every_state::write(dir.path());
    let service = Service::on(dir);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/stock_client_states.py");
    let output = Command::new(python().unwrap()).args([script, &service.url]).output().unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stderr), service.log());
    let read: BTreeSet<_> = text(&output.stdout).lines().map(str::to_owned).collect();
    let missing: Vec<_> = written.difference(&read).collect();
    let foreign: Vec<_> = read.difference(&written).collect();
    assert!(missing.is_empty() && foreign.is_empty(), "not read: {missing:?}; not written: {foreign:?}");
}

#[test]
fn the_published_python_client_reads_failures_and_new_beginnings() {
    let service = Service::simulating();
    for (name, fault, end) in
        [("failing", "fail@writing-image-to-disk", "error"), ("cancelled", "cancel@installing", "cancelled")]
    {
        let (cluster, infra_env) = service.cluster(name);
        let more = ["--speed", "300", "--fault", fault];
        let (_hosts, _report) = simulated_hosts(&service, &cluster, &infra_env, &more);
        let states = |last: &str| states_read(&service, &cluster, &infra_env, last, || ());
        let ends = [format!("cluster {end}"), format!("host {end}")];
        holds_all(&states(&ends[0]), &ends.each_ref().map(String::as_str));
        assert!(service.cli(&["cluster", "reset", name]).status.success(), "{}", service.log());
        // The hosts wait for somebody to boot them anew.
        holds_all(
            &states("cluster insufficient"),
            &["cluster insufficient", "host resetting-pending-user-action"],
        );
    }
}
