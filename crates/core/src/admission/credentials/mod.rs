//! Files of a cluster that is being installed: which of them may be fetched in which state (service-api §7.8).

mod ingress;

use assisted_wire::cluster::Cluster;
use assisted_wire::operator::OperatorStatus;

use crate::admission::precondition::{self, AGENT_INSTALLER, Invoker, Operation};
use crate::catalogue::operators::CONSOLE;
use crate::model::refusal::Refusal;
use crate::policy::Policy;

pub use ingress::{IngressCaError, with_ingress_ca};

/// The administrator's first credentials.
pub const KUBEADMIN_PASSWORD: &str = "kubeadmin-password";
/// The kubeconfig that trusts the cluster's ingress.
pub const KUBECONFIG: &str = "kubeconfig";
/// The kubeconfig as it was generated.
pub const KUBECONFIG_NOINGRESS: &str = "kubeconfig-noingress";
/// Name of the administrator.
pub const KUBEADMIN: &str = "kubeadmin";

/// Whether a file of a cluster may be fetched now.
///
/// # Errors
///
/// `Conflict` in a state in which it can't be there.
pub fn check_download(cluster: &Cluster, file: &str, policy: &Policy) -> Result<(), Refusal> {
    let operation = match file {
        KUBECONFIG => Operation::Kubeconfig,
        KUBECONFIG_NOINGRESS => Operation::KubeconfigNoIngress(Invoker::of(policy)),
        KUBEADMIN_PASSWORD => Operation::KubeadminPassword(Invoker::of(policy)),
        _ => Operation::Files,
    };
    precondition::check(operation, cluster)
}

/// Address of the web console; `None` for a cluster that has none.
///
/// # Errors
///
/// `Conflict` until the console is there.
pub fn console_url(cluster: &Cluster, install_invoker: &str) -> Result<Option<String>, Refusal> {
    let rows = || cluster.monitored_operators.iter().flatten();
    let Some(console) = rows().find(|row| row.name == CONSOLE) else { return Ok(None) };
    if console.status != Some(OperatorStatus::Available) && install_invoker != AGENT_INSTALLER {
        return Err(Refusal::conflict(
            "console-url isn't available yet, it will be once console operator is ready as part of cluster finalizing stage",
        ));
    }
    Ok(Some(console_address(cluster)))
}

/// Address that the web console of a cluster has, or will have.
pub fn console_address(cluster: &Cluster) -> String {
    let (name, domain) = (&cluster.name, &cluster.base_dns_domain);
    format!("https://console-openshift-console.apps.{name}.{domain}")
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster::ClusterStatus;
    use assisted_wire::operator::MonitoredOperator;

    use super::*;
    use crate::model::refusal::RefusalKind;
    use crate::validation::testing;

    fn cluster(status: ClusterStatus) -> Cluster {
        Cluster { status, ..testing::cluster() }
    }

    #[test]
    fn downloads() {
        use ClusterStatus as S;
        let plain = Policy::default();
        let mut agent_installer = Policy::default();
        agent_installer.service.install_invoker = AGENT_INSTALLER.to_owned();
        let early =
            [S::Insufficient, S::Ready, S::PendingForInput, S::PreparingForInstallation, S::Unmonitored];
        for status in ClusterStatus::ALL {
            let cluster = cluster(*status);
            let late = !early.contains(status);
            assert_eq!(check_download(&cluster, "master.ign", &plain).is_ok(), late, "{status}");
            assert_eq!(check_download(&cluster, KUBEADMIN_PASSWORD, &plain).is_ok(), late, "{status}");
            let kubeconfig = late && *status != S::Installing;
            assert_eq!(
                check_download(&cluster, KUBECONFIG, &agent_installer).is_ok(),
                kubeconfig,
                "{status}"
            );
            let agent = late || matches!(status, S::Ready | S::PreparingForInstallation);
            assert_eq!(
                check_download(&cluster, KUBECONFIG_NOINGRESS, &agent_installer).is_ok(),
                agent,
                "{status}"
            );
            assert_eq!(check_download(&cluster, "master.ign", &agent_installer).is_ok(), late, "{status}");
        }
        let cluster = cluster(S::Insufficient);
        let text = |file: &str, policy: &Policy| {
            let refusal = check_download(&cluster, file, policy).unwrap_err();
            assert_eq!(refusal.kind, RefusalKind::Conflict);
            refusal.reason.replace(&cluster.id.to_string(), "C")
        };
        let list = "finalizing installed error adding-hosts cancelled installing-pending-user-action";
        assert_eq!(
            text("master.ign", &plain),
            format!(
                "cluster C is in insufficient state, files can be downloaded only when status is one of: [installing {list}]"
            )
        );
        assert_eq!(
            text(KUBECONFIG, &plain),
            format!(
                "cluster C is in insufficient state, kubeconfig can be downloaded only when status is one of: [{list}]"
            )
        );
        assert_eq!(
            text(KUBEADMIN_PASSWORD, &agent_installer),
            format!(
                "cluster C is in insufficient state, kubeadmin-password can be downloaded only when status is one of: \
                 [installing {list} ready preparing-for-installation]"
            )
        );
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
        assert_eq!(console_url(&cluster, "").unwrap_err().kind, RefusalKind::Conflict);
        let url = Ok(Some("https://console-openshift-console.apps.c.example.com".to_owned()));
        assert_eq!(console_url(&cluster, AGENT_INSTALLER), url);
        cluster.monitored_operators = Some(vec![row(Some(OperatorStatus::Available))]);
        assert_eq!(console_url(&cluster, ""), url);
    }
}
