//! The programs as users run them: a service process, the command line, stock clients, the agent on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod agent_client;
mod aicli_commands;
mod apply;
mod backup;
mod command_line;
mod crash;
mod discovery;
mod documents;
mod environment;
mod every_state;
mod images;
mod import;
mod infra_env;
mod iso;
mod login;
mod machines;
mod mcp;
mod memory;
mod mirror;
mod openshift;
mod postgres;
mod prometheus;
mod releases;
mod secrets;
mod service;
mod start;
mod stock_clients;
mod storage;
mod traces;
mod up;
mod upgrade;
mod watch;
