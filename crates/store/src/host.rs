//! Hosts, with the time of their last check-in and, where wanted, their reports.

use std::collections::{BTreeMap, HashMap};

use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::report::ReportKind;
use assisted_seal::Keyring;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::ClusterId;
use jiff::Timestamp;

use crate::batch::Batch;
use crate::error::Error;
use crate::host_filter::{HostFilter, Reports, conditions};
use crate::host_key;
use crate::infra_env;
use crate::report::Report;
use crate::row::{Deleted, Stored, Version, stored};
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::{Row, Value};

const SELECT: &str = "select h.version, h.doc, h.infra_env_id, h.host_id, c.at from hosts h \
     left join check_ins c on c.infra_env_id = h.infra_env_id and c.host_id = h.host_id";

const SELECT_WITH_CLUSTER_VERSION: &str = "select h.version, h.doc, h.infra_env_id, h.host_id, c.at, \
     (select k.version from clusters k where k.id = h.cluster_id and k.deleted_at is null) from hosts h \
     left join check_ins c on c.infra_env_id = h.infra_env_id and c.host_id = h.host_id";

const INSERT: &str = "insert into hosts (infra_env_id, host_id, version, cluster_id, status, role, created_at, updated_at, \
     deleted_at, doc) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing";

const UPDATE: &str = "update hosts set version = $3, cluster_id = $4, status = $5, role = $6, created_at = $7, \
     updated_at = $8, deleted_at = $9, doc = $10 where infra_env_id = $1 and host_id = $2 and version = $11";

static INSERT_BULK: Bulk = Bulk { table: "hosts", columns: &COLUMNS, duplicates: Duplicates::Sent };
static UPDATE_BULK: Bulk =
    Bulk { table: "hosts", columns: &COLUMNS_AND_VERSION, duplicates: Duplicates::Sent };
static COLUMNS: [Column; 10] = {
    use Column::{Int, Text, Uuid};
    [Uuid, Uuid, Int, Uuid, Text, Text, Int, Int, Int, Text]
};
static COLUMNS_AND_VERSION: [Column; 11] = {
    use Column::{Int, Text, Uuid};
    [Uuid, Uuid, Int, Uuid, Text, Text, Int, Int, Int, Text, Int]
};

/// A host as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    pub key: HostKey,
    pub record: HostRecord,
    pub version: Version,
    /// When the agent was last heard, as far as it was flushed; `None`: never.
    pub checked_in_at: Option<Timestamp>,
    /// The reports that were asked for and are there.
    pub reports: BTreeMap<ReportKind, Report>,
}

/// A host with its infra-env.
#[derive(Clone, Debug)]
pub struct HostWithInfraEnv {
    pub host: HostRow,
    pub infra_env: Option<Stored<InfraEnvRecord>>,
    /// The version that its cluster has; `None`: it has no cluster, or it is deleted.
    pub cluster_version: Option<Version>,
}

impl HostRow {
    fn read(row: &Row, keys: Option<&Keyring>) -> Result<Self, Error> {
        let Stored { record, version } = stored(row, keys)?;
        let key = host_key::read(row, 2)?;
        Ok(Self { key, record, version, checked_in_at: row.time(4)?, reports: BTreeMap::new() })
    }
}

impl Batch {
    /// Adds a host; its version becomes [`Version::FIRST`]. A conflict when there is one of this key, even deleted.
    ///
    /// The record's `checked_in_at` becomes its first check-in.
    pub fn insert_host(&mut self, record: &HostRecord) -> &mut Self {
        let key = record_key(record);
        let params = self.host_columns(record, key, Version::FIRST);
        self.push(Statement::guarded(INSERT, params, Subject::Host(key)).bulk(&INSERT_BULK));
        self.check_in(key, record.host.checked_in_at.0).touch(Subject::Host(key));
        if let Some(id) = record.host.cluster_id {
            self.touch(Subject::Joined(key, id));
        }
        self
    }

    /// Replaces a host; its version becomes `expected.next()`. A time of deletion in the record soft-deletes it.
    pub fn update_host(&mut self, record: &HostRecord, expected: Version) -> &mut Self {
        let key = record_key(record);
        let mut params = self.host_columns(record, key, expected.next());
        params.push(expected.into());
        self.push(Statement::guarded(UPDATE, params, Subject::Host(key)).bulk(&UPDATE_BULK))
            .touch(Subject::Host(key));
        if record.host.deleted_at.is_some() {
            self.touch(Subject::Removed(key));
            if let Some(id) = record.host.cluster_id {
                self.touch(Subject::Left(key, id));
            }
        }
        self
    }

    /// Notes that a host is no longer one of a cluster, for those who cache the steps of its other hosts.
    pub fn leave_cluster(&mut self, key: HostKey, id: ClusterId) -> &mut Self {
        self.touch(Subject::Left(key, id)).touch(Subject::Members(id))
    }

    /// Records that the steps of a cluster's hosts that depend on each other have changed.
    pub fn touch_members(&mut self, id: ClusterId) -> &mut Self {
        self.touch(Subject::Members(id))
    }

    /// Deletes a host, its reports and its check-in for good.
    pub fn delete_host(&mut self, key: HostKey) -> &mut Self {
        for sql in [
            "delete from reports where infra_env_id = $1 and host_id = $2",
            "delete from check_ins where infra_env_id = $1 and host_id = $2",
            "delete from hosts where infra_env_id = $1 and host_id = $2",
        ] {
            self.push(Statement::new(sql, host_key::params(key)));
        }
        self.touch(Subject::Host(key)).touch(Subject::Removed(key))
    }

    fn host_columns(&mut self, record: &HostRecord, key: HostKey, version: Version) -> Vec<Value> {
        let host = &record.host;
        let document = self.record(record, &[key.infra_env_id.0, key.host_id.0]);
        vec![
            key.infra_env_id.0.into(),
            key.host_id.0.into(),
            version.into(),
            host.cluster_id.map(|id| id.0).into(),
            host.status.as_str().into(),
            host.role.map_or("", HostRole::as_str).into(),
            host.created_at.0.into(),
            host.updated_at.0.into(),
            host.deleted_at.map(|at| at.0).into(),
            document,
        ]
    }
}

impl Reader {
    /// One host, without its reports.
    pub async fn host(&self, key: HostKey, deleted: Deleted) -> Result<Option<HostRow>, Error> {
        self.read_one(select(&of(key, deleted, Reports::None)))
            .await?
            .as_ref()
            .map(|row| HostRow::read(row, self.keys()))
            .transpose()
    }

    /// Hosts, in order of creation.
    pub async fn hosts(&self, filter: &HostFilter) -> Result<Vec<HostRow>, Error> {
        if filter.reports == Reports::None {
            return self
                .read(select(filter))
                .await?
                .iter()
                .map(|row| HostRow::read(row, self.keys()))
                .collect();
        }
        let mut answers = self.read_with_reports(filter, &[select(filter)]).await?.into_iter();
        join(&answers.next().unwrap_or_default(), answers.next().unwrap_or_default(), self.keys())
    }

    /// How many hosts there are of each state in each cluster; [`HostFilter::reports`] plays no part.
    pub async fn host_states(&self, filter: &HostFilter) -> Result<Vec<(ClusterId, HostStatus, u64)>, Error> {
        let mut select = Select::new("select h.cluster_id, h.status, count(*) from hosts h");
        conditions(&mut select, filter);
        select.when("h.cluster_id is not null").tail(" group by h.cluster_id, h.status");
        let rows = self.read(select.build()).await?;
        let state = |row: &Row| {
            let status = row.text(1)?.parse().map_err(Error::Corrupt)?;
            Ok((ClusterId(row.uuid(0)?), status, row.int(2)?.unsigned_abs()))
        };
        rows.iter().map(state).collect()
    }

    /// How many hosts there are; [`HostFilter::reports`] plays no part.
    pub async fn count_hosts(&self, filter: &HostFilter) -> Result<u64, Error> {
        let mut select = Select::new("select count(*) from hosts h");
        conditions(&mut select, filter);
        self.count(select.build()).await
    }

    /// A host with all its reports, its infra-env and the version of its cluster.
    pub async fn load_host(&self, key: HostKey, deleted: Deleted) -> Result<Option<HostWithInfraEnv>, Error> {
        let filter = of(key, deleted, Reports::All);
        let queries = [
            select_from(SELECT_WITH_CLUSTER_VERSION, &filter),
            Statement::new(infra_env::SELECT_BY_ID, vec![key.infra_env_id.0.into()]),
        ];
        let mut answers = self.read_with_reports(&filter, &queries).await?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (hosts, infra_envs, reports) = (next(), next(), next());
        let cluster_version = hosts.first().map(|row| row.optional_int(5)).transpose()?.flatten();
        let Some(host) = join(&hosts, reports, self.keys())?.pop() else { return Ok(None) };
        Ok(Some(HostWithInfraEnv {
            host,
            infra_env: infra_envs.first().map(|row| stored(row, self.keys())).transpose()?,
            cluster_version: cluster_version.map(Version),
        }))
    }
}

fn record_key(record: &HostRecord) -> HostKey {
    HostKey { infra_env_id: record.host.infra_env_id.unwrap_or_default(), host_id: record.host.id }
}

fn of(key: HostKey, deleted: Deleted, reports: Reports) -> HostFilter {
    HostFilter {
        deleted,
        infra_env_id: Some(key.infra_env_id),
        host_id: Some(key.host_id),
        reports,
        ..HostFilter::default()
    }
}

pub(crate) fn select(filter: &HostFilter) -> Statement {
    select_from(SELECT, filter)
}

fn select_from(head: &str, filter: &HostFilter) -> Statement {
    let mut select = Select::new(head);
    conditions(&mut select, filter);
    select.tail(" order by h.created_at, h.host_id, h.infra_env_id");
    select.build()
}

/// Puts reports to their hosts.
pub(crate) fn join(hosts: &[Row], reports: Vec<Row>, keys: Option<&Keyring>) -> Result<Vec<HostRow>, Error> {
    let mut hosts: Vec<_> = hosts.iter().map(|row| HostRow::read(row, keys)).collect::<Result<_, _>>()?;
    let places: HashMap<_, _> = hosts.iter().enumerate().map(|(place, host)| (host.key, place)).collect();
    for row in reports {
        // A report whose host came meanwhile belongs to the next reading.
        let Some(&place) = places.get(&host_key::read(&row, 0)?) else { continue };
        if let Some((kind, report)) = Report::read(&row)? {
            hosts[place].reports.insert(kind, report);
        }
    }
    Ok(hosts)
}
