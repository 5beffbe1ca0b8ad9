//! Validations of a cluster. A new one is a file and a line in [`CHECKS`].

mod address_families;
mod cidr_overlap;
mod defined;
mod hosts;
mod layering;
mod machine_cidr;
mod masters;
mod network_prefix;
mod network_type;
mod ntp;
mod platform;
pub(crate) mod vips;

use assisted_wire::cluster::ClusterValidationId::{self as Id, *};
use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::inventory::Inventory;

use super::ids::Category::{self, Configuration, HostsData, Network, Operators};
use super::operator;
use super::results::Results;
use super::scope::Scope;
use crate::catalogue::operators::{ClusterView, OPERATORS, Operator};
use crate::model::facts::Facts;
use crate::model::outcome::{Outcome, Status};
use crate::model::topology;

/// What a check of a cluster looks at.
struct View<'a> {
    scope: &'a Scope<'a>,
    facts: &'a Facts,
    cluster: &'a Cluster,
    user_managed: bool,
    single_node: bool,
    dhcp: bool,
    user_load_balanced: bool,
}

impl<'a> View<'a> {
    fn new(scope: &'a Scope<'a>, cluster: &'a Cluster) -> Self {
        Self {
            scope,
            facts: scope.facts,
            cluster,
            user_managed: topology::is_user_managed_networking(cluster),
            single_node: topology::is_single_node(cluster),
            dhcp: topology::is_vip_dhcp(cluster),
            user_load_balanced: topology::is_user_load_balanced(cluster),
        }
    }

    fn inventories(&self) -> impl Iterator<Item = &'a Inventory> {
        self.facts.hosts.iter().filter_map(|host| host.inventory.as_deref())
    }

    /// Whether any host has reported its inventory.
    fn has_inventories(&self) -> bool {
        self.inventories().next().is_some()
    }

    /// Whether the cluster needs a machine network.
    fn needs_machine_network(&self) -> bool {
        !self.user_managed || self.single_node
    }

    /// Whether the validation of the machine network succeeds.
    fn is_machine_cidr_defined(&self) -> bool {
        machine_cidr::check_defined(self).status == Status::Success
    }
}

struct Check {
    id: Id,
    category: Category,
    run: fn(&View<'_>) -> Outcome,
}

const fn check(id: Id, category: Category, run: fn(&View<'_>) -> Outcome) -> Check {
    Check { id, category, run }
}

const CHECKS: &[Check] = &[
    check(MachineCidrDefined, Network, machine_cidr::check_defined),
    check(ClusterCidrDefined, Network, defined::check_cluster_cidr),
    check(ServiceCidrDefined, Network, defined::check_service_cidr),
    check(NoCidrsOverlapping, Network, cidr_overlap::check),
    check(NetworksSameAddressFamilies, Network, address_families::check),
    check(NetworkPrefixValid, Network, network_prefix::check),
    check(MachineCidrEqualsToCalculatedCidr, Network, machine_cidr::check_calculated),
    check(ApiVipsDefined, Network, vips::check_api_defined),
    check(ApiVipsValid, Network, vips::check_api_valid),
    check(IngressVipsDefined, Network, vips::check_ingress_defined),
    check(IngressVipsValid, Network, vips::check_ingress_valid),
    check(AllHostsAreReadyToInstall, HostsData, hosts::check),
    check(SufficientMastersCount, HostsData, masters::check),
    check(DnsDomainDefined, Network, defined::check_dns_domain),
    check(PullSecretSet, Configuration, defined::check_pull_secret),
    check(NtpServerConfigured, Network, ntp::check),
    check(NetworkTypeValid, Network, network_type::check),
    check(CustomManifestsRequirementsSatisfied, Network, network_type::check_manifests),
    check(PlatformRequirementsSatisfied, Configuration, platform::check),
];

/// Of clusters that are to be installed in image mode: all others are not asked, nor told.
const OF_LAYERING: &[Check] = &[
    check(OclConfigurationValid, Configuration, layering::check_configuration),
    check(OclMachineOsConfigsPresent, Configuration, layering::check_present),
    check(OclSecretsPresent, Configuration, layering::check_secrets),
    check(OclVersionSupported, Configuration, layering::check_version),
    check(OclArchitectureUniform, Configuration, layering::check_architecture),
    check(OclMachineConfigsCompatible, Configuration, layering::check_machine_configs),
    check(OclRegistryReachableByNodes, Configuration, layering::check_reachable),
];

/// Runs all validations of a cluster. Nothing is evaluated once the installation runs, nor without a cluster.
pub fn evaluate(facts: &Facts) -> Results<Id> {
    evaluate_in(&Scope::new(facts))
}

/// As [`evaluate`], with what was read already.
pub fn evaluate_in(scope: &Scope<'_>) -> Results<Id> {
    let mut results = Results::default();
    let Some(cluster) = scope.cluster().filter(|cluster| is_evaluated(cluster.status)) else {
        return results;
    };
    let view = View::new(scope, cluster);
    let further = if scope.layering().is_some() { OF_LAYERING } else { &[] };
    for check in CHECKS.iter().chain(further) {
        let disabled = scope.disabled_cluster.contains(&check.id);
        let outcome = if disabled { Outcome::disabled() } else { (check.run)(&view) };
        results.push(check.id, check.category, outcome, false, &scope.ignored_cluster);
    }
    run_operators(scope, cluster, OPERATORS, &mut results);
    let outcome = operator::of_gpu_support(cluster);
    let id = OpenshiftAiGpuRequirementsSatisfied;
    results.push(id, Operators, outcome, false, &scope.ignored_cluster);
    results
}

/// Runs the validation of a cluster by an operator; nothing is evaluated without a cluster.
pub fn evaluate_operator(scope: &Scope<'_>, operator: &Operator) -> Results<Id> {
    let mut results = Results::default();
    if let Some(cluster) = scope.cluster() {
        run_operators(scope, cluster, [operator], &mut results);
    }
    results
}

fn run_operators<'o>(
    scope: &Scope<'_>,
    cluster: &Cluster,
    operators: impl IntoIterator<Item = &'o Operator>,
    results: &mut Results<Id>,
) {
    let view = ClusterView { cluster, facts: scope.facts };
    for each in operators {
        let outcome = operator::of_cluster(each, &view);
        results.push(each.cluster, Operators, outcome, false, &scope.ignored_cluster);
    }
}

fn is_evaluated(status: ClusterStatus) -> bool {
    matches!(
        status,
        ClusterStatus::Insufficient
            | ClusterStatus::Ready
            | ClusterStatus::PendingForInput
            | ClusterStatus::PreparingForInstallation
    )
}

#[cfg(test)]
mod tests;
