//! The installer of the lab's releases: it takes the command line of the real one, reads the same files, and leaves files
//! of the same names, places and forms.

mod config;
mod ignition;
mod manifests;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::config::InstallConfig;
use crate::control_plane::{PUBLIC, make};
use crate::files;

const CONFIG: &str = "install-config.yaml";
const STATE: &str = ".openshift_install_state.json";
pub(crate) const FOLDERS: [&str; 2] = ["manifests", "openshift"];

/// A target of `openshift-install create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    Manifests,
    IgnitionConfigs,
    SingleNodeIgnitionConfig,
}

/// What is kept from one target to the next.
#[derive(Serialize, Deserialize)]
struct State {
    /// The install config as it was given.
    config: Value,
    cluster_id: uuid::Uuid,
    infra_id: String,
}

/// A run of the installer in its folder.
struct Run {
    dir: PathBuf,
    state: State,
    config: InstallConfig,
    release_image: String,
    invoker: String,
}

/// Makes a target in a folder.
pub fn create(target: Target, dir: &Path) -> Result<()> {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if environment("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS").is_some() {
        bail!(
            "OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS: the lab's installer makes its own certificates; leave it out"
        );
    }
    let release_image = environment("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")
        .context("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE is not set: it names the release")?;
    let invoker = environment("OPENSHIFT_INSTALL_INVOKER").unwrap_or_else(|| "user".to_owned());
    let state = state(dir)?;
    let config = InstallConfig::read(&state.config)
        .context("failed to fetch Install Config: invalid install-config.yaml")?;
    let run = Run { dir: dir.to_owned(), state, config, release_image, invoker };
    if target == Target::Manifests || !dir.join(FOLDERS[0]).is_dir() {
        run.manifests()?;
    }
    match target {
        Target::Manifests => Ok(()),
        Target::IgnitionConfigs => run.finish(false),
        Target::SingleNodeIgnitionConfig => run.finish(true),
    }
}

/// What an earlier run has kept, or else the install config, which is taken away.
fn state(dir: &Path) -> Result<State> {
    let path = dir.join(STATE);
    if path.exists() {
        return serde_json::from_slice(&files::read(&path)?)
            .with_context(|| format!("{STATE} can't be read"));
    }
    let given = dir.join(CONFIG);
    let text = files::text(&given).context("failed to fetch Install Config")?;
    let config: Value = serde_yaml_ng::from_str(&text)
        .context("failed to fetch Install Config: invalid install-config.yaml")?;
    let name = config.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let state = State { cluster_id: uuid::Uuid::new_v4(), infra_id: format!("{name}-{}", random(5)), config };
    files::write(&path, 0o600, serde_json::to_vec(&state)?)?;
    std::fs::remove_file(given)?;
    Ok(state)
}

fn random(length: usize) -> String {
    const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";
    let mut random = rand::rng();
    (0..length).map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())])).collect()
}

impl Run {
    /// The last targets take away what the first have left.
    fn finish(&self, single: bool) -> Result<()> {
        if single && !self.config.in_place {
            bail!("bootstrapInPlace must be set to make a single node");
        }
        let cluster = self.config.cluster(&self.state.infra_id, &self.release_image);
        let laid = make(&cluster)?;
        let password = [random(5), random(5), random(5), random(5)].join("-");
        let kubeconfig = laid.iter().find(|(name, ..)| name == PUBLIC).context("a kubeconfig")?;
        files::write(self.dir.join("auth/kubeconfig"), 0o600, &kubeconfig.2)?;
        files::write(self.dir.join("auth/kubeadmin-password"), 0o600, password)?;
        files::write(self.dir.join("metadata.json"), 0o600, self.metadata())?;
        let configs = ignition::configs(self, &cluster, &laid, single)?;
        for (name, config) in configs {
            files::write(self.dir.join(name), 0o600, config.to_json()?)?;
        }
        for folder in FOLDERS {
            let folder = self.dir.join(folder);
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
        }
        Ok(std::fs::remove_file(self.dir.join(STATE))?)
    }

    fn metadata(&self) -> String {
        serde_json::json!({
            "clusterName": self.config.name, "clusterID": self.state.cluster_id, "infraID": self.state.infra_id,
            self.config.platform.clone(): {},
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests;
