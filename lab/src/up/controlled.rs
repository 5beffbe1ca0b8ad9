//! Real machines, switched on by their management controllers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_bmc::{Access, Machine, RedfishError, Trust};
use assisted_lab_tools::wait::Wait;
use serde::Deserialize;
use tokio::runtime::Runtime;

use super::LabError;

/// How long an order may take: a machine is switched off, its controller fetches the image, and it is switched on.
const ORDER: Duration = Duration::from_secs(20 * 60);

/// How a management controller is reached, as a list of machines has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Address of the machine at its controller: `https://192.0.2.1/redfish/v1/Systems/1`.
    pub(super) system: String,
    user: String,
    /// File with the password, beside the list of machines.
    password_file: PathBuf,
    /// Whether any certificate will do: most controllers sign their own.
    #[serde(default)]
    insecure: bool,
}

impl Controller {
    /// What the client of a controller needs; relative paths are below a folder.
    fn access(&self, dir: &Path) -> Result<Access, LabError> {
        let path = dir.join(&self.password_file);
        let password = std::fs::read_to_string(&path).map_err(LabError::io(&path))?;
        Ok(Access {
            system: self.system.clone(),
            user: self.user.clone(),
            password: password.trim_end_matches(['\r', '\n']).into(),
            trust: if self.insecure { Trust::Any } else { Trust::System },
        })
    }
}

/// A real machine, as its controller shows it.
pub(super) struct Controlled {
    machine: Machine,
    system: String,
    runtime: Runtime,
}

impl Controlled {
    /// Looks whether the controller answers.
    pub(super) fn connect(controller: &Controller, dir: &Path) -> Result<Self, LabError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(LabError::io(dir))?;
        let access = controller.access(dir)?;
        let machine = wait(&runtime, &access.system, Machine::connect(&access))?;
        Ok(Self { machine, system: access.system, runtime })
    }

    /// Starts the machine from an image that its controller fetches.
    pub(super) fn boot_medium(&self, image: &str) -> Result<(), LabError> {
        wait(&self.runtime, &self.system, self.machine.boot_medium(image))
    }

    /// Switches the machine off.
    pub(super) fn power_off(&self) -> Result<(), LabError> {
        wait(&self.runtime, &self.system, self.machine.power_off())
    }

    /// Presses the reset button.
    pub(super) fn reset(&self) -> Result<(), LabError> {
        wait(&self.runtime, &self.system, self.machine.reset())
    }
}

/// Waits for what a controller does.
fn wait<T>(
    runtime: &Runtime,
    system: &str,
    order: impl Future<Output = Result<T, RedfishError>>,
) -> Result<T, LabError> {
    let mut wait = Wait::new(format_args!("the management controller of {system}"), system, ORDER);
    runtime.block_on(async {
        let mut order = std::pin::pin!(order);
        loop {
            tokio::select! {
                done = &mut order => return Ok(done?),
                () = tokio::time::sleep(super::POLL_INTERVAL) => wait.go_on()?,
            }
        }
    })
}
