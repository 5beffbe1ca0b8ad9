//! Each validation of a cluster: success, every failure, and what is said while something is not known yet.

mod layering;
mod olm;
mod operators;

use std::sync::Arc;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::cluster::ClusterValidationId::{self as Id, *};
use assisted_wire::cluster_params::NetworkType;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::network::{LoadBalancer, LoadBalancerType, VipVerification};
use assisted_wire::platform::{Platform, PlatformExternal, PlatformType};
use jiff::SignedDuration;
use serde_json::json;

use super::evaluate;
use crate::model::facts::Facts;
use crate::model::outcome::Status;
use crate::model::report::ReportKind;
use crate::policy::Policy;
use crate::validation::coverage;
use crate::validation::testing::{self, explains_itself, facts, inventory};

fn shown(facts: &Facts, id: Id) -> (Status, String) {
    let results = evaluate(facts);
    let recipe = coverage::recipe(id.as_str());
    let entry = results.get(id).unwrap_or_else(|| panic!("{id} was not evaluated ({recipe}, step 3)"));
    assert_eq!(entry.condition, matches!(entry.outcome.status, Status::Success | Status::Disabled), "{id}");
    coverage::see(id, &entry.outcome);
    explains_itself(id.as_str(), &entry.outcome);
    (entry.outcome.status, entry.outcome.message.to_string())
}

#[track_caller]
fn success(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), (Status::Success, message.to_owned()));
}

#[track_caller]
fn failure(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), (Status::Failure, message.to_owned()));
}

#[track_caller]
fn pending(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), (Status::Pending, message.to_owned()));
}

#[track_caller]
fn error(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), (Status::Error, message.to_owned()));
}

fn user_managed(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| cluster.user_managed_networking = Some(true))
}

fn single_node(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| cluster.control_plane_count = 1)
}

fn dhcp(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| cluster.vip_dhcp_allocation = Some(true))
}

fn user_load_balanced(facts: Facts) -> Facts {
    let kind = Some(LoadBalancerType::UserManaged);
    facts.with_cluster(|cluster| cluster.load_balancer = Some(LoadBalancer { r#type: kind }))
}

/// Three hosts in a network, which is the cluster's machine network.
fn discovered() -> Facts {
    facts(3).with_inventory(&inventory().address("10.0.0.5/24")).with_machine_networks(&["10.0.0.0/24"])
}

#[test]
fn every_id_is_evaluated_once() {
    let results = evaluate(&facts(0));
    let never = [OcsRequirementsSatisfied];
    for id in Id::ALL {
        let count = results.entries().iter().filter(|entry| entry.id == *id).count();
        let left_out =
            never.contains(id) || <Id as crate::validation::ids::ValidationId>::OF_SOME.contains(id);
        assert_eq!(count, usize::from(!left_out), "{id}");
    }
    let info: serde_json::Value = serde_json::from_str(&results.to_info()).unwrap();
    let categories: Vec<_> = info.as_object().unwrap().keys().cloned().collect();
    assert_eq!(categories, ["configuration", "hosts-data", "network", "operators"]);
}

#[test]
fn nothing_is_evaluated_once_the_installation_runs() {
    for status in [
        ClusterStatus::Installing,
        ClusterStatus::Installed,
        ClusterStatus::AddingHosts,
        ClusterStatus::Error,
    ] {
        assert!(evaluate(&facts(0).with_cluster(|cluster| cluster.status = status)).is_empty(), "{status}");
    }
    assert!(evaluate(&testing::unbound()).is_empty());
}

#[test]
fn machine_network() {
    let id = MachineCidrDefined;
    success(&user_managed(facts(0)), id, "No Machine Network CIDR needed: User Managed Networking");
    success(&discovered(), id, "The Machine Network CIDR is defined.");
    pending(&facts(1), id, "Hosts have not been discovered yet");
    let seen = || facts(1).with_inventory(&inventory());
    failure(
        &dhcp(seen()),
        id,
        "The Machine Network CIDR is undefined; setting the Machine Network CIDR initiates the VIPs DHCP lease \
         allocation.",
    );
    failure(
        &user_managed(single_node(seen())),
        id,
        "The Machine Network CIDR is undefined; Setting Machine Network CIDR is required for single node cluster",
    );
    failure(
        &seen(),
        id,
        "The Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or \
         Ingress virtual IPs.",
    );

    let id = MachineCidrEqualsToCalculatedCidr;
    success(&user_managed(facts(0)), id, "The Cluster Machine CIDR is not required: User Managed Networking");
    success(
        &user_load_balanced(facts(0)),
        id,
        "Calculating machine network CIDR is not enabled: User Managed Load Balancer",
    );
    pending(
        &discovered(),
        id,
        "The Machine Network CIDR, API virtual IPs, or Ingress virtual IPs are undefined.",
    );
    let vips = |facts: Facts, ip| facts.with_vips(&[ip], &[ip]);
    pending(&vips(facts(1), "10.0.0.9"), id, "Hosts have not been discovered yet");
    let equivalent = "The Cluster Machine CIDR is equivalent to the calculated CIDR.";
    success(&vips(discovered(), "10.0.0.9"), id, equivalent);
    success(&vips(discovered().with_machine_networks(&["10.0.0.77/24"]), "10.0.0.9"), id, equivalent);
    success(&vips(discovered().with_machine_networks(&[]), "10.0.0.9"), id, equivalent);
    failure(
        &vips(discovered().with_machine_networks(&["10.1.0.0/24"]), "10.0.0.9"),
        id,
        "1 error occurred:\n\t* The Cluster Machine CIDR 10.1.0.0/24 is different than the calculated CIDR \
         10.0.0.0/24.\n\n",
    );
    failure(
        &discovered().with_vips(&["10.9.0.9", "10.8.0.9"], &[]),
        id,
        "2 errors occurred:\n\t* No suitable matching CIDR found for VIP 10.9.0.9\n\t* No suitable matching CIDR found \
         for VIP 10.8.0.9\n\n",
    );
}

#[test]
fn what_must_be_given() {
    let none = facts(0).with_networks(&[], &[]).with_cluster(|cluster| {
        cluster.base_dns_domain.clear();
        cluster.pull_secret_set = false;
    });
    for (id, given, missing) in [
        (
            ClusterCidrDefined,
            "The Cluster Network CIDR is defined.",
            "The Cluster Network CIDR is undefined.",
        ),
        (
            ServiceCidrDefined,
            "The Service Network CIDR is defined.",
            "The Service Network CIDR is undefined.",
        ),
        (
            DnsDomainDefined,
            "The base domain is defined.",
            "The base domain is undefined and must be provided.",
        ),
        (PullSecretSet, "The pull secret is set.", "The pull secret is not set."),
    ] {
        success(&facts(0), id, given);
        failure(&none, id, missing);
    }
}

#[test]
fn vips_defined() {
    for (id, title) in [(ApiVipsDefined, "API"), (IngressVipsDefined, "Ingress")] {
        success(
            &user_managed(facts(0)),
            id,
            &format!("{title} virtual IPs are not required: User Managed Networking"),
        );
        success(&single_node(facts(0)), id, &format!("{title} virtual IPs are not required: SNO"));
        let given = facts(0).with_vips(&["10.0.0.9"], &["10.0.0.9"]);
        success(&given, id, &format!("{title} virtual IPs are defined."));
        failure(&facts(0), id, &format!("{title} virtual IPs are undefined and must be provided."));
        pending(&dhcp(facts(0)), id, "The Machine Network CIDR is undefined");
        let since = |seconds| {
            let mut facts = dhcp(discovered());
            let at = testing::now() - SignedDuration::from_secs(seconds);
            facts.cluster.as_mut().unwrap().machine_network_cidr_updated_at = Some(at);
            facts
        };
        failure(
            &since(120),
            id,
            &format!(
                "{title} virtual IPs are undefined; after the Machine Network CIDR has been defined, {title} virtual \
                 IPs are received from a DHCP lease allocation task which may take up to 2 minutes."
            ),
        );
        failure(
            &since(121),
            id,
            &format!("{title} virtual IPs are undefined; IP allocation from the DHCP server timed out."),
        );
    }
}

#[test]
fn vips_valid() {
    for (id, title, one, several) in [
        (ApiVipsValid, "API", "api vip", "api vips"),
        (IngressVipsValid, "Ingress", "ingress vip", "ingress vips"),
    ] {
        success(
            &user_managed(facts(0)),
            id,
            &format!("{title} virtual IPs are not required: User Managed Networking"),
        );
        success(&single_node(facts(0)), id, &format!("{title} virtual IPs are not required: SNO"));
        pending(&facts(0), id, &format!("{title} virtual IPs are undefined."));
        let vips = |facts: Facts, ips: &[&str]| facts.with_vips(ips, ips);
        pending(&vips(facts(1), &["10.0.0.9"]), id, "Hosts have not been discovered yet");
        pending(
            &vips(facts(1).with_inventory(&inventory()), &["10.0.0.9"]),
            id,
            "Hosts have not been discovered yet",
        );
        let verified = |ips: &[&str], verification| {
            vips(discovered(), ips).with_cluster(|cluster| {
                let api = cluster.api_vips.as_mut().unwrap().iter_mut();
                api.for_each(|vip| vip.verification = Some(verification));
                let ingress = cluster.ingress_vips.as_mut().unwrap().iter_mut();
                ingress.for_each(|vip| vip.verification = Some(verification));
            })
        };
        use VipVerification::{Failed, Succeeded, Unverified};
        let fine = format!("{several} 10.0.0.9 belongs to the Machine CIDR and is not in use.");
        success(&verified(&["10.0.0.9"], Succeeded), id, &fine);
        let dual = verified(&["10.0.0.9", "fd00::9"], Succeeded)
            .with_machine_networks(&["10.0.0.0/24", "fd00::/64"]);
        success(
            &dual,
            id,
            &format!("{several} 10.0.0.9, fd00::9 belongs to the Machine CIDR and is not in use."),
        );
        failure(
            &verified(&["10.0.0.9", "10.0.0.10"], Succeeded),
            id,
            &format!("{several} <10.0.0.10> cannot be set if Machine Network CIDR is empty"),
        );
        failure(
            &verified(&["10.0.1.9"], Succeeded),
            id,
            &format!("{several} <10.0.1.9> does not belong to machine-network-cidr <10.0.0.0/24>"),
        );
        failure(
            &verified(&["10.0.0.255"], Succeeded),
            id,
            &format!("{several} <10.0.0.255> is the broadcast address of machine-network-cidr <10.0.0.0/24>"),
        );
        let in_use = format!("{several} <10.0.0.9> is already in use in cidr 10.0.0.0/24");
        failure(&verified(&["10.0.0.9"], Failed), id, &in_use);
        let unknown = || verified(&["10.0.0.9"], Unverified);
        failure(&unknown(), id, &format!("{several} <10.0.0.9> are not verified yet."));
        let free = |ips: &[&str]| json!([{"network": "10.0.0.0/24", "free_addresses": ips}]).to_string();
        let looked = |ips: &[&str]| unknown().with_report(ReportKind::FreeAddresses, &free(ips));
        success(&looked(&["10.0.0.8", "10.0.0.9"]), id, &fine);
        failure(&looked(&["10.0.0.8"]), id, &in_use);
        let small = verified(&["10.0.0.2"], Failed).with_machine_networks(&["10.0.0.0/30"]);
        failure(
            &small,
            id,
            &format!(
                "{several} <10.0.0.2> is already in use in cidr 10.0.0.0/30. The machine network range is too small for \
                 the cluster. Please redefine the network."
            ),
        );
        failure(
            &verified(&["10.0.1.9", "10.0.0.10"], Succeeded),
            id,
            &format!(
                "{several} <10.0.1.9> does not belong to machine-network-cidr <10.0.0.0/24>;{several} <10.0.0.10> cannot \
                 be set if Machine Network CIDR is empty"
            ),
        );
        let mut two = looked(&["10.0.0.8", "10.0.0.9"]);
        two.hosts[1].reports.insert(ReportKind::FreeAddresses, free(&["10.0.0.8"]).into());
        failure(&two, id, &in_use);

        let balanced = |ip| user_load_balanced(vips(discovered(), &[ip]));
        success(&balanced("10.0.0.9"), id, &format!("{one} 10.0.0.9 is valid"));
        failure(
            &balanced("10.0.1.9"),
            id,
            &format!(
                "{one} '10.0.1.9' failed verification: none of the machine networks is satisfying the requirements, \
                 description: machine network CIDR <10.0.0.0/24> verification failed: {one} <10.0.1.9> does not belong \
                 to machine-network-cidr <10.0.0.0/24>"
            ),
        );
    }
}

#[test]
fn network_types() {
    let id = NetworkTypeValid;
    let of = |facts: Facts, kind| facts.with_cluster(|cluster| cluster.network_type = kind);
    let fine = "The cluster has a valid network type";
    success(&of(facts(0), None), id, fine);
    success(&of(facts(0), Some(NetworkType::OVNKubernetes)), id, fine);
    success(&of(dhcp(facts(0)), Some(NetworkType::OpenShiftSDN)), id, fine);
    let sdn = |facts| of(facts, Some(NetworkType::OpenShiftSDN));
    let six = "The cluster is configured with IPv6 which is not supported by OpenShiftSDN; use OVNKubernetes instead";
    failure(&sdn(facts(0).with_machine_networks(&["fd00::/64"])), id, six);
    failure(&sdn(facts(0).with_vips(&["fd00::1"], &[])), id, six);
    failure(
        &sdn(single_node(facts(0))),
        id,
        "Control Plane Count '1' (SNO) is not supported by OpenShiftSDN; use another network type instead",
    );
    failure(
        &dhcp(facts(0)),
        id,
        "VIP DHCP allocation is not supported when the cluster is configured to use OVNKubernetes.",
    );

    let id = CustomManifestsRequirementsSatisfied;
    success(&facts(0), id, "No custom manifests are required");
    let calico = |usage: &str| {
        of(facts(0), Some(NetworkType::Calico))
            .with_cluster(|cluster| usage.clone_into(&mut cluster.feature_usage))
    };
    failure(&calico("["), id, "Failed to parse feature usages");
    success(&calico(r#"{"Custom manifest":{"id":"CUSTOM_MANIFEST"}}"#), id, "Custom manifests are uploaded");
    failure(
        &calico(""),
        id,
        "Custom manifests are required for: Calico network type. Please upload manifests via the custom manifests API.",
    );
    let overridden = facts(0).with_cluster(|cluster| {
        cluster.install_config_overrides = r#"{"networking":{"networkType":"Cilium"}}"#.to_owned();
    });
    assert_eq!(shown(&overridden, id).0, Status::Failure);
}

#[test]
fn overlapping_networks() {
    let id = NoCidrsOverlapping;
    let fine = "No CIDRS are overlapping.";
    success(&discovered(), id, fine);
    pending(
        &facts(0),
        id,
        "At least one of the CIDRs (Machine Network, Cluster Network, Service Network) is undefined.",
    );
    success(&user_managed(facts(0)), id, fine);
    pending(
        &user_managed(facts(0).with_networks(&[], &[])),
        id,
        "At least one of the CIDRs (Cluster Network, Service Network) is undefined.",
    );
    error(
        &discovered().with_networks(&["172.30.0.0/16"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)]),
        id,
        "A mismatch between the number of Cluster and Service networks",
    );
    let overlapping = |service, cluster| discovered().with_networks(&[service], &[(cluster, 23)]);
    failure(
        &overlapping("10.0.0.0/16", "10.128.0.0/14"),
        id,
        "CIDRS Overlapping: MachineNetworkCIDR and ServiceNetworkCIDR: CIDRS 10.0.0.0/24 and 10.0.0.0/16 overlap.",
    );
    failure(
        &overlapping("172.30.0.0/16", "10.0.0.0/8"),
        id,
        "CIDRS Overlapping: MachineNetworkCIDR and ClusterNetworkCidr: CIDRS 10.0.0.0/24 and 10.0.0.0/8 overlap.",
    );
    failure(
        &overlapping("172.30.0.0/16", "172.16.0.0/12"),
        id,
        "CIDRS Overlapping: ServiceNetworkCidr and ClusterNetworkCidr: CIDRS 172.30.0.0/16 and 172.16.0.0/12 overlap.",
    );
    // The last machine network stands for those that are missing.
    let dual = discovered()
        .with_machine_networks(&["fd01::/64"])
        .with_networks(&["172.30.0.0/16", "fd02::/112"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)]);
    failure(
        &dual,
        id,
        "CIDRS Overlapping: MachineNetworkCIDR and ClusterNetworkCidr: CIDRS fd01::/64 and fd01::/48 overlap.",
    );
}

#[test]
fn address_families() {
    let id = NetworksSameAddressFamilies;
    success(&discovered(), id, "Same address families for all networks.");
    pending(
        &facts(0),
        id,
        "At least one of the CIDRs (Machine Network, Cluster Network, Service Network) is undefined.",
    );
    pending(
        &user_managed(facts(0).with_networks(&[], &[])),
        id,
        "At least one of the CIDRs (Cluster Network, Service Network) is undefined.",
    );
    error(
        &discovered().with_networks(&["nonsense"], &[("10.128.0.0/14", 23)]),
        id,
        "Bad CIDR(s) appears in one of the networks",
    );
    failure(
        &discovered().with_networks(&["fd02::/112"], &[("10.128.0.0/14", 23)]),
        id,
        "Address families of networks (ServiceNetworks, ClusterNetworks) are not the same.",
    );
    failure(
        &discovered().with_networks(&["fd02::/112"], &[("fd01::/48", 64)]),
        id,
        "Address families of networks (MachineNetworks, ServiceNetworks, ClusterNetworks) are not the same.",
    );
    // Several networks of one family in a row count once, in the list of cluster networks.
    let twice = [("10.128.0.0/14", 23), ("10.132.0.0/14", 23)];
    success(
        &discovered().with_networks(&["172.30.0.0/16"], &twice),
        id,
        "Same address families for all networks.",
    );
    let user = user_managed(facts(0)).with_networks(&["fd02::/112"], &[("fd01::/48", 64)]);
    success(&user, id, "Same address families for all networks.");
    let nonsense = facts(0).with_machine_networks(&["nonsense"]);
    let text = format!(
        "Error getting machine address families for cluster {}",
        nonsense.cluster.as_ref().unwrap().cluster.id
    );
    error(&nonsense, id, &text);
}

#[test]
fn network_prefixes() {
    let id = NetworkPrefixValid;
    let of = |hosts, cidr, prefix| facts(hosts).with_networks(&["172.30.0.0/16"], &[(cidr, prefix)]);
    let fine = "The Cluster Network prefix is valid.";
    success(&of(3, "10.128.0.0/14", 23), id, fine);
    pending(&facts(0).with_networks(&[], &[]), id, "The Cluster Network CIDR is undefined.");
    failure(
        &of(3, "10.128.0.0/14", 0),
        id,
        "Invalid Cluster Network prefix: Host prefix, now 0, must be a positive integer.",
    );
    failure(
        &of(3, "10.128.0.0/14", 26),
        id,
        "Host prefix, now 26, must be less than or equal to 25 to allow at least 128 addresses",
    );
    success(&of(1, "10.128.0.0/23", 23), id, fine);
    success(&of(4, "10.128.0.0/21", 23), id, fine);
    failure(
        &of(3, "10.128.0.0/22", 23),
        id,
        "Cluster network CIDR prefix 22 does not contain enough addresses for 4 hosts each one with 23 prefix (512 \
         addresses)",
    );
    let calico =
        of(3, "10.128.0.0/14", 30).with_cluster(|cluster| cluster.network_type = Some(NetworkType::Calico));
    success(&calico, id, fine);
    success(&of(3, "fd01::/48", 64), id, fine);
}

#[test]
fn clocks() {
    let id = NtpServerConfigured;
    let ahead = |seconds| {
        let mut facts = facts(2);
        facts.hosts[1].record.clock_ahead_seconds = Some(seconds);
        facts
    };
    success(&facts(0), id, "No ntp problems found");
    success(&ahead(299), id, "No ntp problems found");
    let text = "Hosts' clocks are not synchronized (there's more than a 4 minutes gap between clocks), please configure \
                an NTP server via DHCP or set clocks manually.";
    failure(&ahead(300), id, text);
    failure(&ahead(-300), id, text);
    let mut policy = Policy::default();
    policy.hardware.max_time_diff_minutes = 10;
    let lenient = |seconds| Facts { policy: policy.clone().into(), ..ahead(seconds) };
    success(&lenient(600), id, "No ntp problems found");
    let strict = evaluate(&lenient(660)).get(id).unwrap().outcome.message.to_string();
    assert_eq!(strict, text.replace("4 minutes", "10 minutes"));
    for status in [HostStatus::Disconnected, HostStatus::ResettingPendingUserAction, HostStatus::Discovering]
    {
        success(&ahead(300).with_host(|host| host.record.host.status = status), id, "No ntp problems found");
    }
}

#[test]
fn hosts() {
    let id = AllHostsAreReadyToInstall;
    success(&facts(0), id, "All hosts in the cluster are ready to install.");
    success(&facts(3), id, "All hosts in the cluster are ready to install.");
    let one = facts(3).with_host(|host| host.record.host.status = HostStatus::Insufficient);
    failure(&one, id, "The cluster has hosts that are not ready to install.");
}

#[test]
fn masters() {
    let id = SufficientMastersCount;
    let of = |count, roles: &[HostRole]| {
        let mut facts = facts(roles.len()).with_inventory(&inventory());
        facts.test_cluster().control_plane_count = count;
        for (host, role) in facts.hosts.iter_mut().zip(roles) {
            host.record.host.role = Some(*role);
        }
        facts
    };
    use HostRole::{Arbiter, AutoAssign, Master, Worker};
    let fine = "The cluster has the exact amount of dedicated control plane nodes.";
    let short = |count, suffix| {
        format!(
            "The cluster must have exactly {count} dedicated control plane nodes{suffix}. Add or remove hosts, or \
             change their roles configurations to meet the requirement."
        )
    };
    success(&of(3, &[Master, Master, Master, Worker]), id, fine);
    success(&of(3, &[AutoAssign, AutoAssign, AutoAssign, AutoAssign]), id, fine);
    failure(&facts(0), id, &short(3, ""));
    failure(&of(3, &[Master, Master]), id, &short(3, ""));
    failure(&of(3, &[Master; 4]), id, &short(3, ""));
    let alone = " and at least 1 arbiter node or the control plane nodes must have fencing credentials";
    failure(&of(2, &[Master, Master]), id, &short(2, alone));
    success(&of(2, &[Master, Master, Arbiter]), id, fine);
    success(&of(2, &[AutoAssign, AutoAssign, AutoAssign]), id, fine);
    let mut fenced = of(2, &[Master, Master]);
    fenced.hosts.iter_mut().for_each(|host| host.record.host.fencing_credentials = "{}".to_owned());
    success(&fenced, id, fine);
    let single = "Single-node clusters must have a single control plane node and no workers.";
    success(&of(1, &[Master]), id, fine);
    failure(&of(1, &[Master, Worker]), id, single);
    failure(&of(1, &[]), id, single);
    let weak = of(3, &[Master, Master, AutoAssign]);
    let mut weak_host = weak.clone();
    weak_host.hosts[2].inventory = Some(Arc::new(inventory().cores(2).build()));
    success(&weak, id, fine);
    failure(&weak_host, id, &short(3, ""));
}

#[test]
fn platform() {
    let id = PlatformRequirementsSatisfied;
    success(&facts(0), id, "Platform requirements satisfied");
    let oci = |usage: &str| {
        let external =
            Some(PlatformExternal { platform_name: Some("oci".to_owned()), ..PlatformExternal::default() });
        facts(0).with_cluster(|cluster| {
            cluster.platform = Some(Platform { r#type: PlatformType::External, external });
            usage.clone_into(&mut cluster.feature_usage);
        })
    };
    failure(&oci("["), id, "Failed to parse feature usages");
    success(&oci(r#"{"Custom manifest":{}}"#), id, "Platform requirements satisfied");
    failure(
        &oci("{}"),
        id,
        "The custom manifest required for Oracle Cloud Infrastructure platform integration has not been added. Add a \
         custom manifest to continue.",
    );
}

#[test]
fn disabled_and_ignored() {
    let policy = Policy {
        hosts: crate::policy::Hosts {
            disabled_cluster_validations: [DnsDomainDefined].into(),
            ..Policy::default().hosts
        },
        ..Policy::default()
    };
    let off = Facts { policy: Arc::new(policy), ..facts(0) };
    assert_eq!(
        shown(&off, DnsDomainDefined),
        (Status::Disabled, "Validation disabled by configuration".to_owned())
    );
    let mut ignoring = facts(0).with_cluster(|cluster| cluster.base_dns_domain.clear());
    ignoring.cluster.as_mut().unwrap().ignored_cluster_validations = r#"["all"]"#.to_owned();
    let results = evaluate(&ignoring);
    assert!(results.condition(DnsDomainDefined) && !results.condition(SufficientMastersCount));
}

#[test]
fn every_outcome_is_hit() {
    coverage::check(
        include_str!("../../../tests/data/outcomes/cluster.txt"),
        Id::ALL,
        &[OcsRequirementsSatisfied],
        &[
            machine_network,
            what_must_be_given,
            vips_defined,
            vips_valid,
            network_types,
            overlapping_networks,
            address_families,
            network_prefixes,
            clocks,
            hosts,
            masters,
            platform,
            layering::every_validation,
            olm::versions,
            olm::architectures,
            olm::gpus,
            olm::openshift_ai,
            olm::the_others_ask_nothing,
            operators::not_installed,
            operators::logical_volumes,
            operators::data_foundation,
        ],
    );
}
