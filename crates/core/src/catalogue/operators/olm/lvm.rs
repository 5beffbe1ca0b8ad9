//! The logical volume manager: storage out of disks of the node itself (validations §8.3).

use assisted_base::version::{Base, at_least, below};
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::host::HostRole;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::{DevPreview, Supported};
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Membership, Namespace, OperatorRequirements, Package, PlannedCluster,
    Preflight, RolePreflight, Subscribed, operator,
};
use crate::catalogue::operators::disks::{Candidates, engine_gb};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::policy;

const NAMESPACE: &str = "openshift-storage";

operator! {
    "lvm", LvmRequirementsSatisfied, "Logical Volume Management";
    namespace: NAMESPACE,
    subscription: "lvms-operator",
    bundle: Membership::RequiredOfSingleNode("openshift-ai"),
    rule: Rule {
        levels: &[(Base(4, 11), DevPreview), (Base(4, 12), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures: &[Cpu::S390x, Cpu::Ppc64le],
        features: &[Id::NutanixIntegration, Id::VsphereIntegration, Id::Odf],
        features_below: &[(Base(4, 15), Id::VipAutoAlloc), (Base(4, 15), Id::ClusterManagedNetworking)],
        ..Rule::new(Id::Lvm, "Logical Volume Management")
    },
    package: Package {
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("openshift-storage-operatorgroup")),
        files: "50_openshift-lvm_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Lvm,
}

struct Lvm;

impl Behaviour for Lvm {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        let stores = match host.selection.role {
            HostRole::Arbiter => false,
            HostRole::Master | HostRole::Bootstrap => host.masters_schedulable_forced(),
            HostRole::Worker | HostRole::AutoAssign => true,
        };
        if stores {
            extra(&host.cluster.openshift_version, host.policy())
        } else {
            OperatorRequirements::default()
        }
    }

    fn preflight(&self, planned: PlannedCluster<'_>, policy: &policy::Operators) -> Preflight {
        let extra = extra(planned.version, policy);
        Preflight::of_both(RolePreflight::new(
            extra,
            &[
                "At least 1 non-boot disk per host",
                &format!("{} MiB of additional RAM", extra.ram_mib),
                &format!("{} additional CPUs for each non-boot disk", extra.cpu_cores),
            ],
        ))
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing Inventory in the host");
        };
        let stores = match host.selection.role {
            HostRole::Worker => true,
            HostRole::Arbiter => false,
            HostRole::Master | HostRole::Bootstrap | HostRole::AutoAssign => {
                host.masters_schedulable_forced()
            }
        };
        if !stores {
            return if host.selection.role == HostRole::AutoAssign {
                Outcome::failure(
                    "For Logical Volume Manager Standard Mode, host role must be assigned to master or worker.",
                )
                .measured("a role that is left to the service")
                .required("master or worker")
                .remedy("Give the host a role.")
            } else {
                Outcome::success("")
            };
        }
        let least_gb = engine_gb(host.cluster);
        let disks = Candidates::of(&host.selection.host.record.host, inventory, least_gb);
        let minimum = if least_gb > 0 { format!(" of {least_gb}GB minimum") } else { String::new() };
        let outcome = if disks.large_enough > 0 {
            Outcome::success("")
        } else {
            Outcome::failure(format!(
                "Logical Volume Manager requires at least one non-installation HDD/SSD disk{minimum} on the host"
            ))
            .remedy("Attach one more disk to the machine.")
        };
        outcome
            .measured(format!("{} disks to store on, {} too small", disks.large_enough, disks.too_small))
            .required(format!("1 disk{minimum}"))
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        let version = &view.cluster.openshift_version;
        let refused = |text, least: &'static str| {
            Outcome::failure(text)
                .measured(version.clone())
                .required(least)
                .remedy("Install a newer version, or without this operator.")
        };
        if below(version, 4, 11) {
            return refused(
                "Logical Volume Manager is only supported for openshift versions 4.11.0 and above",
                "4.11.0",
            );
        }
        if below(version, 4, 15) && !topology::is_single_node(view.cluster) {
            return refused(
                "Logical Volume Manager is only supported for highly available openshift with version 4.15.0 or above",
                "4.15.0",
            );
        }
        Outcome::success("")
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "lvm.topolvm.io/v1alpha1", "kind": "LVMCluster",
            "metadata": {"name": "lvmcluster-sample", "namespace": NAMESPACE},
            "spec": {"storage": {"deviceClasses": [{
                "name": "vg1",
                "thinPoolConfig": {"name": "thin-pool-1", "sizePercent": 90, "overprovisionRatio": 10},
            }]}},
        })]
    }

    fn adapt(&self, subscribed: &mut Subscribed, version: &str, _: &policy::Operators) {
        if below(version, 4, 12) {
            subscribed.name = "odf-lvm-operator";
        }
    }
}

/// What it takes of each host that it stores on: newer ones need less memory, and one setting overrides all.
fn extra(version: &str, policy: &policy::Operators) -> OperatorRequirements {
    let by_version = match version {
        version if at_least(version, 4, 16) => 100,
        version if at_least(version, 4, 13) => 400,
        _ => 1200,
    };
    let memory = policy.lvm_memory_per_host_mib.unwrap_or(by_version);
    OperatorRequirements::new(policy.lvm_cpu_per_host, memory)
}
