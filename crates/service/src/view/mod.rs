//! Records as the API shows them, wherever they are shown.

pub(crate) mod cluster;
pub(crate) mod event;
pub(crate) mod host;
