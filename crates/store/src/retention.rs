//! What has been kept long enough. Each query reads little more than what is to be removed, and no more than asked for.

use assisted_core::model::host::HostKey;
use assisted_wire::id::{ClusterId, InfraEnvId};
use jiff::Timestamp;

use crate::batch::Batch;
use crate::error::Error;
use crate::host_key;
use crate::row::Version;
use crate::statement::Statement;
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::Row;

// What is being installed can't be deregistered: it must not take the places of others.
const INACTIVE_CLUSTERS: &str = "select id from clusters where deleted_at is null and updated_at < $1 \
     and status <> 'installing' order by updated_at limit $2";

// Clusters whose end is under way have an action.
const DEREGISTERED_CLUSTERS: &str = "select id from clusters where deleted_at < $1 \
     and not exists (select 1 from actions where actions.cluster_id = clusters.id) order by deleted_at limit $2";

const DEREGISTERED_HOSTS: &str = "select infra_env_id, host_id, version from hosts where deleted_at < $1 \
     order by deleted_at limit $2";

const UNUSED_INFRA_ENVS: &str = "select i.id from infra_envs i where i.updated_at < $1 \
     and not exists (select 1 from clusters c where c.id = i.cluster_id and c.deleted_at is null) \
     and not exists (select 1 from hosts h join clusters c on c.id = h.cluster_id \
     where h.infra_env_id = i.id and h.deleted_at is null and c.deleted_at is null) order by i.updated_at limit $2";

const EVENT_NUMBER: &str = "select id from events where id > $1 order by id limit 1 offset $2";

// An event is its cluster's, else its infra-env's, else its host's.
const DELETE_EVENTS_OF_NOTHING: &str = "delete from events where id > $1 and id <= $2 and at < $3 \
     and not exists (select 1 from clusters c where c.id = events.cluster_id) \
     and (cluster_id is not null or not exists (select 1 from infra_envs i where i.id = events.infra_env_id)) \
     and (cluster_id is not null or infra_env_id is not null \
     or not exists (select 1 from hosts h where h.host_id = events.host_id))";

impl Batch {
    /// Deletes a cluster and its events for good.
    pub fn delete_cluster(&mut self, id: ClusterId) -> &mut Self {
        self.push(Statement::new("delete from events where cluster_id = $1", vec![id.0.into()]))
            .push(Statement::new("delete from uploads where cluster_id = $1", vec![id.0.into()]))
            .push(Statement::new("delete from clusters where id = $1", vec![id.0.into()]))
            .touch(Subject::Cluster(id))
    }

    /// Deletes a soft-deleted host for good, with the events that no cluster keeps. A conflict when the host has come back.
    pub fn purge_host(&mut self, key: HostKey, expected: Version) -> &mut Self {
        let mut guard = host_key::params(key);
        guard.push(expected.into());
        let gone = "delete from hosts where infra_env_id = $1 and host_id = $2 and version = $3 and deleted_at is not null";
        let events = "delete from events where infra_env_id = $1 and host_id = $2 and cluster_id is null";
        self.push(Statement::guarded(gone, guard, Subject::Host(key)))
            .push(Statement::new(events, host_key::params(key)))
            .delete_host(key)
    }

    /// Deletes events that were told before, whose numbers are above the first and not above the second, and that are of
    /// nothing there is: their cluster is unknown; or they name none, and their infra-env is unknown; or they name neither,
    /// and no host that is known.
    pub fn delete_events_of_nothing(&mut self, above: i64, up_to: i64, before: Timestamp) -> &mut Self {
        let params = vec![above.into(), up_to.into(), before.into()];
        self.push(Statement::new(DELETE_EVENTS_OF_NOTHING, params))
    }
}

impl Reader {
    /// Up to `limit` clusters that were last changed before, those longest untouched first.
    ///
    /// Exact to the hour: the record says whether it is time.
    pub async fn inactive_clusters(&self, before: Timestamp, limit: u32) -> Result<Vec<ClusterId>, Error> {
        self.kept_long(INACTIVE_CLUSTERS, before, limit, |row| row.uuid(0).map(ClusterId)).await
    }

    /// Up to `limit` clusters that were soft-deleted before, and of which nothing is left to be done.
    pub async fn deregistered_clusters(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClusterId>, Error> {
        self.kept_long(DEREGISTERED_CLUSTERS, before, limit, |row| row.uuid(0).map(ClusterId)).await
    }

    /// Up to `limit` hosts that were soft-deleted before.
    pub async fn deregistered_hosts(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<(HostKey, Version)>, Error> {
        let read = |row: &Row| Ok((host_key::read(row, 0)?, Version(row.int(2)?)));
        self.kept_long(DEREGISTERED_HOSTS, before, limit, read).await
    }

    /// Up to `limit` infra-envs that were last changed before, whose cluster is gone or that have none, and none of whose
    /// hosts is in a cluster.
    pub async fn unused_infra_envs(&self, before: Timestamp, limit: u32) -> Result<Vec<InfraEnvId>, Error> {
        self.kept_long(UNUSED_INFRA_ENVS, before, limit, |row| row.uuid(0).map(InfraEnvId)).await
    }

    /// The number of the last of the next `count` events whose numbers are above `after`; `None`: there are fewer.
    pub async fn event_number(&self, after: i64, count: u32) -> Result<Option<i64>, Error> {
        let others = i64::from(count.saturating_sub(1));
        let found = self.read_one(Statement::new(EVENT_NUMBER, vec![after.into(), others.into()])).await?;
        found.map(|row| row.int(0)).transpose()
    }

    async fn kept_long<T>(
        &self,
        sql: &'static str,
        before: Timestamp,
        limit: u32,
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let statement = Statement::new(sql, vec![before.into(), i64::from(limit).into()]);
        self.read(statement).await?.iter().map(read).collect()
    }
}
