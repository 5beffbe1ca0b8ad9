//! The controllers of a hub against a real API server with the published definitions, beside a real service.

mod agent;
mod bare_metal_host;
mod classification;
mod cluster;
mod converged;
mod faults;
mod infra_env;
mod installation;
mod own_hub;
mod rights;
mod spoke;
mod staying;
mod tokens;
mod walk;
mod world;
