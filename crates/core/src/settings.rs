//! What an operator of the service can set, as the domain sees it.

/// Settings of the domain.
#[derive(Clone, Debug, Default)]
pub struct Settings {}
