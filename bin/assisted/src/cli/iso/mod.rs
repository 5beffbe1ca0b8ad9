//! `assisted iso …`: discovery images, of an infra-env or of anyone.

mod download;
mod inspect;
mod remote;

use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{Proxies, Trust, authorities_of_file, builder};
use assisted_console::Failure;
use assisted_console::output::{line, show};
use clap::Subcommand;
use reqwest::redirect::Policy;

use super::common::Context;

/// Limits for a connection to stand, and for the next bytes to come.
const CONNECT: Duration = Duration::from_secs(30);
const STALL: Duration = Duration::from_secs(60);

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show the address of an infra-env's discovery image
    Url {
        /// Id, beginning of an id, or name
        infra_env: String,
    },
    /// Save an infra-env's discovery image; goes on where an earlier download of the same image stopped
    Download(download::Download),
    /// Look into any discovery image: what it boots, embeds and asks for
    Inspect(inspect::Inspect),
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Url { infra_env } => {
                let id = context.infra_env(&infra_env).await?.id;
                let url = context.client.infra_env_image_url(id).await?;
                show(context.format, &url, |url| url.url.clone())
            }
            Self::Download(download) => Box::pin(download.run(context)).await,
            Self::Inspect(inspect) => inspect.run(context).await,
        }
    }
}

/// A client for images. They are fetched as they are: compression would make ranges of something else.
fn http(context: &Context) -> Result<reqwest::Client, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("can't set up HTTP: {error}"));
    let trust = match &context.ca_file {
        Some(path) => Trust::Also(authorities_of_file(path).map_err(|error| usage(&error))?),
        None => Trust::System,
    };
    let agent = concat!("assisted/", env!("CARGO_PKG_VERSION"));
    builder(agent, trust, &Proxies::FromEnvironment)
        .and_then(|client| {
            let client = client.connect_timeout(CONNECT).read_timeout(STALL);
            client.redirect(Policy::default()).no_gzip().build()
        })
        .map_err(|error| usage(&error))
}

/// What reqwest says, with the causes below it, and without the address, which may hold a token.
fn cause(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

fn saved(path: &std::path::Path, size: u64) -> Result<(), Failure> {
    let size = assisted_console::output::bytes(i64::try_from(size).unwrap_or(i64::MAX));
    line(&format!("saved {} ({size})", path.display()))
}
