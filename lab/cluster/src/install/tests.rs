use assisted_ignition_spec::Config;
use assisted_testkit::ignition_validate;
use serde_json::json;

use super::*;

fn config(masters: usize) -> Value {
    let mut config = json!({
        "apiVersion": "v1", "baseDomain": "example.com", "metadata": {"name": "lab"},
        "networking": {"machineNetwork": [{"cidr": "192.168.126.0/24"}], "serviceNetwork": ["172.30.0.0/16"]},
        "controlPlane": {"replicas": masters}, "compute": [{"name": "worker", "replicas": 1}],
        "platform": {"baremetal": {
            "apiVIPs": ["192.168.126.5"], "ingressVIPs": ["192.168.126.6"],
            "hosts": [{"name": "m0", "role": "master", "bootMACAddress": "52:54:00:00:00:01"},
                {"name": "w0", "role": "worker"}],
        }},
        "pullSecret": "{\"auths\":{}}", "sshKey": "ssh-ed25519 AAAA me",
    });
    if masters == 1 {
        config["platform"] = json!({"none": {}});
        config["bootstrapInPlace"] = json!({"installationDisk": "/dev/vda"});
    }
    config
}

fn run(config: &Value) -> (tempfile::TempDir, Result<Run>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(CONFIG), config.to_string()).unwrap();
    let run = state(dir.path()).and_then(|state| {
        let config = InstallConfig::read(&state.config)?;
        Ok(Run {
            dir: dir.path().to_owned(),
            state,
            config,
            release_image: "registry/ocp/release:4.20.1-x86_64".to_owned(),
            invoker: "assisted-installer".to_owned(),
        })
    });
    (dir, run)
}

#[test]
fn a_cluster_of_three() {
    let (dir, run) = run(&config(3));
    let run = run.unwrap();
    run.manifests().unwrap();
    let at = |name: &str| files::text(dir.path().join(name)).unwrap();
    assert!(at("manifests/cluster-config.yaml").contains("baseDomain: example.com"));
    assert!(!at("manifests/cluster-config.yaml").contains("auths"));
    assert!(at("openshift/99_openshift-cluster-api_hosts-0.yaml").contains("lab-"));
    assert!(!at("openshift/99_openshift-cluster-api_hosts-1.yaml").contains("consumerRef"));
    // What is laid over them is a part of the cluster too.
    files::write(dir.path().join("openshift/own.yaml"), 0o600, "kind: Own\n").unwrap();
    run.finish(false).unwrap();
    for name in ["bootstrap.ign", "master.ign", "worker.ign"] {
        let told = ignition_validate(at(name).as_bytes()).unwrap();
        assert_eq!(told, "", "{name}");
    }
    assert!(at("master.ign").contains("https://192.168.126.5:22623/config/master"));
    let bootstrap: Config = serde_json::from_str(&at("bootstrap.ign")).unwrap();
    let file = |path: &str| {
        let found = bootstrap.storage.files.iter().find(|file| file.path == path);
        found.and_then(|file| file.contents.data()).unwrap_or_else(|| panic!("{path}"))
    };
    assert_eq!(file("/opt/openshift/openshift/own.yaml"), b"kind: Own\n");
    assert_eq!(file("/root/.docker/config.json"), br#"{"auths":{}}"#);
    assert!(
        String::from_utf8_lossy(&file("/opt/openshift/auth/kubeconfig"))
            .contains("https://api-int.lab.example.com:6443")
    );
    assert!(at("auth/kubeconfig").contains("https://api.lab.example.com:6443"));
    assert!(!bootstrap.storage.files.iter().any(|file| file.path.ends_with("root-ca.key")));
    assert_eq!(at("auth/kubeadmin-password").split('-').count(), 4);
    let metadata: Value = serde_json::from_str(&at("metadata.json")).unwrap();
    assert!(metadata["infraID"].as_str().unwrap().starts_with("lab-"));
    let left: Vec<_> = ["manifests", "openshift", STATE, CONFIG]
        .into_iter()
        .filter(|name| dir.path().join(name).exists())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_single_node() {
    let (dir, made) = run(&config(1));
    let made = made.unwrap();
    made.manifests().unwrap();
    made.finish(true).unwrap();
    assert!(dir.path().join("bootstrap-in-place-for-live-iso.ign").is_file());
    assert!(!dir.path().join("master.ign").exists());

    let (_dir, made) = run(&config(3));
    let told = made.unwrap().finish(true).unwrap_err().to_string();
    assert!(told.contains("bootstrapInPlace"), "{told}");
}

#[test]
fn what_can_not_be_installed() {
    for (key, value, told) in [
        ("apiVersion", json!("v2"), "not v1"),
        ("baseDomain", json!("a b"), "no name"),
        ("platform", json!({"none": {}, "baremetal": {}}), "exactly one"),
        ("pullSecret", json!("x"), "no JSON"),
        ("controlPlane", json!({"replicas": 0}), "positive"),
        ("networking", json!({"machineNetwork": [{"cidr": "x"}]}), "invalid"),
    ] {
        let mut config = config(3);
        config[key] = value;
        let error = format!("{:#}", run(&config).1.err().unwrap());
        assert!(error.contains(told), "{key}: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(state(dir.path()).err().unwrap().to_string().contains("failed to fetch Install Config"));
}
