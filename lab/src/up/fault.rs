//! What may go wrong while a cluster is installed, made to happen.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;

use super::topology::{Kind, Planned, Role};
use super::{Lab, LabError, NAME, Powered, say};

/// Between two looks at the hosts.
const LOOK: Duration = Duration::from_secs(5);
/// How long a network is cut.
const CUT: Duration = Duration::from_secs(120);

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// The first machine is reset while its disk is written
    ResetWhileWriting,
    /// The first machine boots the medium again instead of its disk, until that is mended
    BootOrder,
    /// The service is killed in the middle, and started again
    ServiceRestart,
    /// The first machine has no network for two minutes while its disk is written
    NetworkCut,
    /// The first worker is switched off when it should start from its disk, until the service asks where it is
    MissingWorker,
}

impl Fault {
    /// The role of the machine that it happens to, the first of them.
    fn role(self) -> Role {
        if self == Self::MissingWorker { Role::Worker } else { Role::Master }
    }

    /// Which of these machines it happens to.
    fn victim<'a>(self, mut machines: impl Iterator<Item = &'a Planned>) -> Option<usize> {
        machines.position(|machine| machine.role == self.role())
    }

    /// Fails where it can't be made to happen.
    pub(super) fn can_happen(self, machines: &[Planned]) -> Result<(), LabError> {
        let victim = self.victim(machines.iter()).and_then(|number| machines.get(number));
        let hardware = !matches!(self, Self::ResetWhileWriting | Self::ServiceRestart);
        match victim.map(|machine| &machine.kind) {
            None => Err(LabError::NoVictim(self.role().name())),
            Some(Kind::Real(_)) if hardware => Err(LabError::OnlyVirtual),
            Some(_) => Ok(()),
        }
    }
}

/// A fault on its way.
pub(super) struct Happening {
    fault: Fault,
    state: State,
    looked: Instant,
}

enum State {
    Awaited,
    CutSince(Instant),
    SwitchedOff,
    Over,
}

impl Happening {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, state: State::Awaited, looked: Instant::now() }
    }

    /// Lets it happen when its time has come.
    pub(super) fn look(&mut self, lab: &mut Lab) -> Result<(), LabError> {
        if matches!(self.state, State::Over) || self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        if let State::CutSince(since) = self.state {
            if since.elapsed() >= CUT {
                lab.network.connect(0, true)?;
                tell("the network of the first machine is back");
                self.state = State::Over;
            }
            return Ok(());
        }
        let hosts = lab.cli.json(&["host", "list"])?;
        let mut hosts = hosts.as_array().into_iter().flatten();
        let planned = lab.machines.iter().map(|(planned, _)| planned);
        let Some(victim) = self.fault.victim(planned) else { return Ok(()) };
        let Some((planned, _)) = lab.machines.get(victim) else { return Ok(()) };
        let Some(host) = hosts.find(|host| planned.is(host)) else { return Ok(()) };
        let is_asked_for = host["status"] == "installing-pending-user-action";
        self.state = match self.fault {
            Fault::ResetWhileWriting if is_writing(host) => {
                tell("the first machine is reset");
                lab.reset(victim)?;
                State::Over
            }
            Fault::NetworkCut if is_writing(host) => {
                tell("the first machine loses its network for two minutes");
                lab.network.connect(0, false)?;
                State::CutSince(Instant::now())
            }
            Fault::ServiceRestart if is_writing(host) => {
                tell("the service is killed, and started again");
                lab.restart_service()?;
                State::Over
            }
            Fault::BootOrder if is_asked_for => {
                tell("the first machine is told to boot its disk, and started again");
                lab.mend_boot_order()?;
                State::Over
            }
            Fault::MissingWorker if matches!(self.state, State::SwitchedOff) => match is_asked_for {
                true => {
                    tell("the worker is switched on");
                    lab.power_on(victim)?;
                    State::Over
                }
                false => State::SwitchedOff,
            },
            Fault::MissingWorker if host["progress"]["current_stage"] == "Rebooting" => {
                tell("a worker is switched off; the service waits for it ten minutes");
                if let Some((_, machine)) = lab.machines.get_mut(victim) {
                    *machine = None;
                }
                State::SwitchedOff
            }
            _ => State::Awaited,
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

fn tell(what: &str) {
    say(&format!("\n--- fault in cluster {NAME}: {what}"));
}

impl Lab {
    fn restart_service(&mut self) -> Result<(), LabError> {
        self.service.restart(&self.plan, &self.network)
    }

    /// Starts a machine anew without having asked it.
    fn reset(&mut self, number: usize) -> Result<(), LabError> {
        match self.machines.get_mut(number).map(|(_, machine)| machine) {
            Some(Some(Powered::Real(bmc))) => Ok(bmc.reset()?),
            Some(machine) => {
                // A reset of emulated processors that run sometimes leaves them with half of it.
                *machine = None;
                self.power_on(number)
            }
            None => Ok(()),
        }
    }

    /// Starts the first machine again, this time with its disk before the medium.
    fn mend_boot_order(&mut self) -> Result<(), LabError> {
        self.plan.fault = None;
        self.reset(0)
    }
}
