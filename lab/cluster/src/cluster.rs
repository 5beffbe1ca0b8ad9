//! What all parts know of the cluster, and where they find it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assisted_hostinfo::Root;
use assisted_hostinfo::nic::Nic;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::files;
use crate::program::ProgramRuntime;

/// Where a control plane's certificates, keys and credentials are.
pub const BOOTSTRAP: &str = "/opt/openshift";
pub const NODE: &str = "/etc/kubernetes";
/// The credentials with which a bootstrap host pulls.
pub const PULL_SECRET: &str = "/root/.docker/config.json";
/// The name of what is told here, in either folder.
const FILE: &str = "lab.json";

/// Ports that everyone knows.
pub const API_PORT: u16 = 6443;
pub const CONFIG_PORT: u16 = 22623;
/// That of the same server without TLS, for hosts that have no authority of the cluster: those that are added later.
pub const PLAIN_CONFIG_PORT: u16 = 22624;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cluster {
    pub name: String,
    pub base_domain: String,
    pub infra_id: String,
    pub release_image: String,
    /// Of the release; known once its image is.
    pub version: String,
    /// Images of the release by their names in it.
    pub images: BTreeMap<String, String>,
    pub masters: usize,
    pub arbiters: usize,
    pub workers: usize,
    pub api_vips: Vec<IpAddr>,
    pub ingress_vips: Vec<IpAddr>,
    pub machine_networks: Vec<IpNet>,
    pub service_network: Option<IpNet>,
    /// Role of the node that reads this; empty on the bootstrap host.
    pub role: String,
}

impl Cluster {
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let path = Self::path(folder);
        serde_json::from_slice(&files::read(&path)?)
            .with_context(|| format!("{} can't be read", path.display()))
    }

    pub fn path(folder: impl AsRef<Path>) -> PathBuf {
        folder.as_ref().join(FILE)
    }

    pub fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    pub fn domain(&self) -> String {
        format!("{}.{}", self.name, self.base_domain)
    }

    /// The API as the cluster's own hosts call it.
    pub fn api_int(&self) -> String {
        format!("api-int.{}", self.domain())
    }

    pub fn api(&self) -> String {
        format!("api.{}", self.domain())
    }

    /// The host of the machine config server, as machines reach it.
    pub fn config_server(&self) -> String {
        match self.api_vips.first() {
            Some(IpAddr::V6(ip)) => format!("[{ip}]"),
            Some(ip) => ip.to_string(),
            None => self.api_int(),
        }
    }

    /// Where something is that was pushed with the release, by its digest.
    pub fn release_part_url(&self, digest: &str) -> Result<String> {
        let (registry, _) = self.release_image.split_once('/').context("a release without a registry")?;
        Ok(assisted_lab_tools::release_part_url(registry, digest))
    }

    /// Whether the cluster has a single node.
    pub fn is_single(&self) -> bool {
        self.masters == 1
    }

    /// Where nodes reach the API: a single node needs nobody to know its name.
    pub fn server(&self) -> String {
        format!("https://{}:{API_PORT}", self.service_host())
    }

    /// The name by which pods of this node reach the API.
    pub fn service_host(&self) -> String {
        if self.is_single() { "localhost".to_owned() } else { self.api_int() }
    }

    /// Services of the cluster; the API is the first of them.
    pub fn services(&self) -> String {
        self.service_network.map_or_else(|| "172.30.0.0/16".to_owned(), |network| network.to_string())
    }

    /// Members that etcd has before the bootstrap host leaves it, which becomes one itself later.
    pub fn needed_members(&self) -> usize {
        (self.masters + self.arbiters).saturating_sub(1).clamp(1, 2)
    }

    /// Control-plane hosts that serve the API before the bootstrap host stops.
    pub fn needed_masters(&self) -> usize {
        self.masters.saturating_sub(1).clamp(1, 2)
    }

    /// An address of this machine in the machine networks, and its interface.
    pub fn own_address(&self) -> Result<(IpAddr, String)> {
        let all = addresses();
        let is_vip = |ip: &IpAddr| self.api_vips.contains(ip) || self.ingress_vips.contains(ip);
        let within = |ip: &IpAddr| {
            self.machine_networks.is_empty()
                || self.machine_networks.iter().any(|network| network.contains(ip))
        };
        all.into_iter()
            .find(|(ip, _)| !ip.is_loopback() && !is_vip(ip) && within(ip) && is_routed(ip))
            .with_context(|| format!("this machine has no address in {:?}", self.machine_networks))
    }
}

fn is_routed(ip: &IpAddr) -> bool {
    !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// All addresses of this machine, with their interfaces.
pub fn addresses() -> Vec<(IpAddr, String)> {
    let of = |nic: Nic| nic.addresses.into_iter().map(move |address| (address.addr(), nic.name.clone()));
    Nic::list(&Root::live()).into_iter().flat_map(of).collect()
}

/// The name of this machine.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_lowercase()
}

/// The release, as the bootstrap host finds it.
pub async fn with_release(mut cluster: Cluster, programs: ProgramRuntime) -> Result<Cluster> {
    let release = programs.release(&cluster.release_image).await?;
    cluster.version = release.version;
    cluster.images = release.images;
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_program_is() {
        let release_image = "192.0.2.1:5000/ocp/release:4.20.1-x86_64".to_owned();
        let cluster = Cluster { release_image, ..Cluster::default() };
        let expected = "http://192.0.2.1:5000/v2/ocp/art/blobs/sha256:00";
        assert_eq!(cluster.release_part_url("sha256:00").unwrap(), expected);
        assert!(Cluster::default().release_part_url("sha256:00").is_err());
    }

    #[test]
    fn who_is_waited_for() {
        let of = |masters, arbiters| {
            let cluster = Cluster { masters, arbiters, ..Cluster::default() };
            (cluster.needed_members(), cluster.needed_masters())
        };
        assert_eq!(of(3, 0), (2, 2));
        assert_eq!(of(5, 0), (2, 2));
        assert_eq!(of(2, 1), (2, 1));
    }
}
