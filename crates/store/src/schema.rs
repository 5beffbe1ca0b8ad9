//! The schema's versions. Migrations only run forward.

use crate::error::OpenError;

/// SQL that makes the next version of the schema.
#[derive(Debug)]
pub(crate) struct Migration {
    /// For both engines; `bigserial primary key` is what SQLite numbers itself.
    pub(crate) common: &'static str,
    /// What PostgreSQL needs besides.
    pub(crate) postgres: &'static str,
}

/// The migrations in order; the first makes version 1.
const MIGRATIONS: &[Migration] = &[
    Migration {
        common: include_str!("../migrations/1.sql"),
        postgres: include_str!("../migrations/1.postgres.sql"),
    },
    Migration { common: include_str!("../migrations/2.sql"), postgres: "" },
    Migration {
        common: include_str!("../migrations/3.sql"),
        postgres: include_str!("../migrations/3.postgres.sql"),
    },
    Migration { common: include_str!("../migrations/4.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/5.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/6.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/7.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/8.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/9.sql"), postgres: "" },
    Migration { common: include_str!("../migrations/10.sql"), postgres: "" },
];

impl Migration {
    /// The text for SQLite.
    pub(crate) fn for_sqlite(&self) -> String {
        self.common.replace("bigserial primary key", "integer primary key autoincrement")
    }
}

/// The newest version that is known.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The migrations that make a schema of this version.
pub(crate) fn up_to(version: i64) -> Result<&'static [Migration], OpenError> {
    let unknown = || OpenError::NewerSchema { found: version, known: newest() };
    let count = usize::try_from(version).map_err(|_| unknown())?;
    MIGRATIONS.get(..count).filter(|migrations| !migrations.is_empty()).ok_or_else(unknown)
}

pub(crate) const CREATE_VERSIONS: &str =
    "create table if not exists schema_versions (version bigint primary key, applied_at bigint not null)";
pub(crate) const CURRENT: &str = "select coalesce(max(version), 0) from schema_versions";
pub(crate) const RECORD: &str = "insert into schema_versions (version, applied_at) values ($1, $2)";

/// The first table of another program, the replaced service's above all, that has the name of one of ours: asked where no schema was laid
/// yet.
pub(crate) const OF_OTHERS_IN_POSTGRES: &str = "select table_name::text from information_schema.tables where table_schema = current_schema() \
     and table_name in ('clusters', 'hosts', 'infra_envs', 'events') order by 1 limit 1";
pub(crate) const OF_OTHERS_IN_SQLITE: &str = "select name from sqlite_master where type = 'table' \
     and name in ('clusters', 'hosts', 'infra_envs', 'events') order by 1 limit 1";

/// The migrations that a database of schema `found` lacks, with the versions they make.
pub(crate) fn missing(found: i64) -> Result<impl Iterator<Item = (i64, &'static Migration)>, OpenError> {
    let known = newest();
    if found > known {
        return Err(OpenError::NewerSchema { found, known });
    }
    Ok((1..=known).zip(MIGRATIONS).skip_while(move |(version, _)| *version <= found))
}

/// Nanoseconds since 1970, for the record of applied migrations.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
