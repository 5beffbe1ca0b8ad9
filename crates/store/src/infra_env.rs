//! Infra-envs. They are deleted for good at once.

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::object_key::ObjectKey;
use assisted_wire::id::{ClusterId, InfraEnvId};

use crate::batch::Batch;
use crate::error::Error;
use crate::object_filter::objects;
use crate::row::{Stored, Version, stored};
use crate::statement::{Select, Statement};
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::Value;

const SELECT: &str = "select version, doc, id from infra_envs";
pub(crate) const SELECT_BY_ID: &str = "select version, doc, id from infra_envs where id = $1";

/// Those bound to a cluster, and those of its hosts.
pub(crate) const SELECT_OF_CLUSTER: &str = "select version, doc, id from infra_envs where id in (select id from infra_envs where cluster_id = $1 \
     union select infra_env_id from hosts where cluster_id = $1) order by created_at, id";

const INSERT: &str = "insert into infra_envs (id, version, name, user_name, org_id, cluster_id, created_at, updated_at, doc, \
     object_namespace, object_name) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing";

const UPDATE: &str = "update infra_envs set version = $2, name = $3, user_name = $4, org_id = $5, cluster_id = $6, \
     created_at = $7, updated_at = $8, doc = $9, object_namespace = $10, object_name = $11 \
     where id = $1 and version = $12";

/// Which infra-envs; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InfraEnvFilter {
    pub cluster_id: Option<ClusterId>,
    pub user_name: Option<String>,
    pub org_id: Option<String>,
    /// Those that an object of the Kubernetes API describes.
    pub has_object: bool,
    pub object: Option<ObjectKey>,
}

impl Batch {
    /// Adds an infra-env; its version becomes [`Version::FIRST`]. A conflict when there is one of this id, or of its object.
    pub fn insert_infra_env(&mut self, record: &InfraEnvRecord) -> &mut Self {
        let subject = Subject::InfraEnv(record.infra_env.id);
        let params = self.infra_env_columns(record, Version::FIRST);
        self.push(Statement::guarded(INSERT, params, subject)).touch(subject)
    }

    /// Replaces an infra-env; its version becomes `expected.next()`.
    pub fn update_infra_env(&mut self, record: &InfraEnvRecord, expected: Version) -> &mut Self {
        let subject = Subject::InfraEnv(record.infra_env.id);
        let mut params = self.infra_env_columns(record, expected.next());
        params.push(expected.into());
        self.push(Statement::guarded(UPDATE, params, subject)).touch(subject)
    }

    /// Deletes an infra-env for good.
    pub fn delete_infra_env(&mut self, id: InfraEnvId, expected: Version) -> &mut Self {
        let subject = Subject::InfraEnv(id);
        let params = vec![id.0.into(), expected.into()];
        self.push(Statement::guarded(
            "delete from infra_envs where id = $1 and version = $2",
            params,
            subject,
        ))
        .touch(subject)
    }

    fn infra_env_columns(&mut self, record: &InfraEnvRecord, version: Version) -> Vec<Value> {
        let infra_env = &record.infra_env;
        let document = self.record(record, &[infra_env.id.0]);
        vec![
            infra_env.id.0.into(),
            version.into(),
            infra_env.name.clone().into(),
            infra_env.user_name.clone().into(),
            infra_env.org_id.clone().into(),
            infra_env.cluster_id.map(|id| id.0).into(),
            infra_env.created_at.0.into(),
            infra_env.updated_at.0.into(),
            document,
            record.object_key.as_ref().map(|key| key.namespace.clone()).into(),
            record.object_key.as_ref().map(|key| key.name.clone()).into(),
        ]
    }
}

impl Reader {
    /// One infra-env.
    pub async fn infra_env(&self, id: InfraEnvId) -> Result<Option<Stored<InfraEnvRecord>>, Error> {
        let statement = Statement::new(SELECT_BY_ID, vec![id.0.into()]);
        self.read_one(statement).await?.as_ref().map(|row| stored(row, self.keys())).transpose()
    }

    /// Infra-envs, in order of creation.
    pub async fn infra_envs(&self, filter: &InfraEnvFilter) -> Result<Vec<Stored<InfraEnvRecord>>, Error> {
        let mut select = Select::new(SELECT);
        select
            .equal("cluster_id", filter.cluster_id.map(|id| id.0))
            .equal("user_name", filter.user_name.clone())
            .equal("org_id", filter.org_id.clone());
        objects(&mut select, filter.has_object, filter.object.as_ref());
        select.tail(" order by created_at, id");
        self.read(select.build()).await?.iter().map(|row| stored(row, self.keys())).collect()
    }

    /// How many infra-envs of a user there are.
    pub async fn count_infra_envs(&self, user_name: &str) -> Result<u64, Error> {
        let mut select = Select::new("select count(*) from infra_envs");
        select.equal("user_name", Some(user_name.to_owned()));
        self.count(select.build()).await
    }
}
