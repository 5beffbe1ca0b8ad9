//! The lab's administrator: the first user of its service, who gives all orders.

use std::fs::File;

use uuid::Uuid;

use super::{Lab, LabError, say, write_secret};

pub(super) const NAME: &str = "admin";
/// The password, in the lab's folder: for whoever wants to log in from elsewhere.
pub(super) const PASSWORD: &str = "password";

impl Lab {
    /// Becomes the administrator by the code that the service has printed at its first start. The token stays in the lab's
    /// folder.
    pub(super) fn log_in(&self) -> Result<(), LabError> {
        if self.plan.hub.is_some() {
            // The service asks nobody who they are.
            return Ok(());
        }
        let code = self.service.set_up_code()?;
        let path = self.plan.dir.join(PASSWORD);
        write_secret(&path, &format!("{}\n", Uuid::new_v4()))?;
        let password = File::open(&path).map_err(LabError::io(&path))?;
        say(&format!("\n$ assisted login --setup CODE --name {NAME}"));
        self.cli.run(&["login", "--setup", &code, "--name", NAME], password)
    }
}
