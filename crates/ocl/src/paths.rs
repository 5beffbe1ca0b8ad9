//! Where things are on a bootstrap host and on nodes, and what they are called: the generator lays down what the builder reads
//! (ocl-day1 §B4).

/// What the generator gave to the builder.
pub const DIR: &str = "/opt/openshift/ocl";
/// [`Config`](crate::config::Config).
pub const CONFIG: &str = "/opt/openshift/ocl/config.json";
/// Registry credentials: `<name>.json` for each secret that a MachineOSConfig names.
pub const SECRETS: &str = "/opt/openshift/ocl/secrets";
/// Files that the build sees besides, in the folders of [`EXTRA_INPUTS`].
pub const EXTRA: &str = "/opt/openshift/ocl/extra";
/// The user's objects that become such folders, each under its own name.
pub const EXTRA_INPUTS: [&str; 3] = ["etc-pki-entitlement", "etc-pki-rpm-gpg", "etc-yum-repos-d"];
/// Certificate, key, passwords and settings of the bootstrap host's registry.
pub const REGISTRY: &str = "/opt/openshift/ocl/registry";
/// What the builder keeps of its progress.
pub const STATE: &str = "/opt/openshift/ocl/state";
/// Where the disk space is that a build uses, until it has ended.
pub const SCRATCH: &str = "/var/ocl-scratch";
/// [`Status`](crate::status::Status), replaced as a whole.
pub const STATUS: &str = "/opt/openshift/ocl/state/status.json";
/// Stands there when a build has failed for good, or nobody wants it any more: then `bootkube.service` is not started again, and no builder
/// builds.
pub const FAILED: &str = "/opt/openshift/ocl/failed";
/// The drop-in that holds bootkube back once [`FAILED`] is there.
pub const BOOTKUBE_DROP_IN: &str = "10-ocl.conf";
/// Starts the builder, whatever way its program came to the host.
pub const LAUNCHER: &str = "/usr/local/bin/ocl-bootstrap";
/// The script of the temporary control plane, which gets [`HOOK`].
pub const BOOTKUBE: &str = "/usr/local/bin/bootkube.sh";
/// The line in [`BOOTKUBE`] that waits for the image.
pub const HOOK: &str = "/usr/local/bin/ocl-bootstrap run || exit 1";

/// What a control plane node's registry serves from: certificate, key, passwords, settings, the list of what it must have.
pub const NODE_REGISTRY: &str = "/etc/ocl-registry";
/// The images that a control plane node's registry serves.
pub const NODE_DATA: &str = "/var/lib/ocl-registry";
/// The registry of a control plane node.
pub const REGISTRY_UNIT: &str = "ocl-registry.service";
/// Fills the registry of a control plane node that lacks something from its peers.
pub const SYNC_UNIT: &str = "ocl-registry-sync.service";
/// Tries that again.
pub const SYNC_TIMER: &str = "ocl-registry-sync.timer";
/// The program behind [`SYNC_UNIT`].
pub const SYNC_PROGRAM: &str = "/usr/local/bin/ocl-registry-sync";

/// Where the controller builds in the cluster: its own namespace.
pub const NAMESPACE: &str = "assisted-installer";
/// The ConfigMap that says what is built in the cluster: the text of a [`Config`](crate::config::Config), and the image that the
/// builder is in.
pub const CLUSTER_CONFIG: &str = "ocl-build-config";
/// The text in [`CLUSTER_CONFIG`].
pub const CLUSTER_CONFIG_TEXT: &str = "config.json";
/// The builder's image in [`CLUSTER_CONFIG`].
pub const CLUSTER_CONFIG_IMAGE: &str = "image";
/// What a builder in the cluster tells in its ConfigMap: [`Progress`](crate::builder::Progress), as text.
pub const TOLD_PROGRESS: &str = "progress.json";
/// When it told that last.
pub const TOLD_AT: &str = "told-at";

/// The MachineConfig of a pool that makes its image the one that nodes boot, once the image is there.
pub fn image_machine_config(pool: assisted_wire::on_cluster_layering::Pool) -> String {
    format!("09-ocl-osimageurl-{pool}")
}
