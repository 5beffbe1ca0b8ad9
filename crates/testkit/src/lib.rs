//! Real servers for tests and benchmarks, started by them and gone with them.

mod postgres;

pub use postgres::{Durability, Error, Postgres};
