//! `config.json`: what the generator of an installation hands to the builder on the bootstrap host (ocl-day1 §B4.4).
//!
//! It is read strictly: the file is part of the Ignition config of the same installation, so whatever is odd in it is a defect,
//! and better found at once than an hour later. It holds no secret.

use std::net::IpAddr;

use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::on_cluster_layering::{BuildLocation, Pool};
use serde::{Deserialize, Serialize};

/// The only version of the file.
pub const VERSION: u32 = 1;
/// The part of the embedded registry that images of nodes are in.
pub const NAMESPACE: &str = "ocl";
/// How often a build is tried.
pub const ATTEMPTS: u32 = 4;

const LARGEST: usize = 64 * 1024;
const LONGEST_NAME: usize = 253;
const LONGEST_TEXT: usize = 4096;
const MOST_ADDRESSES: usize = 16;
const MOST_ATTEMPTS: u32 = 10;
/// 15 minutes to 6 hours.
const SECONDS: std::ops::RangeInclusive<u64> = 900..=21_600;

/// Why a `config.json` is not to be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("config.json has {0} bytes, at most {LARGEST} are read")]
    TooLarge(usize),
    #[error("config.json can't be read: {0}")]
    Unreadable(String),
    #[error("config.json has version {0}, this program knows version {VERSION}")]
    Version(u32),
    #[error("config.json: {0}")]
    Invalid(&'static str),
}

/// What the builder is to do, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub version: u32,
    pub cluster_id: ClusterId,
    /// The cluster's name.
    pub cluster: String,
    /// The domain that it is in.
    pub domain: String,
    pub release_version: String,
    /// `x86_64` or `arm64`.
    pub arch: String,
    pub control_plane_count: u32,
    pub registry: Registry,
    pub bootstrap_ip: IpAddr,
    pub master_ips: Vec<IpAddr>,
    /// None where the cluster has no virtual addresses.
    pub vips: Vec<IpAddr>,
    pub images: Images,
    /// In the order in which they are built; `master` first.
    pub pools: Vec<PoolBuild>,
    /// Whether the rendered configuration becomes part of the image.
    pub bake_configs: bool,
    pub scratch: Scratch,
    /// For each pool, with all its attempts.
    pub build_timeout_seconds: u64,
    pub attempts: u32,
    pub proxy: Proxy,
    pub service: Service,
}

/// Where images are pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Registry {
    /// The bootstrap host's own; afterwards each control plane node has one.
    Embedded {
        /// The name that all nodes know it by.
        host: String,
        /// Read with a password; the port after it is written to, from the host itself.
        port: u16,
        namespace: String,
    },
    /// Where each MachineOSConfig says.
    External {},
}

/// Images of the release that the builder starts containers from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// The machine config operator.
    pub mco: String,
    pub docker_registry: String,
}

/// A pool whose image is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolBuild {
    pub name: Pool,
    /// The file with its MachineOSConfig, beside `config.json`.
    pub mosc: String,
    pub location: BuildLocation,
}

/// Where the build keeps what it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scratch {
    /// On the disk if that works, else in memory.
    Auto,
    Disk,
    Memory,
}

/// The cluster's proxy; empty texts where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    pub http: String,
    pub https: String,
    pub no: String,
}

impl Proxy {
    /// The variables in which programs look for it, in capitals and in small letters: some read these alone, some those. What is empty has
    /// none.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let all = [("HTTP_PROXY", &self.http), ("HTTPS_PROXY", &self.https), ("NO_PROXY", &self.no)];
        let given = all.into_iter().filter(|(_, value)| !value.is_empty());
        given
            .flat_map(|(name, value)| {
                [name.to_owned(), name.to_lowercase()].map(|name| (name, value.clone()))
            })
            .collect()
    }
}

/// Where the builder reports, and as who.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub url: String,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
}

impl Config {
    /// Reads a `config.json`.
    ///
    /// # Errors
    ///
    /// When it is too large, has what is not known or lacks what is needed, or says what can't be meant.
    pub fn read(bytes: &[u8]) -> Result<Self, ConfigError> {
        if bytes.len() > LARGEST {
            return Err(ConfigError::TooLarge(bytes.len()));
        }
        let config: Self =
            serde_json::from_slice(bytes).map_err(|error| ConfigError::Unreadable(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Writes a `config.json`, which [`read`](Self::read) takes.
    ///
    /// # Errors
    ///
    /// When it says what can't be meant.
    pub fn write(&self) -> Result<Vec<u8>, ConfigError> {
        self.check()?;
        let bytes = serde_json::to_vec(self).map_err(|error| ConfigError::Unreadable(error.to_string()))?;
        if bytes.len() > LARGEST { Err(ConfigError::TooLarge(bytes.len())) } else { Ok(bytes) }
    }

    /// The name that all nodes know the control plane by.
    pub fn api_int(&self) -> String {
        format!("api-int.{}.{}", self.cluster, self.domain)
    }

    /// The repository in the embedded registry that a pool's image is in; `None` with an external one.
    pub fn repository(&self, pool: Pool) -> Option<String> {
        match &self.registry {
            Registry::Embedded { host, port, namespace } => {
                Some(format!("{host}:{port}/{namespace}/os-image-{pool}"))
            }
            Registry::External {} => None,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |what| Err(ConfigError::Invalid(what));
        if self.version != VERSION {
            return Err(ConfigError::Version(self.version));
        }
        if !is_name(&self.cluster) || !is_name(&self.domain) {
            return wrong("cluster and domain must be names of DNS");
        }
        if self.release_version.is_empty() || !is_word(&self.release_version) {
            return wrong("release_version must be a version");
        }
        if !matches!(self.arch.as_str(), "x86_64" | "arm64") {
            return wrong("arch must be x86_64 or arm64");
        }
        if !(1..=5).contains(&self.control_plane_count) {
            return wrong("control_plane_count must be from 1 to 5");
        }
        if self.master_ips.is_empty() || self.master_ips.len() > MOST_ADDRESSES {
            return wrong("master_ips must have 1 to 16 addresses");
        }
        if self.vips.len() > MOST_ADDRESSES {
            return wrong("vips must have at most 16 addresses");
        }
        if [&self.images.mco, &self.images.docker_registry]
            .iter()
            .any(|image| image.is_empty() || !is_word(image))
        {
            return wrong("images must be names of images");
        }
        if !SECONDS.contains(&self.build_timeout_seconds) {
            return wrong("build_timeout_seconds must be from 900 to 21600");
        }
        if !(1..=MOST_ATTEMPTS).contains(&self.attempts) {
            return wrong("attempts must be from 1 to 10");
        }
        if [&self.proxy.http, &self.proxy.https, &self.proxy.no]
            .iter()
            .any(|text| !text.is_empty() && !is_word(text))
        {
            return wrong("proxy must have addresses, or empty texts");
        }
        if !(self.service.url.starts_with("https://") || self.service.url.starts_with("http://"))
            || !is_word(&self.service.url)
        {
            return wrong("service.url must be an address of HTTP");
        }
        self.check_registry()?;
        self.check_pools()
    }

    fn check_registry(&self) -> Result<(), ConfigError> {
        let Registry::Embedded { host, port, namespace } = &self.registry else { return Ok(()) };
        if *host != self.api_int() {
            return Err(ConfigError::Invalid("registry.host must be api-int of the cluster"));
        }
        // The port after it is used too.
        if !(1024..u16::MAX).contains(port) {
            return Err(ConfigError::Invalid("registry.port must be from 1024 to 65534"));
        }
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if namespace.is_empty() || namespace.len() > LONGEST_NAME || !namespace.chars().all(lower) {
            return Err(ConfigError::Invalid("registry.namespace must be one part of a repository's name"));
        }
        Ok(())
    }

    fn check_pools(&self) -> Result<(), ConfigError> {
        // There is nothing to boot into without the image of the control plane, and each pool has one.
        let names: Vec<_> = self.pools.iter().map(|pool| pool.name).collect();
        if !matches!(names[..], [Pool::Master] | [Pool::Master, Pool::Worker]) {
            return Err(ConfigError::Invalid("pools must be master, or master and worker"));
        }
        if self.pools.iter().any(|pool| pool.mosc != mosc_file(pool.name)) {
            return Err(ConfigError::Invalid("pools[].mosc must be mosc-<name>.yaml"));
        }
        if self
            .pools
            .iter()
            .any(|pool| pool.name == Pool::Master && pool.location != BuildLocation::Bootstrap)
        {
            return Err(ConfigError::Invalid("the image of pool master is built on the bootstrap host"));
        }
        Ok(())
    }
}

/// The file with a pool's MachineOSConfig, beside `config.json`.
pub fn mosc_file(pool: Pool) -> String {
    format!("mosc-{pool}.yaml")
}

fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty()
            && label.len() <= 63
            && label.chars().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= LONGEST_NAME && text.split('.').all(label)
}

/// Text without spaces and control characters, of which a program's argument can be made.
fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_TEXT
        && !text.starts_with('-')
        && text.chars().all(|c| !c.is_whitespace() && !c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn example() -> Value {
        json!({
            "version": 1, "cluster_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2d", "cluster": "c", "domain": "d.example.com",
            "release_version": "4.21.3", "arch": "x86_64", "control_plane_count": 3,
            "registry": {"type": "Embedded", "host": "api-int.c.d.example.com", "port": 22626, "namespace": "ocl"},
            "bootstrap_ip": "192.168.10.11", "master_ips": ["192.168.10.11", "fd00::1"], "vips": ["192.168.10.5"],
            "images": {"mco": "quay.io/o/r@sha256:00", "docker_registry": "quay.io/o/r@sha256:11"},
            "pools": [
                {"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"},
                {"name": "worker", "mosc": "mosc-worker.yaml", "location": "control-plane"},
            ],
            "bake_configs": true, "scratch": "Auto", "build_timeout_seconds": 5400, "attempts": 4,
            "proxy": {"http": "", "https": "", "no": ""},
            "service": {
                "url": "https://assisted.example.com", "infra_env_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2e",
                "host_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2f",
            },
        })
    }

    fn read(value: &Value) -> Result<Config, ConfigError> {
        Config::read(value.to_string().as_bytes())
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let config = read(&example()).unwrap();
        let written: Value = serde_json::from_slice(&config.write().unwrap()).unwrap();
        assert_eq!(written, example());
        let repository = config.repository(Pool::Master).unwrap();
        assert_eq!(repository, "api-int.c.d.example.com:22626/ocl/os-image-master");
        let mut external = example();
        external["registry"] = json!({"type": "External"});
        let config = read(&external).unwrap();
        assert_eq!(config.repository(Pool::Master), None);
        let written: Value = serde_json::from_slice(&config.write().unwrap()).unwrap();
        assert_eq!(written, external);
    }

    #[test]
    fn what_is_odd_is_refused() {
        for (place, value) in [
            ("/version", json!(2)),
            ("/cluster", json!("C")),
            ("/cluster", json!("a;b")),
            ("/domain", json!("d..e")),
            ("/release_version", json!("")),
            ("/arch", json!("s390x")),
            ("/control_plane_count", json!(0)),
            ("/registry/host", json!("localhost")),
            ("/registry/port", json!(80)),
            ("/registry/port", json!(65_535)),
            ("/registry/port", json!(70_000)),
            ("/registry/namespace", json!("a/b")),
            ("/registry/type", json!("Other")),
            ("/registry", json!({"type": "External", "host": "x"})),
            ("/bootstrap_ip", json!("host")),
            ("/master_ips", json!([])),
            ("/vips", json!(vec!["192.168.10.5"; 17])),
            ("/images/mco", json!("-v")),
            ("/images/docker_registry", json!("a b")),
            ("/pools", json!([])),
            ("/pools/1/name", json!("master")),
            ("/pools/1/name", json!("infra")),
            ("/pools/0/mosc", json!("../mosc-master.yaml")),
            ("/pools/0/location", json!("control-plane")),
            ("/scratch", json!("auto")),
            ("/build_timeout_seconds", json!(899)),
            ("/build_timeout_seconds", json!(21_601)),
            ("/attempts", json!(0)),
            ("/attempts", json!(11)),
            ("/proxy/http", json!("http://a b")),
            ("/service/url", json!("ftp://a")),
            ("/service/host_id", json!("")),
        ] {
            let mut odd = example();
            *odd.pointer_mut(place).unwrap() = value.clone();
            assert!(read(&odd).is_err(), "{place}: {value}");
        }
        for place in ["", "/registry", "/images", "/pools/0", "/proxy", "/service"] {
            let mut odd = example();
            odd.pointer_mut(place).unwrap()["other"] = json!("");
            assert!(matches!(read(&odd), Err(ConfigError::Unreadable(_))), "{place}");
        }
        let mut odd = example();
        odd.as_object_mut().unwrap().remove("attempts");
        assert!(read(&odd).is_err());
    }

    #[test]
    fn it_has_a_largest_size() {
        let mut text = example().to_string();
        text.push_str(&" ".repeat(LARGEST));
        assert_eq!(Config::read(text.as_bytes()), Err(ConfigError::TooLarge(text.len())));
    }
}
