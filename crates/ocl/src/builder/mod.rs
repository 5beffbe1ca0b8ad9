//! The builder on the bootstrap host: from the first rendered configuration to an image that all nodes can pull by its digest
//! (ocl-day1 §B5). The same program builds on a control plane node (§B7.1).
//!
//! [`Builder::run`] goes through the states of [`BuildState`](assisted_wire::on_cluster_layering::BuildState), each of which is on disk before the
//! next begins: killed anywhere, it goes on at the first that is not done. All programs are the machine's own and go through [`Machine`].

mod auth;
mod base_image;
mod bundle;
mod containerfile;
mod context;
mod embedded;
mod end;
mod failure;
mod flow;
mod image;
mod lock;
mod machine;
mod machine_os_config;
mod node;
mod preflight;
mod progress;
mod redact;
mod render;
mod rerender;
mod scratch;
mod stop;
mod verify;

use std::time::Duration;

use assisted_wire::on_cluster_layering::{BuildLocation, Pool};

pub use bundle::{pack as pack_logs, read_logs, write as write_bundle};
pub use failure::{Failed, classify_run};
pub use lock::{LockError, is_running};
pub use machine::Machine;
pub use machine_os_config::{secret_names, seeded};
pub use node::{lay, pack, replicate};
pub use progress::{Progress, Store};
pub use redact::redact;
pub use rerender::machine_config;
pub use scratch::remove as remove_scratch;
pub use stop::stop;

use crate::config::{Config, ConfigError, PoolBuild};
use crate::paths;

/// What servers are told about who asks.
const USER_AGENT: &str = concat!("assisted-ocl/", env!("CARGO_PKG_VERSION"));
/// Pauses between two attempts at what may pass.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Why a builder can't begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{}: {source}", paths::CONFIG)]
    Read { source: std::io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("what is to be built can't be taken over: {0}")]
    Input(std::io::Error),
    #[error("the state of the build can't be kept: {0}")]
    State(std::io::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Builds the images of one installation on one machine.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    machine: Machine,
    location: BuildLocation,
}

impl Builder {
    /// The builder of the machine's `config.json`, for the pools that are built at `location`. All programs that it runs go through the
    /// cluster's proxy, which the machine's own environment may not have.
    ///
    /// # Errors
    /// When there is no such file, or it is not to be used.
    pub fn new(machine: Machine, location: BuildLocation) -> Result<Self, StartError> {
        let bytes = machine.read(paths::CONFIG).map_err(|source| StartError::Read { source })?;
        let config = Config::read(&bytes)?;
        let machine = machine.env(config.proxy.variables());
        Ok(Self { config, machine, location })
    }

    /// What is to be built, and for whom.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The pools whose image is built here, in their order.
    fn pools(&self) -> impl Iterator<Item = &PoolBuild> {
        self.config.pools.iter().filter(|pool| pool.location == self.location)
    }

    /// The image's name while it is only here.
    fn local_name(pool: Pool) -> String {
        format!("localhost/ocl-{pool}:build")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use assisted_base::process::Tools;
    use serde_json::json;

    use super::*;

    /// A `config.json` of a cluster with these many pools.
    pub(crate) fn config(pools: usize) -> Config {
        let all = [
            json!({"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"}),
            json!({"name": "worker", "mosc": "mosc-worker.yaml", "location": "bootstrap"}),
        ];
        let text = json!({
            "version": 1, "cluster_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2d", "cluster": "c", "domain": "d.example.com",
            "release_version": "4.21.3", "arch": "x86_64", "control_plane_count": 3,
            "registry": {"type": "Embedded", "host": "api-int.c.d.example.com", "port": 22626, "namespace": "ocl"},
            "bootstrap_ip": "192.168.10.11", "master_ips": ["192.168.10.11"], "vips": [],
            "images": {"mco": "quay.io/mco:1", "docker_registry": "quay.io/registry:1"},
            "pools": all[..pools], "bake_configs": true, "scratch": "Auto", "build_timeout_seconds": 5400, "attempts": 2,
            "proxy": {"http": "", "https": "", "no": ""},
            "service": {
                "url": "https://assisted.example.com", "infra_env_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2e",
                "host_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2f",
            },
        });
        Config::read(text.to_string().as_bytes()).unwrap()
    }

    /// A builder on a bootstrap host that has this `config.json`.
    pub(crate) fn builder(machine: &Machine, config: &Config) -> Builder {
        machine.write(paths::CONFIG, 0o600, config.write().unwrap()).unwrap();
        Builder::new(machine.clone(), BuildLocation::Bootstrap).unwrap()
    }

    /// A machine whose programs are one script, which finds its command line in `$line`; what they are asked goes to `asked`.
    pub(crate) fn scripted(root: &Path, body: &str) -> Machine {
        let tools = root.join("tools");
        std::fs::create_dir_all(&tools).unwrap();
        let root_name = root.display().to_string();
        let script = format!(
            "#!/bin/sh\nline=\"${{0##*/}} $*\"\nprintf '%s\\n' \"$line\" >> {root_name}/asked\n{body}\nexit 0\n"
        );
        let first = tools.join("podman");
        std::fs::write(&first, script.replace("DIR", &root_name)).unwrap();
        std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in [
            "mount",
            "umount",
            "sgdisk",
            "partprobe",
            "udevadm",
            "mkfs.xfs",
            "lsblk",
            "df",
            "free",
            "ostree",
            "cat",
        ] {
            symlink(&first, tools.join(name)).unwrap();
        }
        Machine::at(root, Tools::at(tools))
    }

    /// What is pulled, pushed and built goes the way of the cluster, also where this process has no such variables.
    #[tokio::test]
    async fn programs_of_a_builder_know_the_clusters_proxy() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(
            dir.path(),
            "echo \"$HTTP_PROXY $http_proxy $HTTPS_PROXY $https_proxy $NO_PROXY $no_proxy\" > DIR/way",
        );
        let mut config = config(1);
        config.proxy.https = "http://proxy:3128".to_owned();
        config.proxy.http = "http://proxy:3129".to_owned();
        config.proxy.no = "d.example.com".to_owned();
        let builder = builder(&machine, &config);
        base_image::pull(&builder.machine, "quay.io/os@sha256:1", "/run/ocl/auth.json").await.unwrap();
        let way = std::fs::read_to_string(dir.path().join("way")).unwrap();
        let [http, https, no] = ["http://proxy:3129", "http://proxy:3128", "d.example.com"];
        assert_eq!(way, format!("{http} {http} {https} {https} {no} {no}\n"));
    }
}
