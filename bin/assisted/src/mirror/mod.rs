//! `assisted mirror`: what an installation takes of registries and web servers, and whether the mirrors have it. It is typed where the
//! service runs, and reads the same settings: what it finds is found by the service, by hosts and by clusters.

mod check;
mod forms;
mod plan;
mod selection;

use assisted_config::Settings;
use assisted_console::output::{line, show};
use assisted_console::{Failure, Global};
use assisted_release::Retry;
use assisted_service::generator::openshift::RegistryAccess;
use clap::{Args, Subcommand};

use check::Check;
use forms::Form;
use plan::Plan;
use selection::SelectionArgs;

#[derive(Subcommand, Debug)]
pub enum Command {
    Plan(Box<PlanOf>),
    Check(Box<Check>),
}

/// Tell which images and files an installation takes
///
/// The release is read, by its digest or its tag, from its mirrors or its source; nothing else is asked. With -o json the plan can be kept and
/// checked later at another place (`assisted mirror check --plan`).
#[derive(Args, Debug)]
pub struct PlanOf {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Write what other tools take: image-set for oc-mirror; mirror-set, the objects that tell a cluster of mirrors; registries-conf for
    /// REGISTRIES_CONF_FILE
    #[arg(long, value_enum, value_name = "FORM")]
    form: Option<Form>,
    /// Where the copies are to be, for --form mirror-set and registries-conf
    #[arg(long, value_name = "REGISTRY[/PATH]")]
    to: Option<String>,
}

impl Command {
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        match self {
            Self::Plan(plan) => plan.run(global).await,
            Self::Check(check) => check.run(global).await,
        }
    }
}

impl PlanOf {
    async fn run(self, global: &Global) -> Result<(), Failure> {
        // Before anything is asked.
        let form = self.form.map(|form| form.to(self.to.as_deref())).transpose()?;
        let settings = settings()?;
        let access = access(&settings, Retry::default())?;
        let plan = self.selection.plan(&settings, &access, global).await?;
        match form {
            None => show(global.output, &plan, Plan::table),
            Some(form) => line(form.write(&plan)?.trim_end()),
        }
    }
}

fn settings() -> Result<Settings, Failure> {
    Settings::from_env(&|name| std::env::var(name).ok()).map_err(Failure::refused)
}

/// The way to registries that the service takes.
fn access(settings: &Settings, retry: Retry) -> Result<RegistryAccess, Failure> {
    RegistryAccess::open(settings, retry).map_err(Failure::refused)
}
