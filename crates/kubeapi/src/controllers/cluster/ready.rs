//! Whether an installation can begin (kube-api §6.1.7).

use assisted_crd::hive_extensions::agent_cluster_install::ProvisionRequirements;
use assisted_wire::cluster::{Cluster, ClusterKind, ClusterStatus};
use assisted_wire::host::{Host, HostRole, HostStatus};
use assisted_wire::id::HostId;

/// How many hosts of each role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) masters: i64,
    pub(super) arbiters: i64,
    pub(super) workers: i64,
}

impl Roles {
    /// How many an AgentClusterInstall asks for.
    pub(super) fn wanted(requirements: &ProvisionRequirements) -> Self {
        Self {
            masters: requirements.control_plane_agents,
            arbiters: requirements.arbiter_agents.unwrap_or_default(),
            workers: requirements.worker_agents.unwrap_or_default(),
        }
    }

    pub(super) fn total(self) -> i64 {
        self.masters + self.arbiters + self.workers
    }
}

/// What is known of a cluster's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Hosts that are ready, by the roles that they will have.
    pub(super) known: Roles,
    /// Those of them that somebody has approved.
    pub(super) approved: i64,
    /// Agents whose wishes have not come to their hosts.
    pub(super) unsynced: i64,
}

impl Counts {
    /// Counts hosts; `is_approved` tells of each whether its Agent is approved.
    pub(super) fn of(hosts: &[Host], unsynced: usize, is_approved: impl Fn(HostId) -> bool) -> Self {
        let mut counts = Self { unsynced: i64::try_from(unsynced).unwrap_or(i64::MAX), ..Self::default() };
        for host in hosts.iter().filter(|host| host.status == HostStatus::Known) {
            match role(host) {
                Some(HostRole::Master | HostRole::Bootstrap) => counts.known.masters += 1,
                Some(HostRole::Arbiter) => counts.known.arbiters += 1,
                Some(HostRole::Worker) => counts.known.workers += 1,
                Some(HostRole::AutoAssign) | None => {}
            }
            counts.approved += i64::from(is_approved(host.id));
        }
        counts
    }
}

/// The role that a host has, or will have.
fn role(host: &Host) -> Option<HostRole> {
    host.role.filter(|role| *role != HostRole::AutoAssign).or(host.suggested_role)
}

/// Whether the installation begins now: the cluster is ready, exactly the hosts that are wanted are, all of them are approved, and
/// what is wanted of each has come to it.
pub(super) fn may_install(cluster: &Cluster, wanted: Roles, counts: &Counts) -> bool {
    cluster.kind == ClusterKind::Cluster
        && cluster.status == ClusterStatus::Ready
        && counts.known == wanted
        && counts.approved == wanted.total()
        && counts.unsynced == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(role: &str, suggested: &str, status: &str) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        serde_json::from_value(json!({
            "kind": "Host", "id": HostId::random(), "href": "", "status": status, "status_info": "", "role": role,
            "suggested_role": suggested, "created_at": at, "updated_at": at,
        }))
        .unwrap()
    }

    fn cluster(status: &str) -> Cluster {
        serde_json::from_value(json!({
            "kind": "Cluster", "id": "11111111-1111-4111-8111-111111111111", "href": "", "name": "demo",
            "status": status, "status_info": "", "image_info": {},
        }))
        .unwrap()
    }

    #[test]
    fn an_installation_begins_when_exactly_what_is_wanted_is_there() {
        let three = || ["master", "master", "master"].map(|role| host("auto-assign", role, "known")).to_vec();
        let wanted = Roles { masters: 3, arbiters: 0, workers: 0 };
        let all = |hosts: &[Host]| Counts::of(hosts, 0, |_| true);
        let ready = cluster("ready");
        assert!(may_install(&ready, wanted, &all(&three())));
        assert!(!may_install(&cluster("insufficient"), wanted, &all(&three())));

        // One more, one less, one that is not ready.
        let mut more = three();
        more.push(host("worker", "worker", "known"));
        assert!(!may_install(&ready, wanted, &all(&more)));
        assert!(!may_install(&ready, wanted, &all(&three()[..2])));
        let mut other = three();
        other[0] = host("auto-assign", "master", "insufficient");
        assert!(!may_install(&ready, wanted, &all(&other)));

        // As many as are wanted, of other roles.
        let mut other = three();
        other[0] = host("worker", "master", "known");
        assert_eq!(all(&other).known, Roles { masters: 2, arbiters: 0, workers: 1 });
        assert!(!may_install(&ready, wanted, &all(&other)));

        let hosts = three();
        let first = hosts[0].id;
        let counts = Counts::of(&hosts, 0, |id| id != first);
        assert!(counts.approved == 2 && !may_install(&ready, wanted, &counts));
        assert!(!may_install(&ready, wanted, &Counts::of(&hosts, 1, |_| true)));
    }
}
