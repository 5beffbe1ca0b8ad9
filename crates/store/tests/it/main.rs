//! The same suite against SQLite and a real PostgreSQL.

mod changes;
mod crash;
mod due;
mod events;
mod records;
mod reports;
mod schema;
mod support;
