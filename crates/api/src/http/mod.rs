//! What lies between a connection and an operation: paths, bodies, answers, errors.

pub(crate) mod body;
pub(crate) mod cors;
mod error;
pub(crate) mod guard;
pub(crate) mod live;
pub(crate) mod response;
pub(crate) mod route;
