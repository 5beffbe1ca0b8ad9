//! Validations of the network, clocks and names.

use assisted_wire::host::{HostStatus, MediaStatus};
use assisted_wire::inventory::{DriveType, Iscsi};
use assisted_wire::network::{LoadBalancer, LoadBalancerType};
use base64::prelude::{BASE64_STANDARD, Engine};
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::model::report::ReportKind;
use crate::validation::testing::disk;

#[test]
pub(super) fn connection() {
    let ago = |seconds| {
        facts(1).with_host(|host| host.checked_in_at = testing::now() - SignedDuration::from_secs(seconds))
    };
    success(&ago(180), Connected, "Host is connected");
    failure(&ago(181), Connected, "Host is disconnected");
    let bootstrap = |facts: Facts| facts.with_host(|host| host.record.host.bootstrap = true);
    success(&bootstrap(ago(300)), Connected, "Host is connected");
    failure(&bootstrap(ago(301)), Connected, "Host is disconnected");
    failure(&stage(ago(181), HostStage::WritingImageToDisk), Connected, "Host is disconnected");
    // Nothing is heard of a host that reboots, and nothing is shown of that either.
    suppressed(&stage(ago(181), HostStage::Rebooting), Connected);
    let never = facts(1).with_host(|host| host.checked_in_at = assisted_wire::time::DateTime::ZERO.0);
    success(&never, Connected, "Host is connected");

    let media = |status| facts(1).with_host(|host| host.record.host.media_status = status);
    success(&media(None), MediaConnected, "Media device is connected");
    success(&media(Some(MediaStatus::Connected)), MediaConnected, "Media device is connected");
    let lost = media(Some(MediaStatus::Disconnected));
    failure(
        &lost,
        MediaConnected,
        "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it \
         from being read. Try using the minimal ISO option and be sure to keep the media connected until the \
         installation is completed",
    );
}

#[test]
pub(super) fn machine_networks() {
    let id = MachineCidrDefined;
    suppressed(&unbound(), id);
    success(&user_managed(facts(1)), id, "No Machine Network CIDR needed: User Managed Networking");
    success(&day2(facts(1)), id, "No Machine Network CIDR needed: Day2 cluster");
    success(&facts(1).with_machine_networks(&["10.0.0.0/24"]), id, "Machine Network CIDR is defined");
    let dhcp = facts(1).with_cluster(|cluster| cluster.vip_dhcp_allocation = Some(true));
    failure(&dhcp, id, "Machine Network CIDR is undefined");
    failure(
        &facts(1),
        id,
        "Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or \
         Ingress virtual IPs",
    );

    let id = BelongsToMachineCidr;
    let networks = ["10.0.0.0/24", "fd00::/64"];
    let v4 = || with(&inventory().address("10.0.0.5/24")).with_machine_networks(&networks);
    let both =
        with(&inventory().address("10.0.0.5/24").address("fd00::5/64")).with_machine_networks(&networks);
    suppressed(&unbound(), id);
    let user = user_managed(v4());
    success(&user, id, "No machine network CIDR validation needed: User Managed Networking");
    success(&day2(v4()), id, "No machine network CIDR validation needed: Day2 cluster");
    pending(&facts(1), id, "Missing inventory or machine network CIDR");
    success(&both, id, "Host belongs to all machine network CIDRs");
    let not_all = "Host does not belong to machine network CIDRs. Verify that the host belongs to every CIDR listed \
                   under machine networks";
    failure(&v4(), id, not_all);
    failure(&user.with_host(|host| host.record.host.bootstrap = true), id, not_all);
    failure(&single_node(v4()), id, not_all);
    let balanced = |facts: Facts| {
        let kind = Some(LoadBalancerType::UserManaged);
        facts.with_cluster(|cluster| cluster.load_balancer = Some(LoadBalancer { r#type: kind }))
    };
    success(&balanced(v4()), id, "Host belongs to at least one machine network CIDR");
    failure(
        &balanced(with(&inventory().address("10.9.0.5/24")).with_machine_networks(&networks)),
        id,
        "Host does not belong to any machine network CIDR. Verify that the host belongs to at least one CIDR listed \
         under machine networks",
    );
}

#[test]
pub(super) fn ignition() {
    let id = IgnitionDownloadable;
    suppressed(&unbound(), id);
    suppressed(&facts(1), id);
    pending(&day2(facts(1)), id, "Ignition is not yet available, pending API connectivity");
    let told = |text: &str| day2(facts(1)).with_report(ReportKind::ApiVipConnectivity, text);
    error(&told("{"), id, "Internal error - failed to parse agent API connectivity response");
    success(&told(r#"{"is_success":true}"#), id, "Ignition is downloadable");
    failure(
        &told(r#"{"is_success":false}"#),
        id,
        "This host has failed to download the ignition file from the cluster, please ensure the host can reach the \
         cluster",
    );
    failure(
        &told(r#"{"is_success":false,"url":"http://x","download_error":"gone"}"#),
        id,
        "This host has failed to download the ignition file from http://x with the following error: gone. Please \
         ensure the host can reach this URL",
    );
}

#[test]
pub(super) fn majority_groups() {
    let id = BelongsToMajorityGroup;
    let connected = "Host has connectivity to the majority of hosts in the cluster";
    suppressed(&unbound(), id);
    success(&day2(facts(1)), id, "Day2 host is not required to be connected to other hosts in the cluster");
    success(&single_node(facts(1)), id, connected);
    pending(&facts(3), id, "Machine Network CIDR or Connectivity Majority Groups missing");
    let stored = |hosts, text: &str| {
        facts(hosts).with_cluster(|cluster| text.clone_into(&mut cluster.connectivity_majority_groups))
    };
    error(&stored(3, "{"), id, "Parse error for connectivity majority group");
    let (first, ip) = (testing::host_id(1), "10.0.0.1");
    let groups = json!({
        "majority_groups": {"10.0.0.0/24": [first], "10.1.0.0/24": []},
        "l3_connected_addresses": {first.to_string(): [ip]},
    })
    .to_string();
    pending(&stored(3, &groups), id, "Not enough information to calculate host majority groups");
    let on = |hosts, networks: &[&str]| stored(hosts, &groups).with_machine_networks(networks);
    success(&on(3, &["10.0.0.0/24"]), id, connected);
    success(&on(3, &["10.0.0.7/24"]), id, connected);
    failure(&on(3, &["10.1.0.0/24"]), id, "No connectivity to the majority of hosts in the cluster");
    failure(
        &on(3, &["10.0.0.0/24", "10.1.0.0/24"]),
        id,
        "No connectivity to the majority of hosts in the cluster",
    );
    pending(&on(2, &["10.1.0.0/24"]), id, "Not enough hosts in cluster to calculate connectivity groups");
    success(&user_managed(stored(3, &groups)), id, connected);
    let dual = |facts: Facts| facts.with_networks(&["172.30.0.0/16", "fd02::/112"], &[("10.128.0.0/14", 23)]);
    failure(
        &dual(user_managed(stored(3, &groups))),
        id,
        "No connectivity to the majority of hosts in the cluster",
    );
    let none = user_managed(stored(3, &groups)).with_networks(&[], &[]);
    failure(&none, id, "No connectivity to the majority of hosts in the cluster");
}

#[test]
pub(super) fn mtu() {
    let id = MtuValid;
    suppressed(&unbound(), id);
    pending(&facts(1), id, "Missing host inventory");
    let own = with(&inventory().address("10.0.0.5/24")).with_machine_networks(&["10.0.0.0/24"]);
    success(
        &day2(with(&inventory())),
        id,
        "Day2 host is not required to be connected to other hosts in the cluster",
    );
    suppressed(&single_node(with(&inventory())), id);
    pending(&own, id, "Missing MTU report information");
    let report = |ok, nic: &str, ip: &str| {
        json!({"remote_hosts": [{"mtu_report": [{"outgoing_nic": nic, "remote_ip_address": ip, "mtu_successful": ok}]}]})
            .to_string()
    };
    let told = |text: &str| {
        with(&inventory().address("10.0.0.5/24"))
            .with_machine_networks(&["10.0.0.0/24"])
            .with_report(ReportKind::Connectivity, text)
    };
    error(&told("{"), id, "Internal error - failed to parse host connectivity report");
    success(&told(&report(true, "eth0", "10.0.0.6")), id, "MTU is ok");
    let broken = "MTU is broken. Interface: eth0, remote IP address: 10.0.0.6";
    failure(&told(&report(false, "eth0", "10.0.0.6")), id, broken);
    success(&told(&report(false, "eth1", "10.0.0.6")), id, "MTU is ok");
    success(&told(&report(false, "eth0", "10.9.0.6")), id, "MTU is ok");
    failure(
        &user_managed(told(&report(false, "eth1", "10.9.0.6"))),
        id,
        "MTU is broken. Interface: eth1, remote IP address: 10.9.0.6",
    );
}

#[test]
pub(super) fn clocks() {
    let id = NtpSynced;
    let told = |text: &str| facts(1).with_report(ReportKind::NtpSources, text);
    success(&told(r#"[{"source_name":"a","source_state":"synced"}]"#), id, "Host NTP is synced");
    error(&told("{"), id, "Parse error for NTP sources");
    failure(&facts(1), id, "Host couldn't synchronize with any NTP server");
    let unreachable = told(r#"[{"source_name":"a","source_state":"unreachable"}]"#);
    failure(&unreachable, id, "Host couldn't synchronize with any NTP server");
    suppressed(&unbound(), id);
    failure(
        &unbound().with_host(|host| host.record.host.status = HostStatus::Binding),
        id,
        "Host couldn't synchronize with any NTP server",
    );

    let id = TimeSyncedBetweenHostAndService;
    let ahead = |seconds| facts(1).with_host(|host| host.record.clock_ahead_seconds = seconds);
    pending(&ahead(None), id, "Missing host time, can't determine synchronization between host and service");
    for seconds in [0, -1200, 3600] {
        success(&ahead(Some(seconds)), id, "Host clock is synchronized with service");
    }
    failure(
        &ahead(Some(-1201)),
        id,
        "Host clock is not synchronized, service time is ahead of host's at least for 20.0 minutes, please configure an \
         NTP server via DHCP. Service time: 2026-08-21 01:54:08.5 +0000 UTC",
    );
    failure(
        &ahead(Some(3601)),
        id,
        "Host clock is not synchronized, host time is ahead of service at least for 60.0 minutes, please configure an \
         NTP server via DHCP. Service time: 2026-08-21 01:54:08.5 +0000 UTC",
    );
}

#[test]
pub(super) fn images() {
    let id = ContainerImagesAvailable;
    let fine =
        "All required container images were either pulled successfully or no attempt was made to pull them";
    success(&facts(1), id, fine);
    let told = |text: &str| facts(1).with_report(ReportKind::ImagesStatus, text);
    error(&told("{"), id, "Validation error");
    let image = |name: &str, result: &str, size: f64, rate: f64| {
        json!({name: {"name": name, "result": result, "size_bytes": size, "download_rate": rate}}).to_string()
    };
    success(&told(&image("a", "success", 1.0, 1.0)), id, fine);
    success(&told(&image("a", "success", 0.0, 0.0)), id, fine);
    for bad in [image("a", "failure", 0.0, 0.0), image("a", "success", 1.0, 0.0001)] {
        failure(
            &told(&bad),
            id,
            "Failed to fetch container images needed for installation from a. This may be due to a network hiccup. \
             Retry to install again. If this problem persists, check your network settings to make sure you’re not \
             blocked.",
        );
    }
}

#[test]
pub(super) fn links() {
    let (latency, loss) =
        (SufficientNetworkLatencyRequirementForRole, SufficientPacketLossRequirementForRole);
    for id in [latency, loss] {
        pending(&facts(2), id, "The inventory is not available yet.");
        suppressed(&unbound().with_inventory(&inventory()), id);
        error(
            &role(facts(2).with_inventory(&inventory()), HostRole::Master)
                .with_report(ReportKind::Connectivity, "{"),
            id,
            "Parse error while attempting to process the connectivity report",
        );
    }
    let masters = |report: Option<serde_json::Value>| {
        let nic = inventory().address("10.0.0.1/24");
        let mut facts = facts(9).with_inventory(&nic);
        for host in &mut facts.hosts {
            host.record.host.role = Some(HostRole::Master);
        }
        match report {
            Some(report) => facts.with_report(ReportKind::Connectivity, &report.to_string()),
            None => facts,
        }
    };
    pending(&masters(None), latency, "Missing network latency information.");
    pending(&masters(None), loss, "Missing packet loss information.");
    let satisfied = "Network latency requirement has been satisfied.";
    success(&role(facts(1).with_inventory(&inventory()), HostRole::Master), latency, satisfied);
    success(&facts(2).with_inventory(&inventory()), latency, satisfied);
    success(
        &day2(facts(2).with_inventory(&inventory())),
        loss,
        "Packet loss requirement has been satisfied.",
    );

    let remote = |n: usize, rtt: f64, lost: f64| {
        json!({"host_id": testing::host_id(n), "l3_connectivity": [
            {"remote_ip_address": format!("10.0.0.{n}"), "average_rtt_ms": rtt, "packet_loss_percentage": lost}]})
    };
    let report = |remotes: Vec<serde_json::Value>| Some(json!({"remote_hosts": remotes}));
    success(&masters(report(vec![remote(2, 100.0, 0.0)])), latency, satisfied);
    let id = testing::host_id(1);
    failure(
        &masters(report(vec![remote(2, 100.5, 0.0)])),
        latency,
        &format!(
            "A total network latency above the tolerated threshold of 100.00 ms was encountered when performing network \
             latency tests between host {id} and host-2 (100.50 ms)\\nActions:\n1: Please try the following commands on \
             the host host-1 and examine averages to investigate the latency issue further\n\nping -c 10 -W 3 -q -I \
             eth0 10.0.0.1/24\n"
        ),
    );
    failure(
        &masters(report(vec![remote(2, 0.0, 1.0)])),
        loss,
        &format!(
            "A total packet loss above the tolerated threshold of 0.00% was encountered when performing connectivity \
             validation between host {id} and host-2 (1.00%)\\nActions:\n1: Check if there are multiple devices on the \
             same L2 network, if so then use the built-in nmstate-based advanced networking configuration to create a \
             bond or disable all but one of the interfaces.\n2: Please try the following commands on the host host-1 to \
             investigate the packet loss further\n\nping -c 10 -W 3 -q -I eth0 10.0.0.1/24\n"
        ),
    );
    let many = masters(report((2..=9).map(|n| remote(n, 200.0, 0.0)).collect()));
    let text = shown(&many, latency).unwrap().1;
    assert!(text.contains("host-6 (200.00 ms), host-7 (200.00 ms) and others...\\n"), "{text}");
    assert!(!text.contains("host-8"), "{text}");
    let unknown = testing::host_id(77);
    failure(
        &masters(report(vec![remote(77, 200.0, 0.0)])),
        latency,
        &format!("Error while attempting to validate network latency: host with ID {unknown} was not found"),
    );
    let mut other_role = masters(report(vec![remote(2, 200.0, 0.0)]));
    other_role.hosts[1].record.host.role = Some(HostRole::Worker);
    success(&other_role, latency, satisfied);
}

#[test]
pub(super) fn links_of_hosts_with_few_or_many_addresses() {
    let (latency, loss) =
        (SufficientNetworkLatencyRequirementForRole, SufficientPacketLossRequirementForRole);
    let masters = |inventory: &InventoryBuilder, to: usize| {
        let facts = facts(2).with_inventory(inventory).with_roles(&[HostRole::Master; 2]);
        let link =
            json!({"remote_ip_address": "10.0.0.2", "average_rtt_ms": 200.0, "packet_loss_percentage": 2.0});
        let report = json!({"remote_hosts": [{"host_id": testing::host_id(to), "l3_connectivity": [link]}]});
        facts.with_report(ReportKind::Connectivity, &report.to_string())
    };
    let id = testing::host_id(1);
    failure(
        &masters(&inventory(), 2),
        latency,
        &format!(
            "A total network latency above the tolerated threshold of 100.00 ms was encountered when performing network \
             latency tests between host {id} and host-2 (200.00 ms)\\n"
        ),
    );
    let advice = format!(
        "A total packet loss above the tolerated threshold of 0.00% was encountered when performing connectivity \
         validation between host {id} and host-2 (2.00%)\\nActions:\n1: Check if there are multiple devices on the same \
         L2 network, if so then use the built-in nmstate-based advanced networking configuration to create a bond or \
         disable all but one of the interfaces.\n"
    );
    failure(&masters(&inventory(), 2), loss, &advice);
    let many = inventory().address("10.0.0.1/24").with(|inventory| {
        let nic = &mut inventory.interfaces.as_mut().unwrap()[0];
        nic.ipv4_addresses = Some((1..=6).map(|n| format!("10.0.0.{n}/24")).collect());
    });
    let pings: String = (1..=5).map(|n| format!("ping -c 10 -W 3 -q -I eth0 10.0.0.{n}/24\n")).collect();
    failure(
        &masters(&many, 2),
        loss,
        &format!(
            "{advice}2: Please try the following commands on the host host-1 to investigate the packet loss further\n\n\
             {pings}etc... \n"
        ),
    );
    let unknown = testing::host_id(77);
    failure(
        &masters(&inventory(), 77),
        loss,
        &format!(
            "Error while attempting to validate packet loss validation: host with ID {unknown} was not found"
        ),
    );
}

#[test]
pub(super) fn routes() {
    pending(&facts(1), HasDefaultRoute, "Missing default routing information.");
    success(
        &with(&inventory()),
        HasDefaultRoute,
        "Host has been configured with at least one default route.",
    );
    failure(
        &with(&inventory().with(|inventory| inventory.routes = None)),
        HasDefaultRoute,
        "Host has not yet been configured with a default route.",
    );
}

/// Resolutions as a host reports them.
fn resolved(facts: Facts, names: &[(&str, &[&str])]) -> Facts {
    let resolution = |(name, ips): &(&str, &[&str])| json!({"domain_name": name, "ipv4_addresses": ips});
    let report = json!({"resolutions": names.iter().map(resolution).collect::<Vec<_>>()});
    facts.with_report(ReportKind::DomainNameResolutions, &report.to_string())
}

#[test]
pub(super) fn domain_names() {
    let cases = [
        (ApiDomainNameResolvedCorrectly, "api.test.example.com", "api", "API load balancer"),
        (
            ApiIntDomainNameResolvedCorrectly,
            "api-int.test.example.com",
            "api-int",
            "internal API load balancer",
        ),
        (
            AppsDomainNameResolvedCorrectly,
            "console-openshift-console.apps.test.example.com",
            "*.apps",
            "application ingress",
        ),
    ];
    for (id, name, printed, target) in cases {
        let fine = format!(
            "Domain name resolution for the {printed}.test.example.com domain was successful or not required"
        );
        suppressed(&unbound(), id);
        success(&facts(1), id, &fine);
        let user = || user_managed(facts(1));
        error(&user(), id, "Error while evaluating DNS resolution on this host");
        error(
            &user().with_cluster(|cluster| cluster.base_dns_domain.clear()),
            id,
            &format!(
                "DNS validation for the {target} domain cannot be completed because the cluster does not have \
                 base_dns_domain set. Please update the cluster with the correct base_dns_domain"
            ),
        );
        failure(
            &resolved(user(), &[(name, &[])]),
            id,
            &format!(
                "Couldn't resolve domain name {printed}.test.example.com on the host. To continue installation, create \
                 the necessary DNS entries to resolve this domain name to your cluster's {target} IP address"
            ),
        );
        success(&resolved(user(), &[(name, &["192.0.2.1"])]), id, &fine);
        // Networks, not addresses, stand in an inventory, so that only one that is broken so far ever comes here.
        let own = with(&inventory().address("10.0.0.5"));
        failure(
            &resolved(user_managed(own), &[(name, &["10.0.0.5"])]),
            id,
            &format!(
                "Domain {printed}.test.example.com must not point at 10.0.0.5 as it is the API address of this host. \
                 This domain must instead point at the IP address of a load balancer when using user managed networking \
                 in a multi control-plane node cluster"
            ),
        );
        success(
            &facts(1).with_cluster(|cluster| cluster.base_dns_domain.clear()),
            id,
            &format!("Domain name resolution for the {target} domain was successful or not required"),
        );
        let dnsmasq =
            settings(single_node(facts(1)), |policy| policy.clusters.enable_single_node_dnsmasq = true);
        success(&dnsmasq, id, &fine);
        let imported = user().with_cluster(|cluster| cluster.imported = true);
        pending(
            &imported,
            id,
            &format!(
                "DNS validation for the {printed}.test.example.com domain cannot be completed at the moment. This could \
                 be due to other validations"
            ),
        );
        let told = |ignition: serde_json::Value| {
            let answer = json!({"is_success": true, "ignition": ignition.to_string()}).to_string();
            user()
                .with_cluster(|cluster| cluster.imported = true)
                .with_report(ReportKind::ApiVipConnectivity, &answer)
        };
        let file = json!({"storage": {"files": [{"path": "/etc/kubernetes/manifests/coredns.yaml"}]}});
        success(&told(file), id, &fine);
        let missing = "Error while evaluating DNS resolution on this host";
        error(&told(json!({"storage": {}})), id, missing);
        let config = |source: &str| {
            told(json!({"storage": {"files": [
                {"path": "/etc/kubernetes/kubeconfig", "contents": {"source": source}}]}}))
        };
        success(
            &config(
                "data:,clusters%3A%20%5B%7Bcluster%3A%20%7Bserver%3A%20%22https%3A//10.0.0.9%3A6443%22%7D%7D%5D",
            ),
            id,
            &fine,
        );
        let six = BASE64_STANDARD.encode("clusters: [{cluster: {server: 'https://[fd00::9]:6443'}}]");
        success(&config(&format!("data:text/plain;base64,{six}")), id, &fine);
        for named in [
            "data:,clusters%3A%20%5B%7Bcluster%3A%20%7Bserver%3A%20%22https%3A//api.x%3A6443%22%7D%7D%5D",
            "data:,clusters%3A%20%5B%5D",
            "data:,%FF",
            "http://x",
        ] {
            error(&config(named), id, missing);
        }
    }
}

#[test]
pub(super) fn dns_wildcards() {
    let id = DnsWildcardNotConfigured;
    let (absolute, relative) =
        ("validateNoWildcardDNS.test.example.com.", "validateNoWildcardDNS.test.example.com");
    suppressed(&unbound(), id);
    success(&day2(facts(1)), id, "DNS wildcard check is not required for day2");
    pending(
        &facts(1),
        id,
        "DNS wildcard check cannot be performed yet because the host has not yet performed DNS resolution",
    );
    let broken = facts(1).with_report(ReportKind::DomainNameResolutions, "{");
    error(&broken, id, "Error while parsing DNS resolution response");
    error(
        &resolved(facts(1), &[]),
        id,
        "Internal error - DNS wildcard check cannot be performed because the DNS validation result doesn't contain the \
         wildcard domain",
    );
    success(
        &resolved(facts(1), &[(absolute, &[]), (relative, &[])]),
        id,
        "DNS wildcard check was successful",
    );
    failure(
        &resolved(facts(1), &[(absolute, &["192.0.2.1", "192.0.2.2"]), (relative, &[])]),
        id,
        "DNS wildcard configuration was detected for domain *.test.example.com - the installation will not be able to \
         complete while this record exists. Please remove it to proceed. The domain resolves to 192.0.2.1, 192.0.2.2",
    );
    failure(
        &resolved(facts(1), &[(absolute, &[]), (relative, &["192.0.2.1"])]),
        id,
        "Unexpected domain name resolution was detected for the relative domain name with the sub-domain \
         *.test.example.com despite the fact that no resolution exists for a Fully Qualified Domain Name (FQDN) with \
         same sub-domain. This is usually a sign of DHCP-provided domain-search configuration. The installation will \
         not be able to complete with this configuration in place. Please remove it to proceed. The relative domain \
         name resolves to 192.0.2.1",
    );
}

#[test]
pub(super) fn subnets() {
    let id = NonOverlappingSubnets;
    pending(&facts(1), id, "Missing inventory");
    suppressed(&unbound().with_inventory(&inventory()), id);
    error(&with(&inventory().address("10.0.0.1")), id, "Unexpected error: invalid CIDR address: 10.0.0.1");
    let fine = "Host subnets are not overlapping";
    success(&with(&inventory().address("10.0.0.1/24").address("10.0.1.1/24")), id, fine);
    // The cluster has no IPv6, so nobody minds.
    success(&with(&inventory().address("fd00::1/64").address("fd00::2/64")), id, fine);
    failure(
        &with(&inventory().address("10.0.0.1/24").address("10.0.0.2/24")),
        id,
        "Address networks are overlapping: Address network 10.0.0.0/24 appears on multiple interfaces [eth0, eth1]",
    );
    failure(
        &with(&inventory().address("10.0.0.1/24").address("10.0.1.2/16")),
        id,
        "Address networks are overlapping: Address networks 10.0.0.0/24 in interface eth0 and 10.0.0.0/16 in interface \
         eth1 overlap",
    );
}

#[test]
pub(super) fn collisions() {
    let id = NoIpCollisionsInNetwork;
    success(&unbound(), id, "Cluster has not yet been defined, skipping validation.");
    success(&facts(1), id, "Host inventory has not yet been defined, skipping validation.");
    let host = testing::host_id(1);
    success(&day2(with(&inventory())), id, &format!("Skipping validation for day 2 host {host}"));
    success(&with(&inventory()), id, "IP collisions have not yet been evaluated");
    let stored = |inventory: &InventoryBuilder, text: &str| {
        with(inventory).with_cluster(|cluster| text.clone_into(&mut cluster.ip_collisions))
    };
    error(&stored(&inventory(), "["), id, "Unable to unmarshall ip collision report for cluster");
    let collisions = r#"{"10.0.0.1":["aa","bb"]}"#;
    error(
        &stored(&inventory().address("10.0.0.1"), collisions),
        id,
        &format!("inventory of host {host} contains bad CIDR: 10.0.0.1"),
    );
    success(
        &stored(&inventory().address("10.0.0.2/24"), collisions),
        id,
        &format!("No IP collisions were detected by host {host}"),
    );
    failure(
        &stored(&inventory().address("10.0.0.1/24"), collisions),
        id,
        &format!("Collisions detected for host ID {host}, IP address: 10.0.0.1 Mac addresses: aa,bb\n"),
    );
}

#[test]
pub(super) fn iscsi() {
    let id = NoIscsiNicBelongsToMachineCidr;
    let path = |name: &str, ip: Option<&str>, holders: &str| {
        let mut disk = disk(name, DriveType::ISCSI, 120);
        disk.iscsi = ip.map(|ip| Iscsi { host_ip_address: ip.to_owned() });
        holders.clone_into(&mut disk.holders);
        disk
    };
    let on = |disks: Vec<_>| {
        let chosen = format!(
            "/dev/{}",
            disks.last().map(|disk: &assisted_wire::inventory::Disk| disk.name.clone()).unwrap()
        );
        with(&inventory().address("10.0.0.5/24").address("10.1.0.5/24").disks(disks))
            .with_machine_networks(&["10.0.0.0/24"])
            .with_host(|host| host.record.host.installation_disk_path = chosen)
    };
    let iscsi = |ip| on(vec![path("sda", ip, "")]);
    suppressed(&unbound(), id);
    suppressed(&user_managed(iscsi(Some("10.0.0.5"))), id);
    suppressed(&day2(iscsi(Some("10.0.0.5"))), id);
    suppressed(&facts(1), id);
    suppressed(&on(vec![disk("sda", DriveType::Ssd, 120)]), id);
    let gone = iscsi(Some("10.0.0.5"))
        .with_host(|host| host.record.host.installation_disk_path = "/dev/sdz".to_owned());
    suppressed(&gone, id);
    pending(
        &iscsi(Some("10.0.0.5")).with_machine_networks(&[]),
        id,
        "Missing inventory or machine network CIDR",
    );
    error(&iscsi(None), id, "iSCSI disk is missing host IP address");
    error(&iscsi(Some("10.9.0.5")), id, "Cannot find network interface associated to iSCSI host IP address");
    failure(
        &iscsi(Some("10.0.0.5")),
        id,
        "Network interface connected to iSCSI disk cannot belong to machine network CIDRs",
    );
    let apart = "Network interface connected to iSCSI disk does not belong to machine network CIDRs";
    success(&iscsi(Some("10.1.0.5")), id, apart);
    let multipath = |paths: Vec<_>| {
        let mut disks: Vec<_> = paths;
        disks.push(disk("dm-0", DriveType::Multipath, 120));
        on(disks)
    };
    success(&multipath(vec![]), id, "");
    success(&multipath(vec![path("sda", Some("10.1.0.5"), "dm-0")]), id, apart);
    error(
        &multipath(vec![path("sda", Some("10.0.0.5"), "dm-0"), path("sdb", None, "dm-0")]),
        id,
        "iSCSI disk is missing host IP address",
    );
    failure(
        &multipath(vec![
            path("sda", Some("10.0.0.5"), "dm-0"),
            path("sdb", Some("10.1.0.5"), "dm-0"),
            path("sdc", Some("10.0.0.5"), "dm-0"),
        ]),
        id,
        "Installation on multipath device is not possible due to errors on at least one iSCSI disk: Network interface \
         connected to iSCSI disk (sda, sdc) cannot belong to machine network CIDRs",
    );
}
