//! The table of requirements: by OpenShift version, then by role (validations §4.1).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use assisted_wire::requirements::{
    ClusterHostRequirementsDetails as Details, VersionedClusterHostRequirementsDetails,
};
use serde::Deserialize;

use assisted_base::version::{Base, Version};

/// The requirements that are built in.
const DEFAULT: &str = include_str!("../../data/default_hw_requirements.json");
/// The entry that the others build on.
const DEFAULT_VERSION: &str = "default";

static BUILT_IN: LazyLock<Arc<Requirements>> =
    // A test holds that the built-in text can be read.
    LazyLock::new(|| Arc::new(Requirements::parse(DEFAULT).unwrap_or_default()));

/// Requirements of one version, for each role.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleRequirements {
    pub master: Details,
    pub arbiter: Details,
    pub worker: Details,
    /// The only node of a cluster.
    pub sno: Details,
    /// A small machine such as a DPU.
    pub edge_worker: Details,
}

/// Requirements of all versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// By exact version, with the default.
    exact: BTreeMap<String, RoleRequirements>,
    /// From a version on.
    since: BTreeMap<Release, RoleRequirements>,
}

/// Major and minor, then patch of a version.
type Release = (Base, u64);

/// A table that makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    #[error("not a list of requirements: {0}")]
    Json(#[from] serde_json::Error),
    #[error("entry must specify \"version\"")]
    NoVersion,
    #[error("invalid match_type {0:?} of version {1}")]
    MatchType(String, String),
    #[error("duplicate entry of version {0}")]
    Duplicate(String),
    #[error("version {0} is not a version")]
    BadVersion(String),
    #[error("a \"default\" version entry is required when min_version entries are present")]
    NoDefault,
    #[error(
        "requirements of role {role} of version {version} are incomplete: {member} is missing or out of range"
    )]
    Incomplete { version: String, role: &'static str, member: &'static str },
}

#[derive(Clone, Default, Deserialize)]
struct Raw {
    #[serde(default)]
    version: String,
    #[serde(default)]
    match_type: Option<String>,
    #[serde(default)]
    master: Option<Member>,
    #[serde(default)]
    arbiter: Option<Member>,
    #[serde(default)]
    worker: Option<Member>,
    #[serde(default)]
    sno: Option<Member>,
    #[serde(rename = "edge-worker", default)]
    edge_worker: Option<Member>,
}

type Member = VersionedClusterHostRequirementsDetails;

impl Requirements {
    /// The requirements that are built in.
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, RequirementsError> {
        let entries: Vec<Raw> = serde_json::from_str(text)?;
        let default = entries.iter().find(|entry| entry.version == DEFAULT_VERSION && !is_minimum(entry));
        let default = default.cloned().map(with_worker_fallback);
        let mut table = Self::default();
        for entry in entries {
            if entry.version.is_empty() {
                return Err(RequirementsError::NoVersion);
            }
            let version = entry.version.clone();
            match entry.match_type.as_deref() {
                None | Some("" | "exact") => {
                    let merged = match &default {
                        Some(default) => merge(entry, default),
                        None => with_worker_fallback(entry),
                    };
                    if table.exact.insert(version.clone(), complete(merged)?).is_some() {
                        return Err(RequirementsError::Duplicate(version));
                    }
                }
                Some("min_version") => {
                    let default = default.as_ref().ok_or(RequirementsError::NoDefault)?;
                    let from =
                        release(&version).ok_or_else(|| RequirementsError::BadVersion(version.clone()))?;
                    if table.since.insert(from, complete(merge(entry, default))?).is_some() {
                        return Err(RequirementsError::Duplicate(version));
                    }
                }
                Some(other) => return Err(RequirementsError::MatchType(other.to_owned(), version)),
            }
        }
        Ok(table)
    }

    /// The requirements of a version; `None` when the table has none.
    pub fn of_version(&self, version: &str) -> Option<&RoleRequirements> {
        let since = || self.since.range(..=release(version)?).next_back().map(|(_, roles)| roles);
        self.exact.get(version).or_else(since).or_else(|| self.exact.get(DEFAULT_VERSION))
    }
}

fn is_minimum(entry: &Raw) -> bool {
    entry.match_type.as_deref() == Some("min_version")
}

/// Version and patch of a version, without what follows; a missing patch is zero.
fn release(version: &str) -> Option<Release> {
    Version::parse(version).map(|version| (version.base, version.patch.unwrap_or(0)))
}

fn with_worker_fallback(mut entry: Raw) -> Raw {
    entry.arbiter = entry.arbiter.or_else(|| entry.worker.clone());
    entry.edge_worker = entry.edge_worker.or_else(|| entry.worker.clone());
    entry
}

fn merge(entry: Raw, default: &Raw) -> Raw {
    let role = |own: Option<Member>, default: &Option<Member>| match (own, default) {
        (Some(own), Some(default)) => Some(Member {
            cpu_cores: own.cpu_cores.or(default.cpu_cores),
            ram_mib: own.ram_mib.or(default.ram_mib),
            disk_size_gb: own.disk_size_gb.or(default.disk_size_gb),
            installation_disk_speed_threshold_ms: own
                .installation_disk_speed_threshold_ms
                .or(default.installation_disk_speed_threshold_ms),
            network_latency_threshold_ms: own
                .network_latency_threshold_ms
                .or(default.network_latency_threshold_ms),
            packet_loss_percentage: own.packet_loss_percentage.or(default.packet_loss_percentage),
        }),
        (own, default) => own.or_else(|| default.clone()),
    };
    Raw {
        version: entry.version,
        match_type: entry.match_type,
        master: role(entry.master, &default.master),
        arbiter: role(entry.arbiter, &default.arbiter),
        worker: role(entry.worker, &default.worker),
        sno: role(entry.sno, &default.sno),
        edge_worker: role(entry.edge_worker, &default.edge_worker),
    }
}

fn complete(entry: Raw) -> Result<RoleRequirements, RequirementsError> {
    let version = entry.version;
    let role = |role: &'static str, member: Option<Member>| {
        let missing = |member| RequirementsError::Incomplete { version: version.clone(), role, member };
        let given = member.ok_or_else(|| missing("the role"))?;
        let positive =
            |value: Option<i64>, name| value.filter(|value| *value > 0).ok_or_else(|| missing(name));
        let speed = given.installation_disk_speed_threshold_ms.unwrap_or_default();
        if speed < 0 {
            return Err(missing("installation_disk_speed_threshold_ms"));
        }
        Ok(Details {
            cpu_cores: positive(given.cpu_cores, "cpu_cores")?,
            ram_mib: positive(given.ram_mib, "ram_mib")?,
            disk_size_gb: positive(given.disk_size_gb, "disk_size_gb")?,
            installation_disk_speed_threshold_ms: speed,
            network_latency_threshold_ms: given.network_latency_threshold_ms,
            packet_loss_percentage: given.packet_loss_percentage,
            tpm_enabled_in_bios: false,
        })
    };
    Ok(RoleRequirements {
        master: role("master", entry.master)?,
        arbiter: role("arbiter", entry.arbiter)?,
        worker: role("worker", entry.worker)?,
        sno: role("sno", entry.sno)?,
        edge_worker: role("edge-worker", entry.edge_worker)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(details: &Details) -> (i64, i64, i64) {
        (details.cpu_cores, details.ram_mib, details.disk_size_gb)
    }

    #[test]
    fn built_in() {
        let table = Requirements::parse(DEFAULT).unwrap();
        let old = table.of_version("4.21.9").unwrap();
        assert_eq!(numbers(&old.master), (4, 16384, 100));
        assert_eq!(numbers(&old.arbiter), (2, 8192, 50));
        assert_eq!(numbers(&old.worker), (2, 8192, 100));
        assert_eq!(numbers(&old.sno), (8, 16384, 100));
        assert_eq!(numbers(&old.edge_worker), (2, 8192, 15));
        assert_eq!(old.master.network_latency_threshold_ms, Some(100.0));
        assert_eq!(old.sno.packet_loss_percentage, None);
        for version in ["4.22", "4.22.0-ec.1", "4.23.1", "5.0.0-rc.0"] {
            assert_eq!(numbers(&table.of_version(version).unwrap().sno), (4, 16384, 100), "{version}");
        }
        assert_eq!(numbers(&table.of_version("not a version").unwrap().sno), (8, 16384, 100));
    }

    #[test]
    fn merged_onto_the_default() {
        let role = r#"{"cpu_cores":2,"ram_mib":3,"disk_size_gb":4}"#;
        let text = format!(
            r#"[{{"version":"4.9","worker":{{"cpu_cores":9}}}},
                {{"version":"default","master":{role},"worker":{role},"sno":{role}}}]"#
        );
        let table = Requirements::parse(&text).unwrap();
        assert_eq!(numbers(&table.of_version("4.9").unwrap().worker), (9, 3, 4));
        assert_eq!(numbers(&table.of_version("4.9").unwrap().arbiter), (2, 3, 4));
        assert_eq!(numbers(&table.of_version("4.9.1").unwrap().worker), (2, 3, 4));
        let alone = Requirements::parse(&text.replace("default", "4.8")).unwrap_err();
        assert!(alone.to_string().contains("incomplete"), "{alone}");
        assert!(Requirements::parse("[]").unwrap().of_version("4.9").is_none());
    }

    #[test]
    fn refused() {
        let cases = [
            ("{}", "not a list"),
            (r#"[{"master":{}}]"#, "entry must specify \"version\""),
            (r#"[{"version":"4.9","match_type":"about"}]"#, "invalid match_type"),
            (r#"[{"version":"4.9","match_type":"min_version"}]"#, "a \"default\" version entry is required"),
        ];
        for (text, problem) in cases {
            let error = Requirements::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let twice = DEFAULT.replace("4.22", "default").replace(",\n  \"match_type\": \"min_version\"", "");
        let twice = twice.replace("\"match_type\": \"min_version\",", "");
        assert!(matches!(Requirements::parse(&twice), Err(RequirementsError::Duplicate(_))));
        let negative = DEFAULT.replacen("\"cpu_cores\": 4", "\"cpu_cores\": 0", 1);
        assert!(matches!(Requirements::parse(&negative), Err(RequirementsError::Incomplete { .. })));
    }
}
