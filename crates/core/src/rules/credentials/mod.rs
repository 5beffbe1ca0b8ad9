//! Files of a cluster that is being installed: which of them may be fetched in which state (service-api §7.8).

mod ingress;

use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::operator::OperatorStatus;

use crate::refusal::Refusal;
use crate::rules::operator::catalogue;

pub use ingress::{IngressCaError, with_ingress_ca};

/// The administrator's first credentials.
pub const KUBEADMIN_PASSWORD: &str = "kubeadmin-password";
/// The kubeconfig that trusts the cluster's ingress.
pub const KUBECONFIG: &str = "kubeconfig";
/// The kubeconfig as it was generated.
pub const KUBECONFIG_NOINGRESS: &str = "kubeconfig-noingress";
/// Name of the administrator.
pub const KUBEADMIN: &str = "kubeadmin";

/// The service drives no installation itself, but is part of an installer's own image.
pub const AGENT_INSTALLER: &str = "agent-installer";

/// Where a kubeconfig may be fetched; other files also in `installing`, which comes first.
const KUBECONFIG_IN: [ClusterStatus; 6] = [
    ClusterStatus::Finalizing,
    ClusterStatus::Installed,
    ClusterStatus::Error,
    ClusterStatus::AddingHosts,
    ClusterStatus::Cancelled,
    ClusterStatus::InstallingPendingUserAction,
];

/// Whether a file of a cluster may be fetched now.
///
/// # Errors
///
/// 409 in a state in which it can't be there.
pub fn check_download(cluster: &Cluster, file: &str, install_invoker: &str) -> Result<(), Refusal> {
    let mut allowed = Vec::with_capacity(KUBECONFIG_IN.len() + 3);
    let mut what = "files";
    if file == KUBECONFIG {
        what = file;
    } else {
        allowed.push(ClusterStatus::Installing);
    }
    allowed.extend(KUBECONFIG_IN);
    if install_invoker == AGENT_INSTALLER && matches!(file, KUBEADMIN_PASSWORD | KUBECONFIG_NOINGRESS) {
        what = file;
        allowed.extend([ClusterStatus::Ready, ClusterStatus::PreparingForInstallation]);
    }
    if allowed.contains(&cluster.status) {
        return Ok(());
    }
    let allowed: Vec<_> = allowed.iter().map(|status| status.as_str()).collect();
    Err(Refusal::conflict(format!(
        "cluster {} is in {} state, {what} can be downloaded only when status is one of: [{}]",
        cluster.id,
        cluster.status,
        allowed.join(" ")
    )))
}

/// Whether the controller may tell the certificate of the ingress now.
///
/// # Errors
///
/// 400 in a state in which there is no ingress.
pub fn check_ingress_upload(cluster: &Cluster) -> Result<(), Refusal> {
    if matches!(cluster.status, ClusterStatus::Finalizing | ClusterStatus::Installed) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "Cluster {} is in {} state, upload ingress ca can be done only in finalizing or installed state",
        cluster.id, cluster.status
    )))
}

/// Address of the web console; `None` for a cluster that has none.
///
/// # Errors
///
/// 409 until the console is there.
pub fn console_url(cluster: &Cluster, install_invoker: &str) -> Result<Option<String>, Refusal> {
    let rows = || cluster.monitored_operators.iter().flatten();
    let Some(console) = rows().find(|row| row.name == catalogue::CONSOLE) else { return Ok(None) };
    if console.status != Some(OperatorStatus::Available) && install_invoker != AGENT_INSTALLER {
        return Err(Refusal::conflict(
            "console-url isn't available yet, it will be once console operator is ready as part of cluster finalizing stage",
        ));
    }
    let (name, domain) = (&cluster.name, &cluster.base_dns_domain);
    Ok(Some(format!("https://console-openshift-console.apps.{name}.{domain}")))
}

#[cfg(test)]
mod tests {
    use assisted_wire::operator::MonitoredOperator;

    use super::*;
    use crate::validation::testing;

    fn cluster(status: ClusterStatus) -> Cluster {
        Cluster { status, ..testing::cluster() }
    }

    #[test]
    fn downloads() {
        use ClusterStatus as S;
        let early =
            [S::Insufficient, S::Ready, S::PendingForInput, S::PreparingForInstallation, S::Unmonitored];
        for status in ClusterStatus::ALL {
            let cluster = cluster(*status);
            let late = !early.contains(status);
            assert_eq!(check_download(&cluster, "master.ign", "").is_ok(), late, "{status}");
            assert_eq!(check_download(&cluster, KUBEADMIN_PASSWORD, "").is_ok(), late, "{status}");
            let kubeconfig = late && *status != S::Installing;
            assert_eq!(check_download(&cluster, KUBECONFIG, AGENT_INSTALLER).is_ok(), kubeconfig, "{status}");
            let agent = late || matches!(status, S::Ready | S::PreparingForInstallation);
            assert_eq!(
                check_download(&cluster, KUBECONFIG_NOINGRESS, AGENT_INSTALLER).is_ok(),
                agent,
                "{status}"
            );
            assert_eq!(check_download(&cluster, "master.ign", AGENT_INSTALLER).is_ok(), late, "{status}");
        }
        let cluster = cluster(S::Insufficient);
        let text = |file: &str, invoker: &str| {
            let refusal = check_download(&cluster, file, invoker).unwrap_err();
            assert_eq!(refusal.status, 409);
            refusal.reason.replace(&cluster.id.to_string(), "C")
        };
        let list = "finalizing installed error adding-hosts cancelled installing-pending-user-action";
        assert_eq!(
            text("master.ign", ""),
            format!(
                "cluster C is in insufficient state, files can be downloaded only when status is one of: [installing {list}]"
            )
        );
        assert_eq!(
            text(KUBECONFIG, ""),
            format!(
                "cluster C is in insufficient state, kubeconfig can be downloaded only when status is one of: [{list}]"
            )
        );
        assert_eq!(
            text(KUBEADMIN_PASSWORD, AGENT_INSTALLER),
            format!(
                "cluster C is in insufficient state, kubeadmin-password can be downloaded only when status is one of: \
                 [installing {list} ready preparing-for-installation]"
            )
        );
    }

    #[test]
    fn uploads_of_the_ingress() {
        for status in ClusterStatus::ALL {
            let allowed = matches!(status, ClusterStatus::Finalizing | ClusterStatus::Installed);
            assert_eq!(check_ingress_upload(&cluster(*status)).is_ok(), allowed, "{status}");
        }
    }

    #[test]
    fn consoles() {
        let mut cluster = cluster(ClusterStatus::Finalizing);
        (cluster.name, cluster.base_dns_domain) = ("c".to_owned(), "example.com".to_owned());
        let row =
            |status| MonitoredOperator { name: "console".to_owned(), status, ..MonitoredOperator::default() };
        cluster.monitored_operators = None;
        assert_eq!(console_url(&cluster, ""), Ok(None));
        cluster.monitored_operators = Some(vec![row(Some(OperatorStatus::Progressing))]);
        assert_eq!(console_url(&cluster, "").unwrap_err().status, 409);
        let url = Ok(Some("https://console-openshift-console.apps.c.example.com".to_owned()));
        assert_eq!(console_url(&cluster, AGENT_INSTALLER), url);
        cluster.monitored_operators = Some(vec![row(Some(OperatorStatus::Available))]);
        assert_eq!(console_url(&cluster, ""), url);
    }
}
