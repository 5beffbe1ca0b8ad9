//! What a lab installs: its release, pushed into its registry, and the program for hosts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::kubernetes;
use assisted_lab_tools::wait::Wait;

use super::{Flow, LabError, Plan, image_mode, program};
use crate::image::ImageError;
use crate::namespace;
use crate::network::{Network, REGISTRY};
use crate::release::{Pushed, ReleasePrograms, ServerPrograms, push_release};

/// Version of the release: what OpenShift's of this version would be.
pub(super) const VERSION: &str = "4.20.1";

/// How long the registry may take to take everything.
const PUSH: Duration = Duration::from_secs(10 * 60);

/// Debian's etcd.
const ETCD: &str = "/usr/bin/etcd";

/// Under which names machines will find the release.
pub(super) fn names() -> Pushed {
    Pushed::named(REGISTRY, VERSION)
}

/// Fails when the release can't be made later.
pub(super) fn must_come(plan: &Plan) -> Result<(), LabError> {
    let programs = [cluster(plan), plan.program.clone()];
    if let Some(missing) = programs.into_iter().find(|program| !program.is_file()) {
        return Err(LabError::NoProgram(missing));
    }
    plan.outcomes()?;
    match kubernetes::is_being_built() || kubernetes::find("kube").is_some() {
        true => Ok(()),
        false => Err(LabError::NoKubernetes),
    }
}

/// Pushes the release into the registry of a network.
pub(super) fn push(plan: &Plan, network: &Network) -> Result<Pushed, LabError> {
    let servers = match plan.namespaces {
        true => None,
        false => Some(ServerPrograms {
            assisted: stripped(plan, &plan.program, "assisted")?,
            etcd: PathBuf::from(ETCD),
            kubernetes: kubernetes::find("kube").ok_or(LabError::NoKubernetes)?,
        }),
    };
    let programs = ReleasePrograms {
        cluster: stripped(plan, &cluster(plan), "lab-cluster")?,
        servers,
        ironic: plan.hub == Some(Flow::Converged),
        image_mode: image_mode::programs(plan)?,
    };
    network.within(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(LabError::io(&plan.dir))?;
        let log = plan.dir.join("registry.log");
        let mut wait = Wait::new("the release in the registry", log.display(), PUSH);
        runtime.block_on(async {
            let mut push = std::pin::pin!(push_release(REGISTRY, VERSION, &programs));
            loop {
                tokio::select! {
                    pushed = &mut push => return Ok::<_, LabError>(pushed?),
                    () = tokio::time::sleep(super::POLL_INTERVAL) => wait.go_on()?,
                }
            }
        })
    })?
}

fn cluster(plan: &Plan) -> PathBuf {
    plan.program.with_file_name("lab-cluster")
}

const HOST_PROGRAM: &str = "assisted-host-x86_64";

/// What machines of namespaces run: copies, since a program that runs can't be written over when the release is made.
pub(super) fn programs(plan: &Plan) -> Result<namespace::MachinePrograms, LabError> {
    let dir = plan.dir.join("machine-programs");
    std::fs::create_dir_all(&dir).map_err(LabError::io(&dir))?;
    let mut copied = vec![
        (stripped(plan, &cluster(plan), "lab-cluster")?, "lab-cluster"),
        (stripped(plan, &plan.program, "assisted")?, "assisted"),
    ];
    if plan.workers_in_cluster {
        copied.push((host_programs(plan)?.join(HOST_PROGRAM), "assisted-host"));
    }
    for (from, name) in copied {
        let to = dir.join(name);
        super::forget(&to)?;
        std::fs::copy(&from, &to).map_err(LabError::io(&to))?;
    }
    let root = kubernetes::root().map_err(|_| LabError::NoKubernetes)?;
    let coreos_installer = assisted_lab_tools::coreos_installer().map_err(ImageError::from)?;
    Ok(namespace::MachinePrograms::make(&dir, root, coreos_installer)?)
}

/// A folder with the program for hosts under the name that the service looks for.
pub(super) fn host_programs(plan: &Plan) -> Result<PathBuf, LabError> {
    if plan.host_programs.join(HOST_PROGRAM).is_file() {
        return Ok(plan.host_programs.clone());
    }
    stripped(plan, &plan.host_programs.join("assisted-host"), HOST_PROGRAM)?;
    Ok(plan.dir.join("programs"))
}

/// A program without what is for debuggers only: machines fetch it, and keep it in memory.
fn stripped(plan: &Plan, program: &Path, name: &str) -> Result<PathBuf, LabError> {
    if !program.is_file() {
        return Err(LabError::NoProgram(program.to_owned()));
    }
    let dir = plan.dir.join("programs");
    std::fs::create_dir_all(&dir).map_err(LabError::io(&dir))?;
    let to = dir.join(name);
    let mut strip = Command::new("strip");
    program::run("strip", strip.arg("-o").arg(&to).arg(program).stdin(Stdio::null()), &dir)?;
    Ok(to)
}
