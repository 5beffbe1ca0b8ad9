//! Hosts that behave like real ones on the wire: load without machines.
//!
//! [`host`] makes hosts with a plausible inventory of their own, [`connection`] speaks HTTP for them over one kept
//! connection, [`load`] runs many of them at once and measures.

pub mod connection;
pub mod host;
pub mod load;
