//! Real servers for tests and benchmarks, started by them and gone with them.

mod postgres;
mod server;
mod tied;

pub use postgres::{Durability, Error, Postgres};
pub use rustix::process::Signal;
pub use server::Server;
pub use tied::tied;
