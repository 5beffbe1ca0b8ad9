//! `assisted cluster download`: files that come out of an installation.

use assisted_console::Failure;
use assisted_wire::on_cluster_layering::Pool;
use clap::Args;

use super::common::Context;
use super::save::SaveTo;

/// Files that open the cluster; the service gives them out as such.
const CREDENTIALS: &[&str] = &["kubeconfig", "kubeconfig-noingress", "kubeadmin-password"];

/// What hosts and controller have sent: an archive with an operation of its own.
const LOGS: &str = "logs.tar.gz";

/// The pool whose image was built, if a file is what that build wrote.
fn built_pool(file: &str) -> Option<Pool> {
    file.strip_prefix("os-image-logs-")?.strip_suffix(".tar.gz")?.parse().ok()
}

#[derive(Args, Debug)]
pub struct Download {
    /// Id, beginning of an id, or name
    cluster: String,
    /// Name of the file
    #[arg(value_parser = [
        "kubeconfig", "kubeconfig-noingress", "kubeadmin-password", "install-config.yaml", "metadata.json",
        "bootstrap.ign", "master.ign", "worker.ign", "arbiter.ign", "custom_manifests.json", "custom_manifests.yaml",
        LOGS, "os-image-logs-master.tar.gz", "os-image-logs-worker.tar.gz",
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
        } else if let Some(pool) = built_pool(&self.file) {
            context.client.download_on_cluster_layering_logs(id, pool).await?
        } else {
            context.client.download_cluster_file(id, &self.file).await?
        };
        self.place.save(&self.file, download).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_builds_are_of_pools() {
        assert_eq!(built_pool("os-image-logs-master.tar.gz"), Some(Pool::Master));
        assert_eq!(built_pool("os-image-logs-worker.tar.gz"), Some(Pool::Worker));
        for file in [LOGS, "os-image-logs-infra.tar.gz", "os-image-logs-master", "master.ign"] {
            assert_eq!(built_pool(file), None, "{file}");
        }
    }
}
