//! The big texts that a host reports, each with its hash.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::host::record::HostKey;
use assisted_core::host::report::ReportKind;
use sha2::{Digest, Sha256};

use crate::batch::Batch;
use crate::error::Error;
use crate::host::{self, HostFilter};
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::Store;
use crate::subject::Subject;
use crate::value::{Row, Value};

const SELECT: &str = "select r.infra_env_id, r.host_id, r.kind, r.hash, r.body from reports r";

const PUT: &str = "insert into reports (infra_env_id, host_id, kind, hash, body) values ($1, $2, $3, $4, $5) \
     on conflict (infra_env_id, host_id, kind) do update set hash = excluded.hash, body = excluded.body";

static PUT_BULK: Bulk = Bulk {
    table: "reports",
    columns: &[Column::Uuid, Column::Uuid, Column::Text, Column::Bytes, Column::Text],
    duplicates: Duplicates::Last(3),
};

/// SHA-256 of a report's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReportHash(pub [u8; 32]);

impl ReportHash {
    /// The hash of a text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

/// A report as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub text: Arc<str>,
    pub hash: ReportHash,
}

impl Report {
    /// Reads the columns `infra_env_id, host_id, kind, hash, body`; `None` for a kind that only a newer program knows.
    pub(crate) fn read(row: &mut Row) -> Result<Option<(ReportKind, Self)>, Error> {
        let Some(kind) = ReportKind::parse(row.text(2)?) else { return Ok(None) };
        let hash =
            row.bytes(3)?.try_into().map_err(|_| Error::Corrupt("a hash has not 32 bytes".to_owned()))?;
        Ok(Some((kind, Self { text: row.take_text(4)?.into(), hash: ReportHash(hash) })))
    }
}

/// Which reports are read along with hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    #[default]
    None,
    Only(Vec<ReportKind>),
    All,
}

impl Batch {
    /// Puts a report in place of the one of its kind; an empty text removes it.
    pub fn put_report(&mut self, key: HostKey, kind: ReportKind, text: impl Into<Arc<str>>) -> &mut Self {
        let text = text.into();
        if text.is_empty() {
            return self.delete_report(key, kind);
        }
        let hash = ReportHash::of(&text);
        let mut params = host::key_params(key);
        params.extend([kind.as_str().into(), hash.0.to_vec().into(), text.into()]);
        self.push(Statement::new(PUT, params).bulk(&PUT_BULK)).touch(Subject::Host(key))
    }

    /// Removes a report.
    pub fn delete_report(&mut self, key: HostKey, kind: ReportKind) -> &mut Self {
        let sql = "delete from reports where infra_env_id = $1 and host_id = $2 and kind = $3";
        let mut params = host::key_params(key);
        params.push(kind.as_str().into());
        self.push(Statement::new(sql, params)).touch(Subject::Host(key))
    }

    /// Removes all reports of a host.
    pub fn delete_reports(&mut self, key: HostKey) -> &mut Self {
        let sql = "delete from reports where infra_env_id = $1 and host_id = $2";
        self.push(Statement::new(sql, host::key_params(key))).touch(Subject::Host(key))
    }
}

impl Store {
    /// One report.
    pub async fn report(&self, key: HostKey, kind: ReportKind) -> Result<Option<Report>, Error> {
        let mut select = of_host(key);
        select.equal("r.kind", Some(kind.as_str()));
        let row = self.read_one(select.build()).await?;
        Ok(row.map(|mut row| Report::read(&mut row)).transpose()?.flatten().map(|(_, report)| report))
    }

    /// All reports of a host.
    pub async fn reports(&self, key: HostKey) -> Result<BTreeMap<ReportKind, Report>, Error> {
        let rows = self.read(of_host(key).build()).await?;
        rows.into_iter().filter_map(|mut row| Report::read(&mut row).transpose()).collect()
    }
}

fn of_host(key: HostKey) -> Select {
    let mut select = Select::new(SELECT);
    select.equal("r.infra_env_id", Some(key.infra_env_id.0)).equal("r.host_id", Some(key.host_id.0));
    select
}

/// The reports of the hosts that a filter selects, of the kinds that it names.
pub(crate) fn select_of(filter: &HostFilter) -> Statement {
    let mut select = Select::new(SELECT);
    select.tail(" join hosts h on h.infra_env_id = r.infra_env_id and h.host_id = r.host_id");
    host::conditions(&mut select, filter);
    match &filter.reports {
        Reports::All => {}
        Reports::None => {
            select.when("1 = 0");
        }
        Reports::Only(kinds) => {
            select.one_of("r.kind", kinds.iter().map(|kind| Value::Static(kind.as_str())));
        }
    }
    select.build()
}
