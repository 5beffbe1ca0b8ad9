//! The config that a discovery image carries (image-service §6, agent-protocol §5).
//!
//! A function of its inputs alone: equal inputs give equal bytes, so that pieces of one image that are fetched apart fit
//! together.

mod agent;
mod network;
mod os;
mod proxy;
mod registry;
mod time;

use std::time::Duration;

use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::Proxy;
use assisted_wire::secret::Secret;

use assisted_ignition_spec::config::{Config, User};
use assisted_ignition_spec::resource::Resource;

/// Version of a config without overrides.
const VERSION: &str = "3.1.0";

/// Where the pull secret is.
pub(crate) const PULL_SECRET: &str = "/root/.docker/config.json";

/// What a discovery config is made from.
#[derive(Clone, Debug)]
pub struct Discovery<'a> {
    pub infra_env_id: InfraEnvId,
    pub agent: Agent<'a>,
    /// Public keys of those who may log in, one a line; empty: nobody.
    pub ssh_keys: &'a str,
    pub pull_secret: &'a Secret,
    pub proxy: Option<&'a Proxy>,
    /// Certificates (PEM) that hosts trust besides their own; empty: none.
    pub trust_bundle: &'a str,
    pub mirrors: Option<Mirrors<'a>>,
    pub time: TimeSources<'a>,
    /// Files with the settings of networks; empty: none, or they come another way.
    pub network: &'a [assisted_netconf::File],
    /// Image with the packages that make the host an OKD one.
    pub okd_rpms_image: Option<&'a str>,
}

/// The program that finds out what the host is, and how it comes there.
#[derive(Clone, Debug)]
pub struct Agent<'a> {
    /// Address of the service that the agent reports to.
    pub service_url: &'a str,
    /// The version that the agent reports to the service: a reference of its image.
    pub version: &'a str,
    pub delivery: Delivery<'a>,
    /// Whether it starts at boot; else somebody on the host starts it when it is time.
    pub starts_at_boot: bool,
    /// How long the agent may take to start.
    pub start_timeout: Duration,
    /// What the agent proves itself with; `None`: the service asks for nothing.
    pub token: Option<&'a Secret>,
    /// Certificates (PEM) by which the agent knows the service; `None`: those of the system.
    pub service_ca: Option<&'a str>,
    /// Whether any certificate of the service is accepted.
    pub skip_cert_verification: bool,
}

/// How the agent comes onto the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery<'a> {
    /// Inside a container image, which podman pulls.
    Image(&'a str),
    /// As a program that is fetched over HTTP; `sha512` in 128 hexadecimal digits.
    Program { url: &'a str, sha512: &'a str },
}

/// Registries that stand in for others.
#[derive(Clone, Copy, Debug)]
pub struct Mirrors<'a> {
    /// `registries.conf` of the containers tools.
    pub registries_conf: &'a str,
    /// Certificates (PEM) of the mirrors.
    pub ca: &'a str,
    /// Whether images are accepted without a signature.
    pub insecure_policy: bool,
}

/// Where hosts take the time from; several sources are separated by commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSources<'a> {
    /// As the image has it.
    Own,
    /// These besides the image's own.
    Additional(&'a str),
    /// These alone.
    Only(&'a str),
}

/// Makes the config; overrides are laid over it by [`assisted_ignition_spec::overlay`].
pub fn discovery(input: &Discovery<'_>) -> Config {
    let mut config = Config::new(VERSION);
    config.passwd.users = user(input.ssh_keys);
    config.add_file(PULL_SECRET, 0o644, Resource::text(input.pull_secret.expose()));
    agent::add(&mut config, input);
    os::add(&mut config, input);
    network::add(&mut config, input.network);
    proxy::add(&mut config, input.proxy);
    registry::add(&mut config, input);
    time::add(&mut config, input.time);
    config
}

/// The one user, if anyone may log in.
fn user(ssh_keys: &str) -> Vec<User> {
    let keys: Vec<String> =
        ssh_keys.lines().map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    vec![User {
        name: "core".to_owned(),
        password_hash: Some("!".to_owned()),
        groups: vec!["sudo".to_owned()],
        ssh_authorized_keys: keys,
        ..User::default()
    }]
}
