//! What the operators that come with a cluster need.

use crate::topic::topic;

topic! {
    /// Operators installed with a cluster.
    Operators {
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
        /// Memory that the AI operator takes on each worker, GiB.
        openshift_ai_min_worker_memory_gib: i64 = 32, "OPENSHIFT_AI_MIN_WORKER_MEMORY_GIB";
        /// Processors that the AI operator takes on each worker.
        openshift_ai_min_worker_cpu_cores: i64 = 8, "OPENSHIFT_AI_MIN_WORKER_CPU_CORES";
    }
}
