//! The machines that are known: a file in the user's configuration folder, for there are passwords in it.

use std::collections::BTreeMap;

use assisted_client::PrivateFile;
use assisted_console::Failure;
use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};

/// What is known of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    /// Address of the machine at its controller.
    pub system: String,
    pub user: String,
    pub password: Secret,
    /// Whether any certificate is taken.
    #[serde(default)]
    pub insecure: bool,
}

/// All machines that are known, by name.
pub struct Rack {
    file: PrivateFile,
    machines: BTreeMap<String, Known>,
}

impl Rack {
    /// The machines in the file of the user.
    pub fn of_user() -> Result<Self, Failure> {
        let file = PrivateFile::of_user("machines.json").map_err(Failure::refused)?;
        let machines = file.read().map_err(Failure::refused)?;
        Ok(Self { file, machines })
    }

    pub fn all(&self) -> &BTreeMap<String, Known> {
        &self.machines
    }

    pub fn get(&self, name: &str) -> Result<&Known, Failure> {
        self.machines.get(name).ok_or_else(|| {
            Failure::Refused(format!(
                "no machine is called {name:?}; `assisted machine list` shows those that are known"
            ))
        })
    }

    /// Keeps a machine, in place of one of its name.
    pub fn add(&mut self, name: &str, known: Known) -> Result<(), Failure> {
        self.machines.insert(name.to_owned(), known);
        self.file.write(&self.machines).map_err(Failure::refused)
    }

    /// Forgets a machine.
    pub fn remove(&mut self, name: &str) -> Result<(), Failure> {
        self.get(name)?;
        self.machines.remove(name);
        self.file.write(&self.machines).map_err(Failure::refused)
    }
}
