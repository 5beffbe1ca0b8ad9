//! Holds that each setting of an operator matters: what is made and judged differs when it is changed.

use assisted_wire::host::HostRole::{Master, Worker};
use assisted_wire::inventory::{DriveType, Gpu, Interface};

use super::fields::{made, single_node};
use super::*;
use crate::policy::Policy;
use crate::validation::assessment::assess;
use crate::validation::testing::{disk, inventory};

type Change = fn(&mut Policy);

/// Each variable that the reference lists, and a change of it.
const CHANGES: &[(&str, Change)] = &[
    ("CONTROLLER_IMAGE", |policy| policy.images.controller = "registry/controller:2".to_owned()),
    ("CNV_MODE", |policy| policy.operators.cnv_mode = false),
    ("CNV_SNO_INSTALL_HPP", |policy| policy.operators.cnv_sno_install_hpp = false),
    ("CNV_SNO_POOL_SIZE_REQUEST_HPP_GIB", |policy| policy.operators.cnv_sno_pool_size_request_hpp_gib = 51),
    ("CNV_SUPPORTED_GPUS", |policy| policy.operators.cnv_supported_gpus.clear()),
    ("CNV_SUPPORTED_SRIOV_NICS", |policy| policy.operators.cnv_supported_sriov_nics.clear()),
    ("LVM_CPU_PER_HOST", |policy| policy.operators.lvm_cpu_per_host = 2),
    ("LVM_MEMORY_PER_HOST_MIB", |policy| policy.operators.lvm_memory_per_host_mib = Some(7)),
    ("MCE_MIN_OPENSHIFT_VERSION", |policy| policy.operators.mce_min_openshift_version = "4.99.0".to_owned()),
    ("MTV_CPU_PER_HOST", |policy| policy.operators.mtv_cpu_per_host = 2),
    ("MTV_MEMORY_PER_HOST_MIB", |policy| policy.operators.mtv_memory_per_host_mib = 7),
    ("OSC_CPU_PER_HOST", |policy| policy.operators.osc_cpu_per_host = 2),
    ("OSC_MEMORY_PER_HOST_MIB", |policy| policy.operators.osc_memory_per_host_mib = 7),
    ("NVIDIA_REQUIRE_GPU", |policy| policy.operators.nvidia_require_gpu = false),
    ("AMD_REQUIRE_GPU", |policy| policy.operators.amd_require_gpu = false),
    // The one GPU that is there becomes NVIDIA's, or AMD's.
    ("NVIDIA_SUPPORTED_GPUS", |policy| policy.operators.nvidia_supported_gpus = vec!["8086".to_owned()]),
    ("AMD_SUPPORTED_GPUS", |policy| policy.operators.amd_supported_gpus = vec!["8086".to_owned()]),
    ("OPENSHIFT_AI_MIN_WORKER_NODES", |policy| policy.operators.openshift_ai_min_worker_nodes = 9),
    ("OPENSHIFT_AI_MIN_WORKER_CPU_CORES", |policy| policy.operators.openshift_ai_min_worker_cpu_cores = 9),
    ("OPENSHIFT_AI_MIN_WORKER_MEMORY_GIB", |policy| policy.operators.openshift_ai_min_worker_memory_gib = 9),
    ("ODF_NUM_MINIMUM_HOST", |policy| policy.operators.odf_num_minimum_host = 9),
    ("ODF_NUM_MINIMUM_DISK", |policy| policy.operators.odf_num_minimum_disk = 99),
    ("ODF_MIN_DISK_SIZE_GB", |policy| policy.operators.odf_min_disk_size_gb = 1000),
    ("ODF_PER_DISK_CPU_COUNT", |policy| policy.operators.odf_per_disk_cpu_count = 3),
    ("ODF_PER_DISK_RAM_GIB", |policy| policy.operators.odf_per_disk_ram_gib = 3),
    ("ODF_PER_HOST_CPU_COMPACT_MODE", |policy| policy.operators.odf_per_host_cpu_compact_mode = 9),
    ("ODF_PER_HOST_MEMORY_GIB_COMPACT_MODE", |policy| {
        policy.operators.odf_per_host_memory_gib_compact_mode = 9;
    }),
    ("ODF_PER_HOST_CPU_STANDARD_MODE", |policy| policy.operators.odf_per_host_cpu_standard_mode = 9),
    ("ODF_PER_HOST_MEMORY_GIB_STANDARD_MODE", |policy| {
        policy.operators.odf_per_host_memory_gib_standard_mode = 9;
    }),
    ("SELF_NODE_REMEDIATION_TEMPLATE_NAME", |policy| {
        policy.operators.self_node_remediation_template_name = "own".to_owned();
    }),
    ("MIN_PERCENTAGE_OF_MATCHING_NODES_FOR_REMEDIATION", |policy| {
        policy.operators.min_percentage_of_matching_nodes_for_remediation = "90%".to_owned();
    }),
    ("NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNREADY_DURATION", |policy| {
        policy.operators.node_healthcheck_unready_duration = "1s".to_owned();
    }),
    ("NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNKNOWN_DURATION", |policy| {
        policy.operators.node_healthcheck_unknown_duration = "1s".to_owned();
    }),
];

/// Clusters that have all operators: of few nodes, of many, and of a single one of an old version.
fn clusters() -> [Facts; 3] {
    let disks = vec![disk("sda", DriveType::Ssd, 120), disk("sdb", DriveType::Ssd, 900)];
    let machine = inventory().disks(disks).with(|inventory| {
        inventory.cpu.as_mut().unwrap().flags = Some(vec!["vmx".to_owned()]);
        let gpu = |vendor: &str, device: &str| Gpu {
            vendor_id: vendor.to_owned(),
            device_id: device.to_owned(),
            ..Gpu::default()
        };
        inventory.gpus = Some(vec![gpu("10de", "1db6"), gpu("1002", "0001")]);
        let nic = Interface { vendor: "8086".to_owned(), product: "158b".to_owned(), ..Interface::default() };
        inventory.interfaces = Some(vec![nic]);
    });
    let names: Vec<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    let of = |version: &str, roles: &[assisted_wire::host::HostRole]| {
        let facts =
            facts(roles.len()).with_inventory(&machine.clone()).with_roles(roles).with_operators(&names);
        let mut facts = facts.with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version));
        for host in &mut facts.hosts {
            host.record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
        }
        facts
    };
    let many = [Master, Master, Master, Worker, Worker, Worker];
    [of("4.20.1", &[Master; 3]), of("4.20.1", &many), single_node(of("4.11.3", &[Master]))]
}

/// All that is judged and made.
fn outcome(facts: &Facts) -> String {
    format!("{:?}\n{:?}", assess(facts, None), made(facts))
}

#[test]
fn each_setting_matters() {
    // With a GPU of each vendor none is missing, so that what is required shows only where there are none.
    let without_gpus = |facts: &Facts| {
        let mut facts = facts.clone();
        for host in &mut facts.hosts {
            let mut inventory = (**host.inventory.as_ref().unwrap()).clone();
            inventory.gpus = None;
            host.inventory = Some(std::sync::Arc::new(inventory));
        }
        facts
    };
    let all: Vec<_> = clusters().into_iter().flat_map(|facts| [without_gpus(&facts), facts]).collect();
    let usual: Vec<_> = all.iter().map(outcome).collect();
    for (name, change) in CHANGES {
        let mut policy = Policy::default();
        change(&mut policy);
        let changed = Facts { policy: policy.into(), ..all[0].clone() }.policy;
        let differs = all
            .iter()
            .zip(&usual)
            .any(|(facts, usual)| outcome(&Facts { policy: changed.clone(), ..facts.clone() }) != *usual);
        assert!(differs, "{name} changes nothing");
    }
}

#[test]
fn all_settings_of_the_reference_are_known() {
    let mut listed = BTreeSet::new();
    for row in table(REFERENCE, "## 6. Environment", "Variable") {
        let names = code(&row[0]);
        for name in &names {
            // A name that begins with dots shares the beginning of the one before it.
            let shared = names[0].trim_end_matches("_UNREADY_DURATION");
            listed.insert(name.replace('…', shared));
        }
    }
    let known: BTreeSet<_> = CHANGES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(known, listed);
}
