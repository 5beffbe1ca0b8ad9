//! Errors that end a lab.

use std::path::{Path, PathBuf};

use assisted_bmc::RedfishError;
use assisted_lab_tools::Missing;
use assisted_lab_tools::wait::Late;

use crate::image::ImageError;
use crate::machine::MachineError;
use crate::namespace::NamespaceError;
use crate::network::NetworkError;
use crate::release::ReleaseError;

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("interrupted")]
    Interrupted,
    #[error("KVM failed with {machine} in the middle of the installation; its logs are in {}", dir.display())]
    KvmFailed { machine: String, dir: PathBuf },
    #[error("a lab runs in {} (process {pid}): end it with `assisted-lab down`, or choose another folder with --dir", dir.display())]
    Running { dir: PathBuf, pid: i32 },
    #[error("there is no lab in {}: start one with `assisted-lab up`", .0.display())]
    None(PathBuf),
    #[error("Kubernetes has not been built: run `cargo xtask setup`")]
    NoKubernetes,
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Redfish(#[from] RedfishError),
    #[error("{} lists no machines for a lab: {reason}", path.display())]
    Rack { path: PathBuf, reason: String },
    #[error(
        "this can go wrong with virtual machines alone: their boot order and their network are the lab's"
    )]
    OnlyVirtual,
    #[error("this goes wrong with a machine whose role is {0}, and there is none left: add one")]
    NoTarget(&'static str),
    #[error("what ends an installation has to go wrong alone: nothing else would come to its end")]
    NotWithOthers,
    #[error("images can fail in image mode alone: add --image-mode")]
    OnlyImageMode,
    #[error("a single node is never to build on its disk: take another topology")]
    OnlySeveralNodes,
    #[error("images fail so on machines of namespaces alone: add --namespaces")]
    OnlyNamespacesFail,
    #[error("an operator can fail or be missing on machines of namespaces alone: add --namespaces")]
    OnlyNamespaces,
    #[error(
        "the image of workers is built in the cluster on machines of namespaces alone: add --namespaces, or have it built on the bootstrap \
         host. The lab's registry has no image with the builder, which a virtual machine would pull"
    )]
    OnlyNamespacesBuild,
    #[error(
        "nodes switch to their image on machines of namespaces alone: add --namespaces. A virtual machine's system has a program of the name \
         rpm-ostree, which changes nothing, so that what switches other systems leaves it alone"
    )]
    OnlyNamespacesSwitch,
    #[error(
        "images are pushed to a registry outside of the cluster on machines of namespaces alone: add --namespaces. Virtual machines don't know \
         its authority"
    )]
    OnlyNamespacesPush,
    #[error("the lab's cluster knows no operator {0} that could fail or be missing")]
    NoOperator(String),
    #[error("the table of operators can't be read: {0}")]
    Operators(#[from] assisted_lab_kinds::Error),
    #[error("{host} is no node of the cluster: it is {status}: {why}")]
    NotAdded { host: String, status: String, why: String },
    #[error("{0} is missing: build it (`cargo build --bins`), or say where it is")]
    NoProgram(PathBuf),
    #[error("{command} failed: {said}")]
    Command { command: String, said: String },
    #[error("a certificate can't be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("a password can't be kept: {0}")]
    Password(#[from] bcrypt::BcryptError),
    #[error("{} has no code for the first administrator", .0.display())]
    NoCode(PathBuf),
    #[error(
        "virtual and real machines boot the live ISO alone: the lab has no disk image that a machine boots with user data and is installed beside (--cluster-api live-iso, or --namespaces)"
    )]
    OnlyLiveIso,
    #[error(
        "metal3 inspects machines of namespaces alone, and has those installed: add --namespaces. The lab's agent of Ironic is made for them"
    )]
    OnlyNamespacesConverged,
    #[error("the core of Cluster API has not been built: run `cargo xtask setup cluster-api`")]
    NoClusterApi,
    #[error("{object} is not what the lab reads of it: {why}")]
    Object { object: String, why: String },
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error(transparent)]
    Late(#[from] Late),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

impl LabError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
