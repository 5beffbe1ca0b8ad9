//! Image mode at installation.

use crate::topic::topic;

topic! {
    /// Image mode at installation (onClusterLayering): images of nodes that are built while their cluster is installed.
    Layering {
        /// Whether clusters may ask for image mode. It is a preview: clusters are installed with it in a lab, on no machines of their own yet.
        preview: bool = false, "OCL_PREVIEW";
        /// The oldest release that can be installed in image mode.
        min_openshift_version: String = "4.21.0-0".to_owned(), "OCL_MIN_OPENSHIFT_VERSION";
        /// Whether MachineOSConfigs are made where users bring none; they need an external registry.
        allow_generated_mosc: bool = false, "OCL_ALLOW_GENERATED_MOSC";
        /// Smallest installation disk that images are built on, GB.
        min_disk_gb: i64 = 120, "OCL_MIN_DISK_GB";
        /// Least memory that images are built in where the disk is too small, and on single nodes, GiB.
        min_memory_gib: i64 = 64, "OCL_MIN_MEMORY_GIB";
        /// Room for one pool's images on the disk of each control plane node, GiB.
        replica_gib: i64 = 8, "OCL_REPLICA_GIB";
    }
}
