//! Clusters whose nodes boot images that are built while they are installed.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::image_registry::{ADDRESS, REPOSITORY};
use super::topology::{Role, Topology};
use super::{Fault, Lab, LabError, NAME, Plan};
use crate::image::{Image, Kind};
use crate::namespace;
use crate::release::{ImageModePrograms, NodeImage};

const SETTINGS: &str = "image-mode.yaml";
const MANIFEST: &str = "os-images.yaml";
/// Where the cluster would push later builds: nobody is there.
const PUSHED_LATER: &str = "registry.example.com/lab";

/// Debian's registry, and its programs that images of the release have.
const REGISTRY_PROGRAM: &str = "/usr/bin/docker-registry";
const GREP: &str = "/bin/grep";
const BUSYBOX: &str = "/bin/busybox";

/// What fails where a step is to fail; nobody is to read the password anywhere.
const FAILS: &str = "\nRUN TOKEN=hunter2; echo no such package >&2; exit 7\n";

/// What asks for an image that is not there.
const MISSING: &str =
    "\nFROM 192.168.126.1:5000/lab/missing:1 AS missing\nFROM final\nCOPY --from=missing / /\n";

/// What finds no room, what is not done within the time that a build may take, and what takes its time.
const FULL: &str = "\nRUN echo more > /dev/full\n";
const ENDLESS: &str = "\nRUN sleep 3600\n";
const LONG: &str = "\nRUN sleep 120\n";

/// Images can fail where they are built alone, and on a disk where there are several nodes alone: the service holds a single one up that is to
/// build on its disk.
pub(super) fn must_fail_in_it(plan: &Plan) -> Result<(), LabError> {
    if plan.faults.iter().any(|fault| fault.image_code().is_some()) && plan.containerfile.is_none() {
        return Err(LabError::OnlyImageMode);
    }
    if plan.faults.contains(&Fault::ImageScratch) && plan.topology == Topology::Sno {
        return Err(LabError::OnlySeveralNodes);
    }
    Ok(())
}

/// Fails for a cluster that would build, switch or push on machines that can't: a virtual one would have to pull the builder out of an image, and
/// none is made; its system has a stand-in for what switches, and knows no authority but its own.
pub(super) fn must_come(plan: &Plan) -> Result<(), LabError> {
    match plan {
        Plan { namespaces: true, .. } => Ok(()),
        plan if plan.faults.iter().any(|fault| fault.needs_namespaces()) => Err(LabError::OnlyNamespacesFail),
        Plan { workers_in_cluster: true, .. } => Err(LabError::OnlyNamespacesBuild),
        Plan { switches: true, .. } => Err(LabError::OnlyNamespacesSwitch),
        Plan { external_registry: true, .. } => Err(LabError::OnlyNamespacesPush),
        _ => Ok(()),
    }
}

/// Which of the lab's images machines boot: an image of their own is laid onto a disk by what the other one has. Machines of namespaces read
/// nothing of it but the Ignition config.
pub(super) fn kind(plan: &Plan) -> Kind {
    match plan.containerfile.is_some() && !plan.namespaces {
        true => Kind::Ostree,
        false => Kind::Plain,
    }
}

/// What the release has for it.
pub(super) fn programs(plan: &Plan) -> Result<Option<ImageModePrograms>, LabError> {
    if plan.containerfile.is_none() {
        return Ok(None);
    }
    let node = match kind(plan) {
        Kind::Ostree => NodeImage::Ostree(Image::find(Kind::Ostree)?.os_image()),
        Kind::Plain => {
            NodeImage::Small { ignition: PathBuf::from(namespace::IGNITION), busybox: PathBuf::from(BUSYBOX) }
        }
    };
    let (registry, grep) = (PathBuf::from(REGISTRY_PROGRAM), PathBuf::from(GREP));
    Ok(Some(ImageModePrograms { registry, grep, node }))
}

/// The service's settings. Machines of the lab are small; an image is laid onto a disk before its first start in image mode alone, since
/// that takes ostree elsewhere.
pub(super) fn settings(plan: &Plan) -> Vec<(&'static str, &'static str)> {
    match plan.containerfile {
        Some(_) => vec![
            ("ENABLE_SKIP_MCO_REBOOT", "true"),
            ("OCL_PREVIEW", "true"),
            ("OCL_MIN_OPENSHIFT_VERSION", "4.20.0-0"),
            ("OCL_MIN_DISK_GB", "30"),
            ("OCL_MIN_MEMORY_GIB", "2"),
        ],
        None => vec![("ENABLE_SKIP_MCO_REBOOT", "false")],
    }
}

impl Lab {
    /// Asks for images of the cluster's own, as a person does; once more where the last ones have failed.
    pub(super) fn define_image_mode(&self) -> Result<(), LabError> {
        if self.plan.containerfile.is_none() {
            return Ok(());
        }
        let location = if self.plan.workers_in_cluster { "ControlPlane" } else { "Bootstrap" };
        // Machines of namespaces have no disk that could be given a partition, and virtual ones may be emulated.
        let (scratch, minutes) = match self.plan.namespaces {
            true if self.image_fault() == Some(Fault::ImageScratch) => ("Disk", 15),
            true => ("Memory", 15),
            false => ("Auto", 90),
        };
        let rollout = if self.plan.switches { "Switch" } else { "Deploy" };
        let mut asked = json!({
            "mode": "Enabled", "scratch": scratch, "workerBuildLocation": location, "buildTimeoutMinutes": minutes,
            "rollout": rollout,
        });
        if self.image_registry.is_some() {
            asked["registry"] = json!({"type": "External"});
        }
        self.write_definition(SETTINGS, &asked.to_string())?;
        self.cli.show(&["cluster", "update", NAME, "--on-cluster-layering-file", SETTINGS])?;
        self.add_image_manifest()
    }

    /// The part of the Containerfile that is to fail, or to give somebody the time for it.
    fn failing_part(&self) -> &'static str {
        match self.image_fault() {
            Some(Fault::ImageStep) => FAILS,
            Some(Fault::ImageBase) => MISSING,
            Some(Fault::ImageRoom) => FULL,
            Some(Fault::ImageTimeout) => ENDLESS,
            Some(Fault::ImageLost | Fault::ImageDeploy) => LONG,
            _ => "",
        }
    }

    pub(super) fn write_definition(&self, name: &str, text: &str) -> Result<(), LabError> {
        let path = self.plan.dir.join(name);
        std::fs::write(&path, text).map_err(LabError::io(&path))
    }

    /// The MachineOSConfigs of both pools, with the user's Containerfile and what is to fail behind it. An image takes virtual machines minutes,
    /// so a pool that has none of them has none.
    fn add_image_manifest(&self) -> Result<(), LabError> {
        let Some(containerfile) = &self.plan.containerfile else { return Ok(()) };
        let mut user = std::fs::read_to_string(containerfile).map_err(LabError::io(containerfile))?;
        user.push_str(self.failing_part());
        let (repository, auths) = match &self.image_registry {
            Some(registry) => (REPOSITORY, json!({ADDRESS: registry.credentials()})),
            None => (PUSHED_LATER, json!({"registry.example.com": {"auth": "bGFiOmxhYg=="}})),
        };
        let config = |pool: &str| {
            json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineOSConfig", "metadata": {"name": pool},
                "spec": {
                    "machineConfigPool": {"name": pool}, "imageBuilder": {"imageBuilderType": "Job"},
                    "renderedImagePushSecret": {"name": "os-image-push"},
                    "renderedImagePushSpec": format!("{repository}/os-{pool}:latest"),
                    "containerFile": [{"containerfileArch": "NoArch", "content": user}],
                },
            })
        };
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "os-image-push", "namespace": "openshift-machine-config-operator"},
            "data": {".dockerconfigjson": STANDARD.encode(json!({"auths": auths}).to_string())},
        });
        let has_workers = self.machines.iter().any(|(machine, _)| machine.role == Role::Worker);
        let workers = (self.plan.namespaces || has_workers).then(|| config("worker"));
        let unreadable = (self.image_fault() == Some(Fault::ImageRender)).then(unreadable);
        let all = [config("master")].into_iter().chain(workers).chain([secret]).chain(unreadable);
        let all: Vec<_> = all.map(|object| object.to_string()).collect();
        self.write_definition(MANIFEST, &all.join("\n---\n"))?;
        self.cli.show(&["cluster", "manifest", "add", NAME, MANIFEST])
    }
}

/// A MachineConfig that nothing can be rendered with: nobody knows the version of its configuration.
fn unreadable() -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "99-unreadable", "labels": {"machineconfiguration.openshift.io/role": "master"}},
        "spec": {"config": {"ignition": {"version": "9.9.0"}}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::machines::tests::plan;

    #[test]
    fn a_single_node_has_no_disk_to_build_on() {
        let faulty = |topology| Plan {
            containerfile: Some("/x".into()),
            faults: vec![Fault::ImageScratch],
            ..plan(topology, 0)
        };
        must_fail_in_it(&faulty(Topology::Compact)).unwrap();
        let why = must_fail_in_it(&faulty(Topology::Sno)).unwrap_err().to_string();
        assert!(why.contains("another topology"), "{why}");
    }

    #[test]
    fn which_machines_have_ostree() {
        let plain = plan(Topology::Sno, 0);
        let layered = Plan { containerfile: Some("/x".into()), ..plain.clone() };
        let namespaces = Plan { namespaces: true, ..layered.clone() };
        assert_eq!([&plain, &layered, &namespaces].map(kind), [Kind::Plain, Kind::Ostree, Kind::Plain]);
        must_come(&layered).unwrap();
        let in_cluster = Plan { workers_in_cluster: true, ..layered.clone() };
        must_come(&Plan { faults: vec![Fault::ImageStep], ..layered.clone() }).unwrap();
        let damaged = Plan { faults: vec![Fault::ImageDeploy], ..layered.clone() };
        let pushes = Plan { external_registry: true, ..layered.clone() };
        for refused in [in_cluster, damaged, pushes, Plan { switches: true, ..layered }] {
            let why = must_come(&refused).unwrap_err().to_string();
            assert!(why.contains("--namespaces"), "{why}");
            must_come(&Plan { namespaces: true, ..refused }).unwrap();
        }
    }
}
