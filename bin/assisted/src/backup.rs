//! `assisted backup` and `assisted restore`: database and files in one archive. They work on both themselves, and not through the API.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use assisted_backup::{DataFile, Manifest, Source, restore, verify, write};
use assisted_config::Settings;
use assisted_console::output::{bytes, facts, line, show};
use assisted_console::{Failure, Global};
use clap::Args;
use serde::Serialize;

use crate::cli::progress;
use crate::serve::secrets::key_file;
use crate::serve::storage::{self, StorageArgs};
use crate::serve::{files, identity, lock};

/// Write database and files into one archive
///
/// The service may be at work meanwhile: the archive has the rows of one moment and the files after it. What is sealed stays sealed; the keys
/// are named and left out, unless they are asked for.
#[derive(Args, Debug)]
pub struct Backup {
    /// Where to; nothing is replaced
    file: PathBuf,
    /// Put the keys of secrets at rest into the archive: whoever has it can read everything then
    #[arg(long)]
    with_keys: bool,
    #[command(flatten)]
    storage: StorageArgs,
}

/// Put an archive of `assisted backup` back
///
/// Database and files go where the service is told to keep them, of whichever kind; both have to be new. The archive is verified first: one
/// that is damaged changes nothing. What was ended in the middle can be run again.
#[derive(Args, Debug)]
pub struct Restore {
    /// The archive
    file: PathBuf,
    /// Only verify it, and tell what it has
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    storage: StorageArgs,
}

/// What an archive has.
#[derive(Serialize)]
struct Report {
    archive: String,
    made_at: String,
    program: String,
    schema: i64,
    clusters: u64,
    infra_envs: u64,
    hosts: u64,
    events: u64,
    files: usize,
    /// Before they were compressed.
    bytes: u64,
    /// Keys that something may be sealed with.
    seal_keys: Vec<String>,
    has_keys: bool,
}

impl Report {
    fn new(archive: &Path, manifest: &Manifest) -> Self {
        Self {
            archive: archive.display().to_string(),
            made_at: manifest.made_at.to_string(),
            program: manifest.program.clone(),
            schema: manifest.schema,
            clusters: manifest.rows_of("clusters"),
            infra_envs: manifest.rows_of("infra_envs"),
            hosts: manifest.rows_of("hosts"),
            events: manifest.rows_of("events"),
            files: manifest.files(),
            bytes: manifest.bytes(),
            seal_keys: manifest.seal_keys.clone(),
            has_keys: manifest.has_keys,
        }
    }

    fn show(&self, global: &Global) -> Result<(), Failure> {
        show(global.output, self, |report| {
            let keys = report.seal_keys.join(", ");
            let keys = if report.has_keys { format!("{keys}, in the archive") } else { keys };
            facts(&[
                ("Archive", report.archive.clone()),
                ("Made at", report.made_at.clone()),
                ("By version", report.program.clone()),
                ("Clusters", report.clusters.to_string()),
                ("Infra-envs", report.infra_envs.to_string()),
                ("Hosts", report.hosts.to_string()),
                ("Events", report.events.to_string()),
                ("Files", report.files.to_string()),
                ("Content", bytes(i64::try_from(report.bytes).unwrap_or(i64::MAX))),
                ("Sealed with", keys),
            ])
        })
    }
}

fn settings() -> Result<Settings, Failure> {
    Settings::from_env(&|name| std::env::var(name).ok()).map_err(Failure::refused)
}

fn refused(error: &anyhow::Error) -> Failure {
    Failure::Refused(format!("{error:#}"))
}

impl Backup {
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        let settings = settings()?;
        let data_dir = self.storage.data_dir(&settings.http.work_dir).map_err(|error| refused(&error))?;
        let database = self.storage.database(&settings, &data_dir);
        if let Some(path) = database.strip_prefix("sqlite:")
            && !Path::new(path).exists()
        {
            let told = format!("there is no database {path}: say where it is by --data-dir or --database");
            return Err(Failure::Refused(told));
        }
        let files = files::open(&settings.storage, &data_dir).await.map_err(|error| refused(&error))?;
        let data = self.data(&settings, &data_dir)?;
        let options = storage::options(&settings);
        let source = Source { database: &database, options: &options, files: &files, data };

        let failed = |error: &dyn std::fmt::Display| {
            Failure::Refused(format!("the archive {} can't be written: {error}", self.file.display()))
        };
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let draft = tempfile::Builder::new().prefix(".backup-").tempfile_in(folder.unwrap_or(Path::new(".")));
        let draft = draft.map_err(|error| failed(&error))?;
        let to = draft.as_file().try_clone().map_err(|error| failed(&error))?;
        let (manifest, _) = progress::during("writes the archive", write(source, BufWriter::new(to)))
            .await
            .map_err(Failure::refused)?;
        draft.as_file().sync_all().map_err(|error| failed(&error))?;
        // An archive that can't be read again is none: it is told now, and not when it is needed.
        let written = draft.path().to_owned();
        let read =
            tokio::task::spawn_blocking(move || verify(&written)).await.map_err(|error| failed(&error))?;
        if read.map_err(Failure::refused)? != manifest {
            return Err(failed(&"what was read of it again is not what was written"));
        }
        draft.persist_noclobber(&self.file).map_err(|error| failed(&error.error))?;
        Report::new(&self.file, &manifest).show(global)
    }

    /// What of the data folder goes into the archive.
    fn data(&self, settings: &Settings, data_dir: &Path) -> Result<Vec<(DataFile, Vec<u8>)>, Failure> {
        let mut data = Vec::new();
        let token_key = identity::key_file(data_dir);
        if token_key.path().exists() {
            data.push((DataFile::TokenKey, content(token_key.path())?));
        }
        if self.with_keys {
            data.push((DataFile::SealKeys, content(key_file(&settings.seal, data_dir).path())?));
        }
        Ok(data)
    }
}

fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::Refused(format!("{} can't be read: {error}", path.display())))
}

impl Restore {
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        if self.check {
            let manifest = verify(&self.file).map_err(Failure::refused)?;
            return Report::new(&self.file, &manifest).show(global);
        }
        let settings = settings()?;
        let data_dir = self.storage.data_dir(&settings.http.work_dir).map_err(|error| refused(&error))?;
        fs::create_dir_all(&data_dir).map_err(|error| {
            Failure::Refused(format!("the data folder {} can't be made: {error}", data_dir.display()))
        })?;
        // A service that runs on it would write files meanwhile.
        let embedded = self.storage.is_embedded(&settings, &data_dir);
        let _lock =
            if embedded { Some(lock::hold(&data_dir).map_err(|error| refused(&error))?) } else { None };
        let database = self.storage.database(&settings, &data_dir);
        let files = files::open(&settings.storage, &data_dir).await.map_err(|error| refused(&error))?;
        let keys = key_file(&settings.seal, &data_dir);
        let options = storage::options(&settings);
        let data = vec![
            (DataFile::TokenKey, identity::key_file(&data_dir).path().to_owned()),
            (DataFile::SealKeys, keys.path().to_owned()),
        ];
        let to = assisted_backup::Destination { database: &database, options: &options, files: &files, data };
        let manifest = progress::during("puts the archive back", restore(&self.file, to))
            .await
            .map_err(Failure::refused)?;
        Report::new(&self.file, &manifest).show(global)?;
        if !manifest.seal_keys.is_empty()
            && !keys.exists()
            && global.output == assisted_console::Format::Table
        {
            line(&format!(
                "\nSecrets are sealed with {}: put the key file to {}, or name it by SEAL_KEY_FILE, before the service is started.",
                manifest.seal_keys.join(", "),
                keys.path().display()
            ))?;
        }
        Ok(())
    }
}
