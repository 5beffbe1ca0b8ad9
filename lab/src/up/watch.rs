//! Waiting, while everything that the lab has started must live.

use std::sync::atomic::Ordering;
use std::time::Duration;

use assisted_lab_tools::wait::Wait;

use super::machine_handle::Liveness;
use super::{Lab, LabError, NAME, POLL_INTERVAL, Phase, say, service};

/// From the last host's discovery until all of them can be installed.
const READY: Duration = Duration::from_secs(15 * 60);

impl Lab {
    /// Shows the cluster until it has a status; what goes wrong with a machine ends it as well.
    pub(super) fn watch(&mut self, until: &str) -> Result<(), LabError> {
        let words = ["cluster", "watch", NAME, "--until", until];
        let limit = if until == "ready" { READY } else { self.plan.limit };
        let mut wait = self.wait_for(&format!("cluster {NAME}, which is not {until} yet,"), limit);
        let mut child = self.cli.start(&words)?;
        loop {
            if let Some(status) = child.try_wait().map_err(LabError::io(&self.plan.program))? {
                return match status.success() {
                    true => Ok(()),
                    false => Err(LabError::Command { command: words.join(" "), said: status.to_string() }),
                };
            }
            let looked = match until {
                "ready" => Ok(()),
                _ => self.inject_due_faults().and_then(|()| self.kill_replica_if_due()),
            };
            let paused = looked.and_then(|()| self.pause()).and_then(|()| Ok(wait.go_on()?));
            if let Err(error) = paused {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
    }

    pub(super) fn pause(&mut self) -> Result<(), LabError> {
        std::thread::sleep(POLL_INTERVAL);
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        self.must_live()
    }

    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        self.network.must_live()?;
        self.service.must_live()?;
        if let Some(registry) = &mut self.image_registry {
            registry.must_live()?;
        }
        if let Some(cluster_api) = &mut self.cluster_api {
            cluster_api.must_live()?;
        }
        for number in 0..self.machines.len() {
            let Some((planned, Some(machine))) = self.machines.get_mut(number) else { continue };
            let life = machine.liveness(&format!("(the end of the installation of {})", planned.name))?;
            let (machine, dir) = (planned.name.clone(), self.plan.dir.join(&planned.name));
            match (life, self.phase) {
                (Liveness::Running, _) => {}
                (_, Phase::Installing) => return Err(LabError::KvmFailed { machine, dir }),
                (Liveness::Restarted, _) => say(&format!("{machine}: KVM failed, it starts again, emulated")),
                (Liveness::Lost, phase) => {
                    say(&format!("{machine}: KVM failed, it starts again, emulated"));
                    if phase == Phase::Before {
                        self.wipe(number)?;
                    }
                    self.power_on(number)?;
                }
            }
        }
        Ok(())
    }

    /// A wait whose traces are in the lab's folder: the service's log, and the consoles of the machines.
    pub(super) fn wait_for(&self, what: &str, limit: Duration) -> Wait {
        let dir = self.plan.dir.display();
        let limit = limit.min(self.plan.limit.saturating_sub(self.began.elapsed()));
        Wait::new(what, format_args!("{dir}/{}, {dir}/*/console.log", service::LOG), limit)
    }
}
