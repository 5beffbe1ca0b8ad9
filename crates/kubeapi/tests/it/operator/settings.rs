//! The service understands what the operator tells it.

use std::collections::BTreeMap;

use assisted_config::Settings;
use assisted_kubeapi::operator::facts::Facts;
use serde_json::{Value, json};

use super::{config, find, kubernetes, make, openshift};

fn variables(change: &Value, facts: &Facts) -> BTreeMap<String, String> {
    let desired = make(&config(change), facts).unwrap();
    let map = find(&desired, "ConfigMap", "assisted-service").unwrap();
    serde_json::from_value(map["data"].clone()).unwrap()
}

fn whole() -> Value {
    json!({"spec": {
        "osImages": [{"openshiftVersion": "4.20", "cpuArchitecture": "arm64", "version": "420.1",
                      "url": "https://example.com/a.iso", "rootFSUrl": "https://example.com/rootfs"}],
        "mustGatherImages": [
            {"openshiftVersion": "4.20", "name": "cnv", "url": "quay.io/cnv"},
            {"openshiftVersion": "4.20", "name": "ocs", "url": "quay.io/ocs", "cpuArchitecture": "x86_64"},
        ],
        "unauthenticatedRegistries": ["registry.example.com", "quay.io"],
        "mirrorRegistryRef": {"name": "mirror"},
    }})
}

#[test]
fn the_service_reads_every_variable() {
    for facts in [openshift(), kubernetes()] {
        let conf = "unqualified-search-registries = ['docker.io']\n[[registry]]\nlocation = 'registry.redhat.io/ubi'\n\
                    [[registry.mirror]]\nlocation = 'mirror.example.com:5000/ubi'\n";
        let mirror = BTreeMap::from([("registries.conf".to_owned(), conf.to_owned())]);
        let facts = Facts { mirror: Some(mirror), ..facts };
        let set = variables(&whole(), &facts);
        let known: Vec<_> = assisted_config::variables().iter().map(|variable| variable.name).collect();
        // What a process or its platform reads itself.
        let others = ["ASSISTED_LISTEN", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
        let fates: Vec<_> = assisted_config::UNREAD.iter().map(|unread| unread.name).collect();
        for name in set.keys() {
            let name = name.as_str();
            assert!(
                known.contains(&name) || others.contains(&name) || fates.contains(&name),
                "nobody reads {name}"
            );
        }
        let settings = Settings::from_env(&|name| set.get(name).cloned()).unwrap();
        assert!(settings.http.service_base_url.starts_with("https://service."));
        assert!(settings.http.image_service_base_url.starts_with("https://images."));
        assert_eq!(settings.versions.os_images.unwrap().0.len(), 1);
        assert_eq!(
            settings.clusters.public_container_registries,
            [
                "quay.io",
                "registry.ci.openshift.org",
                "docker.io",
                "registry.redhat.io",
                "registry.example.com"
            ]
        );
        let must_gather = settings.versions.must_gather.unwrap().0;
        assert_eq!(must_gather.keys().collect::<Vec<_>>(), ["4.20", "4.20-x86_64"]);
        assert_eq!(settings.http.serve_https, facts.is_openshift);
        assert_eq!(settings.http.work_dir, "/data");
    }
}

#[test]
fn a_mirror_that_cannot_be_read_is_told() {
    for (data, text) in [
        (BTreeMap::new(), "Mirror registry configmap mirror missing key registries.conf"),
        (BTreeMap::from([("registries.conf".to_owned(), "[[".to_owned())]), "registries.conf can't be read"),
    ] {
        let facts = Facts { mirror: Some(data), ..openshift() };
        let pending = make(&config(&whole()), &facts).unwrap().pending.unwrap();
        assert!(pending.text.contains(text), "{pending}");
        assert_eq!(pending.outcome.reason, "ConfigFailure");
    }
    let pending = make(&config(&whole()), &openshift()).unwrap().pending.unwrap();
    assert_eq!(pending.text, "Mirror registry configmap mirror is missing");
}
