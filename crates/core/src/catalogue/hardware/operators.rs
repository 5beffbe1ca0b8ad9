//! What operators require of hosts, before they are there and once they are (validations §4.5, §8.3).

use assisted_base::version::{at_least, below};
use assisted_wire::cluster::Cluster;
use assisted_wire::requirements::{
    ClusterHostRequirementsDetails as Details, HostTypeHardwareRequirements,
    HostTypeHardwareRequirementsWrapper, OperatorHardwareRequirements, OperatorHostRequirements,
};

use super::selection::SelectionInput;
use crate::catalogue::operator::catalogue::{OLM, Operator};
use crate::catalogue::operator::{self, Extra, HostView, Preflight, RolePreflight};
use crate::model::topology;
use crate::policy::Operators;

/// What each operator would require, selected or not, by name.
pub(super) fn preflight(cluster: &Cluster, policy: &Operators) -> Vec<OperatorHardwareRequirements> {
    OLM.iter().map(|operator| of_operator(operator, cluster, policy)).collect()
}

/// What each operator of a host's cluster requires of the host.
pub(super) fn of_host(input: &SelectionInput<'_>) -> Vec<OperatorHostRequirements> {
    let Some(view) = HostView::of(input) else { return Vec::new() };
    let requirements = operator::requirements(&view);
    let listed = requirements.map(|(operator, extra)| OperatorHostRequirements {
        operator_name: operator.name.to_owned(),
        requirements: Some(details(extra)),
    });
    listed.collect()
}

fn details(extra: Extra) -> Details {
    Details { cpu_cores: extra.cpu_cores, ram_mib: extra.ram_mib, ..Details::default() }
}

fn of_operator(operator: &Operator, cluster: &Cluster, policy: &Operators) -> OperatorHardwareRequirements {
    let plugin = operator::find(operator.name).and_then(|own| own.plugin);
    let Preflight { master, worker } = match plugin {
        Some(plugin) => plugin.preflight(cluster, policy),
        None => preflight_of(operator.name, cluster, policy),
    };
    let role = |role: RolePreflight| HostTypeHardwareRequirements {
        quantitative: Some(details(role.extra)),
        qualitative: Some(role.words),
    };
    OperatorHardwareRequirements {
        operator_name: operator.name.to_owned(),
        dependencies: Some(
            operator.dependencies(topology::is_single_node(cluster)).map(str::to_owned).collect(),
        ),
        requirements: Some(HostTypeHardwareRequirementsWrapper {
            master: Some(role(master)),
            worker: Some(role(worker)),
        }),
    }
}

/// What the operators that are no plug-in yet would require.
fn preflight_of(name: &str, cluster: &Cluster, policy: &Operators) -> Preflight {
    match name {
        "cnv" => cnv(cluster, policy),
        "mtv" => both(policy.mtv_cpu_per_host, policy.mtv_memory_per_host_mib),
        "osc" => both(policy.osc_cpu_per_host, policy.osc_memory_per_host_mib),
        // Told so of a single node, too, whatever is then required of its host.
        "mce" => Preflight::of_both(RolePreflight::new(Extra::with_gib(4, 16), &[])),
        "openshift-ai" => {
            let extra = Extra::with_gib(
                policy.openshift_ai_min_worker_cpu_cores,
                policy.openshift_ai_min_worker_memory_gib,
            );
            Preflight { worker: RolePreflight::new(extra, &[]), ..Preflight::default() }
        }
        _ => Preflight::default(),
    }
}

fn both(cpu: i64, ram: i64) -> Preflight {
    let words = [format!("{ram} MiB of additional RAM"), format!("{cpu} additional CPUs")];
    Preflight::of_both(RolePreflight::new(Extra::new(cpu, ram), &[&words[0], &words[1]]))
}

fn cnv(cluster: &Cluster, policy: &Operators) -> Preflight {
    let single = topology::is_single_node(cluster);
    let version = &cluster.openshift_version;
    let hostpath = single && policy.cnv_sno_install_hpp && at_least(version, 4, 10) && below(version, 4, 12);
    let of = |extra: Extra| {
        let mut role = RolePreflight::new(
            extra,
            &[
                "Additional 1GiB of RAM per each supported GPU",
                "Additional 1GiB of RAM per each supported SR-IOV NIC",
                "CPU has virtualization flag (vmx or svm)",
            ],
        );
        if hostpath {
            role.words.push(format!("Additional disk with {} Gi", policy.cnv_sno_pool_size_request_hpp_gib));
        }
        role
    };
    let master = if single { Extra::new(6, 510) } else { Extra::new(4, 150) };
    Preflight { master: of(master), worker: of(Extra::new(2, 360)) }
}
