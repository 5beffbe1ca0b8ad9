//! The client of the agent-based installer, as the units of its ISO call it, against a real service.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::service::{PULL_SECRET, Service, follow, text};

/// The files of an ISO.
struct Iso {
    service: Service,
    dir: PathBuf,
}

impl Iso {
    fn new() -> Self {
        let service = Service::simulating();
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

    fn run(&self, step: &str, more: &[(&str, &str)]) -> Output {
        let file = |name: &str| self.dir.join(name);
        Command::new(file("agent-installer-client"))
            .arg(step)
            .envs(more.iter().copied())
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
            .args(match step {
                "registerCluster" | "registerInfraEnv" => {
                    vec!["--client-config".to_owned(), file("client_config").display().to_string()]
                }
                "configure" => vec!["--failures-file".to_owned(), file("failures").display().to_string()],
                _ => Vec::new(),
            })
            .output()
            .unwrap()
    }

    fn done(&self, step: &str, more: &[(&str, &str)]) {
        let output = self.run(step, more);
        assert!(output.status.success(), "{step}: {}\n{}", text(&output.stderr), self.service.log());
    }

    fn refused(&self, step: &str, expected: &str) {
        let output = self.run(step, &[]);
        assert_eq!(output.status.code(), Some(1), "{step}: {output:?}");
        assert!(text(&output.stderr).contains(expected), "{step}: {output:?}");
    }
}

#[test]
fn a_cluster_is_registered_once_and_its_hosts_are_configured() {
    let iso = Iso::new();
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
    let host = &iso.service.hosts_with_inventory(3)[0];
    let inventory: Value = serde_json::from_str(host["inventory"].as_str().unwrap()).unwrap();
    let folder = iso.dir.join("hosts/host-0");
    fs::create_dir(&folder).unwrap();
    let mac = inventory["interfaces"][0]["mac_address"].as_str().unwrap().to_uppercase();
    fs::write(folder.join("mac_addresses"), format!("02:ff:ff:ff:ff:ff\n{mac}\n")).unwrap();
    fs::write(folder.join("role"), "worker\n").unwrap();
    let id = [("INFRA_ENV_ID", infra_env)];
    // A hint that nobody knows is refused before anything is done.
    fs::write(folder.join("root-device-hints.yaml"), "deviceNames: /dev/sda\n").unwrap();
    let output = iso.run("configure", &id);
    assert!(text(&output.stderr).contains("there is no hint deviceNames"), "{output:?}");
    let disk = inventory["disks"][0]["path"].as_str().unwrap();
    fs::write(folder.join("root-device-hints.yaml"), format!("deviceName: {disk}\n")).unwrap();
    iso.done("configure", &id);
    let shown = iso.service.json(&["host", "show", host["id"].as_str().unwrap()]);
    assert_eq!(shown["role"], "worker");
    assert!(!iso.dir.join("failures").exists());
    // Another machine is meant.
    fs::write(folder.join("mac_addresses"), "02:ff:ff:ff:ff:ff\n").unwrap();
    iso.done("configure", &[id[0], ("WORKFLOW_TYPE", "addnodes")]);
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
    iso.done("importCluster", &named);
    let cluster = &iso.service.json(&["cluster", "list"])[0];
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
