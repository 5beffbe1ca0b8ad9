//! The schema's versions. Migrations only run forward.

use crate::error::OpenError;

/// The migrations in order; the first makes version 1.
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("../migrations/1.sql")];

pub(crate) const CREATE_VERSIONS: &str =
    "create table if not exists schema_versions (version bigint primary key, applied_at bigint not null)";
pub(crate) const CURRENT: &str = "select coalesce(max(version), 0) from schema_versions";
pub(crate) const RECORD: &str = "insert into schema_versions (version, applied_at) values ($1, $2)";

/// The migrations that a database of schema `found` lacks, with the versions they make.
pub(crate) fn missing(found: i64) -> Result<impl Iterator<Item = (i64, &'static str)>, OpenError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(OpenError::NewerSchema { found, known });
    }
    Ok((1..=known).zip(MIGRATIONS.iter().copied()).skip_while(move |(version, _)| *version <= found))
}

/// Nanoseconds since 1970, for the record of applied migrations.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
