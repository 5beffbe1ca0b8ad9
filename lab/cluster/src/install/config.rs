//! What the installer takes from an install config.

use std::net::IpAddr;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::Cluster;

/// A host that the install config names.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    pub name: String,
    #[serde(default)]
    pub role: String,
    #[serde(default, rename = "bootMACAddress")]
    pub mac: String,
}

#[derive(Clone, Debug)]
pub struct InstallConfig {
    pub name: String,
    pub base_domain: String,
    pub masters: usize,
    pub arbiters: usize,
    pub workers: usize,
    pub machine_networks: Vec<IpNet>,
    pub service_network: Option<IpNet>,
    /// The one key of `platform`.
    pub platform: String,
    pub hosts: Vec<Host>,
    pub api_vips: Vec<IpAddr>,
    pub ingress_vips: Vec<IpAddr>,
    pub pull_secret: String,
    pub ssh_key: String,
    pub in_place: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    api_version: String,
    base_domain: String,
    metadata: Metadata,
    control_plane: Pool,
    #[serde(default)]
    compute: Vec<Pool>,
    arbiter: Option<Pool>,
    networking: Option<Networking>,
    platform: serde_json::Map<String, Value>,
    pull_secret: String,
    #[serde(default)]
    ssh_key: String,
    bootstrap_in_place: Option<Value>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct Pool {
    #[serde(default)]
    replicas: usize,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Networking {
    machine_network: Option<Vec<Cidr>>,
    service_network: Option<Vec<IpNet>>,
}

#[derive(Deserialize)]
struct Cidr {
    cidr: IpNet,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Platform {
    #[serde(rename = "apiVIPs")]
    api_vips: Vec<IpAddr>,
    #[serde(rename = "apiVIP")]
    api_vip: Option<IpAddr>,
    #[serde(rename = "ingressVIPs")]
    ingress_vips: Vec<IpAddr>,
    #[serde(rename = "ingressVIP")]
    ingress_vip: Option<IpAddr>,
    hosts: Vec<Host>,
}

impl InstallConfig {
    pub fn read(config: &Value) -> Result<Self> {
        let given = Given::deserialize(config)?;
        if given.api_version != "v1" {
            bail!("apiVersion {:?} is not v1", given.api_version);
        }
        for (what, name) in [("metadata.name", &given.metadata.name), ("baseDomain", &given.base_domain)] {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
            if name.is_empty() || !name.chars().all(fine) {
                bail!("{what}: {name:?} is no name");
            }
        }
        serde_json::from_str::<Value>(&given.pull_secret).context("pullSecret is no JSON")?;
        let mut platforms = given.platform.into_iter();
        let (Some((platform, more)), None) = (platforms.next(), platforms.next()) else {
            bail!("platform must name exactly one");
        };
        let more = match more {
            Value::Null => Platform::default(),
            more => Platform::deserialize(more).with_context(|| format!("platform.{platform}"))?,
        };
        if given.control_plane.replicas == 0 {
            bail!("controlPlane.replicas must be positive");
        }
        let networking = given.networking.unwrap_or_default();
        let or = |all: Vec<IpAddr>, one: Option<IpAddr>| {
            if all.is_empty() { one.into_iter().collect() } else { all }
        };
        Ok(Self {
            name: given.metadata.name,
            base_domain: given.base_domain,
            masters: given.control_plane.replicas,
            arbiters: given.arbiter.map_or(0, |pool| pool.replicas),
            workers: given.compute.iter().map(|pool| pool.replicas).sum(),
            machine_networks: networking
                .machine_network
                .into_iter()
                .flatten()
                .map(|network| network.cidr)
                .collect(),
            service_network: networking.service_network.and_then(|networks| networks.first().copied()),
            platform,
            hosts: more.hosts,
            api_vips: or(more.api_vips, more.api_vip),
            ingress_vips: or(more.ingress_vips, more.ingress_vip),
            pull_secret: given.pull_secret,
            ssh_key: given.ssh_key,
            in_place: given.bootstrap_in_place.is_some_and(|given| !given.is_null()),
        })
    }

    pub fn cluster(&self, infra_id: &str, release_image: &str) -> Cluster {
        Cluster {
            name: self.name.clone(),
            base_domain: self.base_domain.clone(),
            infra_id: infra_id.to_owned(),
            release_image: release_image.to_owned(),
            masters: self.masters,
            arbiters: self.arbiters,
            workers: self.workers,
            api_vips: self.api_vips.clone(),
            ingress_vips: self.ingress_vips.clone(),
            machine_networks: self.machine_networks.clone(),
            service_network: self.service_network,
            ..Cluster::default()
        }
    }
}
