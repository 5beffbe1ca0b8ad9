//! The decisions: what follows from a look, a request, a reply or a worker's outcome. Each says what to write, what to
//! report, and what to do.

pub mod cluster;
pub mod dns;
pub mod host;
pub mod install;
pub mod measure;
pub mod refresh;
pub mod subscription;
