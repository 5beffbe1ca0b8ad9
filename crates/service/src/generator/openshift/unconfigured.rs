//! The discovery config of an image that brings its release along: the installer of that release makes it from the infra-env
//! (install-generation §13).

use std::io;
use std::path::Path;

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_ignition::install::NewFile;
use assisted_wire::embedded;
use assisted_wire::infra_env::{HostStaticNetworkConfig, InfraEnv};
use serde_json::{Value, json};

use super::manifests::write;
use super::outputs::{self, OutputError};

/// What the installer leaves.
const MADE: &str = "unconfigured-agent.ign";
/// Its presence lets the image ask a person at the machine.
const INTERACTIVE: &str = "/etc/assisted/interactive-ui";

/// What the objects are called that name each other.
const PULL_SECRET: &str = "pull-secret";
const LABEL: &str = "agent-install.openshift.io/infraenv-id";

/// Releases come from the registry on the image.
const REGISTRIES: &str = r#"[[registry]]
location = "quay.io/openshift-release-dev/ocp-release"
mirror-by-digest-only = true

[[registry.mirror]]
location = "registry.appliance.openshift.com:5000/openshift/release-images"

[[registry]]
location = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
mirror-by-digest-only = true

[[registry.mirror]]
location = "registry.appliance.openshift.com:5000/openshift/release"
"#;

/// Why there is no config.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnconfiguredError {
    #[error("the working directory can't be used: {0}")]
    Disk(#[from] io::Error),
    #[error("the static networks of the infra-env can't be read: {0}")]
    Networks(String),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes what the installer reads.
pub(super) fn write_inputs(record: &InfraEnvRecord, dir: &Path) -> Result<(), UnconfiguredError> {
    let (env, manifests, mirrors) = (&record.infra_env, dir.join("cluster-manifests"), dir.join("mirror"));
    std::fs::create_dir(&manifests)?;
    std::fs::create_dir(&mirrors)?;
    write(&manifests.join("infraenv.yaml"), infra_env(env).to_string().as_bytes())?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": PULL_SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": record.pull_secret.expose()},
    });
    write(&manifests.join("pull-secret.yaml"), secret.to_string().as_bytes())?;
    let networks = networks(env)?;
    if !networks.is_empty() {
        // JSON is YAML.
        let documents: Vec<_> = networks.iter().map(|network| format!("---\n{network}\n")).collect();
        write(&manifests.join("nmstateconfig.yaml"), documents.concat().as_bytes())?;
    }
    write(&mirrors.join("registries.conf"), REGISTRIES.as_bytes())?;
    if let Some(address) = env.rendezvous_ip.as_deref().filter(|address| !address.is_empty()) {
        let config = json!({
            "apiVersion": "v1beta1", "kind": "AgentConfig", "metadata": {"name": env.name},
            "rendezvousIP": address,
        });
        write(&dir.join("agent-config.yaml"), config.to_string().as_bytes())?;
    }
    Ok(())
}

/// What the installer made, for a person who sets the cluster up at the machine.
pub(super) fn collect(dir: &Path) -> Result<Vec<u8>, UnconfiguredError> {
    let mut tree = outputs::tree(dir, MADE)?;
    let empty = NewFile { path: INTERACTIVE, mode: 0o644, overwrite: true, source: "data:,".to_owned() };
    tree.put(empty).map_err(|source| OutputError::Edit { name: MADE.to_owned(), source })?;
    Ok(tree.write())
}

fn infra_env(env: &InfraEnv) -> Value {
    let mut spec = json!({
        "pullSecretRef": {"name": PULL_SECRET},
        "nmStateConfigLabelSelector": {"matchLabels": {LABEL: env.id}},
    });
    let mut add = |name: &str, value: Value| spec[name] = value;
    if !env.ssh_authorized_key.is_empty() {
        add("sshAuthorizedKey", env.ssh_authorized_key.as_str().into());
    }
    if let Some(architecture) = env.cpu_architecture {
        add("cpuArchitecture", architecture.as_str().into());
    }
    if let Some(proxy) = &env.proxy {
        let named = [
            ("httpProxy", &proxy.http_proxy),
            ("httpsProxy", &proxy.https_proxy),
            ("noProxy", &proxy.no_proxy),
        ];
        let set = named.into_iter().filter_map(|(name, value)| {
            Some((name.to_owned(), value.as_deref().filter(|value| !value.is_empty())?.into()))
        });
        add("proxy", Value::Object(set.collect()));
    }
    let sources: Vec<_> = env.additional_ntp_sources.split(',').map(str::trim).collect();
    if sources != [""] {
        add("additionalNTPSources", sources.into());
    }
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "metadata": {"name": env.name},
        "spec": spec,
    })
}

/// One object for each host that has a card by which it is known.
fn networks(env: &InfraEnv) -> Result<Vec<Value>, UnconfiguredError> {
    let failed = |error: &dyn std::fmt::Display| UnconfiguredError::Networks(error.to_string());
    let hosts = match env.static_network_config.as_str() {
        "" => return Ok(Vec::new()),
        text => embedded::read::<Vec<HostStaticNetworkConfig>>(text).map_err(|error| failed(&error))?,
    };
    let mut objects = Vec::new();
    for (number, host) in hosts.unwrap_or_default().into_iter().enumerate() {
        let cards = host.mac_interface_map.unwrap_or_default().0.into_iter();
        let cards: Vec<_> = cards
            .filter(|card| !card.mac_address.is_empty() && !card.logical_nic_name.is_empty())
            .map(|card| json!({"name": card.logical_nic_name, "macAddress": card.mac_address}))
            .collect();
        if cards.is_empty() {
            continue;
        }
        let config: Value = serde_yaml_ng::from_str(&host.network_yaml).map_err(|error| failed(&error))?;
        objects.push(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": format!("{}-{number}", env.name), "labels": {LABEL: env.id}},
            "spec": {"config": config, "interfaces": cards},
        }));
    }
    Ok(objects)
}
