//! The cluster and the host that an operator checks, each with its policy.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::HostRole;

use crate::catalogue::hardware::SelectionInput;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology;
use crate::policy;

/// A cluster with its hosts.
#[derive(Clone, Copy)]
pub struct ClusterView<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) facts: &'a Facts,
}

impl<'a> ClusterView<'a> {
    /// The cluster of these facts; `None` for a host of a pool.
    pub fn of(facts: &'a Facts) -> Option<Self> {
        Some(Self { cluster: &facts.cluster.as_ref()?.cluster, facts })
    }

    pub(crate) fn policy(&self) -> &'a policy::Operators {
        &self.facts.policy.operators
    }

    /// How many hosts have been given each role by the user.
    pub(crate) fn assigned(&self) -> RoleCount {
        RoleCount::of(self.facts.hosts.iter().map(SelectionInput::assigned_role))
    }
}

/// A host of a cluster, in the role in which operators look at it.
#[derive(Clone, Copy)]
pub(crate) struct HostView<'a> {
    pub cluster: &'a Cluster,
    pub selection: SelectionInput<'a>,
}

impl<'a> HostView<'a> {
    /// The host of a selection; `None` when it has no cluster, or joins an installed one, which gets no operators.
    pub fn of(selection: &SelectionInput<'a>) -> Option<Self> {
        let cluster = &selection.facts.cluster.as_ref()?.cluster;
        (!topology::is_day2(cluster)).then_some(Self { cluster, selection: *selection })
    }

    pub fn policy(&self) -> &'a policy::Operators {
        &self.selection.facts.policy.operators
    }

    /// How many hosts have been given each role by the user, this one included.
    pub fn assigned_of_all(&self) -> RoleCount {
        RoleCount::of(self.of_all(SelectionInput::assigned_role, self.selection.assigned))
    }

    /// Whether workloads must run on the control plane, for want of workers.
    pub fn masters_schedulable_forced(&self) -> bool {
        let roles = self.of_all(HostFacts::effective_role, self.selection.role);
        topology::masters_forced_by(self.cluster, roles.filter(|role| *role == HostRole::Worker).count())
    }

    /// Roles of all hosts of the cluster, of which this one has its own.
    fn of_all(
        &self,
        of: impl Fn(&HostFacts) -> HostRole + 'a,
        own: HostRole,
    ) -> impl Iterator<Item = HostRole> + 'a {
        let id = self.selection.host.record.host.id;
        self.selection
            .facts
            .hosts
            .iter()
            .map(move |host| if host.record.host.id == id { own } else { of(host) })
    }
}

/// How many hosts have each role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoleCount {
    pub masters: i64,
    pub arbiters: i64,
    pub workers: i64,
    pub auto_assign: i64,
}

impl RoleCount {
    fn of(roles: impl Iterator<Item = HostRole>) -> Self {
        let mut count = Self::default();
        for role in roles {
            *match role {
                HostRole::Master | HostRole::Bootstrap => &mut count.masters,
                HostRole::Arbiter => &mut count.arbiters,
                HostRole::Worker => &mut count.workers,
                HostRole::AutoAssign => &mut count.auto_assign,
            } += 1;
        }
        count
    }

    pub fn total(&self) -> i64 {
        self.masters + self.arbiters + self.workers + self.auto_assign
    }
}
