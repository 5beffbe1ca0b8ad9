//! Image mode at installation: what the bootstrap host needs to build the images of nodes, and what nodes need to get them
//! (ocl-day1 §B4). Nothing of it is done for clusters that have it not enabled.

mod bootstrap;
mod credentials;
mod extract;
mod hook;
mod push;
mod registry;
mod switch;
#[cfg(test)]
mod testing;

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use assisted_core::layering::reference::PushSpec;
use assisted_core::layering::settings::RegistryType;
use assisted_core::layering::{MachineOsConfig, OnClusterLayering, enabled};
use assisted_ignition::install::manifest::Manifest;
use assisted_ignition::install::{EditError, Tree};
use assisted_ocl::config::ConfigError;
use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::cluster_input::ClusterInput;
use bootstrap::Bootstrap;
pub(super) use bootstrap::Images;
use credentials::{Credentials, CredentialsError};
use extract::UserInput;
use push::Push;
pub(super) use push::try_all as try_pushes;
use registry::Embedded;

/// Why a cluster can't be installed in image mode.
#[derive(Debug, thiserror::Error)]
pub(super) enum LayeringError {
    #[error("image mode: {0}")]
    Faults(String),
    #[error("image mode is not enabled")]
    Disabled,
    #[error("image mode: the secret {0} can't be found or read among the manifests")]
    Secret(String),
    #[error(
        "image mode: a patch changes the MachineOSConfig for pool {0}. The cluster and the service go by the one that was uploaded: \
         change that manifest instead, and delete the patch"
    )]
    Patched(Pool),
    #[error("image mode: host {0} has no address in the machine network")]
    NoAddress(String),
    #[error("image mode: no host is chosen for bootstrap")]
    NoBootstrap,
    #[error("image mode: the install config can't be read")]
    InstallConfig,
    #[error("bootkube.sh of release {0} is not supported for on-cluster layering")]
    Hook(String),
    #[error("image mode: {0}")]
    Credentials(#[from] CredentialsError),
    #[error("image mode: {0}")]
    Config(#[from] ConfigError),
    #[error("image mode: {0}")]
    Edit(#[from] EditError),
    #[error("image mode: the working directory can't be used: {0}")]
    Disk(#[from] io::Error),
}

/// What is decided before the installer runs.
pub(super) struct Plan {
    settings: OnClusterLayering,
    /// `None` with an external registry.
    credentials: Option<Credentials>,
    name: String,
    masters: Vec<IpAddr>,
    vips: Vec<IpAddr>,
}

/// What is known once the manifests are final.
pub(super) struct Extracted(UserInput);

impl Plan {
    /// The plan of a cluster; `None` unless image mode is enabled.
    pub(super) fn of(known: &ClusterInput, now: Timestamp) -> Result<Option<Self>, LayeringError> {
        let Some(settings) = enabled(&known.record) else { return Ok(None) };
        let cluster = &known.record.cluster;
        let masters = known.control_plane_addresses().map_err(LayeringError::NoAddress)?;
        let texts = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.as_str());
        let texts = texts.chain(cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.as_str()));
        let vips: BTreeSet<IpAddr> = texts.filter_map(|ip| ip.parse().ok()).collect();
        let name = format!("api-int.{}.{}", cluster.name, cluster.base_dns_domain);
        let addresses = vips.iter().chain(&masters).copied().collect();
        let credentials = match settings.registry_type() {
            RegistryType::Embedded => Some(Credentials::new(&name, &addresses, now)?),
            RegistryType::External => None,
        };
        Ok(Some(Self { settings, credentials, name, masters, vips: vips.into_iter().collect() }))
    }

    /// What the registry is made of, if it is embedded.
    fn embedded<'a>(&'a self, image: &'a str, masters: &'a [String]) -> Option<Embedded<'a>> {
        let credentials = self.credentials.as_ref()?;
        let ipv6 = self.masters.iter().chain(&self.vips).any(IpAddr::is_ipv6);
        Some(Embedded { name: &self.name, port: self.settings.port(), ipv6, image, credentials, masters })
    }

    /// The installer's install config, by which all nodes can read the registry and trust it.
    pub(super) fn install_config(&self, config: &Secret) -> Result<Secret, LayeringError> {
        let Some(credentials) = &self.credentials else { return Ok(config.clone()) };
        let unreadable = |_| LayeringError::InstallConfig;
        let mut config: Value = serde_json::from_str(config.expose()).map_err(unreadable)?;
        let text = config["pullSecret"].as_str().filter(|text| !text.is_empty()).unwrap_or("{}");
        let mut secret: Value = serde_json::from_str(text).map_err(unreadable)?;
        if !secret["auths"].is_object() {
            secret["auths"] = Value::Object(Map::new());
        }
        if let Some(auths) = secret["auths"].as_object_mut() {
            auths.extend(self.auths());
        }
        config["pullSecret"] = secret.to_string().into();
        let bundle = config["additionalTrustBundle"].as_str().unwrap_or_default().trim();
        let both = if bundle.is_empty() {
            credentials.authority.clone()
        } else {
            format!("{bundle}\n{}", credentials.authority)
        };
        config["additionalTrustBundle"] = both.trim_end().into();
        // Pods that build later, and the machine config operator, trust it only by this.
        if config["additionalTrustBundlePolicy"].as_str().is_none_or(str::is_empty) {
            config["additionalTrustBundlePolicy"] = "Always".into();
        }
        Ok(config.to_string().into())
    }

    /// What pull secrets have of the registry.
    fn auths(&self) -> Map<String, Value> {
        let port = self.settings.port();
        let hosts = [format!("{}:{port}", self.name), format!("localhost:{port}")];
        self.credentials.as_ref().map(|credentials| credentials.auths(&hosts)).unwrap_or_default()
    }

    /// The MachineConfigs that nodes get the registry and their trust in it by, and what switches those that may have to start without
    /// their image: workers do not know the embedded registry's name when they first start.
    pub(super) fn manifests(&self, known: &ClusterInput, images: &Images) -> Vec<Manifest> {
        let masters: Vec<String> = self.masters.iter().map(ToString::to_string).collect();
        let embedded = self.embedded(&images.docker_registry, &masters);
        let switching: &[&str] = if embedded.is_some() { &["master"] } else { &["master", "worker"] };
        let mut all = embedded.map(|embedded| embedded.manifests(known.has_arbiters())).unwrap_or_default();
        all.extend(switching.iter().map(|role| switch::manifest(role)));
        all
    }

    /// Takes MachineOSConfigs out of the installation's folder, once patches are applied.
    pub(super) fn extract(&self, known: &ClusterInput, dir: &Path) -> Result<Extracted, LayeringError> {
        extract::extract(dir, &known.facts, &self.auths()).map(Extracted)
    }

    /// Where built images will be pushed; nowhere that could be tried with the embedded registry.
    pub(super) fn pushes(&self, extracted: &Extracted) -> Vec<Push> {
        if self.credentials.is_some() {
            return Vec::new();
        }
        let Extracted(user) = extracted;
        let push = |config: &MachineOsConfig| {
            let repository = PushSpec::parse(&config.push_spec).ok()?.repository.to_owned();
            let secret = user.secrets.get(&config.push_secret)?.clone();
            Some(Push { pool: config.pool, repository, secret })
        };
        user.configs.iter().filter_map(push).collect()
    }

    /// Puts the builder and what it reads into the config of the bootstrap host.
    pub(super) fn edit_bootstrap(
        &self,
        known: &ClusterInput,
        images: &Images,
        extracted: &Extracted,
        tree: &mut Tree,
    ) -> Result<(), LayeringError> {
        let masters: Vec<String> = self.masters.iter().map(ToString::to_string).collect();
        let embedded = self.embedded(&images.docker_registry, &masters);
        Bootstrap { plan: self, known, images, user: &extracted.0, embedded: embedded.as_ref() }.edit(tree)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::testing::{input, input_external};
    use super::*;

    fn now() -> Timestamp {
        "2026-08-21T01:54:08Z".parse().unwrap()
    }

    #[test]
    fn the_installer_is_told_of_the_registry() {
        let plan = Plan::of(&input(), now()).unwrap().unwrap();
        let config = json!({"pullSecret": r#"{"auths":{"quay.io":{"auth":"eA=="}}}"#, "additionalTrustBundle": "OWN", "metadata": {"name": "lab"}});
        let made = plan.install_config(&config.to_string().into()).unwrap();
        let made: Value = serde_json::from_str(made.expose()).unwrap();
        let secret: Value = serde_json::from_str(made["pullSecret"].as_str().unwrap()).unwrap();
        let mut hosts: Vec<_> = secret["auths"].as_object().unwrap().keys().collect();
        hosts.sort();
        assert_eq!(hosts, ["api-int.lab.example.com:22626", "localhost:22626", "quay.io"]);
        assert!(
            made["additionalTrustBundle"].as_str().unwrap().starts_with("OWN\n-----BEGIN CERTIFICATE-----")
        );
        assert_eq!(made["additionalTrustBundlePolicy"], "Always");
        assert_eq!(made["metadata"], config["metadata"]);
        // What the user decided stays.
        let decided = json!({"pullSecret": "{}", "additionalTrustBundlePolicy": "Proxyonly"}).to_string();
        let made: Value =
            serde_json::from_str(plan.install_config(&decided.into()).unwrap().expose()).unwrap();
        assert_eq!(made["additionalTrustBundlePolicy"], "Proxyonly");
    }

    #[test]
    fn an_external_registry_needs_none_of_it() {
        let plan = Plan::of(&input_external(), now()).unwrap().unwrap();
        let config: Secret = r#"{"pullSecret":"{}"}"#.into();
        assert_eq!(plan.install_config(&config).unwrap(), config);
        let images = Images { mco: "m".to_owned(), docker_registry: "r".to_owned() };
        let made = plan.manifests(&input_external(), &images);
        let names: Vec<_> = made.iter().map(|manifest| manifest.name.as_str()).collect();
        assert_eq!(names, ["98-ocl-switch-master.yaml", "98-ocl-switch-worker.yaml"]);
    }

    #[test]
    fn the_machine_configs_of_nodes() {
        let known = input();
        let plan = Plan::of(&known, now()).unwrap().unwrap();
        let images = Images { mco: "m".to_owned(), docker_registry: "quay.io/o/r@sha256:11".to_owned() };
        let made = plan.manifests(&known, &images);
        let names: Vec<_> = made.iter().map(|manifest| manifest.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "98-ocl-registry-master.yaml",
                "98-ocl-trust-master.yaml",
                "98-ocl-trust-worker.yaml",
                "98-ocl-switch-master.yaml"
            ]
        );
        let read = |place: usize| serde_yaml_ng::from_str::<Value>(&made[place].text).unwrap();
        for place in 0..3 {
            let object = read(place);
            let config = serde_json::from_value(object["spec"]["config"].clone()).unwrap();
            assisted_ignition_spec::validate::validate(&config).unwrap();
        }
        let modes = |place: usize| {
            let object = read(place);
            let files = object["spec"]["config"]["storage"]["files"].as_array().unwrap().clone();
            files
                .iter()
                .map(|file| (file["path"].as_str().unwrap().to_owned(), file["mode"].as_u64().unwrap()))
                .collect::<Vec<_>>()
        };
        let registry = modes(0);
        for secret in ["/etc/ocl-registry/tls.key", "/etc/ocl-registry/htpasswd"] {
            assert!(registry.contains(&(secret.to_owned(), 0o600)), "{registry:?}");
        }
        let trust: Vec<_> = modes(1).into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            trust,
            [
                "/etc/pki/ca-trust/source/anchors/ocl-registry-ca.crt",
                "/etc/containers/certs.d/api-int.lab.example.com:22626/ca.crt",
                "/etc/containers/certs.d/localhost:22626/ca.crt",
                "/etc/containers/registries.conf.d/50-ocl-registry.conf",
            ]
        );
        // Only control plane nodes have the registry at hand.
        let conf = |place: usize| {
            let object = read(place);
            let files = object["spec"]["config"]["storage"]["files"].as_array().unwrap().clone();
            let file = files.into_iter().find(|file| file["path"] == registry::REGISTRIES).unwrap();
            let source = file["contents"]["source"].as_str().map(str::to_owned);
            let resource = assisted_ignition_spec::resource::Resource { source, ..Default::default() };
            String::from_utf8(resource.data().unwrap()).unwrap()
        };
        assert!(conf(1).contains("digest-only") && conf(1).parse::<toml::Table>().is_ok());
        assert!(!conf(2).contains("digest-only") && conf(2).parse::<toml::Table>().is_ok());
        let units: Vec<_> = read(0)["spec"]["config"]["systemd"]["units"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit["name"].clone())
            .collect();
        assert_eq!(units, ["ocl-registry.service", "ocl-registry-sync.service", "ocl-registry-sync.timer"]);
    }
}
