//! `assisted import`: what the replaced service has kept comes into this one.

use std::path::Path;

use anyhow::{Context, Result, bail};
use assisted_blob::{Blob, S3};
use assisted_config::{Settings, Storage, StorageKind};
use assisted_console::output::{show, table};
use assisted_console::{Failure, Global};
use assisted_import::{Kind, Report, Target, import};
use assisted_store::{Foreign, Options};
use assisted_wire::secret::Secret;
use clap::Args;

use crate::cli::progress;
use crate::serve::files;
use crate::serve::storage::StorageArgs;

/// What did not come that a table names of each kind; JSON has more.
const NAMED: usize = 20;

/// Take over clusters, hosts, infra-envs, events and files of the service that this one replaces
///
/// Its database is read as it stands, from one state of it, whether that service runs or not; nothing is written there. What is here
/// already stays as it is: run again, it goes on where it was ended, or changes nothing. With SQLite no service may run here meanwhile.
#[derive(Args, Debug)]
pub struct Import {
    /// Its database: postgres://USER:PASSWORD@HOST:PORT/NAME
    #[arg(long, env = "ASSISTED_IMPORT_FROM", hide_env_values = true, value_name = "URL")]
    from: Secret,
    /// Its files: its WORK_DIR, or s3://BUCKET; without it no files come
    #[arg(long, value_name = "DIR|s3://BUCKET")]
    files: Option<String>,
    /// Where that bucket is; without it at Amazon
    #[arg(long, env = "ASSISTED_IMPORT_S3_ENDPOINT_URL", value_name = "URL", requires = "files")]
    s3_endpoint_url: Option<String>,
    #[arg(
        long,
        env = "ASSISTED_IMPORT_S3_REGION",
        value_name = "REGION",
        default_value = "us-east-1",
        help = "Region of that bucket"
    )]
    s3_region: String,
    /// Who opens that bucket
    #[arg(long, env = "ASSISTED_IMPORT_ACCESS_KEY_ID", value_name = "ID", default_value = "")]
    s3_access_key_id: String,
    /// Secret that belongs to it; give it in the environment
    #[arg(
        long,
        env = "ASSISTED_IMPORT_SECRET_ACCESS_KEY",
        hide_env_values = true,
        value_name = "SECRET",
        default_value = ""
    )]
    s3_secret_access_key: Secret,
    #[command(flatten)]
    storage: StorageArgs,
}

impl Import {
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        let report = Box::pin(self.import()).await.map_err(|error| Failure::Refused(format!("{error:#}")))?;
        show(global.output, &report, overview)
    }

    async fn import(&self) -> Result<Report> {
        let settings = Settings::from_env(&|name| std::env::var(name).ok())?;
        let data_dir = self.storage.data_dir(&settings.http.work_dir)?;
        let address = self.from.expose();
        if !address.starts_with("postgres://") && !address.starts_with("postgresql://") {
            bail!("--from is no address of a PostgreSQL, such as postgres://installer@db:5432/installer");
        }
        let from = Foreign::open(address, &Options::default())
            .await
            .context("the database of --from can't be read")?;
        let theirs = match self.files.as_deref() {
            Some(place) => Some(self.theirs(place).await?),
            None => None,
        };
        std::fs::create_dir_all(&data_dir)
            .with_context(|| format!("the data folder {} can't be made", data_dir.display()))?;
        let opened = self.storage.open(&settings, &data_dir).await?;
        let target = Target { store: &opened.store, files: &opened.blob };
        Ok(Box::pin(progress::during("takes over", import(&from, theirs.as_ref(), target))).await?)
    }

    /// The files of the replaced service.
    async fn theirs(&self, place: &str) -> Result<Blob> {
        let Some(bucket) = place.strip_prefix("s3://") else {
            if !Path::new(place).is_dir() {
                bail!(
                    "there is no folder {place}: --files is the WORK_DIR of the service that is replaced, or s3://BUCKET"
                );
            }
            return Ok(Blob::foreign(place));
        };
        let settings = Storage {
            kind: StorageKind::S3,
            s3_bucket: bucket.trim_end_matches('/').to_owned(),
            s3_endpoint: self.s3_endpoint_url.clone().unwrap_or_default(),
            s3_region: self.s3_region.clone(),
            s3_access_key: self.s3_access_key_id.clone(),
            s3_secret_key: self.s3_secret_access_key.clone(),
            ..Storage::default()
        };
        let place: S3 = files::place(&settings).context("the bucket of --files can't be used")?;
        Blob::bucket(place).await.context("the bucket of --files can't be used")
    }
}

fn overview(report: &Report) -> String {
    let kinds = [Kind::Clusters, Kind::InfraEnvs, Kind::Hosts, Kind::Events, Kind::Files];
    let mut told = table(
        ["WHAT", "CAME", "WERE HERE", "DID NOT COME"],
        kinds.map(|kind| {
            let of = report.of(kind);
            [kind.to_string(), of.taken.to_string(), of.there.to_string(), of.left.to_string()]
        }),
    );
    let named: Vec<_> = kinds
        .iter()
        .flat_map(|kind| report.left.iter().filter(|left| left.kind == *kind).take(NAMED))
        .map(|left| [left.kind.to_string(), left.id.clone(), left.why.clone()])
        .collect();
    if !named.is_empty() {
        told = format!("{told}\n\n{}", table(["DID NOT COME", "ID", "WHY"], named));
    }
    for note in &report.notes {
        told = format!("{told}\n\n{note}");
    }
    told
}
