//! What operators require of a host, before hosts are there (validations §4.5, §8.3).

use assisted_wire::cluster::Cluster;
use assisted_wire::requirements::{
    ClusterHostRequirementsDetails as Details, HostTypeHardwareRequirements,
    HostTypeHardwareRequirementsWrapper, OperatorHardwareRequirements,
};

use super::requirements::base;
use crate::rules::operator::catalogue::{OLM, Operator};
use crate::settings::Operators;
use crate::validation::topology;

const MIB_PER_GIB: i64 = 1024;

/// What a role needs besides what OpenShift itself does: numbers, and words for what depends on the machine.
#[derive(Default)]
struct Extra {
    cpu_cores: i64,
    ram_mib: i64,
    words: Vec<String>,
}

impl Extra {
    fn new(cpu_cores: i64, ram_mib: i64) -> Self {
        Self { cpu_cores, ram_mib, words: Vec::new() }
    }

    fn words(mut self, words: &[&str]) -> Self {
        self.words = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }
}

/// What each operator requires, selected or not, by name.
pub(super) fn preflight(cluster: &Cluster, settings: &Operators) -> Vec<OperatorHardwareRequirements> {
    OLM.iter().map(|operator| of_operator(operator, cluster, settings)).collect()
}

fn of_operator(operator: &Operator, cluster: &Cluster, settings: &Operators) -> OperatorHardwareRequirements {
    let single = topology::is_single_node(cluster);
    let (master, worker) = extras(operator.name, cluster, settings);
    let role = |extra: Extra| HostTypeHardwareRequirements {
        quantitative: Some(Details {
            cpu_cores: extra.cpu_cores,
            ram_mib: extra.ram_mib,
            ..Details::default()
        }),
        qualitative: Some(extra.words),
    };
    OperatorHardwareRequirements {
        operator_name: operator.name.to_owned(),
        dependencies: Some(operator.dependencies(single).map(str::to_owned).collect()),
        requirements: Some(HostTypeHardwareRequirementsWrapper {
            master: Some(role(master)),
            worker: Some(role(worker)),
        }),
    }
}

/// The extras of master and worker.
fn extras(name: &str, cluster: &Cluster, settings: &Operators) -> (Extra, Extra) {
    let single = topology::is_single_node(cluster);
    match name {
        "odf" => odf(settings),
        "cnv" => cnv(cluster, settings),
        "lvm" => {
            let ram = lvm_memory(&cluster.openshift_version, settings);
            let cpu = settings.lvm_cpu_per_host;
            let extra = || {
                Extra::new(cpu, ram).words(&[
                    "At least 1 non-boot disk per host",
                    &format!("{ram} MiB of additional RAM"),
                    &format!("{cpu} additional CPUs for each non-boot disk"),
                ])
            };
            (extra(), extra())
        }
        "mtv" => both(settings.mtv_cpu_per_host, settings.mtv_memory_per_host_mib),
        "osc" => both(settings.osc_cpu_per_host, settings.osc_memory_per_host_mib),
        "mce" => {
            let (cpu, ram_gib) = if single { (8, 32) } else { (4, 16) };
            let extra = || Extra::new(cpu, ram_gib * MIB_PER_GIB);
            (extra(), extra())
        }
        "openshift-ai" => {
            let ram = settings.openshift_ai_min_worker_memory_gib.saturating_mul(MIB_PER_GIB);
            (Extra::default(), Extra::new(settings.openshift_ai_min_worker_cpu_cores, ram))
        }
        _ => (Extra::default(), Extra::default()),
    }
}

fn both(cpu: i64, ram: i64) -> (Extra, Extra) {
    let words = [format!("{ram} MiB of additional RAM"), format!("{cpu} additional CPUs")];
    let extra = || Extra::new(cpu, ram).words(&[&words[0], &words[1]]);
    (extra(), extra())
}

fn odf(settings: &Operators) -> (Extra, Extra) {
    let mib = |gib: i64| gib.saturating_mul(MIB_PER_GIB);
    let master = Extra::new(
        settings.odf_per_host_cpu_compact_mode,
        mib(settings.odf_per_host_memory_gib_compact_mode),
    );
    let worker = Extra::new(
        settings.odf_per_host_cpu_standard_mode,
        mib(settings.odf_per_host_memory_gib_standard_mode),
    );
    let hosts = settings.odf_num_minimum_host;
    let master = master.words(&[
        "Requirements apply only for master-only clusters",
        &format!("At least {hosts} hosts"),
        &format!("At least 1 non-boot SSD or HDD disk on {hosts} hosts"),
    ]);
    let worker = worker.words(&[
        "Requirements apply only for clusters with workers",
        &format!("{} GiB of additional RAM for each non-boot disk", settings.odf_per_disk_ram_gib),
        &format!("{} additional CPUs for each non-boot disk", settings.odf_per_disk_cpu_count),
        &format!("At least {hosts} workers"),
        &format!("At least 1 non-boot SSD or HDD disk on {hosts} workers"),
    ]);
    (master, worker)
}

fn cnv(cluster: &Cluster, settings: &Operators) -> (Extra, Extra) {
    let single = topology::is_single_node(cluster);
    let version = base(&cluster.openshift_version).unwrap_or_default();
    let hostpath = single && settings.cnv_sno_install_hpp && ((4, 10, 0)..(4, 12, 0)).contains(&version);
    let with_words = |mut extra: Extra| {
        extra = extra.words(&[
            "Additional 1GiB of RAM per each supported GPU",
            "Additional 1GiB of RAM per each supported SR-IOV NIC",
            "CPU has virtualization flag (vmx or svm)",
        ]);
        if hostpath {
            let size = settings.cnv_sno_pool_size_request_hpp_gib;
            extra.words.push(format!("Additional disk with {size} Gi"));
        }
        extra
    };
    let master = if single { Extra::new(6, 510) } else { Extra::new(4, 150) };
    (with_words(master), with_words(Extra::new(2, 360)))
}

/// Memory of the logical volume manager: newer ones need less, and one setting overrides all.
fn lvm_memory(version: &str, settings: &Operators) -> i64 {
    let by_version = match base(version).unwrap_or_default() {
        version if version < (4, 13, 0) => 1200,
        version if version < (4, 16, 0) => 400,
        _ => 100,
    };
    settings.lvm_memory_per_host_mib.parse().unwrap_or(by_version)
}
