//! The options that every command has.

use std::path::PathBuf;

use clap::Args;

use crate::Format;
use crate::colour::When;

/// Where the service is, and how answers are shown.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Address of the service
    #[arg(long, global = true, env = "ASSISTED_URL", default_value = "http://127.0.0.1:8090")]
    pub url: String,
    /// Token of a person (`Authorization: Bearer`); better given by the variable than on the command line [default: that of
    /// `assisted login`]
    #[arg(long, global = true, env = "ASSISTED_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Certificates (PEM) to trust besides the system's
    #[arg(long, global = true, env = "ASSISTED_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// How to show answers: a table for people, the API's objects for programs
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub output: Format,
    /// When to colour tables
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: When,
}
