//! `assisted cluster download`: files that come out of an installation.

use assisted_console::Failure;
use clap::Args;

use super::common::Context;
use super::save::SaveTo;

/// Files that open the cluster; the service gives them out as such.
const CREDENTIALS: &[&str] = &["kubeconfig", "kubeconfig-noingress", "kubeadmin-password"];

/// What hosts and controller have sent: an archive with an operation of its own.
const LOGS: &str = "logs.tar.gz";

#[derive(Args, Debug)]
pub struct Download {
    /// Id, beginning of an id, or name
    cluster: String,
    /// Name of the file
    #[arg(value_parser = [
        "kubeconfig", "kubeconfig-noingress", "kubeadmin-password", "install-config.yaml", "metadata.json",
        "bootstrap.ign", "master.ign", "worker.ign", "arbiter.ign", "custom_manifests.json", "custom_manifests.yaml",
        LOGS,
    ])]
    file: String,
    #[command(flatten)]
    place: SaveTo,
}

impl Download {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = context.cluster(&self.cluster).await?.id;
        let download = if CREDENTIALS.contains(&self.file.as_str()) {
            context.client.download_cluster_credentials(id, &self.file).await?
        } else if self.file == LOGS {
            context.client.download_cluster_logs(id).await?
        } else {
            context.client.download_cluster_file(id, &self.file).await?
        };
        self.place.save(&self.file, download).await
    }
}
