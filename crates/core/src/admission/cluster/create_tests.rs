use assisted_wire::cluster_params::ClusterCreateParams;
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Created;
use super::create::create;
use crate::admission::{NewObject, Owner};
use crate::model::cluster::IpStack;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::policy::Policy;
use crate::state::cluster::timeouts;

const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;

pub(super) fn new() -> NewObject<ClusterId> {
    NewObject {
        id: ClusterId(Uuid::from_u128(7)),
        now: "2026-08-21T01:54:08.5Z".parse::<Timestamp>().unwrap(),
        owner: Owner {
            user_name: "admin".to_owned(),
            org_id: String::new(),
            email_domain: "Unknown".to_owned(),
        },
    }
}

/// The smallest request, with further members laid over it.
fn params(further: &Value) -> ClusterCreateParams {
    let mut body = json!({"name": "test", "openshift_version": "4.22", "pull_secret": PULL_SECRET});
    for (key, value) in further.as_object().unwrap() {
        body[key] = value.clone();
    }
    serde_json::from_value(body).unwrap()
}

pub(super) fn created(further: &Value) -> Result<Created, Refusal> {
    create(&params(further), &Policy::default(), &new())
}

fn shown(further: &Value) -> Value {
    serde_json::to_value(&created(further).unwrap().record.cluster).unwrap()
}

fn vips(api: &[&str], ingress: &[&str]) -> Value {
    let list = |ips: &[&str]| ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    json!({"api_vips": list(api), "ingress_vips": list(ingress)})
}

fn with(mut one: Value, other: &Value) -> Value {
    for (key, value) in other.as_object().unwrap() {
        one[key] = value.clone();
    }
    one
}

#[test]
fn the_smallest_request() {
    let Created { record, events } = created(&json!({})).unwrap();
    let mut found = serde_json::to_value(&record.cluster).unwrap();
    let usage: Value = serde_json::from_str(found["feature_usage"].as_str().unwrap()).unwrap();
    found.as_object_mut().unwrap().remove("feature_usage");
    let expected: Value =
        serde_json::from_str(include_str!("../../../tests/data/smallest_cluster.json")).unwrap();
    assert_eq!(found, expected);
    assert_eq!(
        usage,
        json!({
            "OVN network type": {"id": "OVN_NETWORK_TYPE", "name": "OVN network type"},
            "Hyperthreading":
                {"id": "HYPERTHREADING", "name": "Hyperthreading", "data": {"hyperthreading_enabled": "all"}},
        })
    );
    assert_eq!(record.pull_secret.expose(), PULL_SECRET);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].name, events[0].message.as_str()),
        ("cluster_registration_succeeded", "Successfully registered cluster")
    );
}

#[test]
fn what_follows_from_what_is_given() {
    let dual = json!({
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
        "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
        "machine_networks": [{"cidr": "192.168.127.0/24"}, {"cidr": "1001:db8::/120"}],
        "api_vips": [{"ip": "192.168.127.100"}, {"ip": "1001:0db8::0064"}],
        "ingress_vips": [{"ip": "192.168.127.101"}, {"ip": "1001:db8::65"}],
    });
    for (further, member, expected) in [
        (json!({"high_availability_mode": "None"}), "/platform/type", json!("none")),
        (json!({"high_availability_mode": "None"}), "/user_managed_networking", json!(true)),
        (json!({"control_plane_count": 1}), "/high_availability_mode", json!("None")),
        (json!({"openshift_version": "4.11"}), "/network_type", json!("OpenShiftSDN")),
        (
            json!({"openshift_version": "4.11", "control_plane_count": 1}),
            "/network_type",
            json!("OVNKubernetes"),
        ),
        (json!({"openshift_version": "4.22-multi"}), "/cpu_architecture", json!("multi")),
        (
            json!({"openshift_version": "4.22.9-multi", "cpu_architecture": "s390x"}),
            "/cpu_architecture",
            json!("multi"),
        ),
        (json!({"cpu_architecture": "aarch64"}), "/cpu_architecture", json!("arm64")),
        (json!({"cluster_networks": []}), "/cluster_networks", json!([])),
        (
            json!({"machine_networks": [{"cidr": "10.1.2.3/16"}]}),
            "/machine_networks/0/cidr",
            json!("10.1.0.0/16"),
        ),
        (dual.clone(), "/api_vips/1/ip", json!("1001:db8::64")),
        (json!({"additional_ntp_source": "1.1.1.1"}), "/additional_ntp_source", json!("1.1.1.1")),
        (json!({"platform": {"type": "vsphere"}}), "/user_managed_networking", Value::Null),
        (
            json!({"ocp_release_image": "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64"}),
            "/openshift_version",
            json!("4.21.28"),
        ),
        (
            json!({"ocp_release_image": "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64",
                   "openshift_version": ""}),
            "/openshift_version",
            json!("4.21.28"),
        ),
        (json!({"disk_encryption": {"enable_on": "all"}}), "/disk_encryption/mode", json!("tpmv2")),
        (json!({"olm_operators": [{"name": "odf"}]}), "/monitored_operators/3/name", json!("lso")),
        (
            json!({"operator_bundles": [{"id": "virtualization"}]}),
            "/operator_bundles/0",
            json!({"id": "virtualization", "optional_operators": []}),
        ),
    ] {
        let found = shown(&further).pointer(member).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{further}: {member}");
    }
    let record = created(&dual).unwrap().record;
    assert_eq!(record.primary_ip_stack, Some(IpStack::V4));
    assert!(record.cluster.feature_usage.contains("Dual-stack VIPs"));
}

/// Of each feature its facts (service-api §18.2).
#[test]
fn features_are_noted() {
    let dual = json!({
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
        "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
        "machine_networks": [{"cidr": "192.168.127.0/24"}, {"cidr": "1001:db8::/120"}],
    });
    let proxy = "http://p.example.com";
    let none = Value::Null;
    for (further, name, data) in [
        (
            json!({"additional_ntp_source": "a.lab,b.lab"}),
            "Additional NTP Source",
            json!({"source_count": 2}),
        ),
        // The flag of the encrypted proxy follows the plain one.
        (json!({"http_proxy": proxy}), "Proxy", json!({"http_proxy": 1, "https_proxy": 1, "no_proxy": 0})),
        (
            json!({"http_proxy": proxy, "https_proxy": proxy, "no_proxy": "a.example.com"}),
            "Proxy",
            json!({"http_proxy": 1, "https_proxy": 1, "no_proxy": 1}),
        ),
        (json!({"control_plane_count": 1}), "SNO", none.clone()),
        (json!({"openshift_version": "4.11"}), "SDN network type", none.clone()),
        (json!({"network_type": "CiscoACI"}), "CiscoACI network type", none.clone()),
        (json!({"network_type": "Cilium"}), "Cilium network type", none.clone()),
        (json!({"network_type": "Calico"}), "Calico network type", none.clone()),
        (json!({"network_type": "None"}), "None network type", none.clone()),
        (dual, "Dual-stack", none.clone()),
        (json!({"platform": {"type": "vsphere"}}), "Platform selection", json!({"platform_type": "vsphere"})),
        (
            json!({"platform": {"type": "nutanix"}, "user_managed_networking": false}),
            "Nutanix integration",
            json!({"platform_type": "nutanix"}),
        ),
        (
            json!({"disk_encryption": {"enable_on": "all"}}),
            "Disk encryption",
            json!({"enable_on": "all", "mode": "tpmv2", "tang_servers": ""}),
        ),
        (json!({"tags": "a,b"}), "Cluster Tags", none.clone()),
        (json!({"user_managed_networking": true}), "User Managed Networking With Multi Node", none.clone()),
    ] {
        let cluster = created(&further).unwrap().record.cluster;
        let noted: Value = serde_json::from_str(&cluster.feature_usage).unwrap();
        let usage = &noted[name];
        assert_eq!((&usage["name"], &usage["data"]), (&json!(name), &data), "{further}: {noted}");
        let kinds = noted.as_object().unwrap().keys().filter(|key| key.ends_with("network type")).count();
        assert_eq!(kinds, 1, "{further}: {noted}");
    }
    // The flags decide, and that of the encrypted proxy follows the plain one: without that there is nothing to note (service-api §20, 13).
    let cluster = created(&json!({"https_proxy": proxy})).unwrap().record.cluster;
    assert!(!cluster.feature_usage.contains("Proxy"), "{}", cluster.feature_usage);
    // Only an update notes the architecture.
    let cluster = created(&json!({"cpu_architecture": "aarch64"})).unwrap().record.cluster;
    assert!(!cluster.feature_usage.contains("architecture"), "{}", cluster.feature_usage);
}

#[test]
fn soft_limits_follow_the_setting() {
    let mut policy = Policy::default();
    let cluster = create(&params(&json!({})), &policy, &new()).unwrap().record.cluster;
    assert!(!timeouts::are_soft(&cluster, &policy));
    policy.hosts.enable_soft_timeouts = true;
    assert!(timeouts::are_soft(&cluster, &policy));
}

#[test]
fn the_default_time_source() {
    let mut policy = Policy::default();
    policy.clusters.ntp_default_server = "clock.example.com".to_owned();
    let source =
        |further| create(&params(&further), &policy, &new()).unwrap().record.cluster.additional_ntp_source;
    assert_eq!(source(json!({})), "clock.example.com");
    assert_eq!(source(json!({"ntp_sources": "1.1.1.1"})), "");
}

#[test]
fn refusals() {
    let v6_first = json!({
        "machine_networks": [{"cidr": "fd00::/64"}, {"cidr": "10.1.0.0/16"}],
        "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
    });
    let secret = |text: &str| json!({"pull_secret": text});
    let net = |cidr: &str| json!({"machine_networks": [{"cidr": cidr}]});
    for (further, text) in [
        (
            v6_first,
            "Inconsistent IP family order: machine_networks first IP is fd00::/64 but service_networks first IP is \
             172.30.0.0/16. All networks must have the same IP family first",
        ),
        (
            json!({"high_availability_mode": "None", "control_plane_count": 3}),
            "single-node clusters must have a single control plane node",
        ),
        (
            json!({"openshift_version": "4.17", "control_plane_count": 4}),
            "there should be exactly 3 dedicated control plane nodes for high availability mode Full in openshift version \
             older than 4.18",
        ),
        (
            json!({"control_plane_count": 6}),
            "there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift version 4.19 \
             or newer",
        ),
        (
            with(
                json!({"openshift_version": "4.11"}),
                &vips(&["1.2.3.4", "fd00::1"], &["1.2.3.5", "fd00::2"]),
            ),
            "dual-stack VIPs are not supported in OpenShift 4.11",
        ),
        (
            vips(&["1.2.3.4", "1.2.3.5", "1.2.3.6"], &["1.2.4.4", "1.2.4.5", "1.2.4.6"]),
            "2 errors occurred:\n\t* apiVIPs supports 2 vips. got: 3\n\t* ingressVips supports 2 vips. got: 3\n\n",
        ),
        (vips(&[""], &["1.2.3.4"]), "1 error occurred:\n\t* API VIP IP at index 0 cannot be empty\n\n"),
        (vips(&["300.1.1.1"], &["1.2.3.4"]), "1 error occurred:\n\t* Could not parse VIP ip 300.1.1.1\n\n"),
        (
            json!({"api_vips": [{"ip": "1.2.3.4"}]}),
            "1 error occurred:\n\t* configuration must include the same number of apiVIPs (got 1) and ingressVIPs (got 0)\n\n",
        ),
        (
            vips(&["1.2.3.4"], &["1.2.3.4"]),
            "1 error occurred:\n\t* The IP address \"1.2.3.4\" appears both in apiVIPs and ingressVIPs\n\n",
        ),
        (
            vips(&["1.2.3.4", "1.2.3.4"], &["1.2.3.5", "fd00::1"]),
            "1 error occurred:\n\t* The IP address \"1.2.3.4\" appears multiple times in apiVIPs\n\n",
        ),
        (
            vips(&["1.2.3.4", "1.2.3.6"], &["1.2.3.5", "fd00::1"]),
            "dual-stack apiVIPs must include exactly one IPv6 address",
        ),
        (
            with(json!({"user_managed_networking": true}), &vips(&["1.2.3.4"], &["1.2.3.5"])),
            "API VIPs cannot be set with User Managed Networking",
        ),
        (
            json!({"user_managed_networking": true, "vip_dhcp_allocation": true}),
            "VIP DHCP Allocation cannot be set with User Managed Networking",
        ),
        (
            with(json!({"vip_dhcp_allocation": true}), &vips(&["1.2.3.4"], &["1.2.3.5"])),
            "Setting API VIPs is forbidden when cluster is in vip-dhcp-allocation mode",
        ),
        (
            with(net("10.1.0.0/16"), &vips(&["1.2.3.4"], &["10.1.2.3"])),
            "api-vip <1.2.3.4> does not belong to machine-network-cidr <10.1.0.0/16>",
        ),
        (
            with(net("10.1.0.0/16"), &vips(&["10.1.2.3"], &["10.1.255.255"])),
            "ingress-vip <10.1.255.255> is the broadcast address of machine-network-cidr <10.1.0.0/16>",
        ),
        (
            json!({"machine_networks": [{"cidr": "10.1.0.0/16"}, {"cidr": "10.2.0.0/16"}]}),
            "Single-stack cluster cannot contain multiple Machine Networks",
        ),
        (
            json!({"machine_networks": [{"cidr": "10.1.0.0/16"}, {"cidr": "fd00::/64"}],
                   "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}]}),
            "Expected 2 cluster networks, found 1",
        ),
        (net(""), "Machine Network CIDR cannot be empty (index 0)"),
        (
            net("10.1.0.0/33"),
            "Could not parse Machine Network CIDR 10.1.0.0/33 (index 0): invalid CIDR address: 10.1.0.0/33",
        ),
        (
            json!({"platform": {"type": "baremetal"}, "user_managed_networking": true}),
            "Can't set baremetal platform with user-managed-networking enabled",
        ),
        (
            json!({"http_proxy": "proxy"}),
            "Failed to validate HTTP Proxy: The URL scheme must be http and specified in the URL: 'proxy'",
        ),
        (
            json!({"disk_encryption": {"enable_on": "all", "mode": "tang"}}),
            "Setting Tang mode but tang_servers isn't set",
        ),
        (
            json!({"control_plane_count": 1, "openshift_version": "4.7"}),
            "Invalid OCP version (4.7) for Single node, Single node OpenShift is supported for version 4.8 and above",
        ),
        (
            json!({"control_plane_count": 1, "vip_dhcp_allocation": true}),
            "VIP DHCP Allocation cannot be enabled on single node OpenShift",
        ),
        (
            json!({"control_plane_count": 1, "network_type": "OpenShiftSDN"}),
            "OpenShiftSDN network type is not allowed in single node mode",
        ),
        (
            json!({"platform": {"type": "nutanix"}, "openshift_version": "4.10"}),
            "Invalid OCP version (4.10) for Nutanix, Nutanix integration is supported for version 4.11 and above",
        ),
        (
            json!({"ignition_endpoint": {"url": "ftp://x.y"}}),
            "The URL scheme must be http(s) and specified in the URL: 'ftp://x.y'",
        ),
        (json!({"additional_ntp_source": "a b"}), "Invalid NTP source: a b"),
        (
            json!({"additional_ntp_source": "1.1.1.1", "ntp_sources": "1.1.1.2"}),
            "ntp_sources and additional_ntp_source are mutually exclusive",
        ),
        (
            json!({"tags": "a,"}),
            "Invalid format for Tags: a,. Tags should be a comma-separated list (e.g. tag1,tag2,tag3). Each tag can \
             consist of the following characters: Alphanumeric (aA-zZ, 0-9), underscore (_) and white-spaces.",
        ),
        (
            json!({"control_plane_count": 1, "platform": {"type": "vsphere"}}),
            "Single node cluster is not supported alongside vsphere platform",
        ),
        (
            json!({"openshift_version": "4.9", "cpu_architecture": "arm64"}),
            "Requested CPU architecture arm64 is not available",
        ),
        (
            json!({"ocp_release_image": "quay.io/x:1"}),
            "failed to get release image by URL quay.io/x:1 during cluster registration: no release image has the URL \
             quay.io/x:1",
        ),
        (
            json!({"cpu_architecture": "arm64",
                   "ocp_release_image": "quay.io/openshift-release-dev/ocp-release:4.22.9-x86_64"}),
            "Requested CPU architecture arm64 is not supported for release image URL \
             quay.io/openshift-release-dev/ocp-release:4.22.9-x86_64. Supported architectures in release image: [x86_64]",
        ),
        (
            json!({"openshift_version": "4.22.1"}),
            "Openshift version 4.22.1 for CPU architecture x86_64 is not supported: no release image found for \
             openshiftVersion: '4.22.1' and CPU architecture 'x86_64'",
        ),
        (json!({"olm_operators": [{"name": "nothing"}]}), "operator nothing isn't supported"),
        (
            json!({"network_type": "OpenShiftSDN"}),
            "Openshift version 4.22.9 is not supported for OpenShiftSDN NetworkType",
        ),
        (
            json!({"cpu_architecture": "x86_64", "vip_dhcp_allocation": true}),
            "cannot use VIP Automatic Allocation because it's not compatible with the x86_64 architecture on version \
             4.22.9 of OpenShift",
        ),
        (
            json!({"load_balancer": {"type": "user-managed"}, "user_managed_networking": true}),
            "cannot use None Platform Integration because it's not compatible with User Managed Load Balancer",
        ),
        (secret("x"), "pull secret for new cluster is invalid: pull secret must be a well-formed JSON"),
        (
            secret(r#"{"auths":{"x.y":{}}}"#),
            "pull secret for new cluster is invalid: pull secret must contain auth for \
             \"quay.io/openshift-release-dev/ocp-release\"",
        ),
        (
            json!({"name": "sub.test"}),
            "Cluster name format is not valid: 'sub.test'. Name must start and end with either a letter or number and \
             consist of lower-case letters, numbers, and hyphens. Subdomains in cluster names are only valid with none \
             platform.",
        ),
        (
            json!({"ssh_public_key": "x"}),
            "SSH key: x does not match any supported type: ssh-rsa, ssh-ed25519, ecdsa-[VARIANT]",
        ),
    ] {
        let refusal = created(&further).map(|_| ()).unwrap_err();
        assert_eq!((refusal.kind, refusal.reason.as_str()), (RefusalKind::Invalid, text), "{further}");
    }
}

#[test]
fn a_version_that_is_none() {
    let refusal = created(&json!({"openshift_version": "newest"})).map(|_| ()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Internal);
    let domain = created(&json!({"base_dns_domain": "-"})).map(|_| ()).unwrap_err();
    assert!(domain.reason.starts_with("DNS format mismatch: - domain name is not valid."));
}

#[test]
fn without_ipv6() {
    let mut policy = Policy::default();
    policy.clusters.ipv6_support = false;
    let params = params(&json!({"machine_networks": [{"cidr": "fd00::/64"}]}));
    assert_eq!(
        create(&params, &policy, &new()).map(|_| ()).unwrap_err().reason,
        "Single stack IPv6 is not supported in this setup. Please verify your machine networks configuration"
    );
}
