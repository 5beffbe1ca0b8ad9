//! The service on the lab's network, on SQLite or in several replicas, with what it needs to know of the lab: as it is served where it
//! can be reached from elsewhere, with TLS and for those alone who say who they are.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use serde_json::{Value, json};

use super::hub::{self, Hub};
use super::image_registry::{self, ImageRegistry};
use super::payload::{self, VERSION};
use super::tls::Certificate;
use super::{Fault, LabError, Plan, image_mode, replicas, write_secret};
use crate::image::{self, Image};
use crate::network::{GATEWAY, Network, REGISTRY, Running};
use crate::release::Pushed;

/// Where the service is, for everybody on the network.
pub(super) const URL: &str = "https://192.168.126.1:8090";

/// The folder with the service's data, in the lab's.
pub(super) const DATA: &str = "data";

/// What it says, and what the image service says.
pub(super) const LOG: &str = "service.log";
pub(super) const IMAGE_LOG: &str = "images.log";

/// The address of the image service.
pub(super) const IMAGES: SocketAddr = SocketAddr::new(IpAddr::V4(GATEWAY), 8888);

/// Where the initramfs of a minimal image fetches its root file system, whose digest it knows, by plain HTTP: it trusts no
/// authority of a lab.
const BOOT_ARTIFACTS: u16 = 8889;

/// How the addresses of its images begin.
pub(super) fn image_origin() -> String {
    format!("https://{IMAGES}")
}

const START: Duration = Duration::from_secs(120);

/// A running service: the API, and images apart from it. People log in, hosts have tokens, and everybody speaks TLS.
pub(super) struct Service {
    /// Its replicas; one, where it is alone.
    api: Vec<Running>,
    images: Running,
    /// What replicas share, where there are several.
    shared: Option<replicas::Shared>,
    /// Whose objects it serves, if that is wanted.
    hub: Option<Hub>,
    dir: PathBuf,
    image: Image,
    pushed: Pushed,
    certificate: Certificate,
}

impl Service {
    /// Starts the service, of several replicas the first. It keeps everything in the lab's folder: started again it goes on.
    pub(super) fn start(
        plan: &Plan,
        image: Image,
        pushed: Pushed,
        certificate: Certificate,
        network: &Network,
    ) -> Result<Self, LabError> {
        let hub = plan.hub.map(|_| Hub::start(plan, &certificate, network)).transpose()?;
        let asked = plan.replicas.as_ref();
        let shared = asked.map(|asked| replicas::Shared::start(asked, &plan.dir, network)).transpose()?;
        let os_images = os_images(&image);
        let api = vec![api(plan, 0, &os_images, &pushed, &certificate, network)?];
        let images = images(plan, &os_images, &certificate, network)?;
        Ok(Self { api, images, shared, hub, dir: plan.dir.clone(), image, pushed, certificate })
    }

    /// Starts the replicas that are left, now that there is an administrator: each makes a code for one where there is none.
    pub(super) fn start_others(&mut self, plan: &Plan, network: &Network) -> Result<(), LabError> {
        for number in 1..plan.replicas.as_ref().map_or(1, |replicas| replicas.count) {
            let replica = self.start_replica(plan, network, number)?;
            self.api.push(replica);
        }
        self.await_ready()
    }

    fn start_replica(&self, plan: &Plan, network: &Network, number: u16) -> Result<Running, LabError> {
        api(plan, number, &os_images(&self.image), &self.pushed, &self.certificate, network)
    }

    /// Kills a replica, and starts it again over what it left.
    pub(super) fn restart_replica(
        &mut self,
        plan: &Plan,
        network: &Network,
        number: u16,
    ) -> Result<(), LabError> {
        if let Some(replica) = self.api.get_mut(usize::from(number)) {
            replica.kill();
        }
        let started = self.start_replica(plan, network, number)?;
        if let Some(replica) = self.api.get_mut(usize::from(number)) {
            *replica = started;
        }
        Ok(())
    }

    /// Kills it, and starts it again over what it left.
    pub(super) fn restart(&mut self, plan: &Plan, network: &Network) -> Result<(), LabError> {
        self.api.iter_mut().for_each(Running::kill);
        self.images.kill();
        for number in (0..).take(self.api.len()) {
            self.restart_replica(plan, network, number)?;
        }
        self.images = images(plan, &os_images(&self.image), &self.certificate, network)?;
        Ok(())
    }

    /// How many connections each replica has taken, where there are several.
    pub(super) fn taken(&self) -> Option<Vec<usize>> {
        self.shared.as_ref().map(replicas::Shared::taken)
    }

    /// Waits until it answers.
    pub(super) fn await_ready(&mut self) -> Result<(), LabError> {
        let logs = (0..).take(self.api.len()).map(|number| replicas::named(LOG, number));
        let logs: Vec<_> = logs.chain([IMAGE_LOG.into()]).collect();
        for log in logs {
            let log = self.dir.join(log);
            let mut wait = Wait::new("the service", log.display(), START);
            while !std::fs::read_to_string(&log).unwrap_or_default().contains("listening on ") {
                self.must_live()?;
                wait.pause(Duration::from_millis(50))?;
            }
        }
        Ok(())
    }

    /// The code that makes the first administrator, as the service has printed it.
    pub(super) fn set_up_code(&self) -> Result<String, LabError> {
        let log = self.dir.join(LOG);
        let mut wait = Wait::new("the code for the first administrator", log.display(), START);
        loop {
            let text = std::fs::read_to_string(&log).map_err(LabError::io(&log))?;
            if let Some(code) = code(&text) {
                return Ok(code.to_owned());
            }
            wait.pause(Duration::from_millis(50)).map_err(|_| LabError::NoCode(log.clone()))?;
        }
    }

    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        if let Some(hub) = &mut self.hub {
            hub.must_live()?;
        }
        if let Some(shared) = &mut self.shared {
            shared.must_live()?;
        }
        self.images.must_live()?;
        Ok(self.api.iter_mut().try_for_each(Running::must_live)?)
    }
}

/// The code in what the service prints at a start without an administrator.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("login --setup ")?;
    // Half of a line may be there.
    let (code, _) = rest.split_once(" --name")?;
    Some(code)
}

fn api(
    plan: &Plan,
    number: u16,
    os_images: &str,
    pushed: &Pushed,
    certificate: &Certificate,
    network: &Network,
) -> Result<Running, LabError> {
    let dir = &plan.dir;
    let registries = dir.join("registries.conf");
    let conf = format!("[[registry]]\nlocation = \"{REGISTRY}\"\ninsecure = true\n");
    std::fs::write(&registries, conf).map_err(LabError::io(&registries))?;
    let release_image = json!([{
        "openshift_version": minor(), "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"],
        "version": VERSION, "url": pushed.release, "default": true,
    }]);
    let listen = if plan.replicas.is_some() { replicas::address(number) } else { replicas::SERVICE };
    let mut command = network.command(&plan.program);
    command
        .args(["serve", "--listen", &listen.to_string(), "--generator", "openshift", "--data-dir"])
        .arg(dir.join(replicas::named(DATA, number)))
        .env("AUTH_TYPE", if plan.hub.is_some() { "none" } else { "users" })
        .env("SERVE_HTTPS", "true")
        .env("HTTPS_CERT_FILE", &certificate.chain)
        .env("HTTPS_KEY_FILE", &certificate.key)
        .env("SERVICE_CA_CERT_PATH", &certificate.ca)
        .env("SERVICE_BASE_URL", URL)
        .env("IMAGE_SERVICE_BASE_URL", image_origin())
        .env("OS_IMAGES", os_images)
        .env("RELEASE_IMAGES", release_image.to_string())
        .env("RELEASE_SOURCES", "[]")
        .env("REGISTRIES_CONF_FILE", &registries)
        .env("HOST_PROGRAMS_DIR", payload::host_programs(plan)?)
        .env("HW_VALIDATOR_REQUIREMENTS", requirements().to_string())
        .env("CONTROLLER_IMAGE", &pushed.controller)
        .env("LOG_LEVEL", "info");
    if plan.by_hand {
        // The lab's own orders name it with each cluster.
        command.env("NTP_DEFAULT_SERVER", GATEWAY.to_string());
    }
    if plan.faults.contains(&Fault::MissingWorker) {
        // It need not be long until it is asked for; the others need their time to start.
        command.env("HOST_STAGE_REBOOTING_TIMEOUT", if plan.namespaces { "1m" } else { "10m" });
    }
    command.envs(image_registry::authority(plan).map(|file| ("SSL_CERT_FILE", file)));
    command.envs(plan.operator_limits()).envs(image_mode::settings(plan)).envs(hub::settings(plan));
    if let Some(replicas) = &plan.replicas {
        command.envs(replicas.settings(dir));
    }
    Ok(Running::start("the service", &mut command, &dir.join(replicas::named(LOG, number)))?)
}

fn images(
    plan: &Plan,
    os_images: &str,
    certificate: &Certificate,
    network: &Network,
) -> Result<Running, LabError> {
    let mut command = network.command(&plan.program);
    command
        .args(["image-service", "--service-host", &format!("{GATEWAY}:8090"), "--service-scheme", "https"])
        .arg("--service-ca-file")
        .arg(&certificate.ca)
        .args(["--listen-address", &GATEWAY.to_string(), "--listen-port", &IMAGES.port().to_string()])
        .args(["--http-listen-port", &BOOT_ARTIFACTS.to_string()])
        .args(["--base-url", &format!("http://{GATEWAY}:{BOOT_ARTIFACTS}"), "--fetch-when", "lazy"])
        .arg("--data-dir")
        .arg(plan.dir.join(DATA).join("images"))
        .env("HTTPS_CERT_FILE", &certificate.chain)
        .env("HTTPS_KEY_FILE", &certificate.key)
        .env("OS_IMAGES", os_images);
    Ok(Running::start("the image service", &mut command, &plan.dir.join(IMAGE_LOG))?)
}

/// Major and minor number of the release.
fn minor() -> &'static str {
    VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor)
}

fn os_images(image: &Image) -> String {
    let image = json!([{
        "openshift_version": minor(), "cpu_architecture": "x86_64", "version": image::VERSION,
        "url": format!("file://{}", image.iso().display()),
    }]);
    image.to_string()
}

/// A file with a pull secret of the right form: the lab's registry asks nobody, and that of images, if there is one, asks everybody.
pub(super) fn pull_secret(dir: &Path, images: Option<&ImageRegistry>) -> Result<String, LabError> {
    let entry = json!({"auth": "bGFiOmxhYg==", "email": "lab@example.com"});
    let mut auths = json!({REGISTRY: entry, "quay.io": entry, "registry.redhat.io": entry});
    if let Some(images) = images {
        auths[image_registry::ADDRESS] = images.credentials();
    }
    let secret = json!({"auths": auths});
    write_secret(&dir.join("pull-secret.json"), &secret.to_string())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_read_from_what_the_service_prints() {
        let text = "listening on https://192.168.126.1:8090\nthere is no administrator yet; within 24 hours, once:\n  assisted --url \
                    https://192.168.126.1:8090 login --setup asst_x1 --name NAME\n";
        assert_eq!(code(text), Some("asst_x1"));
        assert_eq!(code(&text[..text.len() - 10]), None);
        assert_eq!(code("listening on"), None);
    }
}
