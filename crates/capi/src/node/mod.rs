//! What a machine is told by Ignition: in the discovery its name, once it is installed its name, labels, provider id and commands
//! (capi-providers §9).
//!
//! Texts may refer to variables of the machine's metadata, `$METADATA_NAME` or `${METADATA_NAME}`. They are put in by systemd when a
//! unit starts, from `/etc/metadata_env`: no shell ever sees a text of an object, but for the commands that are meant for one.

mod unit;
mod variable;

use std::collections::BTreeMap;

use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::{
    NodeRegistration, OpenshiftAssistedConfigSpec,
};
use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::merge::merge;
use assisted_ignition_spec::resource::Resource;
use assisted_ignition_spec::{MergeError, overlay};
use assisted_wire::infra_env::KernelArgumentOperation;
use serde_json::Value;

use unit::Unit;
pub use variable::{InvalidText, Text};

/// Version of the configs that are written.
const VERSION: &str = "3.1.0";

const METADATA: &str = "/etc/metadata_env";
const METADATA_UNIT: &str = "configdrive-metadata.service";
const HOSTNAME_UNIT: &str = "set-hostname.service";
const LABELS_UNIT: &str = "kubelet-customlabels.service";
const PROVIDER_ID_UNIT: &str = "capoa-inject-provider-id.service";
const PRE_UNIT: &str = "capoa-pre-bootstrap.service";
const POST_UNIT: &str = "capoa-post-bootstrap.service";
/// Where finished commands leave their marks, unless an object says otherwise.
const SENTINELS: &str = "/var/lib/capoa";
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

const SCRIPT: u32 = 0o755;
const COMMANDS: u32 = 0o700;

/// Where the variables of a machine come from.
#[derive(Clone, Copy, Debug)]
pub enum Metadata<'a> {
    /// The machine reads them from its config drive.
    ConfigDrive,
    /// They are known: the machine has no config drive.
    Known(&'a BTreeMap<String, String>),
}

/// Why a config can't be written.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("invalid kubelet extra labels: in label {label:?}: {source}")]
    Label { label: String, source: InvalidText },
    #[error("invalid providerID: {0}")]
    ProviderId(#[source] InvalidText),
    #[error("invalid node name: {0}")]
    Name(#[source] InvalidText),
    #[error("invalid {annotation} annotation: {source}")]
    Override { annotation: &'static str, source: MergeError },
    #[error("the discovery ignition is no JSON: {0}")]
    Discovery(serde_json::Error),
}

/// What an object says of its node, read.
#[derive(Debug, Default)]
struct Registration {
    name: Option<Text>,
    labels: Vec<(String, Text)>,
    provider_id: Option<Text>,
}

impl Registration {
    fn read(node: Option<&NodeRegistration>) -> Result<Self, NodeError> {
        let Some(node) = node else { return Ok(Self::default()) };
        let text = |text: &str| (!text.trim().is_empty()).then(|| Text::parse(text.trim())).transpose();
        let mut labels = BTreeMap::new();
        for label in &node.kubelet_extra_labels {
            // What is no pair names no label.
            let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
                continue;
            };
            let key = key.trim();
            let invalid = |source| NodeError::Label { label: label.clone(), source };
            Text::literal(key).map_err(invalid)?;
            labels.insert(key.to_owned(), Text::parse(value.trim()).map_err(invalid)?);
        }
        Ok(Self {
            name: text(&node.name).map_err(NodeError::Name)?,
            labels: labels.into_iter().collect(),
            provider_id: text(&node.provider_id).map_err(NodeError::ProviderId)?,
        })
    }
}

/// The discovery's config, with the name of the host if it has one. `base` is what the service serves, of whatever version; the
/// answer is `base` to the letter if there is nothing to add.
///
/// # Errors
/// A text is none that may be there, or the base is no config.
pub fn discovery(
    spec: &OpenshiftAssistedConfigSpec,
    metadata: Metadata<'_>,
    base: Vec<u8>,
) -> Result<Vec<u8>, NodeError> {
    let registration = Registration::read(spec.node_registration.as_ref())?;
    let Some(name) = &registration.name else { return Ok(base) };
    let mut added = Config::new(VERSION);
    add_metadata(&mut added, metadata, false);
    add_name(&mut added, name);
    let lower: Value = serde_json::from_slice(&base).map_err(NodeError::Discovery)?;
    let version = lower["ignition"]["version"].clone();
    let mut merged = merge(lower, serde_json::to_value(&added).map_err(NodeError::Discovery)?);
    // What is added is the same in all versions; the base may be of a newer one.
    merged["ignition"]["version"] = version;
    serde_json::to_vec(&merged).map_err(NodeError::Discovery)
}

/// What is merged over the config of the installed node; `over` is merged over that, and left out if it is no JSON.
///
/// # Errors
/// A text is none that may be there, or `over` is no Ignition config.
pub fn installed(
    spec: &OpenshiftAssistedConfigSpec,
    metadata: Metadata<'_>,
    over: Option<(&'static str, &str)>,
) -> Result<String, NodeError> {
    let registration = Registration::read(spec.node_registration.as_ref())?;
    let mut config = Config::new(VERSION);
    let has_labels = !registration.labels.is_empty() || registration.provider_id.is_some();
    if registration.name.is_some() || has_labels {
        add_metadata(&mut config, metadata, has_labels);
    }
    if let Some(name) = &registration.name {
        add_name(&mut config, name);
    }
    if has_labels {
        add_labels(&mut config, &registration);
    }
    if registration.provider_id.is_some() {
        add_provider_id(&mut config);
    }
    add_commands(&mut config, spec);
    let config = match over.filter(|(_, text)| serde_json::from_str::<Value>(text).is_ok()) {
        Some((annotation, text)) => {
            overlay(&config, text).map_err(|source| NodeError::Override { annotation, source })?
        }
        None => config,
    };
    serde_json::to_string(&config).map_err(NodeError::Discovery)
}

/// Further arguments of the program that writes the disk, as a JSON array: `["--append-karg","a=b"]`.
pub fn installer_arguments(spec: &OpenshiftAssistedConfigSpec) -> String {
    let arguments = spec.kernel_arguments.iter().flat_map(|argument| {
        let flag = match argument.operation {
            Some(KernelArgumentOperation::Replace) => "--replace-karg",
            Some(KernelArgumentOperation::Delete) => "--delete-karg",
            _ => "--append-karg",
        };
        [flag.to_owned(), argument.value.clone()]
    });
    Value::from(arguments.collect::<Vec<_>>()).to_string()
}

/// The name of the node, where it can be told without the machine.
///
/// # Errors
/// It is none that may be there.
pub fn name(
    spec: &OpenshiftAssistedConfigSpec,
    known: &BTreeMap<String, String>,
) -> Result<Option<String>, NodeError> {
    let registration = Registration::read(spec.node_registration.as_ref())?;
    Ok(registration.name.map(|name| name.resolve(known)).filter(|name| !name.is_empty()))
}

fn add_metadata(config: &mut Config, metadata: Metadata<'_>, before_labels: bool) {
    match metadata {
        Metadata::ConfigDrive => {
            config.add_file(
                "/usr/local/bin/configdrive_metadata",
                SCRIPT,
                Resource::bytes(include_str!("scripts/configdrive-metadata.sh")),
            );
            let mut unit =
                Unit::new("Read the metadata of the config drive", "/usr/local/bin/configdrive_metadata")
                    .after("ostree-finalize-staged.service");
            if before_labels {
                unit = unit.before(LABELS_UNIT);
            }
            config.add_unit(METADATA_UNIT, unit.text());
        }
        Metadata::Known(variables) => {
            let lines: String = variables
                .iter()
                .map(|(name, value)| format!("{name}='{}'\n", value.replace(['\'', '\n'], "")))
                .collect();
            config.add_file(METADATA, 0o644, Resource::bytes(lines));
        }
    }
}

fn add_name(config: &mut Config, name: &Text) {
    config.add_file(
        "/usr/local/bin/set_hostname",
        SCRIPT,
        Resource::bytes(include_str!("scripts/set-hostname.sh")),
    );
    let unit = Unit::new("Set the name of the host", "/usr/local/bin/set_hostname")
        .argument(&name.systemd())
        .environment(METADATA)
        .wants(METADATA_UNIT)
        .after(METADATA_UNIT)
        .before("kubelet.service")
        .remains();
    config.add_unit(HOSTNAME_UNIT, unit.text());
}

fn add_labels(config: &mut Config, registration: &Registration) {
    config.add_file(
        "/usr/local/bin/kubelet_custom_labels",
        SCRIPT,
        Resource::bytes(include_str!("scripts/kubelet-custom-labels.sh")),
    );
    let provider_id = registration.provider_id.as_ref().map(Text::systemd).unwrap_or_default();
    let mut unit = Unit::new("Give the node its labels", "/usr/local/bin/kubelet_custom_labels")
        .argument(&provider_id)
        .environment(METADATA)
        .wants(METADATA_UNIT)
        .after(METADATA_UNIT)
        .after("ostree-finalize-staged.service")
        .before("kubelet.service");
    for (key, value) in &registration.labels {
        unit = unit.argument(&format!("{key}={}", value.systemd()));
    }
    config.add_unit(LABELS_UNIT, unit.text());
}

fn add_provider_id(config: &mut Config) {
    config.add_file(
        "/usr/local/bin/inject-provider-id",
        SCRIPT,
        Resource::bytes(include_str!("scripts/inject-provider-id.sh")),
    );
    let unit = Unit::new("Tell the kubelet its provider id", "/usr/local/bin/inject-provider-id")
        .wants(LABELS_UNIT)
        .after(LABELS_UNIT)
        .before("kubelet.service")
        .remains();
    config.add_unit(PROVIDER_ID_UNIT, unit.text());
}

fn add_commands(config: &mut Config, spec: &OpenshiftAssistedConfigSpec) {
    let place = Some(spec.bootstrap_command_sentinel_dir.trim_end_matches('/'));
    let place = place.filter(|place| !place.is_empty()).unwrap_or(SENTINELS);
    if !spec.pre_bootstrap_commands.is_empty() {
        let done = format!("{place}/pre-bootstrap.done");
        let path = "/usr/local/bin/capoa-pre-bootstrap.sh";
        let script = script("", &spec.pre_bootstrap_commands, place, &done);
        config.add_file(path, COMMANDS, Resource::bytes(script));
        let mut unit = Unit::new("Run the commands before the kubelet", path)
            .unless(&done)
            .after("network-online.target")
            .wants("network-online.target")
            .before("kubelet.service");
        for earlier in
            ["ostree-finalize-staged.service", METADATA_UNIT, LABELS_UNIT, HOSTNAME_UNIT, PROVIDER_ID_UNIT]
        {
            unit = unit.after(earlier);
        }
        config.add_unit(PRE_UNIT, unit.text());
    }
    if !spec.post_bootstrap_commands.is_empty() {
        let done = format!("{place}/post-bootstrap.done");
        let path = "/usr/local/bin/capoa-post-bootstrap.sh";
        let kubeconfig = Some(spec.post_bootstrap_kubeconfig_path.as_str());
        let kubeconfig = kubeconfig.filter(|path| !path.is_empty()).unwrap_or(KUBECONFIG);
        let wait = include_str!("scripts/wait-for-node.sh").replace("@KUBECONFIG@", kubeconfig);
        let script = script(&wait, &spec.post_bootstrap_commands, place, &done);
        config.add_file(path, COMMANDS, Resource::bytes(script));
        let unit = Unit::new("Run the commands after the kubelet", path)
            .unless(&done)
            .requires("kubelet.service")
            .after("kubelet.service");
        config.add_unit(POST_UNIT, unit.text());
    }
}

/// A script of somebody's commands that runs until it once succeeded. The places are of a pattern that needs no quotes.
fn script(first: &str, commands: &[String], place: &str, done: &str) -> String {
    let commands = commands.join("\n");
    format!("#!/bin/bash\nset -euo pipefail\n{first}{commands}\nmkdir -p {place}\ntouch {done}\n")
}
