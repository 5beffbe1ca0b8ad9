//! What changes at the service: it is asked again and again about the clusters that somebody has asked for.

use std::collections::BTreeMap;

use assisted_client::ClusterHostFilter;
use assisted_reconcile::Failure;
use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::host::{HostRole, HostStage, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Rest, failed, optional};
use crate::installer::{Change, Subject};

/// What of a cluster is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    state: Option<(ClusterKind, ClusterStatus)>,
    hosts: BTreeMap<HostId, SeenHost>,
}

/// What of a host is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeenHost {
    infra_env: Option<InfraEnvId>,
    status: HostStatus,
    role: Option<HostRole>,
    stage: Option<HostStage>,
}

impl Rest {
    /// Tells changes until stopped.
    pub(super) async fn watch(&self, changed: impl Fn(Change), stop: CancellationToken) {
        let mut before: BTreeMap<ClusterId, Seen> = BTreeMap::new();
        let mut used = self.number().await;
        loop {
            // What was wrong with token or authorities may be mended now: nobody waits for a next attempt.
            let number = self.number().await;
            if number.is_some() && number != used {
                changed(Change::All);
            }
            used = number;
            let known = self.known.lock().clusters.clone();
            before.retain(|id, _| known.contains_key(id));
            for (id, of) in known {
                let now = match self.look(id).await {
                    Ok(now) => now,
                    Err(failure) => {
                        tracing::info!(cluster = %of.key, error = failure.message, "the service can't be asked");
                        continue;
                    }
                };
                let then = before.get(&id).cloned().unwrap_or_default();
                if then != now {
                    self.tell(&of, &then, &now, &changed);
                    before.insert(id, now);
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(self.options.pause) => {}
            }
        }
    }

    async fn look(&self, id: ClusterId) -> Result<Seen, Failure> {
        let client = self.client().await?;
        let Some(cluster) = optional(client.get_cluster_alone(id).await)? else { return Ok(Seen::default()) };
        // A host that tells what it is changes its state: reports are not needed here.
        let hosts = client.list_cluster_hosts(id, &ClusterHostFilter::default()).await;
        let hosts = hosts.map_err(|error| failed(&error))?;
        let hosts = hosts.into_iter().map(|host| {
            let seen = SeenHost {
                infra_env: host.infra_env_id,
                status: host.status,
                role: host.role,
                stage: host.stage(),
            };
            (host.id, seen)
        });
        Ok(Seen { state: Some((cluster.kind, cluster.status)), hosts: hosts.collect() })
    }

    fn tell(&self, of: &Subject, then: &Seen, now: &Seen, changed: &impl Fn(Change)) {
        changed(Change::Cluster(of.key.clone()));
        let ids = then.hosts.keys().chain(now.hosts.keys());
        for id in ids.filter(|id| then.hosts.get(id) != now.hosts.get(id)) {
            let host = now.hosts.get(id).or_else(|| then.hosts.get(id));
            let infra_env = host.and_then(|host| host.infra_env);
            let subject = infra_env.and_then(|id| self.known.lock().infra_envs.get(&id).cloned());
            if let Some(subject) = subject {
                changed(Change::InfraEnv(subject.key));
            }
        }
    }
}
