use std::sync::Arc;

use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::cluster_params::{ClusterUpdateParams, CpuArchitecture};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::inventory::{Interface, Inventory, SystemVendor};
use serde_json::{Value, json};

use super::create_tests::{created, new};
use super::update::{Updated, update};
use crate::model::facts::Facts;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::policy::Policy;
use crate::validation::testing;

/// A registered cluster with hosts in the networks.
fn facts(further: &Value, hosts: usize, addresses: &[&str]) -> Facts {
    let mut facts = testing::facts(hosts);
    facts.cluster = Some(created(further).unwrap().record);
    facts.now = new().now + jiff::SignedDuration::from_secs(60);
    let interface = Interface {
        ipv4_addresses: Some(addresses.iter().map(|address| (*address).to_owned()).collect()),
        ..Interface::default()
    };
    let inventory = Inventory { interfaces: Some(vec![interface]), ..Inventory::default() };
    for host in &mut facts.hosts {
        host.inventory = Some(Arc::new(inventory.clone()));
    }
    facts
}

fn params(body: &Value) -> ClusterUpdateParams {
    serde_json::from_value(body.clone()).unwrap()
}

fn updated(facts: &Facts, body: &Value) -> Result<Updated, Refusal> {
    update(facts, &[], &params(body))
}

fn shown(updated: &Updated) -> Value {
    serde_json::to_value(&updated.record.cluster).unwrap()
}

fn vips(api: &str, ingress: &str) -> Value {
    json!({"api_vips": [{"ip": api}], "ingress_vips": [{"ip": ingress}]})
}

#[test]
fn nothing_asked_nothing_changed() {
    let facts = facts(&json!({}), 1, &["10.1.0.5/16"]);
    let updated = updated(&facts, &json!({})).unwrap();
    assert_eq!(Some(&updated.record), facts.cluster.as_ref());
    assert!(!updated.changed && !updated.reset_roles && updated.events.is_empty());
}

#[test]
fn plain_members() {
    let facts = facts(&json!({"additional_ntp_source": "1.1.1.1"}), 0, &[]);
    for (body, member, expected) in [
        (json!({"name": "other"}), "/name", json!("other")),
        (json!({"base_dns_domain": "example.com"}), "/base_dns_domain", json!("example.com")),
        (json!({"http_proxy": "http://p.example.com"}), "/http_proxy", json!("http://p.example.com")),
        (json!({"additional_ntp_source": "", "ntp_sources": "1.1.1.2"}), "/ntp_sources", json!("1.1.1.2")),
        (json!({"schedulable_masters": true}), "/schedulable_masters", json!(true)),
        (json!({"pull_secret": ""}), "/pull_secret_set", Value::Null),
        (json!({"tags": "a,b"}), "/tags", json!("a,b")),
        (
            json!({"disk_encryption": {"enable_on": "masters"}}),
            "/disk_encryption/enable_on",
            json!("masters"),
        ),
        (json!({"ignition_endpoint": {"url": "http://x.y"}}), "/ignition_endpoint/url", json!("http://x.y")),
        (json!({"network_type": "Cilium"}), "/network_type", json!("Cilium")),
        (json!({"control_plane_count": 5}), "/control_plane_count", json!(5)),
        (json!({"platform": {"type": "none"}}), "/user_managed_networking", json!(true)),
        (json!({"user_managed_networking": true}), "/platform/type", json!("none")),
        (json!({"platform": {"type": "vsphere"}}), "/platform/type", json!("vsphere")),
    ] {
        let updated = updated(&facts, &body).unwrap();
        assert!(updated.changed, "{body}");
        assert_eq!(shown(&updated).pointer(member).cloned().unwrap_or_default(), expected, "{body}");
        assert_eq!(updated.events.len(), usize::from(member == "/http_proxy"), "{body}");
    }
}

/// The features that a cluster notes after an update, by their names.
fn noted(updated: &Updated) -> Value {
    serde_json::from_str(&updated.record.cluster.feature_usage).unwrap()
}

/// Facts after an update.
fn after(facts: &Facts, updated: Updated) -> Facts {
    Facts { cluster: Some(updated.record), ..facts.clone() }
}

#[test]
fn features_are_noted_and_forgotten() {
    let usual = facts(&json!({}), 0, &[]);
    let older = facts(&json!({"openshift_version": "4.14"}), 0, &[]);
    let nutanix = facts(&json!({"platform": {"type": "nutanix"}, "user_managed_networking": false}), 0, &[]);
    let mut machines = facts(&json!({}), 2, &["10.1.0.5/16"]);
    let vendor = SystemVendor { r#virtual: true, ..SystemVendor::default() };
    let inventory = Inventory { system_vendor: Some(vendor), ..Inventory::default() };
    machines.hosts[1].inventory = Some(Arc::new(inventory));
    let machine = machines.hosts[1].record.host.id;
    let none = Value::Null;
    let network = |kind: &str| json!({"network_type": kind});
    let platform = |kind: &str| json!({"platform": {"type": kind}});
    let flags = |http: u8, https: u8| json!({"http_proxy": http, "https_proxy": https, "no_proxy": 0});
    for (facts, body, name, data, back) in [
        (
            &usual,
            json!({"additional_ntp_source": "a.lab"}),
            "Additional NTP Source",
            json!({"source_count": 1}),
            json!({"additional_ntp_source": ""}),
        ),
        // Out of the request alone: one that does not name them forgets them, though they stay.
        (&usual, json!({"http_proxy": "http://p.example.com"}), "Proxy", flags(1, 0), json!({})),
        (&usual, json!({"https_proxy": "http://p.example.com"}), "Proxy", flags(0, 1), json!({"tags": "a"})),
        (&usual, network("CiscoACI"), "CiscoACI network type", none.clone(), network("OVNKubernetes")),
        (&usual, network("Cilium"), "Cilium network type", none.clone(), network("Calico")),
        (&usual, network("Calico"), "Calico network type", none.clone(), network("None")),
        (&usual, network("None"), "None network type", none.clone(), network("Cilium")),
        (&usual, json!({"tags": "a"}), "Cluster Tags", none.clone(), json!({"tags": ""})),
        (
            &usual,
            json!({"schedulable_masters": true}),
            "Schedulable masters",
            none.clone(),
            json!({"schedulable_masters": false}),
        ),
        (
            &usual,
            json!({"user_managed_networking": true}),
            "User Managed Networking With Multi Node",
            none.clone(),
            json!({"user_managed_networking": false}),
        ),
        (
            &older,
            json!({"vip_dhcp_allocation": true}),
            "VIP auto alloc.",
            none.clone(),
            json!({"vip_dhcp_allocation": false}),
        ),
        (
            &usual,
            platform("vsphere"),
            "Platform selection",
            json!({"platform_type": "vsphere"}),
            platform("baremetal"),
        ),
        (
            &nutanix,
            json!({"tags": "a"}),
            "Nutanix integration",
            json!({"platform_type": "nutanix"}),
            platform("vsphere"),
        ),
        (
            &machines,
            json!({}),
            "Cluster managed networking with VMs",
            json!({"VM Hosts": [machine]}),
            json!({"user_managed_networking": true}),
        ),
    ] {
        let with = updated(facts, &body).unwrap();
        let usages = noted(&with);
        let usage = &usages[name];
        assert_eq!((&usage["name"], &usage["data"]), (&json!(name), &data), "{body}");
        let without = updated(&after(facts, with), &back).unwrap();
        assert_eq!(noted(&without).get(name), None, "{back}");
    }
}

#[test]
fn encryption_of_disks_is_noted_where_it_was_on_and_never_forgotten() {
    let on = |roles: &str| json!({"disk_encryption": {"enable_on": roles}});
    let facts = facts(&json!({}), 0, &[]);
    let first = updated(&facts, &on("masters")).unwrap();
    assert_eq!(noted(&first).get("Disk encryption"), None);
    let facts = after(&facts, first);
    let second = updated(&facts, &on("all")).unwrap();
    let data = json!({"enable_on": "all", "mode": "tpmv2", "tang_servers": ""});
    assert_eq!(noted(&second)["Disk encryption"]["data"], data);
    let third = updated(&after(&facts, second), &on("none")).unwrap();
    assert_eq!(noted(&third)["Disk encryption"]["data"], data);
}

#[test]
fn architectures_are_noted() {
    for (architecture, name) in [
        (CpuArchitecture::Arm64, "arm64 architecture"),
        (CpuArchitecture::Ppc64le, "ppc64le architecture"),
        (CpuArchitecture::S390x, "s390x architecture"),
    ] {
        let mut facts = facts(&json!({}), 0, &[]);
        facts.test_cluster().cpu_architecture = Some(architecture);
        assert_eq!(noted(&updated(&facts, &json!({})).unwrap())[name]["name"], name);
    }
}

#[test]
fn vips_find_their_network() {
    let facts = facts(&json!({}), 2, &["192.168.1.5/24", "10.1.0.5/16"]);
    let first = updated(&facts, &vips("10.1.2.3", "10.1.2.4")).unwrap();
    assert_eq!(shown(&first)["machine_networks"][0]["cidr"], "10.1.0.0/16");
    assert_eq!(first.record.machine_network_cidr_updated_at, Some(facts.now));
    // Once set, the network must hold other VIPs too, unless it is taken away with them.
    let mut facts = facts;
    facts.cluster = Some(first.record);
    assert_eq!(
        updated(&facts, &vips("192.168.1.3", "192.168.1.4")).unwrap_err().reason,
        "api-vip <192.168.1.3> does not belong to machine-network-cidr <10.1.0.0/16>"
    );
    let mut body = vips("192.168.1.3", "192.168.1.4");
    body["machine_networks"] = json!([]);
    assert_eq!(shown(&updated(&facts, &body).unwrap())["machine_networks"][0]["cidr"], "192.168.1.0/24");
    let cleared = updated(&facts, &json!({"api_vips": [], "ingress_vips": []})).unwrap();
    assert_eq!(shown(&cleared)["machine_networks"], json!([]));
}

#[test]
fn vips_that_hosts_know_to_be_used() {
    let mut facts = facts(&json!({}), 1, &["10.1.0.5/16"]);
    let report = r#"[{"network":"10.1.0.0/16","free_addresses":["10.1.2.3"]}]"#;
    facts.hosts[0].reports.insert(crate::model::report::ReportKind::FreeAddresses, report.into());
    assert_eq!(
        updated(&facts, &vips("10.1.2.3", "10.1.2.4")).unwrap_err().reason,
        "ingress-vip <10.1.2.4> is already in use in cidr 10.1.0.0/16"
    );
}

#[test]
fn modes_clear_what_belongs_to_others() {
    let mut facts = facts(&json!({"openshift_version": "4.14"}), 1, &["10.1.0.5/16"]);
    facts.cluster = Some(updated(&facts, &vips("10.1.2.3", "10.1.2.4")).unwrap().record);
    let dhcp = updated(&facts, &json!({"vip_dhcp_allocation": true})).unwrap();
    assert_eq!((&shown(&dhcp)["api_vips"], &shown(&dhcp)["machine_networks"]), (&json!([]), &json!([])));
    let by_user = update(
        &facts,
        &[],
        &params(&json!({"user_managed_networking": true, "api_vips": [], "ingress_vips": []})),
    )
    .unwrap();
    assert_eq!(
        (&shown(&by_user)["api_vips"], &shown(&by_user)["machine_networks"]),
        (&json!([]), &json!([]))
    );
    facts.cluster = Some(dhcp.record);
    let network = updated(&facts, &json!({"machine_networks": [{"cidr": "10.1.0.0/16"}]})).unwrap();
    assert_eq!(shown(&network)["machine_networks"][0]["cidr"], "10.1.0.0/16");
    for (body, text) in [
        (
            json!({"machine_networks": []}),
            "Machine networks cannot be empty when cluster is in vip-dhcp-allocation mode",
        ),
        (
            json!({"machine_networks": [{"cidr": "fd00::/64"}]}),
            "VIP DHCP allocation is unsupported with IPv6 network fd00::/64",
        ),
        (
            vips("10.1.2.3", "10.1.2.4"),
            "Setting API VIPs is forbidden when cluster is in vip-dhcp-allocation mode",
        ),
    ] {
        assert_eq!(updated(&facts, &body).unwrap_err().reason, text, "{body}");
    }
}

#[test]
fn operators_are_replaced() {
    let mut facts = facts(&json!({"olm_operators": [{"name": "odf"}]}), 0, &[]);
    let names = |updated: &Updated| -> Vec<String> {
        updated.record.cluster.monitored_operators.iter().flatten().map(|row| row.name.clone()).collect()
    };
    let kept = updated(&facts, &json!({"tags": "a"})).unwrap();
    assert_eq!(names(&kept), ["console", "cvo", "odf", "lso"]);
    assert!(!kept.reset_roles);
    let replaced = updated(&facts, &json!({"olm_operators": [{"name": "cnv"}]})).unwrap();
    assert_eq!(names(&replaced), ["console", "cvo", "cnv"]);
    assert!(replaced.reset_roles);
    let usage = &replaced.record.cluster.feature_usage;
    assert!(usage.contains("\"CNV\"") && !usage.contains("\"ODF\""), "{usage}");
    facts.cluster = Some(replaced.record);
    assert_eq!(names(&updated(&facts, &json!({"olm_operators": []})).unwrap()), ["console", "cvo"]);
}

#[test]
fn the_state_gate_comes_after_the_fields() {
    let mut facts = facts(&json!({}), 0, &[]);
    facts.test_cluster().status = ClusterStatus::Installing;
    let id = facts.test_cluster().id;
    assert_eq!(updated(&facts, &json!({"name": "-"})).unwrap_err().kind, RefusalKind::Invalid);
    // Time sources and tags are judged as late as they are applied.
    for body in [json!({}), json!({"tags": "a"}), json!({"tags": "-"}), json!({"ntp_sources": "a b"})] {
        assert_eq!(
            updated(&facts, &body).unwrap_err(),
            Refusal::conflict(format!(
                "Cluster {id} is in installing state, cluster can be updated only in one of [insufficient ready \
                 pending-for-input adding-hosts]"
            )),
            "{body}"
        );
    }
    facts.cluster = None;
    assert_eq!(updated(&facts, &json!({})).unwrap_err(), Refusal::not_found("record not found"));
}

#[test]
fn two_nodes_with_help_stay_on_their_platforms() {
    let to = |platform: &str| json!({"platform": {"type": platform}});
    let reason = |facts: &Facts, body: &Value| updated(facts, body).map(|_| ()).unwrap_err().reason;
    let mut arbiter = facts(&json!({"control_plane_count": 2}), 3, &[]);
    arbiter.hosts[2].record.host.role = Some(HostRole::Arbiter);
    assert_eq!(
        reason(&arbiter, &to("vsphere")),
        "cannot use TNA Clusters because it's not compatible with vSphere Platform Integration"
    );
    assert!(updated(&arbiter, &to("none")).is_ok());
    let mut fencing = facts(&json!({"control_plane_count": 2}), 2, &[]);
    for host in &mut fencing.hosts {
        host.record.host.role = Some(HostRole::Master);
    }
    assert!(updated(&fencing, &to("vsphere")).is_ok());
    for host in &mut fencing.hosts {
        host.record.host.fencing_credentials = "{}".to_owned();
    }
    assert_eq!(
        reason(&fencing, &to("vsphere")),
        "cannot use TNF Clusters because it's not compatible with vSphere Platform Integration"
    );
}

#[test]
fn own_credentials_are_added_to_what_is_kept() {
    let mut facts = facts(&json!({}), 0, &[]);
    let mut policy = Policy::clone(&facts.policy);
    policy.clusters.registry_creds = "me:secret".into();
    facts.policy = Arc::new(policy);
    let body = json!({"pull_secret": r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#});
    let kept = updated(&facts, &body).unwrap().record.pull_secret;
    assert!(kept.expose().contains(r#""registry.stage.redhat.io":{"auth":"bWU6c2VjcmV0"}"#));
    let cleared = updated(&facts, &json!({"pull_secret": ""})).unwrap().record;
    assert!(cleared.pull_secret.is_empty() && !cleared.cluster.pull_secret_set);
}

#[test]
fn refusals() {
    let usual = facts(&json!({}), 3, &["10.1.0.5/16"]);
    let single = facts(&json!({"control_plane_count": 1}), 1, &["10.1.0.5/16"]);
    let nutanix = facts(&json!({"platform": {"type": "nutanix"}, "user_managed_networking": false}), 3, &[]);
    let ibm = facts(&json!({"openshift_version": "4.22.9-multi", "cpu_architecture": "s390x"}), 3, &[]);
    let mut ibm = ibm;
    ibm.test_cluster().cpu_architecture = Some(CpuArchitecture::S390x);
    for (facts, body, text) in [
        (
            &usual,
            json!({"control_plane_count": 1}),
            "there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift version 4.19 \
             or newer",
        ),
        (&usual, json!({"pull_secret": "x"}), "pull secret must be a well-formed JSON"),
        (&usual, json!({"additional_ntp_source": "a b"}), "Invalid NTP source: a b"),
        (
            &usual,
            vips("10.9.2.3", "10.9.2.4"),
            "Calculate machine network CIDR: No suitable matching CIDR found for VIP 10.9.2.3",
        ),
        (
            &usual,
            json!({"api_vips": [{"ip": "10.1.2.3"}]}),
            "1 error occurred:\n\t* configuration must include the same number of apiVIPs (got 1) and ingressVIPs (got 0)\n\n",
        ),
        (
            &usual,
            json!({"machine_networks": [{"cidr": "10.1.0.0/16"}]}),
            "Setting the Machine Network CIDR is forbidden when the cluster is neither in VIP DHCP allocation mode nor \
             using a user-managed load balancer",
        ),
        (
            &usual,
            json!({"cluster_networks": [{"cidr": "10.128.0.0/26", "host_prefix": 23}]}),
            "Cluster network CIDR 10.128.0.0/26: Address mask size must be between 1 to 25 and must include at least 128 \
             addresses",
        ),
        (
            &usual,
            json!({"service_networks": [{"cidr": "172.30.0.1/16"}]}),
            "Service network CIDR 172.30.0.1/16: 172.30.0.1/16 is not a valid network CIDR",
        ),
        (
            &usual,
            json!({"service_networks": [{"cidr": "10.128.0.0/16"}]}),
            "ServiceNetworkCidr and ClusterNetworkCidr: CIDRS 10.128.0.0/16 and 10.128.0.0/14 overlap",
        ),
        (
            &usual,
            json!({"user_managed_networking": true, "vip_dhcp_allocation": true}),
            "User Managed Networking cannot be set with VIP DHCP Allocation",
        ),
        (
            &usual,
            json!({"api_vip_dns_name": "x"}),
            "Can't update api vip to x for day1 cluster 00000000-0000-0000-0000-000000000007",
        ),
        (
            &usual,
            json!({"network_type": "OpenShiftSDN"}),
            "Openshift version 4.22.9 is not supported for OpenShiftSDN NetworkType",
        ),
        (
            &usual,
            json!({"load_balancer": {"type": "user-managed"}, "user_managed_networking": true}),
            "cannot use None Platform Integration because it's not compatible with User Managed Load Balancer",
        ),
        (
            &single,
            json!({"user_managed_networking": false}),
            "disabling User Managed Networking or setting platform different than none or oci platforms is not allowed in \
             single node Openshift",
        ),
        (
            &single,
            json!({"network_type": "OpenShiftSDN"}),
            "OpenShiftSDN network type is not allowed in single node mode",
        ),
        (
            &nutanix,
            json!({"user_managed_networking": true}),
            "User-managed-networking is not supported with platform nutanix",
        ),
        (
            &ibm,
            json!({"user_managed_networking": false}),
            "disabling User Managed Networking or setting Bare-Metal platform is not allowed for clusters with non-x86_64 \
             CPU architecture",
        ),
    ] {
        let refusal = updated(facts, &body).map(|_| ()).unwrap_err();
        assert_eq!((refusal.kind, refusal.reason.as_str()), (RefusalKind::Invalid, text), "{body}");
    }
}

#[test]
fn clusters_that_only_take_hosts() {
    let mut facts = facts(&json!({}), 0, &[]);
    let cluster = facts.test_cluster();
    cluster.kind = ClusterKind::AddHostsCluster;
    cluster.status = ClusterStatus::AddingHosts;
    cluster.imported = true;
    let updated_name = updated(&facts, &json!({"api_vip_dns_name": "api.x.y"})).unwrap();
    assert_eq!(shown(&updated_name)["api_vip_dns_name"], "api.x.y");
    assert_eq!(
        updated(&facts, &json!({"disk_encryption": {"enable_on": "all"}})).unwrap_err().reason,
        "cannot update cluster 00000000-0000-0000-0000-000000000007, it is not permitted to change disk encryption \
         settings for an imported cluster"
    );
}

#[test]
fn hosts_that_are_taken_out_do_not_count() {
    let mut facts = facts(&json!({"control_plane_count": 2}), 3, &[]);
    facts.hosts[2].record.host.role = Some(HostRole::Arbiter);
    let body = json!({"platform": {"type": "vsphere"}});
    assert!(updated(&facts, &body).is_err());
    facts.hosts[2].record.host.status = HostStatus::Disabled;
    updated(&facts, &body).unwrap();
}
