//! What goes wrong with the images of nodes. The product is left as it is: what stands around it fails, be it a disk, a port, a registry, another
//! program or a person.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use assisted_lab_tools::{SWAPS_PUSHED, blob};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fault::announce;
use super::topology::{Planned, Role};
use super::{Fault, Lab, LabError, NAME, forget, program, say};
use crate::network;
use crate::release;

/// The port of the bootstrap host's registry, and the settings of the one that is pushed to, below the root of the live system.
const PORT: u16 = 22_626;
const PUSHED_TO: &str = "opt/openshift/ocl/registry/config-rw.yaml";
/// The last line of the settings' storage, and what makes a registry refuse all that is pushed.
const STORED: &str = "    rootdirectory: /var/lib/registry\n";
const READ_ONLY: &str = "  maintenance:\n    readonly:\n      enabled: true\n";

/// The live system of a machine of namespaces, and what is on its disk, in the machine's folder.
const LIVE: &str = "live";
const ON_DISK: &str = "partitions/root/ostree";

/// What a host tells while its image is built elsewhere, and while it is built on this very host.
const WAITS: &str = "Waiting for the OS image of pool";
const BUILDS: &str = "Building OS image for pool";
/// The stages of a host that has its image on its disk.
const RESTARTED: [&str; 5] = ["Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done"];

const KUBECONFIG: &str = "kubeconfig";
const OTHER_IMAGE: &str = "other-image.json";

/// What a fault holds until another installation begins.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The registry's port on each machine of the control plane.
    ports: Vec<TcpListener>,
    /// What was put aside: where it belongs, and where it is.
    aside: Vec<(PathBuf, PathBuf)>,
}

impl Fault {
    /// Whether it can be made to happen on machines of namespaces alone: on what a virtual machine has in itself nobody lays hands.
    pub(super) fn needs_namespaces(self) -> bool {
        self.image_code().is_some() && !matches!(self, Self::ImageStep | Self::ImageBase)
    }

    /// Whether the service has the logs of the build afterwards: who hangs sends none.
    fn leaves_logs(self) -> bool {
        self != Self::ImageLost
    }
}

impl Lab {
    /// Prepares what is to fail in the installation that begins now.
    pub(super) fn prepare_image_fault(&mut self) -> Result<(), LabError> {
        // That of an earlier cluster opens nothing.
        forget(&self.plan.dir.join(KUBECONFIG))?;
        match self.image_fault() {
            Some(Fault::ImageRegistry) => {
                announce(&format!("another program has port {PORT} of the control plane"));
                let name = self.network.name().to_owned();
                for number in self.masters() {
                    let bind = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT));
                    let bound = network::within_machine(&name, number, bind)?;
                    self.held.ports.push(bound.map_err(LabError::io(&self.plan.dir))?);
                }
            }
            Some(Fault::ImagePull) => {
                self.put_layers_aside()?;
                announce("the release's registry has lost a layer of the image of nodes");
            }
            Some(Fault::ImageVerify) => {
                announce("what is pushed will be another image in the bootstrap host's registry");
                for number in self.masters() {
                    let Some((planned, _)) = self.machines.get(number) else { continue };
                    let told = self.live(planned).join(SWAPS_PUSHED.trim_start_matches('/'));
                    std::fs::write(&told, "").map_err(LabError::io(&told))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets an image fail when its time has come; whether that is done. What is wrong from the beginning needs nothing more.
    pub(super) fn fail_image(&self, fault: Fault, hosts: &[Value]) -> Result<bool, LabError> {
        match fault {
            Fault::ImageLost => self.freeze_builder(hosts),
            Fault::ImageDeploy => self.damage_disk(hosts),
            Fault::ImageBoot => self.name_other_image(hosts),
            _ => Ok(false),
        }
    }

    /// Gives back what the last fault held.
    pub(super) fn let_go(&mut self) -> Result<(), LabError> {
        let Held { ports, aside } = std::mem::take(&mut self.held);
        drop(ports);
        for (place, aside) in aside {
            std::fs::rename(&aside, &place).map_err(LabError::io(&aside))?;
        }
        Ok(())
    }

    /// Has the registry that is pushed to take nothing, as soon as its settings are there: some seconds before it starts.
    pub(super) fn close_registry(&self) -> Result<(), LabError> {
        for number in self.masters() {
            let Some((planned, _)) = self.machines.get(number) else { continue };
            let path = self.live(planned).join(PUSHED_TO);
            let settings = std::fs::read_to_string(&path).unwrap_or_default();
            let Some(closed) = closed(&settings) else { continue };
            std::fs::write(&path, closed).map_err(LabError::io(&path))?;
            announce(&format!("the registry of {} takes nothing", planned.name));
        }
        Ok(())
    }

    /// What a person looks at whose image has failed: the state, the reasons, and the log of the build.
    pub(super) fn show_failed_image(&self, fault: Fault) -> Result<(), LabError> {
        let Some(code) = fault.image_code() else { return Ok(()) };
        self.cli.show(&["cluster", "show", NAME])?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let hosts = self.cli.json(&["host", "list"])?;
        for host in hosts.as_array().into_iter().flatten() {
            let why = text(&host["status_info"]);
            if why.contains("OS image:") {
                say(&format!("host {}: {why}", text(&host["requested_hostname"])));
            }
        }
        let events = self.cli.json(&["event", "list", "--cluster", NAME])?;
        let failures = events.as_array().into_iter().flatten();
        let failures = failures.filter(|event| event["name"] == "ocl_build_failed");
        // Those of earlier installations stay.
        if let Some(last) = failures.max_by_key(|event| text(&event["event_time"])) {
            say(&format!("event: {}", text(&last["message"])));
        }
        if fault.leaves_logs() {
            let to = format!("os-image-logs-{code}.tar.gz");
            self.cli.show(&["cluster", "download", NAME, "os-image-logs-master.tar.gz", "--to", &to])?;
        }
        Ok(())
    }

    /// The control plane's machines, by their places.
    fn masters(&self) -> Vec<usize> {
        let machines = self.machines.iter().enumerate();
        let masters = machines.filter(|(_, (planned, _))| planned.role == Role::Master);
        masters.map(|(number, _)| number).collect()
    }

    /// The root of a machine's live system.
    fn live(&self, planned: &Planned) -> PathBuf {
        self.plan.dir.join(&planned.name).join(LIVE)
    }

    /// The machine of the first host that tells something that begins so.
    fn that_tells(&self, hosts: &[Value], begin: &str) -> Option<(usize, &Planned)> {
        let tells = |host: &&Value| {
            let told = host["progress"]["progress_info"].as_str().unwrap_or_default();
            // A build that has not begun is not missed.
            told.starts_with(begin) && !told.contains(": pending ")
        };
        let host = hosts.iter().find(tells)?;
        let mut machines = self.machines.iter().enumerate();
        let (number, (planned, _)) = machines.find(|(_, (planned, _))| planned.is(host))?;
        Some((number, planned))
    }

    /// Puts the layers aside that images of nodes alone have. Their manifests stay: nothing is missed before it is pulled.
    fn put_layers_aside(&mut self) -> Result<(), LabError> {
        let registry = self.plan.dir.join("registry");
        let blob = |digest: &str| blob(&registry, digest);
        let revisions = registry.join("docker/registry/v2/repositories").join(release::PARTS);
        let revisions = revisions.join("_manifests/revisions/sha256");
        for entry in std::fs::read_dir(&revisions).map_err(LabError::io(&revisions))?.flatten() {
            let manifest = blob(&format!("sha256:{}", entry.file_name().to_string_lossy()));
            let Some(text) = manifest.and_then(|path| std::fs::read(path).ok()) else { continue };
            let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
            if manifest["annotations"][release::BOOTABLE].is_null() {
                continue;
            }
            let layer = manifest["layers"].as_array().and_then(|layers| layers.last());
            let layer = layer.and_then(|layer| layer["digest"].as_str()).and_then(blob);
            let Some(place) = layer.filter(|place| place.exists()) else { continue };
            let aside = place.with_extension("aside");
            std::fs::rename(&place, &aside).map_err(LabError::io(&place))?;
            self.held.aside.push((place, aside));
        }
        Ok(())
    }

    /// Stops the builder in mid-build, and the installer, which tells the service of it: neither ends, so that nothing starts them again. The
    /// agent goes on.
    fn freeze_builder(&self, hosts: &[Value]) -> Result<bool, LabError> {
        let Some((number, planned)) = self.that_tells(hosts, BUILDS) else { return Ok(false) };
        let namespace = network::of_machine(self.network.name(), number);
        let mut stopped = 0;
        for id in network::ip(&["netns", "pids", &namespace])?.split_whitespace() {
            let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            let is_meant = ["\0ocl\0run\0", "\0--boot-device\0"].iter().any(|part| words.contains(part));
            let id = id.parse().ok().and_then(Pid::from_raw).filter(|_| is_meant);
            // It may just have ended by itself.
            stopped += usize::from(id.is_some_and(|id| kill_process(id, Signal::STOP).is_ok()));
        }
        announce(&format!("the builder on {} and its installer hang ({stopped} processes)", planned.name));
        Ok(true)
    }

    /// Puts a file in the place of the system that was written onto the disk of a host that waits for its image.
    fn damage_disk(&self, hosts: &[Value]) -> Result<bool, LabError> {
        let Some((_, planned)) = self.that_tells(hosts, WAITS) else { return Ok(false) };
        let system = self.plan.dir.join(&planned.name).join(ON_DISK);
        forget(&system)?;
        std::fs::write(&system, "").map_err(LabError::io(&system))?;
        announce(&format!("the system on the disk of {} is damaged", planned.name));
        Ok(true)
    }

    /// Has a MachineConfig name another image for the control plane, as soon as somebody has restarted with the one that was built and there is an
    /// API that takes it.
    fn name_other_image(&self, hosts: &[Value]) -> Result<bool, LabError> {
        let has_restarted = |host: &Value| {
            let stage = host["progress"]["current_stage"].as_str().unwrap_or_default();
            RESTARTED.contains(&stage)
        };
        if !hosts.iter().any(has_restarted) {
            return Ok(false);
        }
        if !self.plan.dir.join(KUBECONFIG).exists() {
            self.cli.show(&["cluster", "download", NAME, "kubeconfig-noingress", "--to", KUBECONFIG])?;
        }
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {
                "name": "99-other-image", "labels": {"machineconfiguration.openshift.io/role": "master"},
            },
            "spec": {"osImageURL": format!("quay.io/lab/other@sha256:{}", "0".repeat(64))},
        });
        self.write_definition(OTHER_IMAGE, &object.to_string())?;
        let words = ["--request-timeout=10s", "apply", "--filename", OTHER_IMAGE];
        match program::run("kubectl apply", &mut self.kubectl(&words)?, &self.plan.dir) {
            Ok(()) => {}
            // It is not there yet, or does not know the kind yet.
            Err(LabError::Command { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        announce("a MachineConfig names another image for the control plane");
        Ok(true)
    }
}

/// Settings of a registry that takes nothing, unless these are such already.
fn closed(settings: &str) -> Option<String> {
    let is_open = settings.contains(STORED) && !settings.contains(READ_ONLY);
    is_open.then(|| settings.replace(STORED, &format!("{STORED}{READ_ONLY}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_closed_by_its_settings() {
        let settings = format!("storage:\n  filesystem:\n{STORED}http:\n  addr: 127.0.0.1:22627\n");
        let shut = closed(&settings).unwrap();
        let read: Value = serde_yaml_ng::from_str(&shut).unwrap();
        assert_eq!(read["storage"]["maintenance"]["readonly"]["enabled"], true);
        assert_eq!(read["storage"]["filesystem"]["rootdirectory"], "/var/lib/registry");
        assert!(closed(&shut).is_none() && closed("").is_none());
    }
}
