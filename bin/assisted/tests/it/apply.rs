//! `assisted apply` against a real service.

use std::path::{Path, PathBuf};

use assisted_testkit::oci::OPENSHIFT_INSTALL;
use serde_json::{Value, json};

use crate::releases::Releases;
use crate::service::{Service, follow, text};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster-manifests")
}

/// The examples in a folder of the service's, with changes of their text.
fn copied(service: &Service, changes: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir_in(service.dir.path()).unwrap().keep();
    for file in std::fs::read_dir(examples()).unwrap() {
        let file = file.unwrap();
        let mut content = std::fs::read_to_string(file.path()).unwrap();
        for (from, to) in changes {
            content = content.replace(from, to);
        }
        std::fs::write(dir.join(file.file_name()), content).unwrap();
    }
    dir.display().to_string()
}

fn became(answer: &Value) -> Vec<(&str, &str)> {
    let objects = answer.as_array().unwrap().iter();
    objects.map(|object| (object["object"].as_str().unwrap(), object["action"].as_str().unwrap())).collect()
}

#[test]
fn a_folder_becomes_a_cluster_and_stays_one() {
    let service = Service::start();
    let folder = copied(&service, &[]);
    let apply = |folder: &str, more: &[&str]| service.json(&[&["apply", "-f", folder], more].concat());
    let (cluster, infra_env) = ("ClusterDeployment site/rack", "InfraEnv site/rack");
    let planned = apply(&folder, &["--dry-run"]);
    assert_eq!(became(&planned), [(cluster, "would-be-created"), (infra_env, "would-be-created")]);
    assert_eq!(service.json(&["cluster", "list"]), json!([]));

    let created = apply(&folder, &[]);
    assert_eq!(became(&created), [(cluster, "created"), (infra_env, "created")]);
    let shown = service.json(&["cluster", "show", "rack"]);
    for (pointer, expected) in [
        ("/id", created[0]["id"].clone()),
        ("/openshift_version", json!("4.22.9")),
        ("/api_vips/0/ip", json!("192.168.111.5")),
        ("/install_config_overrides", json!(r#"{"fips":true}"#)),
    ] {
        assert_eq!(shown.pointer(pointer), Some(&expected), "{pointer}");
    }
    let shown = service.json(&["infra-env", "show", "rack"]);
    assert_eq!(shown["cluster_id"], created[0]["id"]);
    assert!(shown["static_network_config"].as_str().unwrap().contains("192.168.111.20"), "{shown}");

    assert_eq!(became(&apply(&folder, &[])), [(cluster, "unchanged"), (infra_env, "unchanged")]);
    let other = copied(
        &service,
        &[("hostPrefix: 23", "hostPrefix: 24"), ("minimal-iso", "full-iso"), ("text: rack", "text: row")],
    );
    let planned = apply(&other, &["--dry-run"]);
    assert_eq!(became(&planned), [(cluster, "would-be-changed"), (infra_env, "would-be-changed")]);
    let compared = service.cli(&["diff", "-f", &other]);
    let told = text(&compared.stdout);
    assert_eq!(
        (compared.status.code(), compared.stderr.as_slice()),
        (Some(1), b"assisted: 2 of 2 objects differ\n".as_slice())
    );
    for expected in [
        "- image_type: minimal-iso\n  + image_type: full-iso",
        "~ manifest banner.yaml",
        "\"host_prefix\":24",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    let changed = apply(&other, &[]);
    let same = service.cli(&["diff", "-f", &other]);
    assert!(same.status.success() && text(&same.stdout) == "nothing differs\n", "{same:?}");
    assert_eq!(became(&changed), [(cluster, "changed"), (infra_env, "changed")]);
    assert_eq!(changed[0]["details"], json!(["cluster_networks", "manifest banner.yaml"]));
    assert_eq!(changed[1]["details"], json!(["image_type"]));
    assert_eq!(became(&apply(&other, &[])), [(cluster, "unchanged"), (infra_env, "unchanged")]);
    // Who looks for it among the commands of clusters finds it there.
    assert_eq!(
        became(&service.json(&["cluster", "apply", "-f", &other])),
        [(cluster, "unchanged"), (infra_env, "unchanged")]
    );
    assert_eq!(text(&service.cli(&["cluster", "diff", "-f", &other]).stdout), "nothing differs\n");
    let table = text(&service.cli(&["apply", "-f", &other]).stdout);
    assert!(table.starts_with("OBJECT") && table.contains("unchanged"), "{table}");
}

#[test]
fn what_is_wrong_is_told_before_anything_is_done() {
    let service = Service::start();
    std::fs::create_dir(service.dir.path().join("empty")).unwrap();
    for (changes, expected) in [
        ([("apiVIPs", "apiVips")].as_slice(), "has a field that is unknown: spec.apiVips"),
        (
            &[
                ("name: release", "name: other"),
                ("imageSetRef:\n    name: other", "imageSetRef:\n    name: release"),
            ],
            "ClusterImageSet release not found",
        ),
        (&[("kind: Secret", "kind: Other")], "failed to find secret pull-secret"),
        (&[("controlPlaneAgents: 3", "controlPlaneAgents: three")], "invalid type: string \"three\""),
        (&[("name: manifests\n  namespace", "name: others\n  namespace")], "ConfigMap site/manifests"),
        (
            &[("name: rack\n    namespace: site", "name: nowhere\n    namespace: site")],
            "ClusterDeployment site/nowhere",
        ),
        (&[("imageType: minimal-iso", "imageType: tape")], "spec.imageType"),
        (
            &[("imageType: minimal-iso", "mirrorRegistryRef: {name: a, namespace: b}")],
            "there is no ConfigMap a in the namespace b",
        ),
    ] {
        let folder = copied(&service, changes);
        let output = service.cli(&["apply", "-f", &folder]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{changes:?}: {told}");
        assert!(told.contains(expected), "{changes:?}: {told}");
    }
    for (path, expected) in
        [("empty", "it has no .yaml"), ("nowhere", "can't read nowhere"), ("pull-secret.json", "apiVersion")]
    {
        let output = service.cli(&["apply", "-f", path]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(text(&output.stderr).contains(expected), "{path}: {output:?}");
    }
    let clusters = service.json(&["cluster", "list"]);
    assert!(clusters.as_array().unwrap().is_empty(), "{clusters}");
    // A release that the service does not know, where none is read.
    let service = Service::simulating();
    let folder = copied(&service, &[("ocp-release:4.22.9-x86_64", "ocp-release:1.2.3")]);
    let output = service.cli(&["apply", "-f", &folder]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("v2ReadReleaseImage"), "{output:?}");
    let clusters = service.json(&["cluster", "list"]);
    assert!(clusters.as_array().unwrap().is_empty(), "{clusters}");
}

#[test]
fn a_release_that_nobody_configured_is_read_and_mirrors_are_those_of_the_objects() {
    let releases = Releases::start();
    let service = Service::installing(&releases.conf);
    let mirrors = "mirrorRegistryRef: {name: mirrors, namespace: site}";
    let folder = copied(
        &service,
        &[
            ("ocp-release:4.22.9-x86_64", "ocp-release:4.22.77-x86_64"),
            ("  imageSetRef:", &format!("  {mirrors}\n  imageSetRef:")),
            ("imageType: minimal-iso", &format!("imageType: minimal-iso\n  {mirrors}")),
        ],
    );
    let set = |mirror: &str| {
        let conf =
            format!("[[registry]]\nlocation = 'quay.io/a'\n[[registry.mirror]]\nlocation = '{mirror}/a'\n");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mirrors", "namespace": "site"},
                            "data": {"registries.conf": conf}});
        std::fs::write(Path::new(&folder).join("mirrors.json"), object.to_string()).unwrap();
    };
    set("own.lab");
    let early = service.cli(&["apply", "-f", &folder]);
    assert_eq!(early.status.code(), Some(1), "{early:?}");
    releases.push("4.22.77", OPENSHIFT_INSTALL);

    let apply = || service.json(&["apply", "-f", &folder]);
    let (cluster, infra_env) = ("ClusterDeployment site/rack", "InfraEnv site/rack");
    let created = apply();
    assert_eq!(became(&created), [(cluster, "created"), (infra_env, "created")]);
    for object in created.as_array().unwrap() {
        assert!(object["details"].as_array().unwrap().contains(&json!("mirror_registry")), "{object}");
    }
    let shown = service.json(&["cluster", "show", "rack"]);
    assert_eq!(shown["openshift_version"], "4.22.77");
    assert_eq!(became(&apply()), [(cluster, "unchanged"), (infra_env, "unchanged")]);
    set("other.lab");
    let compared = service.cli(&["diff", "-f", &folder]);
    assert_eq!(compared.status.code(), Some(1), "{compared:?}");
    let changed = apply();
    assert_eq!(became(&changed), [(cluster, "changed"), (infra_env, "changed")]);
    assert_eq!(
        [&changed[0]["details"], &changed[1]["details"]],
        [&json!(["mirror_registry"]), &json!(["mirror_registry"])]
    );
}

/// The examples as three simulated hosts need them.
fn simulated(service: &Service) -> String {
    copied(
        service,
        &[
            ("controlPlaneAgents: 3\n    workerAgents: 2", "controlPlaneAgents: 3"),
            ("  nmStateConfigLabelSelector:\n    matchLabels:\n      site: rack\n", ""),
            ("    agent-install.openshift.io/ignored-host-validations: has-cpu-cores-for-role\n", ""),
            ("    machineNetwork:\n      - cidr: 192.168.111.0/24\n", ""),
            ("192.168.111.5", "10.0.0.2"),
            ("192.168.111.4", "10.0.0.3"),
        ],
    )
}

#[test]
fn hosts_are_waited_for_and_the_installation_begins() {
    let service = Service::simulating();
    let folder = simulated(&service);
    let agent_cluster_install = Path::new(&folder).join("cluster.yaml");
    let plain = std::fs::read_to_string(&agent_cluster_install).unwrap();
    let held = plain.replace("  clusterDeploymentRef:", "  holdInstallation: true\n  clusterDeploymentRef:");
    std::fs::write(&agent_cluster_install, held).unwrap();
    let output = service.cli(&["apply", "-f", &folder, "--install"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("its installation is held"), "{output:?}");
    std::fs::write(&agent_cluster_install, plain).unwrap();
    let output = service.cli(&["apply", "-f", &folder, "--install", "--timeout", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("0 of 3 hosts are known"), "{output:?}");

    // Somebody else boots the hosts.
    let id = |list: &str| service.json(&[list, "list"])[0]["id"].as_str().unwrap().to_owned();
    let existing =
        ["--cluster", &id("cluster"), "--infra-env", &id("infra-env"), "--hosts-only", "--speed", "600"];
    let (hosts, _report) = follow(&mut service.simulation(&existing));
    let output = service.cli(&["apply", "-f", &folder, "--install", "--timeout", "5"]);
    assert!(output.status.success(), "{output:?}\n{}", service.log());
    assert!(text(&output.stderr).contains("the installation has begun"), "{output:?}");
    let waited = service.cli(&["cluster", "wait", "rack", "--timeout", "5"]);
    assert!(waited.status.success() && waited.stdout.is_empty(), "{waited:?}\n{}", service.log());
    assert!(text(&waited.stderr).contains("rack: installed"), "{waited:?}");
    let (code, told) = hosts.end();
    assert_eq!(code, Some(0), "{told}\n{}", service.log());
    assert_eq!(service.json(&["cluster", "show", "rack"])["status"], "installed");
    let output = service.cli(&["apply", "-f", &folder, "--install"]);
    assert!(text(&output.stderr).contains("the cluster is installed already"), "{output:?}");
}

#[test]
fn a_host_gets_what_its_object_says_when_it_is_there() {
    let service = Service::simulating();
    let folder = simulated(&service);
    let bare_metal_host = |mac: &str, disk: &str| {
        let object = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "host-0", "namespace": "site",
                "labels": {"infraenvs.agent-install.openshift.io": "rack"},
                "annotations": {"bmac.agent-install.openshift.io/role": "master",
                                "bmac.agent-install.openshift.io/hostname": "first"}},
            "spec": {"online": true, "bootMACAddress": mac, "rootDeviceHints": {"deviceName": disk}}});
        std::fs::write(Path::new(&folder).join("host.json"), object.to_string()).unwrap();
    };
    let apply = || service.json(&["apply", "-f", &folder]);
    bare_metal_host("02:ff:ff:ff:ff:ff", "/dev/sda");
    let object = "BareMetalHost site/host-0";
    assert_eq!(became(&apply())[2], (object, "not-there"));

    let id = |list: &str| service.json(&[list, "list"])[0]["id"].as_str().unwrap().to_owned();
    let existing =
        ["--cluster", &id("cluster"), "--infra-env", &id("infra-env"), "--hosts-only", "--until", "ready"];
    let (_hosts, _report) = follow(&mut service.simulation(&existing));
    let host = &service.hosts_with_inventory(3)[0];
    let inventory: Value = serde_json::from_str(host["inventory"].as_str().unwrap()).unwrap();
    let mac = inventory["interfaces"][0]["mac_address"].as_str().unwrap().to_uppercase();
    let disk = inventory["disks"][0]["path"].as_str().unwrap();
    bare_metal_host(&mac, disk);
    let changed = apply();
    assert_eq!(became(&changed)[2], (object, "changed"));
    let host = changed[2]["id"].as_str().unwrap();
    let shown = service.json(&["host", "show", host]);
    assert_eq!((&shown["requested_hostname"], &shown["role"]), (&json!("first"), &json!("master")));
    assert_eq!(became(&apply())[2], (object, "unchanged"));
}
