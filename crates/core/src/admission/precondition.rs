//! What may be done to a cluster in which of its states, apart from what its machine decides (state-machines §3.16).

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster::ClusterStatus::{self, *};

use crate::model::event::fill;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::policy::Policy;
use crate::state::cluster::state::list;

/// The service drives no installation itself, but is part of an installer's own image.
pub const AGENT_INSTALLER: &str = "agent-installer";

/// Something that is only done to clusters in some states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A host joins.
    AddHost,
    /// The description is changed.
    Update,
    /// The installation is started.
    Install,
    /// The kubeconfig that trusts the cluster's own ingress is read.
    Kubeconfig,
    /// The first administrator's password is read.
    KubeadminPassword(Invoker),
    /// The kubeconfig that does not know the cluster's own ingress is read.
    KubeconfigNoIngress(Invoker),
    /// Ignition configs and other generated files are read.
    Files,
    /// The certificate of the cluster's own ingress is uploaded.
    IngressCertificate,
    /// The finalizing stage is reported.
    FinalizingStage,
    /// It is removed.
    Deregister,
}

/// Who invokes installations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invoker {
    /// A service beside the cluster.
    Service,
    /// A service on one of the cluster's own machines: it needs some files early.
    AgentInstaller,
}

impl Invoker {
    /// The one of these settings.
    pub fn of(policy: &Policy) -> Self {
        if policy.service.install_invoker == AGENT_INSTALLER { Self::AgentInstaller } else { Self::Service }
    }
}

const HOSTS_JOIN: &[ClusterStatus] = &[Insufficient, Ready, PendingForInput, AddingHosts];
const INSTALLED_IN_PART: &[ClusterStatus] =
    &[Finalizing, Installed, Error, AddingHosts, Cancelled, InstallingPendingUserAction];
const GENERATED: &[ClusterStatus] =
    &[Installing, Finalizing, Installed, Error, AddingHosts, Cancelled, InstallingPendingUserAction];
const GENERATED_EARLY: &[ClusterStatus] = &[
    Installing,
    Finalizing,
    Installed,
    Error,
    AddingHosts,
    Cancelled,
    InstallingPendingUserAction,
    Ready,
    PreparingForInstallation,
];
const NOT_INSTALLING: &[ClusterStatus] = &[
    Insufficient,
    Ready,
    Error,
    PreparingForInstallation,
    PendingForInput,
    Finalizing,
    Installed,
    AddingHosts,
    Cancelled,
    InstallingPendingUserAction,
    Unmonitored,
];

const DOWNLOAD: &str =
    "cluster {id} is in {status} state, {what} can be downloaded only when status is one of: {states}";

/// In which states something may be done, and how it is refused in the others.
struct Precondition {
    states: &'static [ClusterStatus],
    refused_with: RefusalKind,
    /// Text with `{name}` where a value goes.
    text: &'static str,
    /// What a text about files calls them.
    what: &'static str,
}

impl Operation {
    fn precondition(self) -> Precondition {
        let precondition =
            |states, refused_with, text| Precondition { states, refused_with, text, what: "files" };
        let credentials = |invoker, name| match invoker {
            Invoker::AgentInstaller => {
                Precondition { what: name, ..precondition(GENERATED_EARLY, RefusalKind::Conflict, DOWNLOAD) }
            }
            Invoker::Service => precondition(GENERATED, RefusalKind::Conflict, DOWNLOAD),
        };
        match self {
            Self::AddHost => precondition(
                HOSTS_JOIN,
                RefusalKind::Conflict,
                "Host can register only in one of the following states: {states}",
            ),
            Self::Update => precondition(
                HOSTS_JOIN,
                RefusalKind::Conflict,
                "Cluster {id} is in {status} state, cluster can be updated only in one of {states}",
            ),
            Self::Install => precondition(
                &[Ready],
                RefusalKind::Conflict,
                "Cluster is not ready for installation, {status_info} validation_info={validations_info}",
            ),
            Self::Kubeconfig => Precondition {
                what: "kubeconfig",
                ..precondition(INSTALLED_IN_PART, RefusalKind::Conflict, DOWNLOAD)
            },
            Self::KubeadminPassword(invoker) => credentials(invoker, "kubeadmin-password"),
            Self::KubeconfigNoIngress(invoker) => credentials(invoker, "kubeconfig-noingress"),
            Self::Files => precondition(GENERATED, RefusalKind::Conflict, DOWNLOAD),
            Self::IngressCertificate => precondition(
                &[Finalizing, Installed],
                RefusalKind::Invalid,
                "Cluster {id} is in {status} state, upload ingress ca can be done only in finalizing or installed state",
            ),
            Self::FinalizingStage => precondition(
                &[Installing, Finalizing, InstallingPendingUserAction],
                RefusalKind::Invalid,
                "cluster is {status}, not in one of allowed statuses: {states}",
            ),
            Self::Deregister => precondition(
                NOT_INSTALLING,
                RefusalKind::Conflict,
                "cluster {id} can not be removed while being installed, wait for the installation to timeout or reset the installation",
            ),
        }
    }
}

/// Whether something may be done to a cluster in its state.
///
/// # Errors
///
/// `Conflict`, or `Invalid` where clients know it so.
pub fn check(operation: Operation, cluster: &Cluster) -> Result<(), Refusal> {
    let Precondition { states, refused_with, text, what } = operation.precondition();
    if states.contains(&cluster.status) {
        return Ok(());
    }
    if operation == Operation::AddHost && cluster.status == Installed {
        return Err(Refusal::conflict(
            "Cannot add hosts to an existing cluster using the original Discovery ISO.",
        ));
    }
    let reason = fill(
        text,
        &[
            ("id", &cluster.id),
            ("status", &cluster.status),
            ("states", &list(states)),
            ("status_info", &cluster.status_info),
            ("validations_info", &cluster.validations_info),
            ("what", &what),
        ],
    );
    Err(Refusal::new(refused_with, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing::cluster;

    const ALL: &[Operation] = &[
        Operation::AddHost,
        Operation::Update,
        Operation::Install,
        Operation::Kubeconfig,
        Operation::KubeadminPassword(Invoker::Service),
        Operation::KubeconfigNoIngress(Invoker::Service),
        Operation::Files,
        Operation::IngressCertificate,
        Operation::FinalizingStage,
        Operation::Deregister,
    ];

    /// Letters for the states in which each operation is allowed, in the order of the operations.
    const ALLOWED: &[(ClusterStatus, &str)] = &[
        (Insufficient, "au.......d"),
        (PendingForInput, "au.......d"),
        (Ready, "aui......d"),
        (PreparingForInstallation, ".........d"),
        (Installing, "....pnf.s."),
        (InstallingPendingUserAction, "...kpnf.sd"),
        (Finalizing, "...kpnfcsd"),
        (Installed, "...kpnfc.d"),
        (Error, "...kpnf..d"),
        (Cancelled, "...kpnf..d"),
        (AddingHosts, "au.kpnf..d"),
        (Unmonitored, ".........d"),
    ];

    #[test]
    fn every_operation_in_every_state() {
        assert_eq!(ALLOWED.len(), ClusterStatus::ALL.len());
        for (status, allowed) in ALLOWED {
            let cluster = Cluster { status: *status, ..cluster() };
            for (operation, letter) in ALL.iter().zip(allowed.chars()) {
                let result = check(*operation, &cluster);
                assert_eq!(result.is_ok(), letter != '.', "{operation:?} in {status}");
            }
        }
    }

    #[test]
    fn refusals() {
        let mut cluster = Cluster {
            status: Installing,
            status_info: "why".to_owned(),
            validations_info: "{\"a\":1}".to_owned(),
            ..cluster()
        };
        let told = |operation, cluster: &Cluster| {
            let refusal = check(operation, cluster).unwrap_err();
            (refusal.kind, refusal.reason)
        };
        let id = cluster.id;
        assert_eq!(
            told(Operation::Install, &cluster),
            (
                RefusalKind::Conflict,
                "Cluster is not ready for installation, why validation_info={\"a\":1}".to_owned()
            )
        );
        assert_eq!(
            told(Operation::Kubeconfig, &cluster),
            (
                RefusalKind::Conflict,
                format!(
                    "cluster {id} is in installing state, kubeconfig can be downloaded only when status is one of: [finalizing installed error adding-hosts cancelled installing-pending-user-action]"
                )
            )
        );
        assert_eq!(
            told(Operation::Update, &cluster),
            (
                RefusalKind::Conflict,
                format!(
                    "Cluster {id} is in installing state, cluster can be updated only in one of [insufficient ready pending-for-input adding-hosts]"
                )
            )
        );
        assert_eq!(
            told(Operation::IngressCertificate, &cluster),
            (
                RefusalKind::Invalid,
                format!(
                    "Cluster {id} is in installing state, upload ingress ca can be done only in finalizing or installed state"
                )
            )
        );
        cluster.status = Insufficient;
        assert_eq!(
            told(Operation::KubeadminPassword(Invoker::Service), &cluster),
            (
                RefusalKind::Conflict,
                format!(
                    "cluster {id} is in insufficient state, files can be downloaded only when status is one of: [installing finalizing installed error adding-hosts cancelled installing-pending-user-action]"
                )
            )
        );
        assert_eq!(
            told(Operation::FinalizingStage, &cluster),
            (RefusalKind::Invalid, "cluster is insufficient, not in one of allowed statuses: [installing finalizing installing-pending-user-action]".to_owned())
        );
        let mut policy = Policy::default();
        assert_eq!(Invoker::of(&policy), Invoker::Service);
        policy.service.install_invoker = "agent-installer".to_owned();
        let early = Invoker::of(&policy);
        assert_eq!(
            told(Operation::KubeadminPassword(early), &cluster),
            (
                RefusalKind::Conflict,
                format!(
                    "cluster {id} is in insufficient state, kubeadmin-password can be downloaded only when status is one of: [installing finalizing installed error adding-hosts cancelled installing-pending-user-action ready preparing-for-installation]"
                )
            )
        );
        cluster.status = Ready;
        assert_eq!(check(Operation::KubeconfigNoIngress(early), &cluster), Ok(()));
        cluster.status = Installed;
        assert_eq!(
            told(Operation::AddHost, &cluster),
            (
                RefusalKind::Conflict,
                "Cannot add hosts to an existing cluster using the original Discovery ISO.".to_owned()
            )
        );
    }
}
