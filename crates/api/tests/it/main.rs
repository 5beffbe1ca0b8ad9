//! The API over real HTTP, before the real service on an SQLite database.

mod authorisation;
mod contract;
mod errors;
mod hostile;
mod life;
mod server;
