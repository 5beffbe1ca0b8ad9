//! What this process remembers, so that polls and registrations ask the database for nothing they know.

pub(crate) mod answer;
pub(crate) mod check_in;
pub(crate) mod handed_out;
pub(crate) mod parsed;
pub(crate) mod views;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::{Change, Stored, Subject};
use assisted_wire::id::{ClusterId, InfraEnvId};

use crate::host::memo::HostMemo;
use check_in::CheckIns;
use parsed::Parsed;
use views::{Groups, Views};

/// What hosts are told depends on these: on their cluster and the inventories of its other hosts, and on their
/// infra-env.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Cluster(ClusterId),
    InfraEnv(InfraEnvId),
}

/// All that is remembered.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) check_ins: CheckIns,
    pub(crate) hosts: Views<HostKey, HostMemo>,
    pub(crate) clusters: Views<ClusterId, Stored<ClusterRecord>>,
    pub(crate) infra_envs: Views<InfraEnvId, Stored<InfraEnvRecord>>,
    pub(crate) groups: Groups<Group>,
    pub(crate) parsed: Parsed,
}

impl Memory {
    /// Forgets what a change made stale.
    pub(crate) fn forget(&self, change: Change) {
        match change {
            // What is written here is forgotten by the writer, before it answers.
            Change::Here(_) => {}
            Change::Elsewhere(subject) => self.forget_subject(subject),
            Change::Everything => {
                self.hosts.clear();
                self.clusters.clear();
                self.infra_envs.clear();
            }
        }
    }

    fn forget_subject(&self, subject: Subject) {
        match subject {
            Subject::Cluster(id) => self.forget_cluster(id),
            Subject::InfraEnv(id) => self.forget_infra_env(id),
            Subject::Host(key) => {
                let cluster = self.hosts.get(&key).ok().and_then(|memo| memo.cluster_id);
                self.hosts.remove(&key);
                // The news do not say what of the host changed.
                if let Some(id) = cluster {
                    self.forget_group(Group::Cluster(id));
                }
            }
            Subject::Due(_) | Subject::Actions(_) | Subject::Events => {}
        }
    }

    /// Forgets an infra-env and what its hosts are told.
    pub(crate) fn forget_infra_env(&self, id: InfraEnvId) {
        self.infra_envs.remove(&id);
        self.forget_group(Group::InfraEnv(id));
    }

    /// Forgets a cluster and what its hosts are told.
    pub(crate) fn forget_cluster(&self, id: ClusterId) {
        self.clusters.remove(&id);
        self.forget_group(Group::Cluster(id));
    }

    /// Forgets what the hosts of a group are told.
    pub(crate) fn forget_group(&self, group: Group) {
        for key in self.groups.members(&group) {
            self.hosts.remove(&key);
        }
    }
}
