//! The client against a real HTTP server on the loopback.

mod answers;
mod requests;
mod server;
