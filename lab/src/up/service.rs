//! The service on the lab's network, on SQLite, with what it needs to know of the lab.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::payload::{self, VERSION};
use super::{Fault, LabError, Plan};
use crate::image::{self, Image};
use crate::network::{GATEWAY, Network, REGISTRY, Running};
use crate::release::Pushed;
use crate::wait::Wait;

/// Where the service is, for everybody on the network.
pub(super) const URL: &str = "http://192.168.126.1:8090";

/// Its folder in the lab's.
pub(super) const DATA: &str = "data";

/// What it says.
pub(super) const LOG: &str = "service.log";

/// Where its images are.
pub(super) const IMAGES: SocketAddr = SocketAddr::new(IpAddr::V4(GATEWAY), 8888);

/// How the addresses of its images begin.
pub(super) fn image_origin() -> String {
    format!("http://{IMAGES}")
}

const START: Duration = Duration::from_secs(120);

/// A running service.
pub(super) struct Service {
    running: Running,
    log: PathBuf,
    image: Image,
    pushed: Pushed,
}

impl Service {
    /// Starts the service. It keeps everything in the lab's folder: started again it goes on.
    pub(super) fn start(
        plan: &Plan,
        image: &Image,
        pushed: &Pushed,
        network: &Network,
    ) -> Result<Self, LabError> {
        let dir = &plan.dir;
        let registries = dir.join("registries.conf");
        let conf = format!("[[registry]]\nlocation = \"{REGISTRY}\"\ninsecure = true\n");
        std::fs::write(&registries, conf).map_err(LabError::io(&registries))?;
        let short = VERSION.rsplit_once('.').map_or(VERSION, |(short, _)| short);
        let os_image = json!([{
            "openshift_version": short, "cpu_architecture": "x86_64", "version": image::VERSION,
            "url": format!("file://{}", image.iso().display()),
        }]);
        let release_image = json!([{
            "openshift_version": short, "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"],
            "version": VERSION, "url": pushed.release, "default": true,
        }]);
        let log = dir.join(LOG);
        let mut command = network.command(&plan.program);
        command
            .args(["serve", "--listen", &format!("{GATEWAY}:8090"), "--image-listen", &IMAGES.to_string()])
            .args(["--allow-unauthenticated", "--generator", "openshift", "--data-dir"])
            .arg(dir.join(DATA))
            .env("SERVICE_BASE_URL", URL)
            .env("OS_IMAGES", os_image.to_string())
            .env("RELEASE_IMAGES", release_image.to_string())
            .env("RELEASE_SOURCES", "[]")
            .env("REGISTRIES_CONF_FILE", &registries)
            .env("HOST_PROGRAMS_DIR", payload::host_programs(plan)?)
            .env("HW_VALIDATOR_REQUIREMENTS", requirements().to_string())
            .env("ENABLE_SKIP_MCO_REBOOT", "false")
            .env("CONTROLLER_IMAGE", &pushed.controller)
            .env("LOG_LEVEL", "info");
        if plan.faults.contains(&Fault::MissingWorker) {
            // It need not be long until it is asked for; the others need their time to start.
            command.env("HOST_STAGE_REBOOTING_TIMEOUT", if plan.namespaces { "1m" } else { "10m" });
        }
        let running = Running::start("the service", &mut command, &log)?;
        Ok(Self { running, log, image: image.clone(), pushed: pushed.clone() })
    }

    /// Kills it, and starts it again over what it left.
    pub(super) fn restart(&mut self, plan: &Plan, network: &Network) -> Result<(), LabError> {
        self.running.kill();
        *self = Self::start(plan, &self.image.clone(), &self.pushed.clone(), network)?;
        Ok(())
    }

    /// Waits until it answers.
    pub(super) fn await_ready(&mut self) -> Result<(), LabError> {
        let mut wait = Wait::new("the service", self.log.display(), START);
        while !std::fs::read_to_string(&self.log).unwrap_or_default().contains("listening on ") {
            self.must_live()?;
            wait.pause(Duration::from_millis(50))?;
        }
        Ok(())
    }

    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        Ok(self.running.must_live()?)
    }
}

/// A file with a pull secret of the right form: the lab's registry asks nobody.
pub(super) fn pull_secret(dir: &Path) -> Result<String, LabError> {
    let entry = json!({"auth": "bGFiOmxhYg==", "email": "lab@example.com"});
    let secret = json!({"auths": {REGISTRY: entry, "quay.io": entry, "registry.redhat.io": entry}});
    let path = dir.join("pull-secret.json");
    std::fs::write(&path, secret.to_string()).map_err(LabError::io(&path))?;
    Ok("pull-secret.json".to_owned())
}

/// Lab machines are small, and slow where every instruction is emulated.
fn requirements() -> Value {
    let role = |memory: u32| {
        json!({
            "cpu_cores": 2, "ram_mib": memory, "disk_size_gb": 20, "installation_disk_speed_threshold_ms": 5000,
            "network_latency_threshold_ms": 5000, "packet_loss_percentage": 50,
        })
    };
    json!([{
        "version": "default", "master": role(3500), "arbiter": role(2000), "worker": role(2000), "sno": role(4000),
        "edge-worker": role(2000),
    }])
}
