//! `onClusterLayering`: whether the cluster builds its nodes' image itself, already while it is installed (ocl-day1 §B2).
//!
//! It is kept with the install config, and the installer never sees it.

use serde::{Deserialize, Serialize};

use super::InstallConfigError;

const MINUTES: std::ops::RangeInclusive<u32> = 15..=360;
const PORTS: std::ops::RangeInclusive<u32> = 1024..=65_534;
/// Ports that a control plane node uses itself.
const TAKEN: [std::ops::RangeInclusive<u32>; 4] =
    [6443..=6443, 22_623..=22_625, 9000..=9999, 10_250..=10_250];
/// Longest Containerfile, in characters.
const LONGEST_FILE: usize = 4096;

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($word:ident,)+ })+) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $($word,)+ }

        impl $name {
            /// The word in the install config.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }
        })+
    };
}

words! {
    /// Whether it is done.
    Mode { Disabled, Enabled, }
    /// Whether the user brings the MachineOSConfigs, or they are made.
    MachineOsConfigs { Required, Generate, }
    /// Where built images are pushed.
    RegistryType { Embedded, External, }
    /// Where the image of the workers is built.
    BuildLocation { ControlPlane, Bootstrap, }
    /// Where the build keeps what it works on.
    Scratch { Auto, Disk, Memory, }
}

/// What the user says of it; what is absent has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OnClusterLayering {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(rename = "machineOSConfigs", skip_serializing_if = "Option::is_none")]
    pub machine_os_configs: Option<MachineOsConfigs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<Registry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_build_location: Option<BuildLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake_configs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch: Option<Scratch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_timeout_minutes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_adoption: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolFile>,
}

/// Where built images are pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Registry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<RegistryType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_configured: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub push_repository: String,
}

/// The Containerfile of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PoolFile {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_file: String,
}

impl OnClusterLayering {
    /// Whether it is done.
    pub fn is_enabled(&self) -> bool {
        self.mode == Some(Mode::Enabled)
    }

    /// Where built images are pushed.
    pub fn registry_type(&self) -> RegistryType {
        self.registry.as_ref().and_then(|registry| registry.r#type).unwrap_or(RegistryType::Embedded)
    }

    /// Where the image of the workers is built.
    pub fn worker_build_location(&self) -> BuildLocation {
        self.worker_build_location.unwrap_or(BuildLocation::ControlPlane)
    }

    /// Refuses what this version can't do, and numbers and texts that can't be meant.
    pub(super) fn check(&self) -> Result<(), InstallConfigError> {
        let wrong = |text: String| Err(InstallConfigError::Overrides(format!("onClusterLayering.{text}")));
        if self.is_enabled() {
            return wrong("mode is Enabled, but this version builds no image of nodes: leave it out, or set it to Disabled".to_owned());
        }
        if let Some(minutes) = self.build_timeout_minutes.filter(|minutes| !MINUTES.contains(minutes)) {
            let (least, most) = (MINUTES.start(), MINUTES.end());
            return wrong(format!("buildTimeoutMinutes is {minutes}, it must be from {least} to {most}"));
        }
        if let Some(port) = self.registry.as_ref().and_then(|registry| registry.port) {
            // The port after it is used too.
            let taken = |port: u32| TAKEN.iter().any(|taken| taken.contains(&port));
            if !PORTS.contains(&port) || taken(port) || taken(port + 1) {
                return wrong(format!(
                    "registry.port is {port}: take one from {} to {} that, like the one after it, no \
                                      control plane node uses itself",
                    PORTS.start(),
                    PORTS.end()
                ));
            }
        }
        for pool in &self.pools {
            if pool.name.is_empty() {
                return wrong("pools has a pool without a name".to_owned());
            }
            if pool.container_file.chars().count() > LONGEST_FILE {
                return wrong(format!(
                    "pools has a containerFile of {} with more than {LONGEST_FILE} characters",
                    pool.name
                ));
            }
        }
        Ok(())
    }
}
