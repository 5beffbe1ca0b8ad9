//! The big texts that a host reports, each with its hash.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_core::model::report::ReportKind;

use crate::batch::Batch;
use crate::error::Error;
use crate::host_filter::{self, HostFilter, Reports};
use crate::host_key;
use crate::report_hash::ReportHash;
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::{Row, Value};

const SELECT: &str = "select r.infra_env_id, r.host_id, r.kind, r.hash, r.body from reports r";
const SELECT_WITHOUT_TEXT: &str =
    "select r.infra_env_id, r.host_id, r.kind, r.hash, cast(null as text) from reports r";

const PUT: &str = "insert into reports (infra_env_id, host_id, kind, hash, body) values ($1, $2, $3, $4, $5) \
     on conflict (infra_env_id, host_id, kind) do update set hash = excluded.hash, body = excluded.body";

static PUT_BULK: Bulk = Bulk {
    table: "reports",
    columns: &[Column::Uuid, Column::Uuid, Column::Text, Column::Bytes, Column::Text],
    duplicates: Duplicates::Last(3),
};

/// A report as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub text: Arc<str>,
    pub hash: ReportHash,
}

impl Report {
    /// Reads the columns `infra_env_id, host_id, kind, hash, body`; `None` for a kind that only a newer program knows.
    pub(crate) fn read(row: &Row) -> Result<Option<(ReportKind, Self)>, Error> {
        let Some(kind) = ReportKind::parse(row.text(2)?) else { return Ok(None) };
        let hash = ReportHash::read(row, 3)?;
        Ok(Some((kind, Self { text: row.shared_text(4)?, hash })))
    }
}

impl Batch {
    /// Puts a report in place of the one of its kind; an empty text removes it.
    pub fn put_report(&mut self, key: HostKey, kind: ReportKind, text: impl Into<Arc<str>>) -> &mut Self {
        let text = text.into();
        if text.is_empty() {
            return self.delete_report(key, kind);
        }
        let hash = ReportHash::of(&text);
        // A text with the character 0 is stored otherwise.
        if !text.contains('\0') {
            self.texts.push((hash, Arc::clone(&text)));
        }
        let mut params = host_key::params(key);
        params.extend([kind.as_str().into(), hash.0.to_vec().into(), text.into()]);
        self.push(Statement::new(PUT, params).bulk(&PUT_BULK)).touch(Subject::Host(key))
    }

    /// Removes a report.
    pub fn delete_report(&mut self, key: HostKey, kind: ReportKind) -> &mut Self {
        let sql = "delete from reports where infra_env_id = $1 and host_id = $2 and kind = $3";
        let mut params = host_key::params(key);
        params.push(kind.as_str().into());
        self.push(Statement::new(sql, params)).touch(Subject::Host(key))
    }

    /// Removes all reports of a host.
    pub fn delete_reports(&mut self, key: HostKey) -> &mut Self {
        let sql = "delete from reports where infra_env_id = $1 and host_id = $2";
        self.push(Statement::new(sql, host_key::params(key))).touch(Subject::Host(key))
    }
}

impl Reader {
    /// One report.
    pub async fn report(&self, key: HostKey, kind: ReportKind) -> Result<Option<Report>, Error> {
        let mut select = of_host(key);
        select.equal("r.kind", Some(kind.as_str()));
        let row = self.read_one(select.build()).await?;
        Ok(row.map(|row| Report::read(&row)).transpose()?.flatten().map(|(_, report)| report))
    }

    /// All reports of a host.
    pub async fn reports(&self, key: HostKey) -> Result<BTreeMap<ReportKind, Report>, Error> {
        let rows = self.read(of_host(key).build()).await?;
        rows.into_iter().filter_map(|row| Report::read(&row).transpose()).collect()
    }

    /// Answers queries, and after them one for the reports of a filter's hosts, from one state of the database. The
    /// texts are read only where one of them is not cached.
    pub(crate) async fn read_with_reports(
        &self,
        filter: &HostFilter,
        queries: &[Statement],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let and = |reports: Statement| queries.iter().cloned().chain([reports]).collect();
        let mut answers = self.read_all(and(select_of(filter, SELECT_WITHOUT_TEXT))).await?;
        if answers.last_mut().is_some_and(|reports| !self.texts().fill(reports)) {
            answers = self.read_all(and(select_of(filter, SELECT))).await?;
            if let Some(reports) = answers.last_mut() {
                self.texts().keep(reports);
            }
        }
        Ok(answers)
    }
}

fn of_host(key: HostKey) -> Select {
    let mut select = Select::new(SELECT);
    select.equal("r.infra_env_id", Some(key.infra_env_id.0)).equal("r.host_id", Some(key.host_id.0));
    select
}

/// The reports of the hosts that a filter selects, of the kinds that it names.
fn select_of(filter: &HostFilter, select: &'static str) -> Statement {
    let mut select = Select::new(select);
    select.tail(" join hosts h on h.infra_env_id = r.infra_env_id and h.host_id = r.host_id");
    host_filter::conditions(&mut select, filter);
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
