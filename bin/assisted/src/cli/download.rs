//! `assisted cluster download`: files that come out of an installation.

use std::io::Write;
use std::path::{Path, PathBuf};

use assisted_console::Failure;
use assisted_console::output::line;
use assisted_wire::id::ClusterId;
use clap::Args;

use super::common::Context;

/// Files that open the cluster; the service gives them out as such.
const CREDENTIALS: &[&str] = &["kubeconfig", "kubeconfig-noingress", "kubeadmin-password"];

#[derive(Args, Debug)]
pub struct Download {
    /// Id, beginning of an id, or name
    cluster: String,
    /// Name of the file
    #[arg(value_parser = [
        "kubeconfig", "kubeconfig-noingress", "kubeadmin-password", "install-config.yaml", "metadata.json",
        "bootstrap.ign", "master.ign", "worker.ign", "arbiter.ign", "custom_manifests.json", "custom_manifests.yaml",
    ])]
    file: String,
    /// Where to save it; - is standard output [default: its name, in this folder]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

impl Download {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = context.cluster(&self.cluster).await?.id;
        let path = self.to.clone().unwrap_or_else(|| PathBuf::from(&self.file));
        if path == Path::new("-") {
            return self.copy(context, id, &mut std::io::stdout().lock()).await;
        }
        // Beside the place until it is whole; from the start readable to its owner only.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Refused(format!(
                "can't save {}: {error}; choose another place with --to",
                path.display()
            ))
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| refused(&error))?;
        self.copy(context, id, &mut file).await?;
        file.persist(&path).map_err(|error| refused(&error))?;
        line(&format!("saved {}", path.display()))
    }

    async fn copy(&self, context: &Context, id: ClusterId, to: &mut impl Write) -> Result<(), Failure> {
        let mut download = if CREDENTIALS.contains(&self.file.as_str()) {
            context.client.download_cluster_credentials(id, &self.file).await?
        } else {
            context.client.download_cluster_file(id, &self.file).await?
        };
        while let Some(piece) = download.chunk().await? {
            to.write_all(&piece)
                .map_err(|error| Failure::Refused(format!("can't write the file: {error}")))?;
        }
        to.flush().map_err(|error| Failure::Refused(format!("can't write the file: {error}")))
    }
}
