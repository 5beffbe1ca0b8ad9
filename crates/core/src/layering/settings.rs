//! `onClusterLayering`: whether the cluster builds its nodes' image itself, already while it is installed (ocl-day1 §B2).
//!
//! It is kept with the install config, and the installer never sees it. The API takes the same beside the install config; where both say
//! something, the overrides of the install config hold.

use assisted_wire::on_cluster_layering::LayeringSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reference::PushSpec;
use crate::model::cluster::ClusterRecord;
use crate::policy::Policy;

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
    /// Whether nodes boot their image at once, or the release's and then switch.
    Rollout { Deploy, Switch, }
    /// Where the build keeps what it works on.
    Scratch { Auto, Disk, Memory, }
}

/// The embedded registry's port unless another is asked for.
pub const PORT: u16 = 22_626;
/// Minutes for the image of one pool unless others are asked for.
pub const BUILD_TIMEOUT_MINUTES: u32 = 90;

/// Members as they are spelled; clients may use any case.
const MEMBERS: [&str; 16] = [
    "mode",
    "machineOSConfigs",
    "registry",
    "type",
    "port",
    "loadBalancerConfigured",
    "pushRepository",
    "workerBuildLocation",
    "rollout",
    "bakeConfigs",
    "scratch",
    "buildTimeoutMinutes",
    "waitForAdoption",
    "pools",
    "name",
    "containerFile",
];

/// The member `onClusterLayering` of the install config; members that are absent have their defaults.
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
    pub rollout: Option<Rollout>,
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

    /// Whether nodes boot their image at once.
    pub fn rollout(&self) -> Rollout {
        self.rollout.unwrap_or(Rollout::Deploy)
    }

    /// Whether the user brings the MachineOSConfigs.
    pub fn machine_os_configs(&self) -> MachineOsConfigs {
        self.machine_os_configs.unwrap_or(MachineOsConfigs::Required)
    }

    /// The embedded registry's port; the one after it is used on the host that builds.
    pub fn port(&self) -> u16 {
        let asked = self.registry.as_ref().and_then(|registry| registry.port);
        asked.and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT)
    }

    /// Whether the user says that the load balancer forwards the registry's port.
    pub fn is_load_balancer_configured(&self) -> bool {
        self.registry.as_ref().and_then(|registry| registry.load_balancer_configured) == Some(true)
    }

    /// Where generated MachineOSConfigs push, without pool and tag.
    pub fn push_repository(&self) -> &str {
        self.registry.as_ref().map_or("", |registry| registry.push_repository.as_str())
    }

    /// Whether the rendered configuration becomes part of the image.
    pub fn bakes_configs(&self) -> bool {
        self.bake_configs.unwrap_or(true)
    }

    /// Where the build keeps what it works on.
    pub fn scratch(&self) -> Scratch {
        self.scratch.unwrap_or(Scratch::Auto)
    }

    /// Minutes for the image of one pool, with all its attempts.
    pub fn build_timeout_minutes(&self) -> u32 {
        self.build_timeout_minutes.unwrap_or(BUILD_TIMEOUT_MINUTES)
    }

    /// Whether the installation ends only when the cluster has taken its images over.
    pub fn waits_for_adoption(&self) -> bool {
        self.wait_for_adoption.unwrap_or(true)
    }

    /// What this says, and of all else what `other` says.
    fn over(self, other: Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            machine_os_configs: self.machine_os_configs.or(other.machine_os_configs),
            registry: match (self.registry, other.registry) {
                (Some(own), Some(other)) => Some(own.over(other)),
                (own, other) => own.or(other),
            },
            worker_build_location: self.worker_build_location.or(other.worker_build_location),
            rollout: self.rollout.or(other.rollout),
            bake_configs: self.bake_configs.or(other.bake_configs),
            scratch: self.scratch.or(other.scratch),
            build_timeout_minutes: self.build_timeout_minutes.or(other.build_timeout_minutes),
            wait_for_adoption: self.wait_for_adoption.or(other.wait_for_adoption),
            pools: if self.pools.is_empty() { other.pools } else { self.pools },
        }
    }

    /// The members of which both say something, and not the same.
    pub fn conflicts(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (self.clone().over(other.clone()), other.clone().over(self.clone()));
        let members = |settings: Self| serde_json::to_value(settings).unwrap_or_default();
        let (ours, theirs) = (members(ours), members(theirs));
        let names = ours.as_object().into_iter().flat_map(serde_json::Map::keys);
        names.filter(|name| ours[name.as_str()] != theirs[name.as_str()]).cloned().collect()
    }

    /// Refuses what the service does not do, and numbers and texts that can't be meant. What is wrong of something that is
    /// switched off is refused too, so that switching it on brings no surprise.
    ///
    /// # Errors
    ///
    /// What is wrong, in the words of the install config.
    pub fn check(&self, policy: &Policy) -> Result<(), String> {
        let wrong = |text: String| Err(format!("onClusterLayering.{text}"));
        if let Some(minutes) = self.build_timeout_minutes.filter(|minutes| !MINUTES.contains(minutes)) {
            let (least, most) = (MINUTES.start(), MINUTES.end());
            return wrong(format!("buildTimeoutMinutes is {minutes}, it must be from {least} to {most}"));
        }
        if let Some(port) = self.registry.as_ref().and_then(|registry| registry.port) {
            // The port after it is used too.
            let taken = |port: u32| TAKEN.iter().any(|taken| taken.contains(&port));
            if !PORTS.contains(&port) || taken(port) || taken(port + 1) {
                return wrong(format!(
                    "registry.port is {port}: take one from {} to {} that, like the one after it, no control plane node uses \
                     itself",
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
        if self.is_enabled() { self.check_enabled(policy).or_else(wrong) } else { Ok(()) }
    }

    fn check_enabled(&self, policy: &Policy) -> Result<(), String> {
        if !policy.layering.preview {
            return Err("mode is Enabled, which this service takes with OCL_PREVIEW=true only: image mode at installation is a \
                        preview: clusters are installed with it in a lab, on no machines of their own yet"
                .to_owned());
        }
        if self.machine_os_configs() == MachineOsConfigs::Required {
            return if self.pools.is_empty() {
                Ok(())
            } else {
                Err("pools is read with machineOSConfigs Generate only: put the Containerfiles into the MachineOSConfigs".to_owned())
            };
        }
        if !policy.layering.allow_generated_mosc {
            return Err("machineOSConfigs is Generate, which this service does not do (OCL_ALLOW_GENERATED_MOSC): upload a \
                        MachineOSConfig for each pool"
                .to_owned());
        }
        if self.registry_type() == RegistryType::Embedded {
            return Err("machineOSConfigs is Generate, and registry.type Embedded: a durable push target is needed for later \
                        builds, so set registry.type to External, with registry.pushRepository"
                .to_owned());
        }
        let spec = format!("{}-worker:latest", self.push_repository());
        match PushSpec::parse(&spec) {
            Ok(spec) if spec.namespaces <= 1 => {}
            Ok(_) => {
                return Err("registry.pushRepository has more than one part between host and name".to_owned());
            }
            Err(why) => return Err(format!("registry.pushRepository can't be used: {why}")),
        }
        let mut seen = Vec::new();
        for PoolFile { name, .. } in &self.pools {
            if !matches!(name.as_str(), "master" | "worker") || seen.contains(&name) {
                return Err(format!("pools has {name}: it may have master and worker, each once"));
            }
            seen.push(name);
        }
        Ok(())
    }
}

impl Registry {
    fn over(self, other: Self) -> Self {
        Self {
            r#type: self.r#type.or(other.r#type),
            port: self.port.or(other.port),
            load_balancer_configured: self.load_balancer_configured.or(other.load_balancer_configured),
            push_repository: if self.push_repository.is_empty() {
                other.push_repository
            } else {
                self.push_repository
            },
        }
    }
}

/// What overrides say, and beside it what is asked for without them.
pub fn together(
    overridden: Option<OnClusterLayering>,
    asked: Option<OnClusterLayering>,
) -> Option<OnClusterLayering> {
    match (overridden, asked) {
        (Some(overridden), Some(asked)) => Some(overridden.over(asked)),
        (overridden, asked) => overridden.or(asked),
    }
}

/// What is asked for beside the install config of a cluster.
pub fn asked(record: &ClusterRecord) -> Option<OnClusterLayering> {
    of_request(record.layering.asked.as_ref()?).ok()
}

/// What a request says of it. The secret is none of it, and no error quotes it.
///
/// # Errors
///
/// The word or number that can't be read.
pub fn of_request(given: &LayeringSettings) -> Result<OnClusterLayering, String> {
    let mut given = given.clone();
    if let Some(registry) = &mut given.registry {
        registry.push_secret = None;
    }
    let value = serde_json::to_value(&given).map_err(|error| error.to_string())?;
    serde_json::from_value(spelled(value)).map_err(|error| format!("on_cluster_layering: {error}"))
}

/// What overrides of an install config say of it; `None`: nothing, or nothing that can be read.
pub fn of_overrides(overrides: &str) -> Option<OnClusterLayering> {
    serde_json::from_value(spelled(member(overrides, "onClusterLayering")?)).ok()
}

/// Whether overrides ask for a cluster by FIPS.
pub(super) fn has_fips(overrides: &str) -> bool {
    member(overrides, "fips") == Some(Value::Bool(true))
}

/// What overrides say of when the further authorities are trusted.
pub(super) fn trust_policy(overrides: &str) -> Option<String> {
    member(overrides, "additionalTrustBundlePolicy")?.as_str().map(str::to_owned)
}

/// A member of the overrides, whose names may be in any case.
fn member(overrides: &str, wanted: &str) -> Option<Value> {
    // What follows the first value is ignored there too.
    let first = serde_json::Deserializer::from_str(overrides).into_iter::<Value>().next()?.ok()?;
    let Value::Object(members) = first else { return None };
    members.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, given)| given)
}

/// Members in the spelling of the install config: the API has underscores in them, and overrides any case.
fn spelled(value: Value) -> Value {
    let name = |name: String| {
        let plain = name.replace('_', "");
        let known = MEMBERS.iter().find(|member| member.eq_ignore_ascii_case(&plain));
        known.map_or(name, |known| (*known).to_owned())
    };
    match value {
        Value::Object(members) => {
            // `null` takes away what there is, which is nothing.
            let given = members.into_iter().filter(|(_, value)| !value.is_null());
            given.map(|(member, value)| (name(member), spelled(value))).collect()
        }
        Value::Array(elements) => elements.into_iter().map(spelled).collect(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, generates: bool) -> Result<(), String> {
        let mut policy = Policy::default();
        policy.layering.preview = true;
        policy.layering.allow_generated_mosc = generates;
        serde_json::from_value::<OnClusterLayering>(value).unwrap().check(&policy)
    }

    #[test]
    fn read_out_of_overrides() {
        let read = of_overrides(
            r#"{"fips":true,"ONCLUSTERLAYERING":{"MODE":"Enabled","scratch":null,"registry":{"Type":"External"}}} x"#,
        );
        let read = read.unwrap();
        assert!(read.is_enabled());
        assert_eq!(read.registry_type(), RegistryType::External);
        assert_eq!(
            (read.port(), read.build_timeout_minutes(), read.rollout()),
            (22_626, 90, Rollout::Deploy)
        );
        assert!(read.bakes_configs() && read.waits_for_adoption() && !read.is_load_balancer_configured());
        for text in
            ["", "{}", "[]", "{", r#"{"onClusterLayering":{"mode":"On"}}"#, r#"{"onClusterLayering":null}"#]
        {
            assert!(!of_overrides(text).is_some_and(|read| read.is_enabled()), "{text}");
        }
    }

    #[test]
    fn requests_say_the_same_in_their_spelling() {
        let given = json!({
            "mode": "Enabled", "machine_os_configs": "Generate", "worker_build_location": "Bootstrap", "rollout": "Switch",
            "registry": {
                "type": "External", "port": 22_700, "load_balancer_configured": true, "push_repository": "r.example.com/acme/os",
                "push_secret": "top",
            },
            "bake_configs": false, "scratch": "Memory", "build_timeout_minutes": 30, "wait_for_adoption": false,
            "pools": [{"name": "master", "container_file": "FROM configs AS final"}],
        });
        let read = of_request(&serde_json::from_value(given).unwrap()).unwrap();
        let expected = json!({
            "mode": "Enabled", "machineOSConfigs": "Generate", "workerBuildLocation": "Bootstrap", "rollout": "Switch",
            "registry": {
                "type": "External", "port": 22_700, "loadBalancerConfigured": true, "pushRepository": "r.example.com/acme/os",
            },
            "bakeConfigs": false, "scratch": "Memory", "buildTimeoutMinutes": 30, "waitForAdoption": false,
            "pools": [{"name": "master", "containerFile": "FROM configs AS final"}],
        });
        assert_eq!(serde_json::to_value(read).unwrap(), expected);
        for wrong in
            [json!({"mode": "On"}), json!({"build_timeout_minutes": -1}), json!({"registry": {"type": "x"}})]
        {
            let told = of_request(&serde_json::from_value(wrong.clone()).unwrap()).unwrap_err();
            assert!(told.starts_with("on_cluster_layering: "), "{wrong}: {told}");
        }
        assert!(serde_json::from_value::<LayeringSettings>(json!({"modus": "Enabled"})).is_err());
    }

    #[test]
    fn overrides_hold_and_the_rest_is_added() {
        let of = |value: Value| serde_json::from_value::<OnClusterLayering>(value).unwrap();
        let over = of(json!({"mode": "Disabled", "registry": {"port": 22_700}, "rollout": "Switch"}));
        let asked = of(json!({"mode": "Enabled", "registry": {"type": "External"}, "scratch": "Disk"}));
        assert_eq!(over.conflicts(&asked), ["mode"]);
        assert_eq!(asked.conflicts(&over), ["mode"]);
        assert_eq!(asked.conflicts(&asked), Vec::<String>::new());
        let both = together(Some(over.clone()), Some(asked.clone())).unwrap();
        let expected = json!({
            "mode": "Disabled", "registry": {"type": "External", "port": 22_700}, "rollout": "Switch", "scratch": "Disk",
        });
        assert_eq!(both, of(expected));
        assert_eq!(together(None, Some(asked.clone())), Some(asked));
        assert_eq!(together(Some(over.clone()), None), Some(over));
        assert_eq!(together(None, None), None);
        let (low, high) = (json!({"registry": {"port": 22_700}}), json!({"registry": {"port": 22_701}}));
        assert_eq!(of(low).conflicts(&of(high)), ["registry"]);
    }

    #[test]
    fn nobody_gets_it_unasked() {
        let asked: OnClusterLayering = serde_json::from_value(json!({"mode": "Enabled"})).unwrap();
        assert!(asked.check(&Policy::default()).unwrap_err().contains("OCL_PREVIEW"));
        assert_eq!(OnClusterLayering::default().check(&Policy::default()), Ok(()));
    }

    #[test]
    fn what_can_be_asked_for() {
        assert_eq!(check(json!({"mode": "Enabled"}), false), Ok(()));
        assert_eq!(check(json!({"mode": "Enabled", "rollout": "Switch"}), false), Ok(()));
        let pools = json!({"mode": "Enabled", "pools": [{"name": "master"}]});
        assert!(check(pools, true).unwrap_err().contains("Generate only"));
    }

    #[test]
    fn generated_ones_stay_behind_their_switch() {
        let asked = |registry: Value| json!({"mode": "Enabled", "machineOSConfigs": "Generate", "registry": registry});
        let external = |repository: &str| asked(json!({"type": "External", "pushRepository": repository}));
        assert_eq!(check(external("r.example.com/acme/os"), true), Ok(()));
        assert!(
            check(external("r.example.com/acme/os"), false).unwrap_err().contains("OCL_ALLOW_GENERATED_MOSC")
        );
        assert!(check(asked(json!({"type": "Embedded"})), true).unwrap_err().contains("durable push target"));
        for repository in ["", "os", "r.example.com/a/b/os", "r.example.com/a/os:latest"] {
            assert!(check(external(repository), true).is_err(), "{repository}");
        }
        let mut twice = external("r.example.com/acme/os");
        twice["pools"] = json!([{"name": "master"}, {"name": "master"}]);
        assert!(check(twice, true).is_err());
        let mut other = external("r.example.com/acme/os");
        other["pools"] = json!([{"name": "infra"}]);
        assert!(check(other, true).is_err());
    }
}
