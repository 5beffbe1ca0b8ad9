//! Infra-envs: requests from their objects, field by field.

use assisted_crd::labels::annotation;
use assisted_kubeapi::infra_env::{Cluster, InfraEnvSpec};
use assisted_kubeapi::objects::Manifests;
use assisted_kubeapi::{Class, SyncError};
use assisted_service::object::Lasting;
use assisted_wire::id::ClusterId;
use assisted_wire::infra_env::InfraEnv;
use serde_json::{Value, json};

use crate::fixture::{changed, manifests, site};

fn with<T>(
    manifests: &Manifests,
    then: impl FnOnce(InfraEnvSpec<'_>) -> Result<T, SyncError>,
) -> Result<T, SyncError> {
    then(InfraEnvSpec::resolve(manifests.infra_envs().next().unwrap(), manifests)?)
}

fn created(spec: &Value, cluster: Option<&Cluster>) -> Result<Value, SyncError> {
    with(&changed(&json!({"InfraEnv": {"spec": spec}})), |spec| spec.create(cluster))
        .map(|params| serde_json::to_value(params).unwrap())
}

/// The site with NMStateConfigs: name, namespace and labels of each.
fn networks(selector: &Value, configs: &[(&str, &str, Value)]) -> Manifests {
    let mut objects = site().to_vec();
    objects[3]["spec"]["nmStateConfigLabelSelector"] = selector.clone();
    objects.extend(configs.iter().map(|(name, namespace, labels)| {
        json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
               "metadata": {"name": name, "namespace": namespace, "labels": labels},
               "spec": {"interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:0A"}],
                        "config": {"interfaces": [{"name": "eth0", "description": name}]}}})
    }));
    manifests(&objects)
}

#[test]
fn a_request_says_what_the_object_says() {
    let plain = created(&json!({}), None).unwrap();
    assert_eq!(plain["name"], "demo");
    for absent in
        ["cluster_id", "image_type", "proxy", "kernel_arguments", "openshift_version", "ntp_sources"]
    {
        assert!(plain.get(absent).is_none_or(Value::is_null), "{absent}: {plain}");
    }
    for (spec, pointer, expected) in [
        (json!({"imageType": "minimal-iso"}), "/image_type", json!("minimal-iso")),
        (json!({"cpuArchitecture": "aarch64"}), "/cpu_architecture", json!("arm64")),
        (json!({"osImageVersion": "4.20"}), "/openshift_version", json!("4.20")),
        (json!({"additionalNTPSources": ["a", "b"]}), "/additional_ntp_sources", json!("a,b")),
        (json!({"ntpSources": ["c"]}), "/ntp_sources", json!("c")),
        (
            json!({"proxy": {"httpProxy": "http://p"}}),
            "/proxy",
            json!({"http_proxy": "http://p", "https_proxy": "", "no_proxy": ""}),
        ),
        (
            json!({"kernelArguments": [{"operation": "append", "value": "a=b"}]}),
            "/kernel_arguments",
            json!([{"operation": "append", "value": "a=b"}]),
        ),
        (json!({"ignitionConfigOverride": "{}"}), "/ignition_config_override", json!("{}")),
        (json!({"additionalTrustBundle": "PEM\n"}), "/additional_trust_bundle", json!("PEM")),
        (json!({"networkDiscoveryDelaySeconds": 5}), "/network_discovery_delay_seconds", json!(5)),
        (json!({"sshAuthorizedKey": "k "}), "/ssh_authorized_key", json!("k")),
    ] {
        assert_eq!(created(&spec, None).unwrap().pointer(pointer), Some(&expected), "{spec}");
    }
    let cluster = Cluster { id: ClusterId::default(), openshift_version: "4.22.9".to_owned() };
    assert_eq!(created(&json!({}), Some(&cluster)).unwrap()["openshift_version"], "4.22.9");
    for wrong in [json!({"imageType": "tape"}), json!({"cpuArchitecture": "z80"})] {
        assert_eq!(created(&wrong, None).unwrap_err().class, Class::Input, "{wrong}");
    }
    let missing = created(&json!({"pullSecretRef": {"name": ""}}), None).unwrap_err();
    assert_eq!(missing, SyncError::input("Missing reference to pull secret"));
}

#[test]
fn networks_are_those_that_the_selector_picks_in_its_namespace() {
    let configs = [
        ("b", "site", json!({"rack": "1", "row": "x"})),
        ("a", "site", json!({"rack": "1"})),
        ("c", "site", json!({"rack": "2"})),
        ("d", "other", json!({"rack": "1"})),
    ];
    for (selector, expected) in [
        (json!({"matchLabels": {"rack": "1"}}), vec!["a", "b"]),
        (json!({"matchLabels": {"rack": "1", "row": "x"}}), vec!["b"]),
        (
            json!({"matchExpressions": [{"key": "rack", "operator": "In", "values": ["1", "2"]}]}),
            vec!["a", "b", "c"],
        ),
        (json!({"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["1"]}]}), vec!["c"]),
        (json!({"matchExpressions": [{"key": "row", "operator": "Exists"}]}), vec!["b"]),
        (json!({"matchExpressions": [{"key": "row", "operator": "DoesNotExist"}]}), vec!["a", "c"]),
        // Picks nothing, and not all.
        (json!({}), vec![]),
    ] {
        let request = with(&networks(&selector, &configs), |spec| spec.create(None)).unwrap();
        let given = request.static_network_config.unwrap_or_default();
        let names: Vec<_> = given
            .iter()
            .map(|network| {
                let state: Value = serde_json::from_str(&network.network_yaml).unwrap();
                state["interfaces"][0]["description"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(names, expected, "{selector}");
    }
    let wrong = json!({"matchExpressions": [{"key": "rack", "operator": "Near"}]});
    assert_eq!(with(&networks(&wrong, &configs), |_| Ok(())).unwrap_err().class, Class::Input);
}

#[test]
fn what_differs_is_changed_and_nothing_else() {
    let selector = json!({"matchLabels": {"rack": "1"}});
    let config = [("a", "site", json!({"rack": "1"}))];
    let network = json!([{"mac_interface_map": [{"mac_address": "02:00:00:00:00:0a", "logical_nic_name": "eth0"}],
        "network_yaml": "interfaces:\n- description: a\n  name: eth0\n"}]);
    let infra_env = |more: Value| -> InfraEnv {
        let mut object = json!({"kind": "InfraEnv", "id": "5a1d6f34-41a4-4a3b-8a8f-6f8b2bd4a4a1", "href": "",
            "name": "demo", "type": "full-iso", "updated_at": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z",
            "ssh_authorized_key": "k", "kernel_arguments": "[{\"operation\":\"append\",\"value\":\"a\"}]",
            "static_network_config": network.to_string()});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    };
    // The same network in another notation, and everything else as it is.
    let mut objects = networks(&selector, &config);
    let same = with(&objects, |spec| spec.update(&infra_env(json!({"kernel_arguments": "[]"})))).unwrap();
    assert_eq!(same.changed, Vec::<&str>::new());
    assert_eq!(same.params.static_network_config, None);
    // What the object has no more.
    let gone = with(&changed(&json!({})), |spec| spec.update(&infra_env(json!({})))).unwrap();
    assert_eq!(gone.changed, ["kernel_arguments", "static_network_config"]);
    assert_eq!(gone.params.static_network_config, Some(Vec::new()));
    for (spec, name) in [
        (json!({"sshAuthorizedKey": "other"}), "ssh_authorized_key"),
        (json!({"imageType": "minimal-iso"}), "image_type"),
        (json!({"proxy": {"noProxy": "a"}}), "proxy"),
        (json!({"ntpSources": ["a"]}), "ntp_sources"),
        (json!({"additionalNTPSources": ["a"]}), "additional_ntp_sources"),
        (json!({"ignitionConfigOverride": "{}"}), "ignition_config_override"),
        (json!({"additionalTrustBundle": "PEM"}), "additional_trust_bundle"),
        (json!({"networkDiscoveryDelaySeconds": 3}), "network_discovery_delay_seconds"),
        (json!({"kernelArguments": [{"operation": "delete", "value": "a"}]}), "kernel_arguments"),
    ] {
        objects = changed(&json!({"InfraEnv": {"spec": spec}}));
        let plain = infra_env(json!({"kernel_arguments": "", "static_network_config": ""}));
        let update = with(&objects, |spec| spec.update(&plain)).unwrap();
        assert_eq!(update.changed, [name], "{spec}");
    }
}

#[test]
fn what_an_object_gave_goes_with_its_fields() {
    let infra_env: InfraEnv = serde_json::from_value(json!({
        "kind": "InfraEnv", "id": "5a1d6f34-41a4-4a3b-8a8f-6f8b2bd4a4a1", "href": "", "name": "demo", "type": "full-iso",
        "updated_at": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z",
        "proxy": {"http_proxy": "http://proxy:3128"}, "ntp_sources": "a", "additional_trust_bundle": "PEM",
        "ssh_authorized_key": "k", "ignition_config_override": "{}", "network_discovery_delay_seconds": 3,
    }))
    .unwrap();
    let update = |fields: &str, spec: Value| {
        let metadata = json!({"annotations": {annotation::GIVEN_FIELDS: fields}});
        let manifests = changed(&json!({"InfraEnv": {"metadata": metadata, "spec": spec}}));
        with(&manifests, |spec| spec.update(&infra_env)).unwrap()
    };
    // The REST API set them.
    let none = update("", json!({}));
    assert_eq!((none.changed, none.taken_away), (Vec::new(), Vec::new()));
    let fields = "additional_ntp_sources,additional_trust_bundle,ignition_config_override,\
                  network_discovery_delay_seconds,ntp_sources,proxy,ssh_authorized_key";
    let all = update(fields, json!({}));
    assert_eq!(all.changed, ["ntp_sources", "additional_trust_bundle", "proxy"]);
    let emptied = Some(String::new());
    assert_eq!(
        (all.params.ntp_sources, all.params.additional_trust_bundle),
        (emptied.clone(), emptied.clone())
    );
    let proxy = all.params.proxy.unwrap();
    assert_eq!(
        [proxy.http_proxy, proxy.https_proxy, proxy.no_proxy],
        [emptied.clone(), emptied.clone(), emptied]
    );
    let lasting =
        [Lasting::SshAuthorizedKey, Lasting::IgnitionConfigOverride, Lasting::NetworkDiscoveryDelay];
    assert_eq!(all.taken_away, lasting);
    // One that is given still is changed, not taken away.
    let one = update(fields, json!({"networkDiscoveryDelaySeconds": 4, "sshAuthorizedKey": "k"}));
    assert_eq!(one.params.network_discovery_delay_seconds, Some(4));
    assert_eq!(one.taken_away, [Lasting::IgnitionConfigOverride]);
}

#[test]
fn what_an_api_server_alone_knows_is_told() {
    let spec = json!({"agentLabels": {"a": "b"}, "agentApproval": {"autoApprove": true}, "ipxeScriptType": "BootOrderControl"});
    let told =
        with(&changed(&json!({"InfraEnv": {"spec": spec}})), |spec| Ok(spec.without_effect())).unwrap();
    assert_eq!(told, ["agentLabels", "agentApproval", "ipxeScriptType"]);
}
