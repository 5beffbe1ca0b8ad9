//! `assisted admin …`

use assisted_console::Failure;
use assisted_console::output::{line, show, table};
use assisted_wire::work::WorkList;
use clap::Subcommand;

use super::common::Context;
use super::keys;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show which versions the service is made of, and what it installs clusters with
    Info,
    /// Show work that was set aside, runs, failed, is due or waits for its time
    Work {
        /// At most N rows of due work, and N actions
        #[arg(long, value_name = "N", default_value_t = 500)]
        limit: u32,
    },
    /// Have work that was set aside tried again at once
    Release {
        /// Ids of rows, as `assisted admin work` shows them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Keys of secrets at rest, on the machine of the service: list, rotate, forget
    #[command(subcommand)]
    Keys(keys::Command),
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Info => show(context.format, &context.client.component_versions().await?, |known| {
                let rows = known.versions.iter().flat_map(|versions| &versions.0);
                table(["COMPONENT", "VERSION"], rows.map(|(name, version)| [name.clone(), version.clone()]))
            }),
            Self::Work { limit } => {
                show(context.format, &context.client.list_work(Some(limit)).await?, overview)
            }
            Self::Release { ids } => {
                for id in ids {
                    context.client.release_work(&id).await?;
                    line(&format!("{id} is released"))?;
                }
                Ok(())
            }
            Self::Keys(command) => Box::pin(command.run()).await,
        }
    }
}

fn overview(work: &WorkList) -> String {
    let drivers = table(
        ["DRIVER", "RUNNING", "FINISHED", "FAILED", "PANICKED", "TIMED OUT", "SET ASIDE", "LONGEST"],
        work.drivers.iter().map(|driver| {
            [
                driver.name.clone(),
                driver.running.to_string(),
                driver.finished.to_string(),
                driver.failed.to_string(),
                driver.panicked.to_string(),
                driver.timed_out.to_string(),
                driver.set_aside.to_string(),
                format!("{} ms", driver.longest_milliseconds),
            ]
        }),
    );
    if work.rows.is_empty() {
        return format!("Nothing is due, under way or set aside.\n\n{drivers}");
    }
    let rows = table(
        ["STATE", "WHAT", "ID", "ATTEMPTS", "NEXT TIME", "LAST ERROR"],
        work.rows.iter().map(|row| {
            [
                row.state.clone(),
                row.what.clone(),
                row.id.clone(),
                row.attempts.to_string(),
                row.next_at.to_string(),
                row.last_error.clone().unwrap_or_default(),
            ]
        }),
    );
    format!("{rows}\n\n{drivers}")
}
