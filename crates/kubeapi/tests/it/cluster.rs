//! Clusters: requests from their objects, field by field.

use assisted_crd::labels::annotation;
use assisted_kubeapi::cluster::{ClusterSpec, custom_manifests, overrides};
use assisted_kubeapi::objects::Manifests;
use assisted_kubeapi::{Class, SyncError};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::on_cluster_layering::LayeringSettings;
use serde_json::{Value, json};

use crate::fixture::{PULL_SECRET, changed};

fn with<T>(
    manifests: &Manifests,
    then: impl FnOnce(ClusterSpec<'_>) -> Result<T, SyncError>,
) -> Result<T, SyncError> {
    let deployment = manifests.cluster_deployments().next().unwrap();
    let install = manifests.agent_cluster_installs().next().unwrap();
    then(ClusterSpec::resolve(deployment, install, manifests)?)
}

fn created(changes: &Value) -> Result<Value, SyncError> {
    with(&changed(changes), |spec| spec.create("4.22.9", None))
        .map(|params| serde_json::to_value(params).unwrap())
}

fn aci(spec: &Value) -> Value {
    json!({"AgentClusterInstall": {"spec": spec}})
}

#[test]
fn a_request_says_what_the_objects_say() {
    let plain = created(&json!({})).unwrap();
    for (pointer, expected) in [
        ("/name", json!("demo")),
        ("/base_dns_domain", json!("example.com")),
        ("/openshift_version", json!("4.22.9")),
        ("/ocp_release_image", json!("quay.io/release:4.22.9-x86_64")),
        ("/pull_secret", json!(PULL_SECRET)),
        ("/vip_dhcp_allocation", json!(false)),
        ("/user_managed_networking", json!(false)),
        ("/control_plane_count", json!(3)),
    ] {
        assert_eq!(plain.pointer(pointer), Some(&expected), "{pointer}");
    }
    // What is not set is not sent, so that the service's own default counts.
    for absent in
        ["platform", "hyperthreading", "network_type", "http_proxy", "tags", "high_availability_mode"]
    {
        assert!(plain.get(absent).is_none_or(Value::is_null), "{absent}: {plain}");
    }
    for (spec, pointer, expected) in [
        (json!({"apiVIPs": ["FD00:0::5"]}), "/api_vips/0/ip", json!("fd00::5")),
        (json!({"apiVIP": "10.0.0.5"}), "/api_vips/0/ip", json!("10.0.0.5")),
        (
            json!({"ingressVIPs": ["10.0.0.4"], "ingressVIP": "10.0.0.4"}),
            "/ingress_vips/0/ip",
            json!("10.0.0.4"),
        ),
        (
            json!({"networking": {"machineNetwork": [{"cidr": "10.0.0.7/24"}]}}),
            "/machine_networks/0/cidr",
            json!("10.0.0.0/24"),
        ),
        (
            json!({"networking": {"clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}]}}),
            "/cluster_networks/0/host_prefix",
            json!(23),
        ),
        (
            json!({"networking": {"serviceNetwork": ["172.30.0.0/16"]}}),
            "/service_networks/0/cidr",
            json!("172.30.0.0/16"),
        ),
        (json!({"networking": {"networkType": "Calico"}}), "/network_type", json!("Calico")),
        (json!({"networking": {"userManagedNetworking": true}}), "/user_managed_networking", json!(true)),
        // A single node.
        (
            json!({"provisionRequirements": {"controlPlaneAgents": 1}}),
            "/user_managed_networking",
            json!(true),
        ),
        (
            json!({"provisionRequirements": {"controlPlaneAgents": 1}}),
            "/high_availability_mode",
            json!("None"),
        ),
        (
            json!({"provisionRequirements": {"controlPlaneAgents": 1, "workerAgents": 1}}),
            "/user_managed_networking",
            json!(false),
        ),
        (json!({"platformType": "VSphere"}), "/platform/type", json!("vsphere")),
        (
            json!({"platformType": "External", "external": {"platformName": "oci", "cloudControllerManager": "External"}}),
            "/platform/external",
            json!({"platform_name": "oci", "cloud_controller_manager": "External"}),
        ),
        (json!({"controlPlane": {"name": "master"}}), "/hyperthreading", json!("masters")),
        (
            json!({"controlPlane": {"name": "master", "hyperthreading": "Disabled"},
                   "compute": [{"name": "infra"}, {"name": "worker"}]}),
            "/hyperthreading",
            json!("workers"),
        ),
        (json!({"compute": [{"name": "infra"}]}), "/hyperthreading", json!("none")),
        (json!({"diskEncryption": {"enableOn": "masters"}}), "/disk_encryption/mode", json!("tpmv2")),
        (json!({"diskEncryption": {"enableOn": "none"}}), "/disk_encryption", Value::Null),
        (json!({"ntpSources": ["a", "b"]}), "/ntp_sources", json!("a,b")),
        (json!({"proxy": {"httpProxy": "http://p:1"}}), "/http_proxy", json!("http://p:1")),
        (json!({"loadBalancer": {"type": "UserManaged"}}), "/load_balancer/type", json!("user-managed")),
        (
            json!({"onClusterLayering": {"mode": "Enabled", "machineOSConfigs": "Generate", "bakeConfigs": false,
                "registry": {"type": "External", "pushRepository": "r.example.com/acme/os"},
                "pools": [{"name": "master", "containerFile": "FROM configs AS final"}]}}),
            "/on_cluster_layering",
            json!({"mode": "Enabled", "machine_os_configs": "Generate", "bake_configs": false,
                "registry": {"type": "External", "push_repository": "r.example.com/acme/os"},
                "pools": [{"name": "master", "container_file": "FROM configs AS final"}]}),
        ),
        (json!({"mastersSchedulable": true}), "/schedulable_masters", json!(true)),
        (json!({"sshPublicKey": "ssh-ed25519 A\n"}), "/ssh_public_key", json!("ssh-ed25519 A")),
        (
            json!({"ignitionEndpoint": {"url": "https://mcs:22624/config"}}),
            "/ignition_endpoint/url",
            json!("https://mcs:22624/config"),
        ),
    ] {
        let request = created(&aci(&spec)).unwrap_or_else(|problem| panic!("{spec}: {problem}"));
        assert_eq!(request.pointer(pointer).unwrap_or(&Value::Null), &expected, "{spec}");
    }
    let label = json!({"AgentClusterInstall": {"metadata": {"labels":
        {"agentclusterinstalls.agent-install.openshift.io/consumer": "team"}}}});
    assert_eq!(created(&label).unwrap()["tags"], "team");
}

#[test]
fn a_certificate_of_the_endpoint_is_sent_as_bytes() {
    let spec = json!({"ignitionEndpoint": {"url": "https://mcs", "caCertificateReference": {"name": "ca", "namespace": "other"}}});
    let secret = |key: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": "other"}, "data": {key: "UEVN"}});
    let with_secret = |key: &str| {
        let mut objects = crate::fixture::site().to_vec();
        objects[2]["spec"]["ignitionEndpoint"] = spec["ignitionEndpoint"].clone();
        objects.push(secret(key));
        with(&crate::fixture::manifests(&objects), |spec| spec.create("", None))
    };
    let request = with_secret("tls.crt").unwrap();
    assert_eq!(request.ignition_endpoint.unwrap().ca_certificate.unwrap(), "UEVN");
    assert_eq!(with_secret("ca.crt").unwrap_err().text, "CA Secret is missing tls.crt key");
    let missing = created(&aci(&spec)).unwrap_err();
    assert_eq!(missing.text, "error getting ca certificate secret: there is no other/ca");
}

#[test]
fn what_can_not_be_told_is_a_problem_of_its_writer_or_not_yet_one() {
    for (changes, class, expected) in [
        (
            json!({"ClusterDeployment": {"spec": {"pullSecretRef": null}}}),
            Class::Input,
            "PullSecret is required for ClusterDeployment demo/site",
        ),
        (
            json!({"ClusterDeployment": {"spec": {"pullSecretRef": {"name": "other"}}}}),
            Class::Backend,
            "failed to validate pull secret for ClusterDeployment demo/site: failed to find secret other",
        ),
        (
            json!({"Secret": {"stringData": {".dockerconfigjson": ""}}}),
            Class::Backend,
            "secret pull did not contain key .dockerconfigjson",
        ),
        (
            aci(&json!({"imageSetRef": null})),
            Class::Input,
            "ClusterImageSet must be specified in AgentClusterInstall.Spec.ImageSetRef for cluster that is not installed",
        ),
        (
            aci(&json!({"imageSetRef": {"name": "other"}})),
            Class::Backend,
            "ClusterImageSet other not found. Please ensure the ClusterImageSet exists",
        ),
        (
            aci(&json!({"platformType": "External"})),
            Class::Input,
            "For external platform, the external platform spec must be set",
        ),
        (
            aci(&json!({"apiVIP": "10.0.0.1", "apiVIPs": ["10.0.0.2"]})),
            Class::Input,
            "failed to update network params: apiVIP must be the same as the first element of apiVIPs",
        ),
        (
            aci(&json!({"ingressVIP": "10.0.0.1", "ingressVIPs": ["10.0.0.2"]})),
            Class::Input,
            "failed to update network params: ingressVIP must be the same as the first element of ingressVIPs",
        ),
    ] {
        let problem = created(&changes).unwrap_err();
        assert_eq!(problem.class, class, "{changes}");
        assert!(problem.text.contains(expected), "{changes}: {problem}");
        assert!(!problem.text.contains("dXNlcjpwYXNz"), "{problem}");
    }
}

/// The cluster that the plain site asks for.
fn cluster() -> Cluster {
    serde_json::from_value(json!({
        "kind": "Cluster", "id": "5a1d6f34-41a4-4a3b-8a8f-6f8b2bd4a4a1", "href": "", "image_info": {},
        "status": "insufficient", "status_info": "", "name": "demo", "base_dns_domain": "example.com",
        "control_plane_count": 3, "user_managed_networking": false, "hyperthreading": "all",
        "api_vips": [{"ip": "10.0.0.5"}], "machine_networks": [{"cidr": "10.0.0.0/24"}],
        "platform": {"type": "baremetal"}, "network_type": "OVNKubernetes",
    }))
    .unwrap()
}

fn update(changes: &Value) -> (Vec<&'static str>, Value) {
    let update = with(&changed(changes), |spec| spec.update(&cluster(), Some(&PULL_SECRET.into()))).unwrap();
    (update.changed, serde_json::to_value(update.params).unwrap())
}

#[test]
fn nothing_is_changed_that_is_so_already_or_is_not_set() {
    for spec in [
        json!({}),
        json!({"apiVIP": "10.0.0.5"}),
        json!({"apiVIPs": ["10.0.0.5"], "networking": {"machineNetwork": [{"cidr": "10.0.0.9/24"}]}}),
        json!({"platformType": "BareMetal", "networking": {"networkType": "OVNKubernetes"}}),
        json!({"proxy": {}}),
        json!({"diskEncryption": {"enableOn": "none"}}),
    ] {
        assert_eq!(update(&aci(&spec)).0, Vec::<&str>::new(), "{spec}");
    }
}

#[test]
fn what_the_service_has_in_other_words_is_no_change() {
    let mut same = cluster();
    same.ssh_public_key = "ssh-ed25519 AAAA".to_owned();
    same.ignition_endpoint =
        Some(serde_json::from_value(json!({"url": "https://mcs", "ca_certificate": "UEVN"})).unwrap());
    // It found them itself: nobody set them.
    same.ingress_vips = Some(serde_json::from_value(json!([{"ip": "10.0.0.7"}])).unwrap());
    let mut objects = crate::fixture::site().to_vec();
    let endpoint =
        json!({"url": "https://mcs", "caCertificateReference": {"name": "ca", "namespace": "other"}});
    objects[2]["spec"]["ignitionEndpoint"] = endpoint;
    objects[2]["spec"]["sshPublicKey"] = "ssh-ed25519 AAAA \n".into();
    objects
        .push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca", "namespace": "other"},
                        "data": {"tls.crt": "UEVN"}}));
    let manifests = crate::fixture::manifests(&objects);
    let update = with(&manifests, |spec| spec.update(&same, None)).unwrap();
    assert_eq!(update.changed, Vec::<&str>::new());
    same.ssh_public_key = "ssh-ed25519 BBBB".to_owned();
    let update = with(&manifests, |spec| spec.update(&same, None)).unwrap();
    assert_eq!(update.changed, ["ssh_public_key"]);
}

#[test]
fn what_differs_is_changed_and_nothing_else() {
    for (changes, name, expected) in [
        (json!({"ClusterDeployment": {"spec": {"clusterName": "other"}}}), "name", json!("other")),
        (json!({"ClusterDeployment": {"spec": {"baseDomain": "a.b"}}}), "base_dns_domain", json!("a.b")),
        (aci(&json!({"networking": {"networkType": "Calico"}})), "network_type", json!("Calico")),
        (
            aci(&json!({"networking": {"userManagedNetworking": true}})),
            "user_managed_networking",
            json!(true),
        ),
        (aci(&json!({"apiVIPs": ["10.0.0.6"]})), "api_vips", json!([{"ip": "10.0.0.6"}])),
        (aci(&json!({"ingressVIP": "10.0.0.7"})), "ingress_vips", json!([{"ip": "10.0.0.7"}])),
        (
            aci(&json!({"loadBalancer": {"type": "UserManaged"}})),
            "load_balancer",
            json!({"type": "user-managed"}),
        ),
        (aci(&json!({"ntpSources": ["a"]})), "ntp_sources", json!("a")),
        (
            aci(&json!({"ignitionEndpoint": {"url": "https://mcs"}})),
            "ignition_endpoint",
            json!({"url": "https://mcs", "ca_certificate": ""}),
        ),
        (aci(&json!({"compute": [{"name": "worker"}]})), "hyperthreading", json!("workers")),
        (aci(&json!({"platformType": "Nutanix"})), "platform", json!({"type": "nutanix"})),
        (
            aci(&json!({"diskEncryption": {"enableOn": "all", "mode": "tang", "tangServers": "[]"}})),
            "disk_encryption",
            json!({"enable_on": "all", "mode": "tang", "tang_servers": "[]"}),
        ),
        (aci(&json!({"proxy": {"noProxy": "*"}})), "no_proxy", json!("*")),
        (aci(&json!({"mastersSchedulable": true})), "schedulable_masters", json!(true)),
        (aci(&json!({"provisionRequirements": {"controlPlaneAgents": 5}})), "control_plane_count", json!(5)),
        (json!({"Secret": {"stringData": {".dockerconfigjson": "{}"}}}), "pull_secret", json!("{}")),
    ] {
        let (changed, request) = update(&changes);
        assert_eq!(changed, [name], "{changes}");
        let told: serde_json::Map<_, _> = request
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        assert_eq!(Value::Object(told), json!({name: expected}), "{changes}");
    }
}

#[test]
fn a_machine_network_is_set_where_the_service_does_not_find_it() {
    let changed = |spec: Value| {
        let mut spec = spec;
        spec["networking"]["machineNetwork"] = json!([{"cidr": "10.0.1.0/24"}]);
        update(&aci(&spec)).0.contains(&"machine_networks")
    };
    assert!(!changed(json!({"networking": {}})));
    assert!(changed(json!({"networking": {"userManagedNetworking": true}})));
    assert!(changed(json!({"networking": {}, "loadBalancer": {"type": "UserManaged"}})));
    assert!(changed(json!({"networking": {}, "apiVIPs": ["10.0.1.5", "fd00::5"]})));
}

#[test]
fn image_mode_is_asked_for_where_it_differs_and_taken_back_where_it_was_given() {
    let change = |changes: &Value, current: Option<&LayeringSettings>| {
        with(&changed(changes), |spec| Ok(spec.image_mode_change(current))).unwrap()
    };
    let asked = aci(&json!({"onClusterLayering": {"mode": "Enabled"}}));
    let current = change(&asked, None);
    assert_eq!(current.as_ref().unwrap().mode.as_deref(), Some("Enabled"));
    assert_eq!(change(&asked, current.as_ref()), None);
    // The REST API set it.
    assert_eq!(change(&json!({}), current.as_ref()), None);
    let given = json!({"AgentClusterInstall": {"metadata": {"annotations": {annotation::GIVEN_FIELDS: "on_cluster_layering"}}}});
    assert_eq!(change(&given, current.as_ref()), Some(LayeringSettings::default()));
    assert_eq!(change(&given, None), None);
}

#[test]
fn an_endpoint_that_is_taken_away_is_emptied() {
    let mut cluster = cluster();
    cluster.ignition_endpoint =
        Some(serde_json::from_value(json!({"url": "https://mcs", "ca_certificate": "x"})).unwrap());
    let update = with(&changed(&json!({})), |spec| spec.update(&cluster, None)).unwrap();
    assert_eq!(update.changed, ["ignition_endpoint"]);
    let endpoint = update.params.ignition_endpoint.unwrap();
    assert_eq!((endpoint.url.as_deref(), endpoint.ca_certificate.as_deref()), (Some(""), Some("")));
}

#[test]
fn what_objects_gave_goes_with_their_fields() {
    let mut cluster = cluster();
    cluster.http_proxy = "http://proxy:3128".to_owned();
    cluster.no_proxy = "a".to_owned();
    cluster.ntp_sources = "a".to_owned();
    cluster.ssh_public_key = "ssh-ed25519 A".to_owned();
    cluster.hyperthreading = Some(RoleSet::Masters);
    let encryption = json!({"enable_on": "masters", "mode": "tang", "tang_servers": "[]"});
    cluster.disk_encryption = Some(serde_json::from_value(encryption).unwrap());
    let change = |cluster: &Cluster, fields: &str| {
        let annotations = json!({"metadata": {"annotations": {annotation::GIVEN_FIELDS: fields}}});
        let manifests = changed(&json!({"AgentClusterInstall": annotations}));
        let update = with(&manifests, |spec| spec.update(cluster, None)).unwrap();
        (update.changed, serde_json::to_value(update.params).unwrap())
    };
    // The REST API set them.
    assert_eq!(change(&cluster, "").0, Vec::<&str>::new());
    assert_eq!(change(&cluster, "ntp_sources").0, ["ntp_sources"]);
    let all = "disk_encryption,hyperthreading,ntp_sources,proxy,ssh_public_key";
    let (fields, request) = change(&cluster, all);
    assert_eq!(
        fields,
        ["ssh_public_key", "ntp_sources", "hyperthreading", "disk_encryption", "http_proxy", "no_proxy"]
    );
    for field in ["ssh_public_key", "ntp_sources", "http_proxy", "no_proxy"] {
        assert_eq!(request[field], "", "{field}");
    }
    assert_eq!(
        (&request["hyperthreading"], &request["disk_encryption"]),
        (&json!("all"), &json!({"enable_on": "none"}))
    );
    // As the service has them then.
    let encryption = json!({"enable_on": "none", "mode": "tpmv2", "tang_servers": "[]"});
    cluster.disk_encryption = Some(serde_json::from_value(encryption).unwrap());
    for text in [
        &mut cluster.http_proxy,
        &mut cluster.no_proxy,
        &mut cluster.ntp_sources,
        &mut cluster.ssh_public_key,
    ] {
        text.clear();
    }
    cluster.hyperthreading = Some(RoleSet::All);
    assert_eq!(change(&cluster, all).0, Vec::<&str>::new());
}

#[test]
fn an_installed_cluster_is_imported() {
    let changes = json!({"ClusterDeployment": {"spec": {"installed": true, "pullSecretRef": null}},
        "AgentClusterInstall": {"spec": {"imageSetRef": null, "clusterMetadata":
            {"clusterID": "6f2f3c3e-8d1b-4a53-9a3c-0a5b6b1c6d7e", "infraID": "i", "adminKubeconfigSecretRef": {}}}}});
    let params = with(&changed(&changes), |spec| {
        assert!(spec.installed());
        spec.import(None)
    })
    .unwrap();
    assert_eq!((params.name.as_str(), params.api_vip_dnsname.as_str()), ("demo", "api.demo.example.com"));
    assert_eq!(params.openshift_cluster_id.to_string(), "6f2f3c3e-8d1b-4a53-9a3c-0a5b6b1c6d7e");
    let mut wrong = changes;
    wrong["AgentClusterInstall"]["spec"]["clusterMetadata"]["clusterID"] = json!("x");
    assert_eq!(with(&changed(&wrong), |spec| spec.import(None)).unwrap_err().class, Class::Input);
}

#[test]
fn an_installation_is_held_by_its_field_or_its_annotation() {
    let held = |changes: &Value| with(&changed(changes), |spec| Ok(spec.held())).unwrap();
    assert!(!held(&json!({})));
    assert!(held(&aci(&json!({"holdInstallation": true}))));
    for (value, expected) in
        [("true", true), ("T", true), ("1", true), ("false", false), ("yes", false), ("", false)]
    {
        let annotations = json!({"hive.openshift.io/reconcile-pause": value});
        assert_eq!(
            held(&json!({"ClusterDeployment": {"metadata": {"annotations": annotations}}})),
            expected,
            "{value}"
        );
    }
    let wanted = aci(&json!({"provisionRequirements": {"workerAgents": 2, "arbiterAgents": 1}}));
    assert_eq!(with(&changed(&wanted), |spec| Ok(spec.hosts())).unwrap(), 6);
}

#[test]
fn annotations_become_lists_and_overrides() {
    let read = |annotations: Value| {
        let manifests = changed(&json!({"AgentClusterInstall": {"metadata": {"annotations": annotations}}}));
        overrides(manifests.agent_cluster_installs().next().unwrap())
    };
    let host = "agent-install.openshift.io/ignored-host-validations";
    let cluster = "agent-install.openshift.io/ignored-cluster-validations";
    assert_eq!(read(json!({})).unwrap(), assisted_kubeapi::cluster::Overrides::default());
    let read_all = read(json!({host: "", cluster: " a ,b,a",
        "agent-install.openshift.io/install-config-overrides": "{}"}))
    .unwrap();
    assert_eq!(read_all.ignored_host_validations, "[]");
    assert_eq!(read_all.ignored_cluster_validations, r#"["a","b"]"#);
    assert_eq!(read_all.install_config, "{}");
    assert_eq!(
        read(json!({host: "a,,b"})).unwrap_err().text,
        format!(
            "Failed to parse '{host}' annotation: annotation \"{host}\": failed to parse comma-separated validation \
                 IDs: empty ignored validation ID found in 'a,,b'"
        )
    );
}

#[test]
fn custom_manifests_come_from_config_maps() {
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "site"}, "data": data});
    let read = |spec: Value| {
        let mut objects = crate::fixture::site().to_vec();
        objects[2]["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        objects.push(map("one", json!({"b.yaml": "2", "a.yaml": "1"})));
        objects.push(map("two", json!({"a.yaml": "3"})));
        let manifests = crate::fixture::manifests(&objects);
        let install = manifests.agent_cluster_installs().next().unwrap();
        custom_manifests(install, &manifests)
            .map(|found| found.into_iter().map(|m| m.file_name + m.content.as_str()).collect::<Vec<_>>())
    };
    assert_eq!(read(json!({})).unwrap(), Vec::<String>::new());
    assert_eq!(read(json!({"manifestsConfigMapRef": {"name": "two"}})).unwrap(), ["a.yaml3"]);
    // The list counts.
    let both = json!({"manifestsConfigMapRef": {"name": "two"}, "manifestsConfigMapRefs": [{"name": "one"}]});
    assert_eq!(read(both).unwrap(), ["a.yaml1", "b.yaml2"]);
    let twice = read(json!({"manifestsConfigMapRefs": [{"name": "one"}, {"name": "two"}]})).unwrap_err();
    assert_eq!(twice, SyncError::input("Conflict in manifest names ('a.yaml' is not unique)"));
    assert_eq!(read(json!({"manifestsConfigMapRef": {"name": "three"}})).unwrap_err().class, Class::Backend);
}
