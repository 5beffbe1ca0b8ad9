//! The client of the agent-based installer, as the units of its ISO call it, against a real service.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::images::ONE;
use crate::service::{PULL_SECRET, Service, follow, text};

/// The files of an ISO.
struct Iso {
    service: Service,
    dir: PathBuf,
}

impl Iso {
    fn new() -> Self {
        Self::beside(Service::simulating())
    }

    fn beside(service: Service) -> Self {
        let dir = service.dir.path().join("iso");
        for folder in ["extra", "hosts", "cluster"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        // The name alone makes the program another one.
        symlink(env!("CARGO_BIN_EXE_assisted"), dir.join("agent-installer-client")).unwrap();
        let iso = Self { service, dir };
        let object = |api: &str, kind: &str, name: &str, more: Value| {
            let mut object =
                json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "demo"}});
            object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object
        };
        iso.write(
            "pull-secret.yaml",
            &object("v1", "Secret", "some-name", json!({"stringData": {".dockerconfigjson": PULL_SECRET}})),
        );
        iso.write(
            "cluster-image-set.yaml",
            &object(
                "hive.openshift.io/v1",
                "ClusterImageSet",
                "openshift",
                json!({"spec":
            {"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.22.9-x86_64"}}),
            ),
        );
        iso.write("cluster-deployment.yaml", &object("hive.openshift.io/v1", "ClusterDeployment", "demo", json!({"spec":
            {"clusterName": "demo", "baseDomain": "example.com", "pullSecretRef": {"name": "pull-secret"}, "platform": {}}})));
        let mut install = object(
            "extensions.hive.openshift.io/v1beta1",
            "AgentClusterInstall",
            "demo",
            json!({"spec": {
            "clusterDeploymentRef": {"name": "demo"}, "networking": {}, "apiVIP": "10.0.0.2", "ingressVIP": "10.0.0.3",
            "imageSetRef": {"name": "another"}, "provisionRequirements": {"controlPlaneAgents": 3}}}),
        );
        install["metadata"]["annotations"] =
            json!({"agent-install.openshift.io/install-config-overrides": r#"{"fips":true}"#});
        iso.write("agent-cluster-install.yaml", &install);
        iso.write("infraenv.yaml", &object("agent-install.openshift.io/v1beta1", "InfraEnv", "demo", json!({"spec":
            {"pullSecretRef": {"name": "pull-secret"}, "nmStateConfigLabelSelector": {"matchLabels": {"infraenvs": "demo"}}}})));
        fs::write(
            iso.dir.join("extra/one.yaml"),
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: one\n",
        )
        .unwrap();
        iso
    }

    fn write(&self, name: &str, object: &Value) {
        fs::write(self.dir.join(name), object.to_string()).unwrap();
    }

    fn command(&self, step: &str, more: &[(&str, &str)]) -> Command {
        let file = |name: &str| self.dir.join(name);
        let mut command = Command::new(file("agent-installer-client"));
        command
            .arg(step)
            .env("SERVICE_BASE_URL", format!("{}/", self.service.url))
            .env("USER_AUTH_TOKEN", "")
            .env("PULL_SECRET_FILE", file("pull-secret.yaml"))
            .env("CLUSTER_DEPLOYMENT_FILE", file("cluster-deployment.yaml"))
            .env("AGENT_CLUSTER_INSTALL_FILE", file("agent-cluster-install.yaml"))
            .env("CLUSTER_IMAGE_SET_FILE", file("cluster-image-set.yaml"))
            .env("INFRA_ENV_FILE", file("infraenv.yaml"))
            .env("NMSTATE_CONFIG_FILE", file("nmstateconfig.yaml"))
            .env("OPERATOR_INSTALL_FILE", file("operators.yaml"))
            .env("EXTRA_MANIFESTS_PATH", file("extra"))
            .env("HOST_CONFIG_DIR", file("hosts"))
            .env("CLUSTER_CONFIG_DIR", file("cluster"))
            .envs(more.iter().copied())
            .args(match step {
                "registerCluster" | "registerInfraEnv" => {
                    vec!["--client-config".to_owned(), file("client_config").display().to_string()]
                }
                "configure" => vec!["--failures-file".to_owned(), file("failures").display().to_string()],
                _ => Vec::new(),
            });
        command
    }

    fn run(&self, step: &str, more: &[(&str, &str)]) -> Output {
        self.command(step, more).output().unwrap()
    }

    fn done(&self, step: &str, more: &[(&str, &str)]) {
        let output = self.run(step, more);
        assert!(output.status.success(), "{step}: {}\n{}", text(&output.stderr), self.service.log());
    }

    fn refused(&self, step: &str, expected: &str) {
        self.refused_with(step, &[], expected);
    }

    fn refused_with(&self, step: &str, more: &[(&str, &str)], expected: &str) {
        let output = self.run(step, more);
        assert_eq!(output.status.code(), Some(1), "{step}: {output:?}");
        assert!(text(&output.stderr).contains(expected), "{step}: {output:?}");
    }
}

/// What a host has told of itself.
fn inventory(host: &Value) -> Value {
    serde_json::from_str(host["inventory"].as_str().unwrap()).unwrap()
}

#[test]
fn a_cluster_is_registered_once_and_its_hosts_are_configured() {
    let settings = [("GENERATOR", "simulation"), ("TNF_CLUSTERS_SUPPORT", "true")];
    let iso = Iso::beside(Service::start_with_env(&settings));
    iso.write("nmstateconfig.yaml", &json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
        "metadata": {"name": "a", "namespace": "demo", "labels": {"infraenvs": "other"}}, "spec": {"interfaces":
            [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}], "config": {"interfaces": []}}}));
    iso.done("registerCluster", &[]);
    iso.refused("registerInfraEnv", "its labels are not those of the InfraEnv's");
    fs::remove_file(iso.dir.join("nmstateconfig.yaml")).unwrap();
    for _ in 0..2 {
        iso.done("registerCluster", &[]);
        iso.done("registerInfraEnv", &[]);
    }
    let clusters = iso.service.json(&["cluster", "list"]);
    let infra_envs = iso.service.json(&["infra-env", "list"]);
    assert_eq!((clusters.as_array().unwrap().len(), infra_envs.as_array().unwrap().len()), (1, 1));
    let (cluster, infra_env) = (clusters[0]["id"].as_str().unwrap(), infra_envs[0]["id"].as_str().unwrap());
    assert_eq!(clusters[0]["install_config_overrides"], r#"{"fips":true}"#);
    assert_eq!(clusters[0]["api_vips"][0]["ip"], "10.0.0.2");
    assert_eq!((&infra_envs[0]["cluster_id"], &infra_envs[0]["type"]), (&json!(cluster), &json!("full-iso")));
    let left = fs::read_to_string(iso.dir.join("client_config")).unwrap();
    assert_eq!(left, format!("CLUSTER_ID={cluster}\nINFRA_ENV_ID={infra_env}\n").as_str().to_owned());
    // A manifest that is another one now.
    let extra = iso.dir.join("extra/one.yaml");
    let kept = fs::read_to_string(&extra).unwrap();
    fs::write(&extra, kept.replace("name: one", "name: two")).unwrap();
    iso.refused("registerCluster", "the cluster has another manifest one.yaml");
    fs::write(&extra, kept).unwrap();

    let existing = ["--cluster", cluster, "--infra-env", infra_env, "--hosts-only", "--until", "ready"];
    let (_hosts, _report) = follow(&mut iso.service.simulation(&existing));
    let hosts = iso.service.hosts_with_inventory(3);
    let (host, inventory) = (&hosts[0], inventory(&hosts[0]));
    let folder = iso.dir.join("hosts/host-0");
    fs::create_dir(&folder).unwrap();
    let mac = inventory["interfaces"][0]["mac_address"].as_str().unwrap().to_uppercase();
    fs::write(folder.join("mac_addresses"), format!("02:ff:ff:ff:ff:ff\n{mac}\n")).unwrap();
    fs::write(folder.join("role"), "worker\n").unwrap();
    let id = [("INFRA_ENV_ID", infra_env)];
    // A hint that nobody knows is refused before anything is done.
    fs::write(folder.join("root-device-hints.yaml"), "deviceNames: /dev/sda\n").unwrap();
    iso.refused_with("configure", &id, "there is no hint deviceNames");
    let disk = inventory["disks"][0]["path"].as_str().unwrap();
    fs::write(folder.join("root-device-hints.yaml"), format!("deviceName: {disk}\n")).unwrap();
    iso.done("configure", &id);
    let shown = iso.service.json(&["host", "show", host["id"].as_str().unwrap()]);
    assert_eq!(shown["role"], "worker");
    assert!(!iso.dir.join("failures").exists());
    credentials_come_to_their_hosts(&iso, &hosts, &id);
    what_can_not_be_done_is_told_until_it_can(&iso, &id);
    // Another machine is meant.
    fs::write(folder.join("mac_addresses"), "02:ff:ff:ff:ff:ff\n").unwrap();
    iso.done("configure", &[id[0], ("WORKFLOW_TYPE", "addnodes")]);
}

/// Credentials for fencing are those of the host's folder, or of its name, or of one of its addresses.
fn credentials_come_to_their_hosts(iso: &Iso, hosts: &[Value], id: &[(&str, &str)]) {
    let credentials = |user: &str, of: Value| {
        let mut all = json!({"address": "redfish+https://192.0.2.9/redfish/v1/Systems/1", "username": user,
            "password": "pass-of-bmc", "certificateVerification": "Disabled"});
        all.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        all
    };
    let mac = inventory(&hosts[1])["interfaces"][0]["mac_address"].as_str().unwrap().to_uppercase();
    let name = match hosts[2]["requested_hostname"].as_str() {
        Some(name) if !name.is_empty() => json!(name),
        _ => inventory(&hosts[2])["hostname"].clone(),
    };
    iso.write(
        "hosts/host-0/fencing-credentials.yaml",
        &json!({"credentials": [credentials("of-folder", json!({}))]}),
    );
    let named = json!({"credentials": [
        credentials("of-address", json!({"macaddress": mac})), credentials("of-name", json!({"hostname": name}))]});
    iso.write("hosts/fencing-credentials.yaml", &named);
    iso.done("configure", id);
    for (host, user) in hosts.iter().zip(["of-folder", "of-address", "of-name"]) {
        let shown = iso.service.json(&["host", "show", host["id"].as_str().unwrap()]);
        assert!(shown["fencing_credentials"].as_str().unwrap().contains(user), "{shown}");
    }
    // What can't be read is told without what stands there.
    iso.write("hosts/fencing-credentials.yaml", &json!({"credentials": "pass-of-bmc"}));
    let output = iso.run("configure", id);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("is no list `credentials`") && !told.contains("pass-of-bmc"), "{told}");
    iso.write("hosts/fencing-credentials.yaml", &named);
}

/// A host that is not there, one without such a disk, and credentials of nobody: each has its line, until it has none.
fn what_can_not_be_done_is_told_until_it_can(iso: &Iso, id: &[(&str, &str)]) {
    let (hints, absent) = (iso.dir.join("hosts/host-0/root-device-hints.yaml"), iso.dir.join("hosts/host-9"));
    let named = iso.dir.join("hosts/fencing-credentials.yaml");
    let kept = [&hints, &named].map(|path| fs::read_to_string(path).unwrap());
    fs::write(&hints, "minSizeGigabytes: 1000000\n").unwrap();
    fs::create_dir(&absent).unwrap();
    fs::write(absent.join("mac_addresses"), "02:ff:ff:ff:ff:fe\n").unwrap();
    iso.write(
        "hosts/fencing-credentials.yaml",
        &json!({"credentials": [
        {"hostname": "nobody", "address": "redfish://192.0.2.9", "username": "user", "password": "pass"}]}),
    );
    let failures = iso.dir.join("failures");
    let (waiting, _) = follow(&mut iso.command("configure", id));
    let begin = Instant::now();
    let told = loop {
        let told = fs::read_to_string(&failures).unwrap_or_default();
        if told.lines().count() == 3 && told.ends_with('\n') {
            break told;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{told}\n{}", iso.service.log());
        std::thread::sleep(Duration::from_millis(50));
    };
    drop(waiting);
    let lines: Vec<_> = told.lines().collect();
    assert!(lines[0].starts_with("host-0: ") && lines[0].contains("valid disks"), "{told}");
    let others = [
        "host-9: Host not registered",
        "nobody: Fencing credentials loaded but no host with matching hostname found",
    ];
    assert_eq!(lines[1..], others);

    fs::remove_dir_all(&absent).unwrap();
    for (path, kept) in [&hints, &named].into_iter().zip(kept) {
        fs::write(path, kept).unwrap();
    }
    iso.done("configure", id);
    assert!(!failures.exists());
}

#[test]
fn operators_networks_and_the_kind_of_image_come_from_the_files() {
    let iso = Iso::new();
    iso.write("operators.yaml", &json!([{"name": "lso"}]));
    iso.write(
        "nmstateconfig.yaml",
        &json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
        "metadata": {"name": "a", "namespace": "demo", "labels": {"infraenvs": "demo"}}, "spec": {
            "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}],
            "config": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": {
                "enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]}}]}}}),
    );
    iso.done("registerCluster", &[]);
    iso.done("registerInfraEnv", &[("IMAGE_TYPE_ISO", "minimal-iso")]);
    let cluster = iso.service.json(&["cluster", "show", "demo"]);
    let operators = cluster["monitored_operators"].as_array().unwrap();
    assert!(operators.iter().any(|operator| operator["name"] == "lso"), "{cluster}");
    let infra_env = &iso.service.json(&["infra-env", "list"])[0];
    assert_eq!(infra_env["type"], "minimal-iso");
    assert!(infra_env["static_network_config"].as_str().unwrap().contains("192.0.2.20"), "{infra_env}");
    // One service installs one cluster.
    iso.service.cluster("another");
    iso.refused("registerCluster", "there are 2 clusters");
}

#[test]
fn whatever_is_wrong_with_the_environment_ends_with_one() {
    let iso = Iso::new();
    iso.refused("configure", "--infra-env-id");
    iso.refused_with("configure", &[("INFRA_ENV_ID", "none")], "--infra-env-id");
    iso.refused("importCluster", "--cluster-id");
    iso.refused_with("registerInfraEnv", &[("IMAGE_TYPE_ISO", "tape")], "tape");
    iso.refused("registerWorld", "registerWorld");
    fs::remove_file(iso.dir.join("pull-secret.yaml")).unwrap();
    iso.refused("registerCluster", "pull-secret.yaml");
    // What is asked for is no failure.
    let help = Command::new(iso.dir.join("agent-installer-client")).arg("--help").output().unwrap();
    assert!(help.status.success() && text(&help.stdout).contains("registerInfraEnv"), "{help:?}");
}

/// What `openshift-install agent` puts into an ISO for the units of its rendezvous host: claims `{"auth_scheme": "userAuth"}`, signed with
/// [`ONE`].
const USER_TOKEN: &str = concat!(
    "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9",
    ".eyJhdXRoX3NjaGVtZSI6InVzZXJBdXRoIn0",
    ".PssMjSyFXhEP3rEYCLr8HqdeV8JXB9kkyDbfCzNqpEesPb49MXOhO8oAh92-cZPq3qNLWoHj8zu5VkOI9dp9aQ",
);

#[test]
fn units_show_the_token_of_their_iso() {
    let key = BASE64_STANDARD.encode(ONE.public);
    let settings = [
        ("GENERATOR", "simulation"),
        ("AUTH_TYPE", "agent-installer-local"),
        ("EC_PUBLIC_KEY_PEM", key.as_str()),
    ];
    let iso = Iso::beside(Service::start_with_env(&settings));
    iso.refused("registerCluster", "401");
    let forged = format!("{USER_TOKEN}A");
    iso.refused_with("registerCluster", &[("USER_AUTH_TOKEN", &forged)], "401");
    for step in ["registerCluster", "registerInfraEnv"] {
        iso.done(step, &[("USER_AUTH_TOKEN", USER_TOKEN)]);
    }
    let left = fs::read_to_string(iso.dir.join("client_config")).unwrap();
    assert!(left.contains("CLUSTER_ID=") && left.contains("INFRA_ENV_ID="), "{left}");
}

#[test]
fn a_cluster_that_is_there_is_imported() {
    let iso = Iso::new();
    let named = [
        ("CLUSTER_ID", "6f2f3c3e-8d1b-4a53-9a3c-0a5b6b1c6d7e"),
        ("CLUSTER_NAME", "there"),
        ("CLUSTER_API_VIP_DNS_NAME", "api.there.example.com"),
    ];
    let output = iso.run("importCluster", &named);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("import-cluster-config.json"), "{output:?}");
    fs::write(
        iso.dir.join("cluster/import-cluster-config.json"),
        r#"{"networking":{"userManagedNetworking":true}}"#,
    )
    .unwrap();
    let endpoint = "https://api-int.there.example.com:22623/config/worker";
    iso.write("cluster/worker-ignition-endpoint.json", &json!({"url": endpoint}));
    // A unit that failed behind the import starts anew.
    for _ in 0..2 {
        iso.done("importCluster", &named);
    }
    let clusters = iso.service.json(&["cluster", "list"]);
    let [cluster] = &clusters.as_array().unwrap()[..] else { panic!("{clusters}") };
    assert_eq!(cluster["ignition_endpoint"]["url"], endpoint);
    assert_eq!((&cluster["kind"], &cluster["status"]), (&json!("AddHostsCluster"), &json!("adding-hosts")));
    assert_eq!(cluster["status_info"], "cluster is adding hosts to existing OCP cluster");
}

#[test]
fn the_environment_of_an_iso_may_name_the_embedded_database() {
    let kept = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", kept.path().join("assisted.db").display());
    // Nobody listens where PostgreSQL would be.
    let environment = [
        ("DB_HOST", "127.0.0.1"),
        ("DB_NAME", "installer"),
        ("DB_PASS", "admin"),
        ("DB_PORT", "1"),
        ("DB_USER", "admin"),
        ("DEPLOY_TARGET", "onprem"),
        ("INSTALL_INVOKER", "agent-installer"),
        ("STORAGE", "filesystem"),
        ("ASSISTED_DATABASE", database.as_str()),
    ];
    let service = Service::start_with_env(&environment);
    let (cluster, _) = service.cluster("demo");
    let service = Service::on_with_env(service.stop(), &environment);
    assert_eq!(service.json(&["cluster", "list"])[0]["id"], cluster.as_str());
}
