//! Install configs of small clusters.

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{NetworkType, RoleSet};
use assisted_wire::host::HostRole;
use assisted_wire::id::InfraEnvId;
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use assisted_wire::platform::{Platform, PlatformExternal, PlatformType};
use std::sync::Arc;

use serde_json::{Value, json};

use super::document::{
    Baremetal, BaremetalHost, BootstrapInPlace, Capabilities, ClusterNetwork, Document, External,
    FailureDomain, Fencing, FencingCredential, ImageSource, LoadBalancer as Balancer, MEMBERS,
    MachineNetwork, NoPlatform, Nutanix, Pool, PrismElement, Proxy, Vcenter, Vsphere,
};
use super::{Additions, InstallConfigError, apply};
use crate::catalogue::operators::CONSOLE;
use crate::model::cluster::{ClusterRecord, IpStack};
use crate::model::facts::Facts;
use crate::validation::testing::{facts, inventory};
use assisted_wire::secret::Secret;

const CA: &str = include_str!("../../../tests/data/ca.pem");

/// Two masters, an arbiter and a worker, each with an address in the machine network.
fn lab() -> Facts {
    let mut facts = facts(4).with_machine_networks(&["10.0.0.0/24"]).with_vips(&["10.0.0.5"], &["10.0.0.6"]);
    for (host, role) in
        facts.hosts.iter_mut().zip([HostRole::Worker, HostRole::Master, HostRole::Arbiter, HostRole::Master])
    {
        let number = host.record.host.id.0.as_u128();
        let built = inventory().address("192.168.7.1/24").address(&format!("10.0.0.{number}/24")).build();
        let mut built = built;
        for (index, nic) in built.interfaces.iter_mut().flatten().enumerate() {
            nic.mac_address = format!("52:54:00:00:0{index}:0{number}");
        }
        host.inventory = Some(built.into());
        host.record.host.role = Some(role);
    }
    facts.with_cluster(|cluster| {
        cluster.name = "c".to_owned();
        cluster.base_dns_domain = "example.com".to_owned();
        cluster.openshift_version = "4.22.0".to_owned();
        cluster.network_type = Some(NetworkType::OVNKubernetes);
        cluster.hyperthreading = Some(RoleSet::All);
        cluster.platform = None;
    })
}

fn of(kind: PlatformType) -> impl FnOnce(&mut Cluster) {
    move |cluster| {
        cluster.platform = Some(Platform { r#type: kind, external: None });
        cluster.user_managed_networking = Some(matches!(kind, PlatformType::None | PlatformType::External));
    }
}

fn text(facts: &Facts, overrides: &str) -> Result<Secret, InstallConfigError> {
    super::text(facts, overrides, &Additions::default())
}

fn config(facts: &Facts) -> Value {
    overridden(facts, &Value::Null).unwrap()
}

fn overridden(facts: &Facts, overrides: &Value) -> Result<Value, InstallConfigError> {
    let overrides = if overrides.is_null() { String::new() } else { overrides.to_string() };
    text(facts, &overrides).map(|text| serde_json::from_str(text.expose()).unwrap())
}

#[test]
fn bare_metal() {
    let mut facts = lab();
    facts.cluster.as_mut().unwrap().pull_secret = r#"{"auths":{}}"#.into();
    let config = config(&facts);
    assert_eq!((&config["apiVersion"], &config["metadata"]), (&json!("v1"), &json!({"name": "c"})));
    assert_eq!(config["pullSecret"], r#"{"auths":{}}"#);
    assert_eq!(config["compute"], json!([{"hyperthreading": "Enabled", "name": "worker", "replicas": 1}]));
    assert_eq!(config["controlPlane"], json!({"hyperthreading": "Enabled", "name": "master", "replicas": 2}));
    assert_eq!(config["arbiter"], json!({"hyperthreading": "Enabled", "name": "arbiter", "replicas": 1}));
    assert_eq!(config["networking"]["machineNetwork"], json!([{"cidr": "10.0.0.0/24"}]));
    assert_eq!(config["fips"], false);
    for absent in ["proxy", "featureSet", "additionalTrustBundle", "bootstrapInPlace", "capabilities"] {
        assert!(config.get(absent).is_none(), "{absent}");
    }
    let platform = &config["platform"]["baremetal"];
    assert_eq!(
        (&platform["apiVIPs"], &platform["ingressVIPs"], &platform["provisioningNetwork"]),
        (&json!(["10.0.0.5"]), &json!(["10.0.0.6"]), &json!("Disabled"))
    );
    assert!(platform.get("apiVIP").is_none() && platform.get("loadBalancer").is_none());
    let hosts = platform["hosts"].as_array().unwrap();
    let names: Vec<_> = hosts.iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["host-2", "host-4", "host-3", "host-1"]);
    assert_eq!(
        hosts[0],
        json!({
            "name": "host-2", "role": "master", "bootMACAddress": "52:54:00:00:01:02", "bootMode": "UEFI",
            "bmc": {"username": "", "password": "", "address": "", "disableCertificateVerification": false},
            "hardwareProfile": "",
        })
    );
    let far = lab().with_machine_networks(&["10.9.0.0/24"]);
    assert_eq!(text(&far, "").unwrap_err(), InstallConfigError::NoInterface);
    let none_yet = crate::validation::testing::facts(0);
    assert_eq!(super::tests::config(&none_yet)["platform"]["baremetal"]["hosts"], json!([]));
}

#[test]
fn by_version() {
    let at = |version: &str| lab().with_cluster(|cluster| cluster.openshift_version = version.to_owned());
    let old = config(&at("4.11.3"))["platform"]["baremetal"].clone();
    assert_eq!((&old["apiVIP"], &old["apiVIPs"]), (&json!("10.0.0.5"), &json!(["10.0.0.5"])));
    assert_eq!(config(&at("4.19.1"))["featureSet"], "TechPreviewNoUpgrade");
    assert!(config(&at("4.20.1")).get("featureSet").is_none());
    let vsphere = |version: &str| {
        config(&at(version).with_cluster(of(PlatformType::Vsphere)))["platform"]["vsphere"].clone()
    };
    assert_eq!(vsphere("4.12.0")["vCenter"], "vcenterplaceholder");
    let new = vsphere("4.13.0");
    assert_eq!(new["failureDomains"][0]["topology"]["folder"], "/datacenterplaceholder/vm/folderplaceholder");
    assert!(new.get("vCenter").is_none());
}

#[test]
fn other_platforms() {
    let nutanix = config(&lab().with_cluster(of(PlatformType::Nutanix)));
    assert_eq!(nutanix["platform"]["nutanix"]["prismCentral"]["endpoint"]["port"], 9440);
    for kind in [PlatformType::Nutanix, PlatformType::Vsphere] {
        let without = |api: &[&str]| text(&lab().with_vips(api, &[]).with_cluster(of(kind)), "").unwrap_err();
        assert_eq!(without(&[]), InstallConfigError::NoApiVip);
        assert_eq!(without(&["10.0.0.5"]), InstallConfigError::NoIngressVip);
    }
    let external = lab().with_cluster(of(PlatformType::External)).with_cluster(|cluster| {
        let external =
            PlatformExternal { platform_name: Some("oci".to_owned()), cloud_controller_manager: None };
        cluster.platform.as_mut().unwrap().external = Some(external);
    });
    assert_eq!(
        config(&external)["platform"],
        json!({"external": {"platformName": "oci", "cloudControllerManager": ""}})
    );
}

#[test]
fn a_single_node() {
    let mut facts = lab().with_cluster(of(PlatformType::None)).with_cluster(|cluster| {
        cluster.control_plane_count = 1;
        (cluster.machine_networks, cluster.network_type) = (None, None);
    });
    facts.hosts.truncate(1);
    let host = &mut facts.hosts[0];
    host.record.host.bootstrap = true;
    host.record.host.installation_disk_path = "/dev/sda".to_owned();
    let inventory =
        inventory().address("fe80::1/64").address("10.0.0.9/24").address("10.1.0.9/24").address("fd00::9/64");
    host.inventory = Some(inventory.build().into());
    let first = config(&facts);
    assert_eq!(first["platform"], json!({"none": {}}));
    assert_eq!(first["bootstrapInPlace"], json!({"installationDisk": "/dev/sda"}));
    assert_eq!(first["networking"]["networkType"], "OVNKubernetes");
    assert_eq!(
        first["networking"]["machineNetwork"],
        json!([{"cidr": "10.0.0.0/24"}, {"cidr": "fd00::/64"}])
    );
    facts.hosts[0].record.host.installation_disk_id = "/dev/disk/by-id/wwn-1".to_owned();
    facts.cluster.as_mut().unwrap().primary_ip_stack = Some(IpStack::V6);
    let facts = facts.with_cluster(|cluster| cluster.network_type = Some(NetworkType::None));
    let second = config(&facts);
    assert_eq!(second["bootstrapInPlace"]["installationDisk"], "/dev/disk/by-id/wwn-1");
    assert_eq!(second["networking"]["networkType"], "");
    assert_eq!(second["networking"]["machineNetwork"][0], json!({"cidr": "fd00::/64"}));
}

#[test]
fn two_nodes_that_fence_each_other() {
    let mut facts = lab().with_cluster(|cluster| {
        cluster.control_plane_count = 2;
        cluster.openshift_version = "4.21.0".to_owned();
    });
    facts.hosts.retain(|host| host.record.host.role == Some(HostRole::Master));
    for (host, mac) in facts.hosts.iter_mut().zip(["", r#","mac_address":"52:54:00:00:00:09""#]) {
        host.record.host.fencing_credentials = format!(
            r#"{{"address":"a","username":"u","password":"p","certificate_verification":"Disabled"{mac}}}"#
        );
    }
    let fenced = config(&facts);
    assert_eq!(fenced["featureSet"], "TechPreviewNoUpgrade");
    assert_eq!(
        fenced["controlPlane"]["fencing"]["credentials"],
        json!([
            {"hostname": "host-2", "address": "a", "username": "u", "password": "p", "certificateVerification": "Disabled"},
            {"macAddress": "52:54:00:00:00:09", "address": "a", "username": "u", "password": "p",
             "certificateVerification": "Disabled"},
        ])
    );
    facts.hosts[0].record.host.fencing_credentials = "secret".to_owned();
    let error = text(&facts, "").unwrap_err();
    assert_eq!(error, InstallConfigError::Fencing("host-2".to_owned()));
    facts.hosts[0].record.host.fencing_credentials = String::new();
    assert!(config(&facts)["controlPlane"].get("fencing").is_none());
}

#[test]
fn settings_of_the_cluster() {
    let facts = lab().with_networks(&["172.30.0.0/16"], &[("10.128.0.0/14", 23)]).with_cluster(|cluster| {
        cluster.hyperthreading = Some(RoleSet::MastersAndArbiters);
        cluster.http_proxy = "http://p:1".to_owned();
        cluster.no_proxy = "a,,b".to_owned();
        cluster.additional_ntp_source = " t1 , t2".to_owned();
        cluster.load_balancer = Some(LoadBalancer { r#type: Some(LoadBalancerType::UserManaged) });
    });
    let config = config(&facts);
    assert_eq!(config["compute"][0]["hyperthreading"], "Disabled");
    assert_eq!(
        (&config["arbiter"]["hyperthreading"], &config["controlPlane"]["hyperthreading"]),
        (&json!("Enabled"), &json!("Enabled"))
    );
    assert_eq!(
        config["proxy"],
        json!({"httpProxy": "http://p:1", "noProxy": "a,b,.c.example.com,10.128.0.0/14,172.30.0.0/16,10.0.0.0/24"})
    );
    let platform = &config["platform"]["baremetal"];
    assert_eq!(platform["additionalNTPServers"], json!(["t1", "t2"]));
    assert_eq!(platform["loadBalancer"], json!({"type": "UserManaged"}));
    let all = facts.with_cluster(|cluster| cluster.no_proxy = " * ".to_owned());
    assert_eq!(super::tests::config(&all)["proxy"]["noProxy"], " * ");
}

#[test]
fn overrides_are_laid_over() {
    let facts = lab();
    for (overrides, pointer, expected) in [
        (
            json!({"compute": [{"hyperthreading": "Disabled"}]}),
            "/compute/0",
            json!({"hyperthreading": "Disabled", "name": "worker", "replicas": 1}),
        ),
        (
            json!({"compute": [{}, {"name": "x"}]}),
            "/compute/1",
            json!({"hyperthreading": "", "name": "x", "replicas": 0}),
        ),
        (json!({"compute": []}), "/compute", json!([])),
        (json!({"CONTROLPLANE": {"Replicas": 5}}), "/controlPlane/replicas", json!(5)),
        (json!({"fips": true, "arbiter": null}), "/fips", json!(true)),
        (json!({"baseDomain": null, "metadata": null}), "/metadata/name", json!("c")),
        (json!({"networking": {"clusterNetwork": null}}), "/networking/clusterNetwork", Value::Null),
        (
            json!({"networking": {"serviceNetwork": ["a", "b"]}}),
            "/networking/serviceNetwork",
            json!(["a", "b"]),
        ),
        (
            json!({"platform": {"baremetal": {"apivips": ["1.2.3.4"]}}}),
            "/platform/baremetal/ingressVIPs",
            json!(["10.0.0.6"]),
        ),
        (
            json!({"capabilities": {"baselineCapabilitySet": "None"}}),
            "/capabilities",
            json!({"baselineCapabilitySet": "None"}),
        ),
    ] {
        let config = overridden(&facts, &overrides).unwrap();
        assert_eq!(config.pointer(pointer), Some(&expected), "{overrides}");
    }
    assert!(overridden(&facts, &json!({"arbiter": null})).unwrap().get("arbiter").is_none());
    let trailing = text(&facts, r#"{"fips":true} trailing"#).unwrap();
    assert!(trailing.expose().contains(r#""fips":true"#));
}

#[test]
fn bad_overrides() {
    let facts = lab();
    for (overrides, expected) in [
        ("{", "json: EOF while parsing an object at line 1 column 1"),
        ("[]", "json: the overrides are no object"),
        (r#""x""#, "json: the overrides are no object"),
        (r#"{"publish":"Internal"}"#, r#"json: unknown field "publish""#),
        (r#"{"compute":[{"architecture":"arm64"}]}"#, r#"json: unknown field "architecture""#),
    ] {
        assert_eq!(text(&facts, overrides).unwrap_err().to_string(), expected);
    }
    for overrides in
        [r#"{"fips":"yes"}"#, r#"{"cidr":"x"}"#, r#"{"compute":{}}"#, r#"{"platform":{"none":{"name":"x"}}}"#]
    {
        let error = text(&facts, overrides).unwrap_err();
        assert!(error.to_string().starts_with("json: "), "{overrides}: {error}");
    }
    let deep = format!("{}1{}", r#"{"metadata":"#.repeat(100_000), "}".repeat(100_000));
    assert!(text(&facts, &deep).unwrap_err().to_string().contains("recursion limit"));
    let bundle = text(&facts, r#"{"additionalTrustBundle":"x"}"#).unwrap_err();
    assert!(matches!(bundle, InstallConfigError::TrustBundle(_)));
}

#[test]
fn authorities_come_together() {
    let mut facts = lab();
    let id = facts.cluster.as_ref().unwrap().cluster.id;
    for (number, cluster_id) in [(1_u128, Some(id)), (2, None)] {
        let id = InfraEnvId(uuid::Uuid::from_u128(number));
        let record = json!({"infra_env": {
            "kind": "InfraEnv", "id": id, "href": "", "name": "i", "type": "full-iso", "cluster_id": cluster_id,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "additional_trust_bundle": CA, "additional_ntp_sources": "t1,t2,t1",
        }});
        facts.infra_envs.insert(id, serde_json::from_value(record).unwrap());
    }
    let both = overridden(&facts, &json!({"additionalTrustBundle": CA})).unwrap();
    assert_eq!(both["additionalTrustBundle"], format!("{}\n{}", CA.trim(), CA.trim()));
    assert_eq!(config(&facts)["additionalTrustBundle"], CA.trim());
    assert_eq!(config(&facts)["platform"]["baremetal"]["additionalNTPServers"], json!(["t1", "t2"]));
}

#[test]
fn layering_is_kept_from_the_installer() {
    let mut facts = lab();
    Arc::make_mut(&mut facts.policy).layering.preview = true;
    let enabled = overridden(&facts, &json!({"onClusterLayering": {"mode": "Enabled"}})).unwrap();
    assert_eq!(enabled["onClusterLayering"], json!({"mode": "Enabled"}));
    let given = json!({"onClusterLayering": {"MODE": "Disabled", "registry": {"port": 22626}, "buildTimeoutMinutes": 15}});
    let text = text(&lab(), &given.to_string()).unwrap();
    let config: Value = serde_json::from_str(text.expose()).unwrap();
    let expected = json!({"mode": "Disabled", "registry": {"port": 22626}, "buildTimeoutMinutes": 15});
    assert_eq!(config["onClusterLayering"], expected);
    let without = super::for_installer(&text).unwrap();
    assert_eq!(without, super::tests::text(&lab(), "").unwrap());
    for layering in [
        json!({"mode": "On"}),
        json!({"mode": "Enabled", "machineOSConfigs": "Generate"}),
        json!({"mode": "Enabled", "rollout": "Later"}),
        json!({"publish": "x"}),
        json!({"buildTimeoutMinutes": 14}),
        json!({"buildTimeoutMinutes": 361}),
        json!({"registry": {"port": 80}}),
        json!({"registry": {"port": 22622}}),
        json!({"registry": {"port": 9500}}),
        json!({"registry": {"port": 65535}}),
        json!({"pools": [{"containerFile": "FROM configs"}]}),
        json!({"pools": [{"name": "master", "containerFile": "x".repeat(4097)}]}),
    ] {
        let error = overridden(&lab(), &json!({"onClusterLayering": layering})).unwrap_err();
        assert!(matches!(error, InstallConfigError::Overrides(_)), "{layering}: {error}");
    }
}

#[test]
fn mirrors_by_version() {
    let additions = Additions {
        mirrors: vec![("quay.io/a".to_owned(), vec!["m:5000/a".to_owned()])],
        authorities: vec![String::new(), format!("{CA}\n")],
    };
    let sources = json!([{"source": "quay.io/a", "mirrors": ["m:5000/a"]}]);
    for (version, has, has_not) in [
        ("4.13.9", "imageContentSources", "imageDigestSources"),
        ("4.14.0-ec.1", "imageDigestSources", "imageContentSources"),
        ("4.22.0", "imageDigestSources", "imageContentSources"),
    ] {
        let facts = lab().with_cluster(|cluster| cluster.openshift_version = version.to_owned());
        let text = super::text(&facts, "", &additions).unwrap();
        let config: Value = serde_json::from_str(text.expose()).unwrap();
        assert_eq!(config[has], sources, "{version}");
        assert!(config.get(has_not).is_none(), "{version}");
        assert_eq!(config["additionalTrustBundle"], CA.trim());
    }
    let own = r#"{"imageDigestSources":[{"mirrors":["n/a","o/a"]}]}"#;
    let text = super::text(&lab(), own, &additions).unwrap();
    let config: Value = serde_json::from_str(text.expose()).unwrap();
    assert_eq!(config["imageDigestSources"], json!([{"source": "quay.io/a", "mirrors": ["n/a", "o/a"]}]));
}

#[test]
fn the_network_of_the_bootstrap_node() {
    let mut facts = lab().with_cluster(of(PlatformType::None));
    facts.hosts[1].record.host.bootstrap = true;
    let before = config(&facts)["networking"]["machineNetwork"].clone();
    assert_eq!(before, json!([{"cidr": "10.0.0.0/24"}]));
    let mut connected = serde_json::Map::new();
    for host in &mut facts.hosts {
        let number = host.record.host.id.0.as_u128();
        let mut built = inventory()
            .address(&format!("10.9.0.{number}/24"))
            .address(&format!("10.0.0.{number}/24"))
            .build();
        built
            .interfaces
            .iter_mut()
            .flatten()
            .for_each(|nic| nic.mac_address = "52:54:00:00:00:01".to_owned());
        host.inventory = Some(built.into());
        connected.insert(
            host.record.host.id.to_string(),
            json!([format!("10.9.0.{number}"), format!("10.0.0.{number}")]),
        );
    }
    let ids: Vec<_> = facts.hosts.iter().map(|host| host.record.host.id).collect();
    let groups = json!({"majority_groups": {"IPv4": ids}, "l3_connected_addresses": connected});
    let facts = facts.with_cluster(|cluster| cluster.connectivity_majority_groups = groups.to_string());
    assert_eq!(config(&facts)["networking"]["machineNetwork"], json!([{"cidr": "10.9.0.0/24"}]));
    let managed = facts.with_cluster(of(PlatformType::Baremetal));
    assert_eq!(config(&managed)["networking"]["machineNetwork"], json!([{"cidr": "10.0.0.0/24"}]));
}

#[test]
fn effects_on_the_cluster() {
    let has_console = |record: &ClusterRecord| {
        record.cluster.monitored_operators.iter().flatten().filter(|row| row.name == CONSOLE).count()
    };
    let mut record = lab().cluster.unwrap();
    record.cluster.feature_usage = String::new();
    apply(&mut record, r#"{"controlPlane":{"hyperthreading":"Disabled","replicas":3},"FIPS":true}"#);
    assert_eq!(
        record.cluster.feature_usage,
        r#"{"FIPS":{"id":"FIPS","name":"FIPS"},"Install Config Overrides":{"id":"INSTALL_CONFIG_OVERRIDES","name":"Install Config Overrides","data":{"controlPlane hyperthreading replicas":true,"fips":true}}}"#
    );
    assert_eq!(has_console(&record), 1);
    apply(&mut record, r#"{"onClusterLayering":{"mode":"Enabled","registry":{"type":"External"}}}"#);
    let layering = r#""On Cluster Layering":{"id":"ON_CLUSTER_LAYERING","name":"On Cluster Layering","data":{"registry_type":"External","worker_build_location":"ControlPlane"}}"#;
    assert!(record.cluster.feature_usage.contains(layering), "{}", record.cluster.feature_usage);
    let none = r#"{"capabilities":{"baselineCapabilitySet":"None"}}"#;
    apply(&mut record, none);
    assert_eq!((has_console(&record), record.cluster.install_config_overrides.as_str()), (0, none));
    let usage = record.cluster.feature_usage.clone();
    apply(&mut record, "");
    assert_eq!((has_console(&record), record.cluster.install_config_overrides.as_str()), (1, ""));
    assert_eq!(record.cluster.feature_usage, usage);
    apply(
        &mut record,
        r#"{"capabilities":{"baselineCapabilitySet":"None","additionalEnabledCapabilities":["Console"]}}"#,
    );
    assert_eq!(has_console(&record), 1);
    record.cluster.openshift_version = "4.11.0".to_owned();
    apply(&mut record, none);
    assert_eq!(has_console(&record), 1);
}

/// Every member of the document is known by name, and no name is known that the document has not.
#[test]
fn members() {
    let layering = serde_json::from_value(json!({
        "mode": "Enabled", "machineOSConfigs": "Generate", "workerBuildLocation": "Bootstrap", "bakeConfigs": true,
        "registry": {"type": "External", "port": 22626, "loadBalancerConfigured": true, "pushRepository": "x"},
        "scratch": "Auto", "buildTimeoutMinutes": 90, "waitForAdoption": true, "rollout": "Deploy",
        "pools": [{"name": "x", "containerFile": "x"}],
    }))
    .unwrap();
    let full = Document {
        proxy: Some(Proxy { http_proxy: "x".into(), https_proxy: "x".into(), no_proxy: "x".into() }),
        compute: vec![Pool::default()],
        arbiter: Some(Pool::default()),
        bootstrap_in_place: Some(BootstrapInPlace { installation_disk: "x".into() }),
        cpu_partitioning_mode: "x".into(),
        additional_trust_bundle: "x".into(),
        additional_trust_bundle_policy: "x".into(),
        image_content_sources: vec![ImageSource::default()],
        image_digest_sources: vec![ImageSource { source: "x".into(), mirrors: vec!["x".into()] }],
        capabilities: Some(Capabilities {
            baseline_capability_set: "x".into(),
            additional_enabled_capabilities: vec!["x".into()],
        }),
        feature_set: "x".into(),
        feature_gates: vec!["x".into()],
        os_image_stream: "x".into(),
        on_cluster_layering: Some(layering),
        ..Document::default()
    };
    let mut full = full;
    full.networking.cluster_network = Some(vec![ClusterNetwork::default()]);
    full.networking.machine_network = vec![MachineNetwork::default()];
    full.control_plane.fencing = Some(Fencing {
        credentials: vec![FencingCredential {
            hostname: "x".into(),
            mac_address: "x".into(),
            certificate_verification: "x".into(),
            ..FencingCredential::default()
        }],
    });
    let balancer = || Some(Balancer::default());
    let one = || vec!["x".to_owned()];
    full.platform.none = Some(NoPlatform {});
    full.platform.external = Some(External::default());
    full.platform.baremetal = Some(Baremetal {
        api_vips: one(),
        ingress_vips: one(),
        api_vip: "x".into(),
        ingress_vip: "x".into(),
        hosts: vec![BaremetalHost::default()],
        additional_ntp_servers: one(),
        load_balancer: balancer(),
        cluster_os_image: "x".into(),
        cluster_provisioning_ip: "x".into(),
        provisioning_network_interface: "x".into(),
        provisioning_network_cidr: "x".into(),
        provisioning_dhcp_range: "x".into(),
        ..Baremetal::default()
    });
    full.platform.vsphere = Some(Vsphere {
        v_center: "x".into(),
        username: "x".into(),
        password: "x".into(),
        datacenter: "x".into(),
        default_datastore: "x".into(),
        network: "x".into(),
        cluster: "x".into(),
        vcenters: vec![Vcenter::default()],
        failure_domains: vec![FailureDomain::default()],
        ..Vsphere::default()
    });
    full.platform.nutanix =
        Some(Nutanix { prism_elements: vec![PrismElement::default()], ..Nutanix::default() });
    fn collect(value: &Value, names: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                names.insert(name.clone());
                collect(value, names);
            }),
            Value::Array(elements) => elements.iter().for_each(|value| collect(value, names)),
            _ => {}
        }
    }
    let mut names = std::collections::BTreeSet::new();
    collect(&serde_json::to_value(full).unwrap(), &mut names);
    let known: std::collections::BTreeSet<String> = MEMBERS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(names, known);
    let folded: std::collections::BTreeSet<_> = MEMBERS.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), MEMBERS.len());
}
