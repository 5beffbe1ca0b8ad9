//! What the operators that come with a cluster need.

use std::time::Duration;

use crate::topic::topic;

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

topic! {
    /// Operators installed with a cluster.
    Operators {
        /// How long each operator that a cluster selects may take to be there, instead of its own limit; 0: its own limit.
        operator_timeout: Duration = Duration::ZERO, "OLM_OPERATOR_TIMEOUT";
        /// Processors that logical volumes take on each host.
        lvm_cpu_per_host: i64 = 1, "LVM_CPU_PER_HOST";
        /// Memory that logical volumes take on each host, MiB; empty: by version.
        lvm_memory_per_host_mib: String = String::new(), "LVM_MEMORY_PER_HOST_MIB";
        /// Disks that data foundation needs.
        odf_num_minimum_disk: i64 = 3, "ODF_NUM_MINIMUM_DISK";
        /// Processors that data foundation takes for each disk.
        odf_per_disk_cpu_count: i64 = 2, "ODF_PER_DISK_CPU_COUNT";
        /// Memory that data foundation takes for each disk, GiB.
        odf_per_disk_ram_gib: i64 = 5, "ODF_PER_DISK_RAM_GIB";
        /// Hosts that data foundation needs.
        odf_num_minimum_host: i64 = 3, "ODF_NUM_MINIMUM_HOST";
        /// Processors that data foundation takes on each host, compact mode.
        odf_per_host_cpu_compact_mode: i64 = 6, "ODF_PER_HOST_CPU_COMPACT_MODE";
        /// Memory that data foundation takes on each host, compact mode, GiB.
        odf_per_host_memory_gib_compact_mode: i64 = 19, "ODF_PER_HOST_MEMORY_GIB_COMPACT_MODE";
        /// Processors that data foundation takes on each host, standard mode.
        odf_per_host_cpu_standard_mode: i64 = 8, "ODF_PER_HOST_CPU_STANDARD_MODE";
        /// Memory that data foundation takes on each host, standard mode, GiB.
        odf_per_host_memory_gib_standard_mode: i64 = 19, "ODF_PER_HOST_MEMORY_GIB_STANDARD_MODE";
        /// Smallest disk that data foundation takes, GB.
        odf_min_disk_size_gb: i64 = 25, "ODF_MIN_DISK_SIZE_GB";
        /// Whether virtualization is the vendor's; else it is the community's.
        cnv_mode: bool = true, "CNV_MODE";
        /// Whether virtualization on a single node brings its own storage.
        cnv_sno_install_hpp: bool = true, "CNV_SNO_INSTALL_HPP";
        /// Disk that this storage needs, GiB.
        cnv_sno_pool_size_request_hpp_gib: i64 = 50, "CNV_SNO_POOL_SIZE_REQUEST_HPP_GIB";
        /// Processors that sandboxed containers take on each host.
        osc_cpu_per_host: i64 = 1, "OSC_CPU_PER_HOST";
        /// Memory that sandboxed containers take on each host, MiB.
        osc_memory_per_host_mib: i64 = 1024, "OSC_MEMORY_PER_HOST_MIB";
        /// Processors that the migration toolkit takes on each host.
        mtv_cpu_per_host: i64 = 1, "MTV_CPU_PER_HOST";
        /// Memory that the migration toolkit takes on each host, MiB.
        mtv_memory_per_host_mib: i64 = 1024, "MTV_MEMORY_PER_HOST_MIB";
        /// GPUs that virtualization hands to virtual machines, as vendor:device.
        cnv_supported_gpus: Vec<String> = texts(&["10de:1db6", "10de:1eb8"]), "CNV_SUPPORTED_GPUS";
        /// Network interfaces that virtualization hands to virtual machines, as vendor:device.
        cnv_supported_sriov_nics: Vec<String> =
            texts(&["8086:158b", "15b3:1015", "15b3:1017", "15b3:1013", "15b3:101b"]), "CNV_SUPPORTED_SRIOV_NICS";
        /// The oldest version that the multicluster engine runs on.
        mce_min_openshift_version: String = "4.10.0".to_owned(), "MCE_MIN_OPENSHIFT_VERSION";
        /// Whether the operator of NVIDIA's GPUs needs one in the cluster.
        nvidia_require_gpu: bool = true, "NVIDIA_REQUIRE_GPU";
        /// Vendors whose GPUs are NVIDIA's.
        nvidia_supported_gpus: Vec<String> = texts(&["10de"]), "NVIDIA_SUPPORTED_GPUS";
        /// Whether the operator of AMD's GPUs needs one in the cluster.
        amd_require_gpu: bool = true, "AMD_REQUIRE_GPU";
        /// Vendors whose GPUs are AMD's.
        amd_supported_gpus: Vec<String> = texts(&["1002"]), "AMD_SUPPORTED_GPUS";
        /// What remedies a node that fails.
        self_node_remediation_template_name: String =
            "self-node-remediation-automatic-strategy-template".to_owned(), "SELF_NODE_REMEDIATION_TEMPLATE_NAME";
        /// How many nodes must be well for others to be remedied: a number, or percent.
        min_percentage_of_matching_nodes_for_remediation: String =
            "51%".to_owned(), "MIN_PERCENTAGE_OF_MATCHING_NODES_FOR_REMEDIATION";
        /// For how long a node may not be ready before it is remedied.
        node_healthcheck_unready_duration: String =
            "300s".to_owned(), "NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNREADY_DURATION";
        /// For how long nothing may be known of a node before it is remedied.
        node_healthcheck_unknown_duration: String =
            "300s".to_owned(), "NODE_HEALTHCHECK_UNHEALTHY_CONDITIONS_UNKNOWN_DURATION";
        /// Workers that the AI operator needs.
        openshift_ai_min_worker_nodes: i64 = 2, "OPENSHIFT_AI_MIN_WORKER_NODES";
        /// Memory that the AI operator takes on each worker, GiB.
        openshift_ai_min_worker_memory_gib: i64 = 32, "OPENSHIFT_AI_MIN_WORKER_MEMORY_GIB";
        /// Processors that the AI operator takes on each worker.
        openshift_ai_min_worker_cpu_cores: i64 = 8, "OPENSHIFT_AI_MIN_WORKER_CPU_CORES";
    }
}
