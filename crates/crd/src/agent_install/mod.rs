//! `agent-install.openshift.io`: discovery images, hosts, and the operator's own settings.

pub mod agent;
pub mod agent_classification;
pub mod agent_service_config;
pub mod conditions;
pub mod hypershift_agent_service_config;
pub mod infra_env;
pub mod nmstate_config;
