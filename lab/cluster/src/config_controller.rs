//! The controller of the machine config operator on a bootstrap host: it renders the configuration of all pools before there is a
//! cluster.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tracing::info;

use crate::cluster::Cluster;
use crate::files;
use crate::kube_api::documents;
use crate::machine_config;
use crate::os_image::{API, OWN};

/// `machine-config-controller bootstrap`
#[derive(Args)]
pub struct Options {
    #[arg(long)]
    manifest_dir: PathBuf,
    #[arg(long)]
    dest_dir: PathBuf,
    #[arg(long)]
    pull_secret: PathBuf,
    #[arg(long)]
    payload_version: String,
}

/// Renders the configuration of all pools, as the controller does before there is a cluster. It may run out of its image: of the bootstrap
/// host it sees what it renders from, and nothing else.
pub fn render(options: &Options) -> Result<()> {
    let own = options.manifest_dir.join(OWN);
    let cluster = Cluster::read(&own)?;
    if cluster.version != options.payload_version {
        bail!("the release is {}, and not {}", cluster.version, options.payload_version);
    }
    let mut manifests = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(&options.manifest_dir)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json"))
    {
        manifests.extend(documents(&files::text(path)?).with_context(|| format!("{}", path.display()))?);
    }
    let rendered = machine_config::render(&cluster, &own, &options.pull_secret, &manifests)?;
    for (role, (name, spec)) in &rendered.specs {
        let pool = json!({
            "apiVersion": API, "kind": "MachineConfigPool", "metadata": {"name": role},
            "spec": {"configuration": {"name": name}},
        });
        let config =
            json!({"apiVersion": API, "kind": "MachineConfig", "metadata": {"name": name}, "spec": spec});
        let to = &options.dest_dir;
        files::write(to.join(format!("machine-pools/{role}.yaml")), 0o644, pool.to_string())?;
        files::write(to.join(format!("machine-configs/{name}.yaml")), 0o644, config.to_string())?;
        info!(role, name, image = %spec["osImageURL"], "rendered");
    }
    Ok(())
}
