//! Infra-envs.

pub mod record;
