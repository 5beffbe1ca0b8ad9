//! Writes and reads of clusters, alone and with their hosts, reports and infra-envs.

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::object_key::ObjectKey;
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use uuid::Uuid;

use crate::batch::Batch;
use crate::due::{self, MarkCount};
use crate::due_key::Due;
use crate::error::Error;
use crate::host::{self, HostRow};
use crate::host_filter::{HostFilter, Reports};
use crate::infra_env;
use crate::object_filter::objects;
use crate::row::{Deleted, Stored, Version, stored};
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::Value;

const SELECT: &str = "select version, doc, id from clusters";

const INSERT: &str = "insert into clusters (id, version, name, status, user_name, org_id, openshift_cluster_id, \
     subscription_id, created_at, updated_at, deleted_at, doc, object_namespace, object_name) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict do nothing";

const UPDATE: &str = "update clusters set version = $2, name = $3, status = $4, user_name = $5, org_id = $6, \
     openshift_cluster_id = $7, subscription_id = $8, created_at = $9, updated_at = $10, deleted_at = $11, doc = $12, \
     object_namespace = $13, object_name = $14 where id = $1 and version = $15";

static INSERT_BULK: Bulk = Bulk { table: "clusters", columns: &COLUMNS, duplicates: Duplicates::Sent };
static UPDATE_BULK: Bulk =
    Bulk { table: "clusters", columns: &COLUMNS_AND_VERSION, duplicates: Duplicates::Sent };
static COLUMNS: [Column; 14] = {
    use Column::{Int, Text, Uuid};
    [Uuid, Int, Text, Text, Text, Text, Uuid, Text, Int, Int, Int, Text, Text, Text]
};
static COLUMNS_AND_VERSION: [Column; 15] = {
    use Column::{Int, Text, Uuid};
    [Uuid, Int, Text, Text, Text, Text, Uuid, Text, Int, Int, Int, Text, Text, Text, Int]
};

/// Which clusters; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFilter {
    pub deleted: Deleted,
    pub openshift_cluster_id: Option<Uuid>,
    /// Any of these; unknown ones match nothing.
    pub ams_subscription_ids: Option<Vec<String>>,
    pub user_name: Option<String>,
    pub org_id: Option<String>,
    /// Those that an object of the Kubernetes API describes.
    pub has_object: bool,
    pub object: Option<ObjectKey>,
}

/// A cluster and all that a decision about it looks at.
#[derive(Clone, Debug)]
pub struct ClusterRow {
    pub cluster: Stored<ClusterRecord>,
    /// Its hosts with their reports, in order of creation.
    pub hosts: Vec<HostRow>,
    /// The infra-envs of the hosts, and those bound to the cluster.
    pub infra_envs: Vec<Stored<InfraEnvRecord>>,
    /// How often it had been marked due; `None`: it waits for nothing.
    pub marks: Option<MarkCount>,
}

impl Batch {
    /// Adds a cluster; its version becomes [`Version::FIRST`]. A conflict when there is one of this id, even deleted, or of its object.
    pub fn insert_cluster(&mut self, record: &ClusterRecord) -> &mut Self {
        let subject = Subject::Cluster(record.cluster.id);
        let params = self.cluster_columns(record, Version::FIRST);
        self.push(Statement::guarded(INSERT, params, subject).bulk(&INSERT_BULK)).touch(subject)
    }

    /// Replaces a cluster; its version becomes `expected.next()`. A time of deletion in the record soft-deletes it.
    pub fn update_cluster(&mut self, record: &ClusterRecord, expected: Version) -> &mut Self {
        let subject = Subject::Cluster(record.cluster.id);
        let mut params = self.cluster_columns(record, expected.next());
        params.push(expected.into());
        self.push(Statement::guarded(UPDATE, params, subject).bulk(&UPDATE_BULK)).touch(subject)
    }

    fn cluster_columns(&mut self, record: &ClusterRecord, version: Version) -> Vec<Value> {
        let cluster = &record.cluster;
        let document = self.record(record, &[cluster.id.0]);
        vec![
            cluster.id.0.into(),
            version.into(),
            cluster.name.clone().into(),
            cluster.status.as_str().into(),
            cluster.user_name.clone().into(),
            cluster.org_id.clone().into(),
            cluster.openshift_cluster_id.into(),
            cluster.ams_subscription_id.clone().into(),
            cluster.created_at.0.into(),
            hour(cluster.updated_at.0).into(),
            cluster.deleted_at.map(|at| at.0).into(),
            document,
            record.object_key.as_ref().map(|key| key.namespace.clone()).into(),
            record.object_key.as_ref().map(|key| key.name.clone()).into(),
        ]
    }
}

impl Reader {
    /// One cluster.
    pub async fn cluster(
        &self,
        id: ClusterId,
        deleted: Deleted,
    ) -> Result<Option<Stored<ClusterRecord>>, Error> {
        self.read_one(select(id, deleted)).await?.as_ref().map(|row| stored(row, self.keys())).transpose()
    }

    /// Clusters, in order of creation.
    pub async fn clusters(&self, filter: &ClusterFilter) -> Result<Vec<Stored<ClusterRecord>>, Error> {
        let mut select = Select::new(SELECT);
        if filter.deleted == Deleted::Hidden {
            select.when("deleted_at is null");
        }
        select.equal("openshift_cluster_id", filter.openshift_cluster_id);
        if let Some(ids) = &filter.ams_subscription_ids {
            select.one_of("subscription_id", ids.iter().cloned().map(Value::from));
        }
        select.equal("user_name", filter.user_name.clone()).equal("org_id", filter.org_id.clone());
        objects(&mut select, filter.has_object, filter.object.as_ref());
        select.tail(" order by created_at, id");
        self.read(select.build()).await?.iter().map(|row| stored(row, self.keys())).collect()
    }

    /// How many clusters of a user there are.
    pub async fn count_clusters(&self, user_name: &str) -> Result<u64, Error> {
        let mut select = Select::new("select count(*) from clusters");
        select.when("deleted_at is null").equal("user_name", Some(user_name.to_owned()));
        self.count(select.build()).await
    }

    /// A cluster with its hosts, their reports and infra-envs: five queries, whatever the number of hosts.
    pub async fn load_cluster(&self, id: ClusterId, deleted: Deleted) -> Result<Option<ClusterRow>, Error> {
        let filter =
            HostFilter { cluster_id: Some(id), deleted, reports: Reports::All, ..HostFilter::default() };
        let queries = [
            // First: whoever changes the rest afterwards is noticed by their mark.
            due::select_marks(Due::Cluster(id)),
            select(id, deleted),
            host::select(&filter),
            Statement::new(infra_env::SELECT_OF_CLUSTER, vec![id.0.into()]),
        ];
        let mut answers = self.read_with_reports(&filter, &queries).await?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (marks, clusters, hosts, infra_envs, reports) = (next(), next(), next(), next(), next());
        let Some(cluster) = clusters.first() else { return Ok(None) };
        let keys = self.keys();
        Ok(Some(ClusterRow {
            cluster: stored(cluster, keys)?,
            hosts: host::join(&hosts, reports, keys)?,
            infra_envs: infra_envs.iter().map(|row| stored(row, keys)).collect::<Result<_, _>>()?,
            marks: due::read_marks(&marks)?,
        }))
    }
}

/// The hour in which a moment lies: what a column that is indexed keeps of it.
fn hour(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second() - at.as_second().rem_euclid(3600)).unwrap_or(at)
}

fn select(id: ClusterId, deleted: Deleted) -> Statement {
    let mut select = Select::new(SELECT);
    select.equal("id", Some(id.0));
    if deleted == Deleted::Hidden {
        select.when("deleted_at is null");
    }
    select.build()
}
