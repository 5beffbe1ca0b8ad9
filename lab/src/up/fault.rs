//! Faults that are injected while a cluster is installed.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;

use super::topology::{Kind, Planned, Role};
use super::{Lab, LabError, MachineHandle, NAME, Phase, heading, say};

/// Between two looks at the hosts.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// How long a network is cut: disks of virtual machines are slow, those of namespaces are written in ten seconds.
const CUT: Duration = Duration::from_secs(120);
const SHORT_CUT: Duration = Duration::from_secs(30);

/// A fault that a lab can inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// A master is reset while its disk is written
    ResetWhileWriting,
    /// A master boots the medium again instead of its disk, until that is mended
    BootOrder,
    /// The service is killed while a master's disk is written, and started again
    ServiceRestart,
    /// A master has no network for a while, in the middle of writing its disk
    NetworkCut,
    /// A worker is switched off when it should start from its disk, until the service asks where it is
    MissingWorker,
    /// The configuration of nodes can't be rendered, until another manifest is there; in image mode
    ImageRender,
    /// The images' Containerfile asks for an image that is not there, until another Containerfile is there; in image mode
    ImageBase,
    /// The build is to have a partition of a disk that can't be given one, until it may use memory; in image mode
    ImageScratch,
    /// Another program has the port of the bootstrap host's registry; in image mode
    ImageRegistry,
    /// The release's registry has lost a layer of the image that nodes' images are built from; in image mode
    ImagePull,
    /// A step of the images' Containerfile fails, until another Containerfile is there; in image mode
    ImageStep,
    /// A step of the images' Containerfile finds no room, until another Containerfile is there; in image mode
    ImageRoom,
    /// The bootstrap host's registry takes nothing; in image mode
    ImagePush,
    /// An image is another one in the registry than was pushed; in image mode
    ImageVerify,
    /// A step of the images' Containerfile does not end in time, until another Containerfile is there; in image mode
    ImageTimeout,
    /// The builder, and the installer that tells of it, hang; in image mode
    ImageLost,
    /// The system on a master's disk is damaged before its image is laid over it; in image mode
    ImageDeploy,
    /// A MachineConfig names another image than the one that was built; in image mode
    ImageBoot,
}

impl Fault {
    /// The role of the machine that it happens to.
    fn role(self) -> Role {
        if self == Self::MissingWorker { Role::Worker } else { Role::Master }
    }

    /// Whether the installation fails with it.
    fn ends_installation(self) -> bool {
        self == Self::ResetWhileWriting || self.image_code().is_some()
    }

    /// The code with which an image fails, where it is an image that fails.
    pub(super) fn image_code(self) -> Option<&'static str> {
        Some(match self {
            Self::ImageRender => "render",
            Self::ImageBase => "preflight",
            Self::ImageScratch => "scratch",
            Self::ImageRegistry => "registry",
            Self::ImagePull => "pull",
            Self::ImageStep => "build-user",
            Self::ImageRoom => "build-infra",
            Self::ImagePush => "push",
            Self::ImageVerify => "verify",
            Self::ImageTimeout => "timeout",
            Self::ImageLost => "lost",
            Self::ImageDeploy => "deploy",
            Self::ImageBoot => "boot",
            Self::ResetWhileWriting
            | Self::BootOrder
            | Self::ServiceRestart
            | Self::NetworkCut
            | Self::MissingWorker => return None,
        })
    }
}

/// A fault that is to be injected when its moment comes.
#[derive(Clone, Debug)]
pub(super) struct ScheduledFault {
    pub(super) fault: Fault,
    /// The machine that it happens to.
    pub(super) target: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    CutSince(Instant),
    SwitchedOff,
    Done,
}

/// Chooses whom each happens to: the first machine of its role that nothing else happens to. Images fail one after another, each in an
/// installation of its own. Fails where one can't be made to happen.
pub(super) fn all(faults: &[Fault], machines: &[Planned]) -> Result<Vec<ScheduledFault>, LabError> {
    let of_images = faults.iter().all(|fault| fault.image_code().is_some());
    if faults.iter().any(|fault| fault.ends_installation()) && faults.len() > 1 && !of_images {
        return Err(LabError::NotWithOthers);
    }
    let mut all: Vec<ScheduledFault> = Vec::new();
    for fault in faults.iter().copied() {
        let is_free = |number: usize| of_images || all.iter().all(|other| other.target != number);
        let mut machines = machines.iter().enumerate();
        let target = machines
            .find(|(number, machine)| machine.role == fault.role() && !machine.is_late && is_free(*number));
        let hardware = !matches!(fault, Fault::ResetWhileWriting | Fault::ServiceRestart);
        match target {
            None => return Err(LabError::NoTarget(fault.role().name())),
            Some((_, Planned { kind: Kind::Real(_), .. })) if hardware => return Err(LabError::OnlyVirtual),
            Some((target, _)) => all.push(ScheduledFault { fault, target, state: State::Pending }),
        }
    }
    Ok(all)
}

impl ScheduledFault {
    /// Lets it happen when its time has come: what the hosts are now says whether it has.
    fn inject_if_due(&mut self, lab: &mut Lab, hosts: &[Value]) -> Result<(), LabError> {
        if self.fault.image_code().is_some() {
            if self.state == State::Pending && lab.fail_image(self.fault, hosts)? {
                self.state = State::Done;
            }
            return Ok(());
        }
        let Some((planned, _)) = lab.machines.get(self.target) else { return Ok(()) };
        let name = planned.name.clone();
        let Some(host) = hosts.iter().find(|host| planned.is(host)) else { return Ok(()) };
        let cut = if lab.plan.namespaces { SHORT_CUT } else { CUT };
        let is_asked_for = host["status"] == "installing-pending-user-action";
        self.state = match (self.fault, self.state) {
            (_, State::Done) => State::Done,
            (Fault::ResetWhileWriting, _) if is_writing(host) => {
                announce(&format!("{name} is reset"));
                lab.reset(self.target)?;
                State::Done
            }
            (Fault::NetworkCut, State::CutSince(since)) if since.elapsed() >= cut => {
                announce(&format!("the network of {name} is back"));
                lab.network.connect(self.target, true)?;
                State::Done
            }
            (Fault::NetworkCut, State::Pending) if is_writing(host) => {
                announce(&format!("{name} loses its network for {} s", cut.as_secs()));
                lab.network.connect(self.target, false)?;
                State::CutSince(Instant::now())
            }
            (Fault::ServiceRestart, _) if is_writing(host) => {
                announce("the service is killed, and started again");
                lab.restart_service()?;
                State::Done
            }
            (Fault::BootOrder, _) if is_asked_for => {
                announce(&format!("{name} is told to boot its disk, and started again"));
                lab.boots_medium.retain(|number| *number != self.target);
                lab.reset(self.target)?;
                State::Done
            }
            (Fault::MissingWorker, State::SwitchedOff) if is_asked_for => {
                announce(&format!("{name} is switched on"));
                lab.power_on(self.target)?;
                State::Done
            }
            (Fault::MissingWorker, State::Pending) if host["progress"]["current_stage"] == "Rebooting" => {
                announce(&format!("{name} is switched off; the service waits for it a while"));
                lab.switch_off(self.target);
                State::SwitchedOff
            }
            (Fault::MissingWorker, State::Pending) if host["progress"]["current_stage"].is_string() => {
                if let Some((_, Some(MachineHandle::Namespace(machine)))) = lab.machines.get(self.target) {
                    machine.stay_off();
                }
                State::Pending
            }
            (_, state) => state,
        };
        Ok(())
    }
}

/// Whether a good part of the disk is written, and some of it is not.
fn is_writing(host: &Value) -> bool {
    let progress = &host["progress"];
    let told = progress["progress_info"].as_str().and_then(|told| told.strip_suffix('%'));
    let percent = told.and_then(|told| told.parse::<u8>().ok()).unwrap_or_default();
    progress["current_stage"] == "Writing image to disk" && (20..100).contains(&percent)
}

/// Tells what goes wrong now.
pub(super) fn announce(what: &str) {
    say(&format!("\n--- fault in cluster {NAME}: {what}"));
}

impl Lab {
    /// Takes back an installation that has failed, by a fault or without one, and begins another.
    pub(super) fn begin_again(&mut self, until: &str, fault: Option<Fault>) -> Result<(), LabError> {
        heading("The hosts after the failure, and the installation taken back");
        self.begins("the installation has failed, and begins again");
        self.phase = Phase::Before;
        self.rearm_faults()?;
        self.cli.show(&["host", "list"])?;
        let of_image = fault.filter(|fault| fault.image_code().is_some());
        if let Some(fault) = of_image {
            self.show_failed_image(fault)?;
        }
        self.cli.show(&["cluster", "reset", NAME])?;
        if of_image.is_some() {
            self.let_go()?;
            self.define_image_mode()?;
        }
        heading("The machines boot the discovery image again");
        for number in self.numbers(false) {
            // Some of the disks would start already.
            self.wipe(number)?;
            self.power_on(number)?;
        }
        self.watch("ready")?;
        heading("The installation, once more");
        self.install(until)
    }

    /// Lets faults happen whose time has come; looks at the hosts now and then.
    pub(super) fn inject_due_faults(&mut self) -> Result<(), LabError> {
        if self.image_fault() == Some(Fault::ImagePush) {
            self.close_registry()?;
        }
        let mut faults = std::mem::take(&mut self.faults);
        let looked = self.inject_those_due(&mut faults);
        self.faults = faults;
        looked
    }

    fn inject_those_due(&mut self, faults: &mut [ScheduledFault]) -> Result<(), LabError> {
        // Those that end an installation have one each.
        let due = match faults {
            [first, ..] if first.fault.ends_installation() => std::slice::from_mut(first),
            all => all,
        };
        let over = due.iter().all(|fault| fault.state == State::Done);
        if over || self.looked.elapsed() < POLL_INTERVAL {
            return Ok(());
        }
        self.looked = Instant::now();
        let hosts = self.cli.json(&["host", "list"])?;
        let hosts = hosts.as_array().map(Vec::as_slice).unwrap_or_default();
        due.iter_mut().try_for_each(|fault| fault.inject_if_due(self, hosts))
    }

    /// The fault of an image with which this installation is to fail.
    pub(super) fn image_fault(&self) -> Option<Fault> {
        self.faults.first().map(|fault| fault.fault).filter(|fault| fault.image_code().is_some())
    }

    /// Before another installation: what was on its way begins anew.
    pub(super) fn rearm_faults(&mut self) -> Result<(), LabError> {
        for fault in &mut self.faults {
            if let State::CutSince(_) = fault.state {
                self.network.connect(fault.target, true)?;
            }
            if fault.state != State::Done {
                fault.state = State::Pending;
            }
        }
        Ok(())
    }

    /// Whether the installation is to fail, and has.
    pub(super) fn fails_by_fault(&self) -> bool {
        // The cluster may be in error before anybody has looked at its hosts.
        let has_happened =
            |fault: &ScheduledFault| fault.state == State::Done || fault.fault.image_code().is_some();
        self.faults.first().is_some_and(|fault| fault.fault.ends_installation() && has_happened(fault))
    }

    /// Takes the fault by which an installation has ended: the next one, if there is any, has the next installation.
    pub(super) fn take_ended(&mut self) -> Option<Fault> {
        (!self.faults.is_empty()).then(|| self.faults.remove(0).fault)
    }

    fn restart_service(&mut self) -> Result<(), LabError> {
        self.service.restart(&self.plan, &self.network)
    }

    pub(super) fn switch_off(&mut self, number: usize) {
        if let Some((_, machine)) = self.machines.get_mut(number) {
            *machine = None;
        }
    }

    /// Starts a machine anew without having asked it.
    pub(super) fn reset(&mut self, number: usize) -> Result<(), LabError> {
        if let Some((_, Some(MachineHandle::Real(machine)))) = self.machines.get_mut(number) {
            return machine.reset();
        }
        // A reset of emulated processors that run sometimes leaves them with half of it.
        self.switch_off(number);
        self.power_on(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::machines;
    use crate::up::topology::Topology;

    fn targets(topology: Topology, faults: &[Fault]) -> Result<Vec<String>, String> {
        let machines = machines::machines(&machines::tests::plan(topology, 0));
        let all = all(faults, &machines).map_err(|error| error.to_string())?;
        Ok(all.iter().map(|fault| machines[fault.target].name.clone()).collect())
    }

    #[test]
    fn each_fault_happens_to_a_machine_of_its_own() {
        let both = [Fault::NetworkCut, Fault::MissingWorker, Fault::BootOrder];
        assert_eq!(targets(Topology::Ha, &both).unwrap(), ["master-0", "worker-0", "master-1"]);
        assert!(targets(Topology::Compact, &both).unwrap_err().contains("worker"));
        assert!(
            targets(Topology::Sno, &[Fault::NetworkCut, Fault::BootOrder]).unwrap_err().contains("master")
        );
        for ends in [Fault::ResetWhileWriting, Fault::ImageStep, Fault::ImageBase] {
            assert!(targets(Topology::Ha, &[ends, Fault::NetworkCut]).unwrap_err().contains("alone"));
        }
    }

    #[test]
    fn images_fail_one_after_another() {
        let images: Vec<_> =
            Fault::value_variants().iter().copied().filter(|fault| fault.image_code().is_some()).collect();
        let all = targets(Topology::Compact, &images).unwrap();
        assert!(all.len() > 10 && all.iter().all(|name| name == "master-0"), "{all:?}");
        let codes: std::collections::BTreeSet<_> =
            images.iter().filter_map(|fault| fault.image_code()).collect();
        assert_eq!(codes.len(), images.len());
        let mixed = [Fault::ImageStep, Fault::ResetWhileWriting];
        assert!(targets(Topology::Compact, &mixed).unwrap_err().contains("alone"));
    }
}
