//! The agent's whole loop against a real HTTP server on the loopback.

mod polling;
mod registration;
mod service;
mod stepping;
