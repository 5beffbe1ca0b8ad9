//! The programs as users run them: a service process, the command line, stock clients, the agent on this machine.

mod command_line;
mod discovery;
mod service;
mod stock_clients;
