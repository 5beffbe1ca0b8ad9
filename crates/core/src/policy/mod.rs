//! What an administrator decides for all clusters, as far as the domain decides by it: limits, defaults, switches, images and
//! what is offered. Where each value comes from is the caller's business.

mod offer;
mod requirements;
mod timeouts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;
use assisted_wire::infra_env::ImageType;
use assisted_wire::secret::Secret;
use ipnet::{Ipv4Net, Ipv6Net};

pub use offer::Versions;
pub use requirements::{Requirements, RequirementsError, RoleRequirements};
pub use timeouts::{FinalizingStageTimeouts, HostStageTimeouts, Timeouts};

/// Declares a part of the policy: `field: Type = default;`.
macro_rules! part {
    ($(#[$attr:meta])* $name:ident {
        $($(#[$doc:meta])+ $field:ident: $type:ty = $default:expr;)+
    }) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$doc])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}

pub(crate) use part;

/// Everything that an administrator decides for all clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    pub service: Service,
    pub images: Images,
    pub versions: Versions,
    pub clusters: Clusters,
    pub hosts: Hosts,
    pub hardware: Hardware,
    pub timeouts: Timeouts,
    pub host_stages: HostStageTimeouts,
    pub finalizing_stages: FinalizingStageTimeouts,
    pub operators: Operators,
    pub layering: Layering,
}

part! {
    /// The service itself.
    Service {
        /// External URL of the service; empty: not known.
        service_base_url: String = String::new();
        /// External URL of the image service; empty: not known.
        image_service_base_url: String = String::new();
        /// Whether there is an image service.
        enable_image_service: bool = true;
        /// Whether requests need a token.
        authenticated: bool = false;
        /// Who drives the installation: `assisted-installer` or `agent-installer`.
        install_invoker: String = "assisted-installer".to_owned();
        /// Whether an account service keeps subscriptions of clusters.
        subscriptions: bool = false;
        /// Whether installations are only simulated.
        simulated: bool = false;
        /// Whether objects of a hub describe clusters, and its controllers follow their nodes.
        kube_api: bool = false;
        /// After how long without a touch a cluster is deregistered.
        deleted_inactive_after: Duration = Duration::from_secs(480 * 3600);
    }
}

part! {
    /// Container images, and the images of infra-envs.
    Images {
        /// Image of the agent; empty: agents are left as they are.
        agent: String = "quay.io/assisted/assisted-installer-agent:latest".to_owned();
        /// Whether the agent comes onto a host as a container image; else as a program.
        agent_as_image: bool = false;
        /// Image of the installer.
        installer: String = "quay.io/assisted/assisted-installer:latest".to_owned();
        /// Image of the controller in the new cluster.
        controller: String = "quay.io/assisted/assisted-installer-controller:latest".to_owned();
        /// Mirror that release images are read from to run the installer; empty: none.
        release_image_mirror: String = String::new();
        /// What the service calls its own version.
        self_version: String = "Unknown".to_owned();
        /// Tag of the release that the service is part of.
        release_tag: String = String::new();
        /// Type of an infra-env's image when none is asked for.
        iso_image_type: ImageType = ImageType::FullIso;
        /// Whether an agent of another version is replaced.
        enable_upgrade_agent: bool = true;
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(std::net::Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(std::net::Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0), prefix)
}

part! {
    /// Defaults and switches of clusters.
    Clusters {
        /// Network of the pods.
        cluster_network_cidr: Ipv4Net = v4(10, 128, 0, 0, 14);
        /// Length of the prefix that each host gets out of the network of the pods.
        cluster_network_host_prefix: i64 = 23;
        /// IPv6 network of the pods.
        cluster_network_cidr_ipv6: Ipv6Net = v6(0xfd01, 48);
        /// Length of the prefix that each host gets out of the IPv6 network of the pods.
        cluster_network_host_prefix_ipv6: i64 = 64;
        /// Network of the services.
        service_network_cidr: Ipv4Net = v4(172, 30, 0, 0, 16);
        /// IPv6 network of the services.
        service_network_cidr_ipv6: Ipv6Net = v6(0xfd02, 112);
        /// Time source when none is asked for.
        ntp_default_server: String = String::new();
        /// Domains whose DNS records the service makes and deletes.
        managed_domains: BTreeSet<String> = BTreeSet::new();
        /// Registries that need no credentials.
        public_container_registries: Vec<String> = Vec::new();
        /// Credentials for the staging registry, as `user:password`, added to every pull secret.
        registry_creds: Secret = Secret::default();
        /// Whether IPv6 can be used.
        ipv6_support: bool = true;
        /// Whether disks can be encrypted.
        disk_encryption_support: bool = true;
        /// Cipher of encrypted disks; empty: that of the OS.
        disk_encryption_cipher: String = String::new();
        /// Whether two control-plane nodes with an arbiter can be installed.
        tna_clusters_support: bool = true;
        /// Whether two control-plane nodes with fencing can be installed.
        tnf_clusters_support: bool = false;
        /// Whether a single node runs its own name server.
        enable_single_node_dnsmasq: bool = false;
        /// Whether the end of an installation waits for the cluster's own version to settle.
        check_cluster_version: bool = true;
        /// Whether every request for a certificate of a node is approved; else only those of the inventory's hosts.
        approve_all_csrs: bool = false;
        /// Whether the first reboot of a new node may be left out.
        enable_skip_mco_reboot: bool = true;
    }
}

part! {
    /// Hosts, their checks and steps.
    Hosts {
        /// How long a host may be silent before it counts as disconnected.
        max_disconnection_time: Duration = Duration::from_secs(3 * 60);
        /// Whether roles are chosen for hosts that have none.
        enable_auto_assign: bool = true;
        /// Host validations that are switched off.
        disabled_host_validations: BTreeSet<HostValidationId> = BTreeSet::new();
        /// Cluster validations that are switched off.
        disabled_cluster_validations: BTreeSet<ClusterValidationId> = BTreeSet::new();
        /// Steps that are never sent.
        disabled_steps: Vec<String> = Vec::new();
        /// Time limit of the disk-speed check.
        disk_check_timeout: Duration = Duration::from_secs(8 * 60);
        /// Time limit of the image-availability check.
        image_availability_timeout: Duration = Duration::from_secs(16 * 60);
        /// Largest inventory that an agent sends, bytes; 0: no limit.
        agent_inventory_max_size: u64 = 0;
        /// Smallest disk that an agent reports, bytes; 0: all.
        agent_inventory_disk_min_size: u64 = 0;
        /// MAC address of the host that must become the bootstrap host; empty: any.
        bootstrap_host_mac: String = String::new();
        /// Whether virtual interfaces are reported.
        enable_virtual_interfaces: bool = false;
        /// Whether the time limits of an installation only warn.
        enable_soft_timeouts: bool = false;
    }
}

part! {
    /// What hardware is required.
    Hardware {
        /// Requirements by version and role.
        requirements: Arc<Requirements> = Requirements::built_in();
        /// Largest difference between the clocks of a cluster's hosts, minutes.
        max_time_diff_minutes: i64 = 4;
        /// Product names of machines that need no more than an edge worker.
        edge_workers_product_names: Vec<String> = vec!["BlueField SoC".to_owned()];
    }
}

part! {
    /// Image mode at installation.
    Layering {
        /// Whether clusters may ask for it.
        preview: bool = false;
        /// The oldest release that takes images over.
        min_openshift_version: String = "4.21.0-0".to_owned();
        /// Whether MachineOSConfigs are made where users bring none.
        allow_generated_mosc: bool = false;
        /// Smallest installation disk that images are built on, GB.
        min_disk_gb: i64 = 120;
        /// Least memory that images are built in, GiB.
        min_memory_gib: i64 = 64;
        /// Room for the images of one pool on each control plane node, GiB.
        replica_gib: i64 = 8;
    }
}

part! {
    /// Operators installed with a cluster.
    Operators {
        /// How long each operator may take to be there, instead of its own limit; 0: its own limit.
        operator_timeout: Duration = Duration::ZERO;
        /// Processors that logical volumes take on each host.
        lvm_cpu_per_host: i64 = 1;
        /// Memory that logical volumes take on each host, MiB; `None`: by version.
        lvm_memory_per_host_mib: Option<i64> = None;
        /// Disks that data foundation needs.
        odf_num_minimum_disk: i64 = 3;
        /// Processors that data foundation takes for each disk.
        odf_per_disk_cpu_count: i64 = 2;
        /// Memory that data foundation takes for each disk, GiB.
        odf_per_disk_ram_gib: i64 = 5;
        /// Hosts that data foundation needs.
        odf_num_minimum_host: i64 = 3;
        /// Processors that data foundation takes on each host, compact mode.
        odf_per_host_cpu_compact_mode: i64 = 6;
        /// Memory that data foundation takes on each host, compact mode, GiB.
        odf_per_host_memory_gib_compact_mode: i64 = 19;
        /// Processors that data foundation takes on each host, standard mode.
        odf_per_host_cpu_standard_mode: i64 = 8;
        /// Memory that data foundation takes on each host, standard mode, GiB.
        odf_per_host_memory_gib_standard_mode: i64 = 19;
        /// Smallest disk that data foundation takes, GB.
        odf_min_disk_size_gb: i64 = 25;
        /// Whether virtualization is the vendor's; else it is the community's.
        cnv_mode: bool = true;
        /// Whether virtualization on a single node brings its own storage.
        cnv_sno_install_hpp: bool = true;
        /// Disk that this storage needs, GiB.
        cnv_sno_pool_size_request_hpp_gib: i64 = 50;
        /// Processors that sandboxed containers take on each host.
        osc_cpu_per_host: i64 = 1;
        /// Memory that sandboxed containers take on each host, MiB.
        osc_memory_per_host_mib: i64 = 1024;
        /// Processors that the migration toolkit takes on each host.
        mtv_cpu_per_host: i64 = 1;
        /// Memory that the migration toolkit takes on each host, MiB.
        mtv_memory_per_host_mib: i64 = 1024;
        /// GPUs that virtualization hands to virtual machines, as `vendor:device`.
        cnv_supported_gpus: Vec<String> = texts(&["10de:1db6", "10de:1eb8"]);
        /// Network interfaces that virtualization hands to virtual machines, as `vendor:device`.
        cnv_supported_sriov_nics: Vec<String> =
            texts(&["8086:158b", "15b3:1015", "15b3:1017", "15b3:1013", "15b3:101b"]);
        /// The oldest version that the multicluster engine runs on.
        mce_min_openshift_version: String = "4.10.0".to_owned();
        /// Whether the operator of NVIDIA's GPUs needs one in the cluster.
        nvidia_require_gpu: bool = true;
        /// Vendors whose GPUs are NVIDIA's.
        nvidia_supported_gpus: Vec<String> = texts(&["10de"]);
        /// Whether the operator of AMD's GPUs needs one in the cluster.
        amd_require_gpu: bool = true;
        /// Vendors whose GPUs are AMD's.
        amd_supported_gpus: Vec<String> = texts(&["1002"]);
        /// What remedies a node that fails.
        self_node_remediation_template_name: String = "self-node-remediation-automatic-strategy-template".to_owned();
        /// How many nodes must be well for others to be remedied: a number, or percent.
        min_percentage_of_matching_nodes_for_remediation: String = "51%".to_owned();
        /// For how long a node may not be ready before it is remedied.
        node_healthcheck_unready_duration: String = "300s".to_owned();
        /// For how long nothing may be known of a node before it is remedied.
        node_healthcheck_unknown_duration: String = "300s".to_owned();
        /// Workers that the AI operator needs.
        openshift_ai_min_worker_nodes: i64 = 2;
        /// Memory that the AI operator takes on each worker, GiB.
        openshift_ai_min_worker_memory_gib: i64 = 32;
        /// Processors that the AI operator takes on each worker.
        openshift_ai_min_worker_cpu_cores: i64 = 8;
    }
}
