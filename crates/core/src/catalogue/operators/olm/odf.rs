//! Data foundation: storage spread over disks of at least three nodes (validations §8.3).

use assisted_base::version::{Base, base, below};
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::host::HostRole;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Membership, Namespace, OperatorRequirements, Package, PlannedCluster,
    Preflight, RolePreflight, Subscribed, operator,
};
use crate::catalogue::operators::disks::{Candidates, engine_gb};
use crate::catalogue::operators::view::{ClusterView, HostView, RoleCount};
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::policy;

const NAMESPACE: &str = "openshift-storage";

operator! {
    "odf", OdfRequirementsSatisfied, "OpenShift Data Foundation";
    namespace: NAMESPACE,
    subscription: "odf-operator",
    depends_on: &["lso"],
    bundle: Membership::RequiredOfSeveralNodes("openshift-ai"),
    rule: Rule {
        platforms: &[PlatformExclusion::OnOci],
        architectures: &[Cpu::Arm64],
        features: &[Id::Sno, Id::Lvm, Id::ExternalPlatformOci],
        ..Rule::new(Id::Odf, "OpenShift Data Foundation")
    },
    package: Package {
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("openshift-storage-operatorgroup")),
        files: "50_openshift-odf_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Odf,
}

struct Odf;

/// The nodes that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The control plane, when there are no others.
    Compact,
    /// Workers, when there are enough.
    Standard,
}

impl Mode {
    /// The mode of a cluster whose users gave these roles; `None`: they go with none.
    fn of(roles: RoleCount, policy: &policy::Operators) -> Option<Self> {
        let RoleCount { masters, arbiters, workers, auto_assign } = roles;
        let three = masters + auto_assign == 3;
        let enough = auto_assign == 0 && masters + arbiters >= policy.odf_num_minimum_host;
        if workers == 0 && (three || enough) {
            Some(Self::Compact)
        } else if (masters >= 3 || (masters >= 2 && arbiters > 0)) && workers >= policy.odf_num_minimum_host {
            Some(Self::Standard)
        } else {
            None
        }
    }

    fn runs_on(self, role: HostRole) -> bool {
        (role == HostRole::Worker) == (self == Self::Standard)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Compact => "Compact",
            Self::Standard => "Standard",
        }
    }

    /// What it takes of a host that it runs on, disks apart.
    fn base(self, policy: &policy::Operators) -> OperatorRequirements {
        match self {
            Self::Compact => OperatorRequirements::with_gib(
                policy.odf_per_host_cpu_compact_mode,
                policy.odf_per_host_memory_gib_compact_mode,
            ),
            Self::Standard => OperatorRequirements::with_gib(
                policy.odf_per_host_cpu_standard_mode,
                policy.odf_per_host_memory_gib_standard_mode,
            ),
        }
    }

    fn insufficient(self, policy: &policy::Operators, least_gb: i64) -> Outcome {
        Outcome::failure(format!(
            "Insufficient resources to deploy ODF in {} mode. ODF requires a minimum of {} hosts. Each host must have \
             at least 1 additional disk of {least_gb} GB minimum and an installation disk.",
            self.title().to_lowercase(),
            policy.odf_num_minimum_host
        ))
        .required(format!("{} hosts with a disk of {least_gb} GB", policy.odf_num_minimum_host))
        .remedy("Attach further disks to the machines, or add machines that have some.")
    }
}

impl Behaviour for Odf {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        let policy = host.policy();
        let mode = Mode::of(host.assigned_of_all(), policy);
        let Some(mode) = mode.filter(|mode| mode.runs_on(host.selection.assigned)) else {
            return OperatorRequirements::default();
        };
        let least_gb = policy.odf_min_disk_size_gb;
        let disks = host.selection.inventory.map_or(0, |inventory| {
            Candidates::of(&host.selection.host.record.host, inventory, least_gb).large_enough
        });
        let disks = if mode == Mode::Compact { disks.max(1) } else { disks };
        let base = mode.base(policy);
        let each = OperatorRequirements::with_gib(policy.odf_per_disk_cpu_count, policy.odf_per_disk_ram_gib);
        OperatorRequirements {
            cpu_cores: base.cpu_cores.saturating_add(each.cpu_cores.saturating_mul(disks)),
            ram_mib: base.ram_mib.saturating_add(each.ram_mib.saturating_mul(disks)),
        }
    }

    fn preflight(&self, _: PlannedCluster<'_>, policy: &policy::Operators) -> Preflight {
        let hosts = policy.odf_num_minimum_host;
        let master = RolePreflight::new(
            Mode::Compact.base(policy),
            &[
                "Requirements apply only for master-only clusters",
                &format!("At least {hosts} hosts"),
                &format!("At least 1 non-boot SSD or HDD disk on {hosts} hosts"),
            ],
        );
        let worker = RolePreflight::new(
            Mode::Standard.base(policy),
            &[
                "Requirements apply only for clusters with workers",
                &format!("{} GiB of additional RAM for each non-boot disk", policy.odf_per_disk_ram_gib),
                &format!("{} additional CPUs for each non-boot disk", policy.odf_per_disk_cpu_count),
                &format!("At least {hosts} workers"),
                &format!("At least 1 non-boot SSD or HDD disk on {hosts} workers"),
            ],
        );
        Preflight { master, worker }
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing Inventory in the host.");
        };
        let roles = host.assigned_of_all();
        if host.selection.assigned == HostRole::AutoAssign && roles.total() != 3 {
            return Outcome::pending(
                "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For \
                 other scenarios, please manually assign the host role as either a control plane node or a worker.",
            )
            .measured(format!("{} hosts", roles.total()))
            .remedy("Give each host a role.");
        }
        let policy = host.policy();
        let Some(mode) = Mode::of(roles, policy).filter(|mode| mode.runs_on(host.selection.assigned)) else {
            return Outcome::success("");
        };
        let least_gb = policy.odf_min_disk_size_gb.saturating_add(engine_gb(host.cluster));
        let disks = Candidates::of(&host.selection.host.record.host, inventory, least_gb);
        match disks {
            Candidates { large_enough: 1.., .. } => {
                Outcome::success("").measured(format!("{} disks to store on", disks.large_enough))
            }
            Candidates { too_small: 1.., .. } => {
                let measured = format!("{} disks, all too small", disks.too_small);
                mode.insufficient(policy, least_gb).measured(measured)
            }
            _ => Outcome::failure(format!(
                "Insufficient disks, ODF requires at least one non-installation SSD or HDD disk on each host in {} mode.",
                mode.title().to_lowercase()
            ))
            .measured("no disk besides the one that is installed on")
            .required(format!("a disk of {least_gb} GB"))
            .remedy("Attach one more disk to the machine."),
        }
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        let policy = view.policy();
        let Some(mode) = Mode::of(view.assigned(), policy) else {
            return Outcome::failure(
                "The cluster must either have no dedicated worker nodes or at least three. Add or remove hosts, or \
                 change their roles configurations to meet the requirement.",
            )
            .measured(format!("{} dedicated workers", view.assigned().workers))
            .required("none, or at least three")
            .remedy("Add or remove hosts, or change their roles.");
        };
        let least_gb = policy.odf_min_disk_size_gb;
        let (mut hosts, mut disks) = (0, 0);
        let mut has_small_ones_only = false;
        for host in view.facts.hosts.iter().filter(|host| mode.runs_on(host.effective_role())) {
            let Some(inventory) = host.inventory.as_deref() else {
                return if host.report(ReportKind::Inventory).is_empty() {
                    Outcome::awaits_inventory("Missing Inventory in some of the hosts")
                } else {
                    Outcome::failure("Failed to parse the inventory of some of the hosts")
                        .measured("an inventory that can't be read")
                        .required("an inventory")
                        .remedy("Boot the host from a new discovery image, whose agent fits this service.")
                };
            };
            let found = Candidates::of(&host.record.host, inventory, least_gb);
            has_small_ones_only |= found.large_enough == 0 && found.too_small > 0;
            hosts += i64::from(found.large_enough > 0);
            disks += found.large_enough;
        }
        let measured = format!("{disks} disks on {hosts} hosts");
        if has_small_ones_only || hosts < policy.odf_num_minimum_host || disks < policy.odf_num_minimum_disk {
            return mode.insufficient(policy, least_gb).measured(measured);
        }
        Outcome::success(format!("ODF Requirements for {} Deployment are satisfied.", mode.title()))
            .measured(measured)
    }

    fn adapt(&self, subscribed: &mut Subscribed, version: &str, _: &policy::Operators) {
        if is_container_storage(version) {
            subscribed.name = "ocs-operator";
            subscribed.package.channel = Some("stable-4.8");
            subscribed.package.files = "50_openshift-ocs_";
        }
    }

    fn objects(&self, view: &ClusterView<'_>) -> Vec<Value> {
        let mut all = Vec::new();
        let version = &view.cluster.openshift_version;
        if below(version, 4, 19) && !is_container_storage(version) {
            all.push(json!({
                "apiVersion": "odf.openshift.io/v1alpha1", "kind": "StorageSystem",
                "metadata": {"name": "ocs-storagecluster-storagesystem", "namespace": NAMESPACE},
                "spec": {
                    "kind": "storagecluster.ocs.openshift.io/v1", "name": "ocs-storagecluster",
                    "namespace": NAMESPACE,
                },
            }));
        }
        all.push(storage_cluster(view));
        all
    }
}

/// Whether the version has the operator's predecessor. A beta version has what its release has; the replaced service gives
/// it what other versions have (operators §1, trap 9).
fn is_container_storage(version: &str) -> bool {
    base(version) == Some(Base(4, 8))
}

/// Disks of all hosts that it runs on.
fn disks(view: &ClusterView<'_>, mode: Mode) -> i64 {
    let least_gb = view.policy().odf_min_disk_size_gb;
    let hosts = view.facts.hosts.iter().filter(|host| mode.runs_on(host.effective_role()));
    let counts = hosts.filter_map(|host| {
        let inventory = host.inventory.as_deref()?;
        Some(Candidates::of(&host.record.host, inventory, least_gb).large_enough)
    });
    counts.sum()
}

/// The storage: a set of devices with as many as there are disks.
fn storage_cluster(view: &ClusterView<'_>) -> Value {
    let mode = Mode::of(view.assigned(), view.policy());
    let on_workers = || json!({"key": "node-role.kubernetes.io/worker", "operator": "Exists"});
    let placement = |app: &str| {
        json!({
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [on_workers()]}],
            }},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": 100,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]},
                },
            }]},
        })
    };
    let mut devices = json!({
        "name": "ocs-deviceset", "count": mode.map_or(0, |mode| disks(view, mode)), "replica": 1, "portable": false,
        "dataPVCTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}},
            "storageClassName": "localblock-sc", "volumeMode": "Block",
        }},
        "placement": placement("rook-ceph-osd"), "preparePlacement": placement("rook-ceph-osd-prepare"),
    });
    let resources = |limit: &str, memory: &str| json!({"limits": {"cpu": limit, "memory": memory}, "requests": {"cpu": "1", "memory": memory}});
    let mut spec = json!({
        "labelSelector": {"matchExpressions": [
            {"key": "node-role.kubernetes.io/worker", "operator": "In", "values": [""]},
        ]},
        "manageNodes": false, "flexibleScaling": true, "monDataDirHostPath": "/var/lib/rook",
    });
    if mode == Some(Mode::Compact) {
        devices["resources"] = resources("2", "5Gi");
        spec["resources"] = json!({"mds": resources("3", "8Gi"), "rgw": resources("2", "4Gi")});
    }
    spec["storageDeviceSets"] = json!([devices]);
    json!({
        "apiVersion": "ocs.openshift.io/v1", "kind": "StorageCluster",
        "metadata": {"name": "ocs-storagecluster", "namespace": NAMESPACE}, "spec": spec,
    })
}
