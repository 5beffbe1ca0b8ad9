//! One machine, as its management controller shows it.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::POWER_LIMIT;
use crate::resource::{action, link, links};
use crate::{Access, RedfishError};

/// Between two questions whether it is.
const POWER_INTERVAL: Duration = Duration::from_secs(1);

/// Whether a machine is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    On,
    Off,
    /// On the way to one of them, or of no known state.
    Changing,
}

impl Power {
    const fn as_str(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::Changing => "in no known state",
        }
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One machine, as its management controller shows it.
#[derive(Debug)]
pub struct Machine {
    connection: Connection,
    /// Path of the machine's own resource.
    system: String,
}

impl Machine {
    /// Looks whether the controller answers, takes the account, and has a drive for virtual media for the machine.
    ///
    /// # Errors
    /// When the address or the trust can't be used, and when one of the three is not so.
    pub async fn connect(access: &Access) -> Result<Self, RedfishError> {
        let settings = |reason| RedfishError::Settings { system: access.system.clone(), reason };
        let (origin, system) = access.split().map_err(settings)?;
        let connection = Connection::new(access, origin)
            .map_err(|error| settings(assisted_base::error::root_cause(&error)))?;
        let machine = Self { connection, system };
        machine.drive().await?;
        Ok(machine)
    }

    /// Starts the machine from a medium: an ISO that its controller fetches from a URL. What was running is cut off. The
    /// machine boots the medium once, and its disk from then on.
    ///
    /// # Errors
    /// When the controller refuses one of these steps, or the power does not change in time.
    pub async fn boot_medium(&self, image: &str) -> Result<(), RedfishError> {
        self.power_off().await?;
        self.insert_medium(image).await?;
        self.boot_once("Cd").await?;
        self.power_on().await
    }

    /// Whether the machine is switched on.
    ///
    /// # Errors
    /// When the controller does not say.
    pub async fn power(&self) -> Result<Power, RedfishError> {
        Ok(match self.connection.get(&self.system).await?["PowerState"].as_str() {
            Some("On") => Power::On,
            Some("Off") => Power::Off,
            _ => Power::Changing,
        })
    }

    /// Switches the machine on, unless it is on.
    ///
    /// # Errors
    /// When the controller refuses, or the machine is not on within three minutes.
    pub async fn power_on(&self) -> Result<(), RedfishError> {
        self.switch(Power::On, "On").await
    }

    /// Switches the machine off without asking what runs on it, unless it is off.
    ///
    /// # Errors
    /// When the controller refuses, or the machine is not off within three minutes.
    pub async fn power_off(&self) -> Result<(), RedfishError> {
        self.switch(Power::Off, "ForceOff").await
    }

    /// Presses the reset button.
    ///
    /// # Errors
    /// When the controller refuses.
    pub async fn reset(&self) -> Result<(), RedfishError> {
        self.ask_for_power("ForceRestart").await
    }

    /// Puts a medium into the drive, in place of what is there: an ISO that the controller fetches from a URL.
    ///
    /// # Errors
    /// When the controller refuses it, or can't fetch it.
    pub async fn insert_medium(&self, image: &str) -> Result<(), RedfishError> {
        let drive = self.drive().await?;
        self.empty(&drive).await?;
        let medium = json!({ "Image": image, "Inserted": true, "WriteProtected": true });
        self.invoke_action(&drive, "VirtualMedia.InsertMedia", &medium).await
    }

    /// Takes the medium out of the drive, if there is one.
    ///
    /// # Errors
    /// When the controller refuses.
    pub async fn eject_medium(&self) -> Result<(), RedfishError> {
        self.empty(&self.drive().await?).await
    }

    /// Boots from a kind of device (`BootSourceOverrideTarget`, such as `Cd` or `Pxe`) next time, and that time only.
    ///
    /// # Errors
    /// When the controller refuses.
    pub async fn boot_once(&self, source: &str) -> Result<(), RedfishError> {
        let boot = json!({ "BootSourceOverrideTarget": source, "BootSourceOverrideEnabled": "Once" });
        self.connection.patch(&self.system, &json!({ "Boot": boot })).await
    }

    async fn switch(&self, wanted: Power, kind: &str) -> Result<(), RedfishError> {
        if self.power().await? == wanted {
            return Ok(());
        }
        self.ask_for_power(kind).await?;
        let deadline = Instant::now() + POWER_LIMIT;
        loop {
            let now = self.power().await?;
            if now == wanted {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let (url, state) = (self.connection.url(&self.system), now.to_string());
                return Err(RedfishError::Power { url, state });
            }
            tokio::time::sleep(POWER_INTERVAL).await;
        }
    }

    async fn ask_for_power(&self, kind: &str) -> Result<(), RedfishError> {
        let system = self.connection.get(&self.system).await?;
        self.invoke_action(&system, "ComputerSystem.Reset", &json!({ "ResetType": kind })).await
    }

    /// The drive for CDs: of the machine itself, or of whatever manages it, as older controllers have it.
    async fn drive(&self) -> Result<Value, RedfishError> {
        let system = self.connection.get(&self.system).await?;
        let mut owners = vec![system.clone()];
        for manager in links(&system["Links"]["ManagedBy"]) {
            owners.push(self.connection.get(manager).await?);
        }
        for owner in &owners {
            let Some(path) = link(&owner["VirtualMedia"]) else { continue };
            for path in links(&self.connection.get(path).await?["Members"]) {
                let drive = self.connection.get(path).await?;
                let kinds = drive["MediaTypes"].as_array().into_iter().flatten();
                let takes_cds = kinds.into_iter().any(|kind| kind == "CD" || kind == "DVD");
                if takes_cds && action(&drive, "VirtualMedia.InsertMedia").is_some() {
                    return Ok(drive);
                }
            }
        }
        Err(self.missing("drive for virtual media"))
    }

    async fn empty(&self, drive: &Value) -> Result<(), RedfishError> {
        match drive["Inserted"] == true {
            true => self.invoke_action(drive, "VirtualMedia.EjectMedia", &json!({})).await,
            false => Ok(()),
        }
    }

    async fn invoke_action(
        &self,
        resource: &Value,
        name: &'static str,
        body: &Value,
    ) -> Result<(), RedfishError> {
        let target = action(resource, name).ok_or_else(|| self.missing(name))?;
        self.connection.post(target, body).await
    }

    fn missing(&self, what: &'static str) -> RedfishError {
        RedfishError::Missing { url: self.connection.url(&self.system), what }
    }
}
