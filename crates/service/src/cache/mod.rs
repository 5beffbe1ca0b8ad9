//! What this process caches of the database, so that polls and registrations read nothing that is known.

pub(crate) mod answer;
pub(crate) mod check_in;
pub(crate) mod handed_out;
pub(crate) mod memo;
pub(crate) mod parsed;
pub(crate) mod passed;
pub(crate) mod read_through;
pub(crate) mod reply_budget;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::{Observer, Stored, Subject};
use assisted_wire::id::{ClusterId, InfraEnvId};

use check_in::CheckIns;
use memo::HostPollCache;
use parsed::ParsedReports;
use passed::PassedHostsOfClusters;
use read_through::{Groups, ReadThroughCache};

/// What hosts are told depends on these: on their cluster and the inventories of its other hosts, and on their
/// infra-env.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Cluster(ClusterId),
    InfraEnv(InfraEnvId),
}

/// Everything that is cached. The store calls it with each commit ([`Observer`]).
#[derive(Debug, Default)]
pub(crate) struct Cache {
    pub(crate) check_ins: CheckIns,
    pub(crate) hosts: ReadThroughCache<HostKey, HostPollCache>,
    pub(crate) clusters: ReadThroughCache<ClusterId, Stored<ClusterRecord>>,
    pub(crate) infra_envs: ReadThroughCache<InfraEnvId, Stored<InfraEnvRecord>>,
    pub(crate) groups: Groups<Group>,
    pub(crate) parsed: ParsedReports,
    pub(crate) passed: PassedHostsOfClusters,
}

impl Observer for Cache {
    fn ended(&self, subjects: &[Subject], committed: bool) {
        for subject in subjects {
            self.forget(*subject);
            if committed {
                self.follow(*subject);
            }
        }
    }

    fn elsewhere(&self, subjects: &[Subject]) {
        for subject in subjects {
            self.forget(*subject);
            self.follow(*subject);
        }
    }

    fn missed(&self) {
        // Hosts may have gone that nobody takes out of their groups any more. First: what is read for who joined before this is not kept.
        self.groups.clear();
        self.hosts.clear();
        self.clusters.clear();
        self.infra_envs.clear();
    }
}

impl Cache {
    /// Drops what nobody wanted since the last call but one: a cluster and its infra-env are wanted only while something happens. Hosts
    /// stay, for each of several replicas hears one of them now and then.
    pub(crate) fn age(&self) {
        self.clusters.age();
        self.infra_envs.age();
        self.parsed.age();
        self.passed.age();
    }

    /// Forgets what was read of a subject, and what hosts are told because of it.
    pub(crate) fn forget(&self, subject: Subject) {
        match subject {
            Subject::Cluster(id) => {
                self.clusters.remove(&id);
                self.forget_group(Group::Cluster(id));
            }
            Subject::InfraEnv(id) => {
                self.infra_envs.remove(&id);
                self.forget_group(Group::InfraEnv(id));
            }
            Subject::Host(key) => self.hosts.remove(&key),
            Subject::Members(id) => self.forget_group(Group::Cluster(id)),
            Subject::Joined(..) | Subject::Left(..) | Subject::Removed(_) => {}
            Subject::Due(_) | Subject::Actions(_) | Subject::Events => {}
        }
    }

    /// Follows which hosts there are, and of which cluster they are.
    fn follow(&self, subject: Subject) {
        match subject {
            // Those of a cluster are looked up together: the first of them to poll brings the views of all.
            Subject::Joined(key, id) => self.groups.join(Group::Cluster(id), key),
            Subject::Left(key, id) => self.groups.leave(&Group::Cluster(id), key),
            Subject::Removed(key) => {
                self.groups.leave(&Group::InfraEnv(key.infra_env_id), key);
                self.check_ins.forget(key);
            }
            _ => {}
        }
    }

    /// Forgets what the hosts of a group are told.
    fn forget_group(&self, group: Group) {
        for key in self.groups.members(&group) {
            self.hosts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::HostId;

    use super::*;

    #[test]
    fn no_host_stays_in_a_group_whose_end_may_have_been_missed() {
        let cache = Cache::default();
        let key = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
        let group = Group::Cluster(ClusterId::random());
        cache.groups.join(group, key);
        let Err(epoch) = cache.hosts.get(&key) else { panic!("nothing is cached") };
        cache.missed();
        assert_eq!(cache.groups.members(&group), []);
        // What was being read meanwhile is not kept: no change of a group would drop it.
        let Err(now) = cache.hosts.get(&key) else { panic!("nothing is cached") };
        assert_ne!(epoch, now);
    }
}
