//! Virtualization: virtual machines beside containers.

use assisted_base::version::{Base, Version};
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::host::HostRole;
use assisted_wire::inventory::{DriveType, Inventory};
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::checks::{architecture, lacking, machine_config, resources, too_small};
use crate::catalogue::operators::definition::{
    Behaviour, COMMUNITY, FileNames, Group, Membership, Namespace, OperatorRequirements, Package,
    PlannedCluster, Preflight, RolePreflight, Subscribed, operator,
};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::model::{disk, topology};
use crate::policy;

const NAMESPACE: &str = "openshift-cnv";
/// The namespace of the community's operator.
const COMMUNITY_NAMESPACE: &str = "kubevirt-hyperconverged";

operator! {
    "cnv", CnvRequirementsSatisfied, "OpenShift Virtualization";
    namespace: NAMESPACE,
    subscription: "hco-operatorhub",
    timeout_seconds: 3600,
    bundle: Membership::Required("virtualization"),
    rule: Rule {
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures: &[Cpu::S390x, Cpu::Ppc64le],
        architectures_below: Some((Base(4, 14), &[Cpu::Arm64])),
        features: &[Id::NutanixIntegration, Id::VsphereIntegration],
        ..Rule::new(Id::Cnv, "OpenShift Virtualization")
    },
    package: Package {
        name: "kubevirt-hyperconverged",
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("kubevirt-hyperconverged-group")),
        files: "50_openshift-cnv_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Cnv,
}

struct Cnv;

const GIB: i64 = 1 << 30;
const GB: i64 = 1_000_000_000;

/// Memory that each device takes that is handed to virtual machines, MiB.
const MIB_PER_DEVICE: i64 = 1024;

/// Whether a single node brings storage of its own: its version must be in a window, of which beta versions count as such.
fn has_hostpath(planned: PlannedCluster<'_>, policy: &policy::Operators) -> bool {
    let in_window = Version::parse(planned.version)
        .is_some_and(|version| version.base >= Base(4, 10) && version.base < Base(4, 12));
    planned.single_node && policy.cnv_sno_install_hpp && in_window
}

/// Devices of a machine that can be handed to virtual machines.
fn devices(inventory: &Inventory, policy: &policy::Operators) -> i64 {
    let listed = |list: &[String], vendor: &str, device: &str| {
        list.iter().any(|pair| pair.to_lowercase() == format!("{vendor}:{device}"))
    };
    let plain = |id: &str| {
        let id = id.to_lowercase();
        id.strip_prefix("0x").unwrap_or(&id).to_owned()
    };
    let gpus = inventory.gpus.iter().flatten();
    let gpus = gpus.filter(|gpu| listed(&policy.cnv_supported_gpus, &gpu.vendor_id, &gpu.device_id));
    let nics = inventory.interfaces.iter().flatten();
    let nics = nics
        .filter(|nic| listed(&policy.cnv_supported_sriov_nics, &plain(&nic.vendor), &plain(&nic.product)));
    i64::try_from(gpus.count() + nics.count()).unwrap_or(i64::MAX)
}

fn base(single_node: bool, role: HostRole) -> OperatorRequirements {
    match role {
        HostRole::Arbiter => OperatorRequirements::default(),
        _ if single_node => OperatorRequirements::new(6, 510),
        HostRole::Master | HostRole::Bootstrap => OperatorRequirements::new(4, 150),
        HostRole::Worker | HostRole::AutoAssign => OperatorRequirements::new(2, 360),
    }
}

impl Behaviour for Cnv {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        let base = base(topology::is_single_node(host.cluster), host.selection.role);
        let of_devices = match host.selection.role {
            HostRole::Worker | HostRole::AutoAssign => true,
            HostRole::Master | HostRole::Bootstrap => topology::is_single_node(host.cluster),
            HostRole::Arbiter => false,
        };
        let devices = host
            .selection
            .inventory
            .filter(|_| of_devices)
            .map_or(0, |inventory| devices(inventory, host.policy()));
        OperatorRequirements {
            ram_mib: base.ram_mib.saturating_add(devices.saturating_mul(MIB_PER_DEVICE)),
            ..base
        }
    }

    fn preflight(&self, planned: PlannedCluster<'_>, policy: &policy::Operators) -> Preflight {
        let of = |role| {
            let mut role = RolePreflight::new(
                role,
                &[
                    "Additional 1GiB of RAM per each supported GPU",
                    "Additional 1GiB of RAM per each supported SR-IOV NIC",
                    "CPU has virtualization flag (vmx or svm)",
                ],
            );
            if has_hostpath(planned, policy) {
                let size = policy.cnv_sno_pool_size_request_hpp_gib;
                role.qualitative.push(format!("Additional disk with {size} Gi"));
            }
            role
        };
        let master = of(base(planned.single_node, HostRole::Master));
        Preflight { master, worker: of(OperatorRequirements::new(2, 360)) }
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing Inventory in some of the hosts");
        };
        let cpu = inventory.cpu.as_ref();
        let flags = || cpu.and_then(|cpu| cpu.flags.as_ref()).into_iter().flatten();
        let is_arm = cpu.is_some_and(|cpu| cpu.architecture == "aarch64");
        if !is_arm && !flags().any(|flag| flag == "vmx" || flag == "svm") {
            return Outcome::failure("CPU does not have virtualization support")
                .measured("neither vmx nor svm among the CPU's flags")
                .required("vmx or svm")
                .remedy("Enable virtualization in the machine's firmware.");
        }
        if has_hostpath(PlannedCluster::of(host.cluster), host.policy()) {
            let gib = host.policy().cnv_sno_pool_size_request_hpp_gib;
            let least = gib.saturating_mul(GIB);
            let chosen = disk::chosen(&host.selection.host.record.host);
            let fits = inventory.disks.iter().flatten().any(|each| {
                matches!(each.drive_type, Some(DriveType::Ssd | DriveType::Hdd))
                    && each.size_bytes > least
                    && !disk::is_same(each, chosen)
            });
            if !fits {
                return Outcome::failure(format!(
                    "OpenShift Virtualization on SNO requires an additional disk with {} GB ({gib} Gi) in order to \
                     provide persistent storage for VMs, using hostpath-provisioner",
                    least / GB
                ))
                .measured("no such disk")
                .required(format!("an SSD or HDD larger than {gib} GiB that is not installed on"))
                .remedy("Attach one more disk to the machine.");
            }
        }
        if host.selection.role == HostRole::AutoAssign {
            return Outcome::failure("All host roles must be assigned to enable OpenShift Virtualization")
                .measured("a role that is left to the service")
                .required("a role")
                .remedy("Give the host a role.");
        }
        let (has, needs) = (resources(inventory), self.requirements(host));
        let texts = lacking(OPERATOR.full_name, has, needs);
        if texts.is_empty() { Outcome::success("") } else { too_small(&texts, has, needs) }
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        architecture(view, &OPERATOR).unwrap_or_else(|| Outcome::success(""))
    }

    fn adapt(&self, subscribed: &mut Subscribed, _: &str, policy: &policy::Operators) {
        if !policy.cnv_mode {
            subscribed.namespace = COMMUNITY_NAMESPACE;
            subscribed.package.name = "community-kubevirt-hyperconverged";
            subscribed.package.source = COMMUNITY;
        }
    }

    fn manifests(&self, view: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        let spec = json!({"kernelArguments": ["schedstats=enable"]});
        let mut all = vec![
            ("workers_schedstats", machine_config("50-workers-enable-schedstats", "worker", &spec)),
            ("masters_schedstats", machine_config("50-masters-enable-schedstats", "master", &spec)),
        ];
        if has_hostpath(PlannedCluster::of(view.cluster), view.policy()) {
            all.push((
                "hpp_sc",
                json!({
                    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                    "metadata": {
                        "name": "sno-storage",
                        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                    },
                    "provisioner": "kubevirt.io.hostpath-provisioner", "reclaimPolicy": "Delete",
                    "volumeBindingMode": "Immediate", "parameters": {"storagePool": "sno"},
                }),
            ));
        }
        all
    }

    fn objects(&self, view: &ClusterView<'_>) -> Vec<Value> {
        let namespace = if view.policy().cnv_mode { NAMESPACE } else { COMMUNITY_NAMESPACE };
        let mut all = vec![json!({
            "apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": namespace},
            "spec": {"BareMetalPlatform": true},
        })];
        if has_hostpath(PlannedCluster::of(view.cluster), view.policy()) {
            let size = format!("{}Gi", view.policy().cnv_sno_pool_size_request_hpp_gib);
            all.push(json!({
                "apiVersion": "hostpathprovisioner.kubevirt.io/v1beta1", "kind": "HostPathProvisioner",
                "metadata": {"name": "hostpath-provisioner"},
                "spec": {
                    "imagePullPolicy": "IfNotPresent",
                    "storagePools": [{
                        "name": "sno", "path": "/var/hpvolumes",
                        "pvcTemplate": {
                            "storageClassName": "localblock-sc", "volumeMode": "Block",
                            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
                        },
                    }],
                    "workload": {"nodeSelector": {"kubernetes.io/os": "linux"}},
                },
            }));
        }
        all
    }
}
