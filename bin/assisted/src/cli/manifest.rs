//! `assisted cluster manifest …`: manifests that people add to a cluster.

use std::path::PathBuf;

use assisted_console::Failure;
use assisted_console::file;
use assisted_console::output::{line, show, table};
use assisted_wire::manifest::{CreateManifestParams, Manifest, ManifestFolder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};

use super::common::Context;
use super::save::SaveTo;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List the manifests that were added to a cluster
    List {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Add manifests to a cluster, or replace those of the same name
    Add {
        /// Id, beginning of an id, or name
        cluster: String,
        /// Files of manifests; each keeps its name
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        folder: Folder,
    },
    /// Save a manifest
    Download {
        /// Id, beginning of an id, or name
        cluster: String,
        /// Name of its file
        name: String,
        #[command(flatten)]
        folder: Folder,
        #[command(flatten)]
        place: SaveTo,
    },
    /// Take manifests away from a cluster
    Delete {
        /// Id, beginning of an id, or name
        cluster: String,
        /// Names of their files
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        folder: Folder,
    },
}

/// When a manifest is laid over those of the installer.
#[derive(Args, Debug)]
pub struct Folder {
    /// Folder of the manifests: `manifests` for those of the bootstrap, `openshift` for those of the cluster
    #[arg(long, default_value = "manifests", value_parser = ["manifests", "openshift"])]
    folder: String,
}

impl Folder {
    fn get(&self) -> Result<ManifestFolder, Failure> {
        self.folder.parse().map_err(Failure::Usage)
    }
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = &context.client;
        match self {
            Self::List { cluster } => {
                let manifests = client.list_manifests(context.cluster(&cluster).await?.id).await?;
                show(context.format, &manifests, |manifests| overview(manifests))
            }
            Self::Add { cluster, files, folder } => {
                let read = files.iter().map(|path| {
                    let name = path.file_name().and_then(|name| name.to_str());
                    let name =
                        name.ok_or_else(|| Failure::Usage(format!("{} names no file", path.display())))?;
                    Ok(CreateManifestParams {
                        folder: Some(folder.get()?),
                        file_name: name.to_owned(),
                        content: STANDARD.encode(file(path)?),
                    })
                });
                // All are read before the first one is sent.
                let manifests = read.collect::<Result<Vec<_>, Failure>>()?;
                let id = context.cluster(&cluster).await?.id;
                for params in manifests {
                    client.create_manifest(id, &params).await?;
                    line(&format!("added {}/{}", folder.folder, params.file_name))?;
                }
                Ok(())
            }
            Self::Download { cluster, name, folder, place } => {
                let id = context.cluster(&cluster).await?.id;
                place.save(&name, client.download_manifest(id, folder.get()?, &name).await?).await
            }
            Self::Delete { cluster, names, folder } => {
                let id = context.cluster(&cluster).await?.id;
                for name in names {
                    client.delete_manifest(id, folder.get()?, &name).await?;
                    line(&format!("deleted {}/{name}", folder.folder))?;
                }
                Ok(())
            }
        }
    }
}

fn overview(manifests: &[Manifest]) -> String {
    table(
        ["FOLDER", "NAME", "ADDED BY"],
        manifests.iter().map(|manifest| {
            [
                manifest.folder.map(|folder| folder.to_string()).unwrap_or_default(),
                manifest.file_name.clone(),
                manifest.manifest_source.map(|source| source.to_string()).unwrap_or_default(),
            ]
        }),
    )
}
