//! What the builder is given: the cluster's rendered configuration, the user's MachineOSConfig, and what that names. It is written once,
//! so that a builder that is started anew builds from the same.

use std::collections::BTreeMap;

use assisted_ocl::builder::{pack, secret_names};
use assisted_ocl::paths::EXTRA_INPUTS;
use assisted_ocl::service::{Layering, LayeringError};
use assisted_wire::on_cluster_layering::LayeringErrorCode;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::objects::{self, Given, NAME};
use super::{NAMESPACE, POOL, PassError, apply, create, hopeless};
use crate::cluster::{MACHINE_CONFIG, MACHINE_CONFIG_POOL, text};
use crate::context::Context;

/// Where the user's objects are.
const OPERATOR: &str = "openshift-machine-config-operator";

/// Writes all that a builder needs before its Job is created; what the cluster lacks of it, where it does.
pub(super) async fn write(
    context: &Context,
    images: &Layering,
    given: &Given,
    kube: &Client,
) -> Result<Option<String>, PassError> {
    let Some(rendered) = rendered(context).await? else {
        return Ok(Some(format!("MachineConfigPool {POOL} has no rendered configuration")));
    };
    let object = machine_os_config(images).await?;
    let mut credentials = Vec::new();
    for name in secret_names(&object) {
        let Some(secret) = credential(kube, name).await? else {
            return Ok(Some(format!(
                "Secret {name} of namespace {OPERATOR}, which its MachineOSConfig names, is not there"
            )));
        };
        credentials.push((name.to_owned(), secret));
    }
    let files = pack(&given.text, &object.to_string(), &rendered, &credentials)
        .map_err(|error| hopeless(LayeringErrorCode::BuildInfra, error.to_string()))?;

    let access = given.access().map(|object| object.to_string()).join("\n---\n");
    apply(kube, access.as_bytes()).await?;
    let secrets = Api::<Secret>::namespaced(kube.clone(), NAMESPACE);
    for folder in EXTRA_INPUTS {
        let files = further(kube, folder).await?;
        if !files.is_empty() {
            create(&secrets, json!(given.secret(&objects::extra(folder), files))).await?;
        }
    }
    create(&secrets, json!(given.secret(NAME, files))).await?;
    Ok(None)
}

/// The user's MachineOSConfig.
pub(super) async fn machine_os_config(images: &Layering) -> Result<Value, PassError> {
    let text = match images.machine_os_config(POOL).await {
        Err(LayeringError::Refused { status: 404, message }) => {
            return Err(hopeless(LayeringErrorCode::Preflight, message));
        }
        found => found?,
    };
    serde_json::from_str(&text).map_err(|error| hopeless(LayeringErrorCode::Preflight, error.to_string()))
}

/// The MachineConfig that the cluster has rendered for the pool: what the first pass on a bootstrap host renders for others.
async fn rendered(context: &Context) -> Result<Option<Value>, PassError> {
    let pool = MACHINE_CONFIG_POOL.all(&context.kube).get_opt(POOL.as_str()).await?;
    let name = pool.map(|pool| text(&pool.data, "/spec/configuration/name").to_owned());
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let found = MACHINE_CONFIG.all(&context.kube).get_opt(&name).await?;
    Ok(found.map(|config| json!({"metadata": {"name": name}, "spec": config.data["spec"]})))
}

/// What a Secret opens, in the newer of the two forms.
async fn credential(kube: &Client, name: &str) -> Result<Option<assisted_wire::secret::Secret>, PassError> {
    let found = Api::<Secret>::namespaced(kube.clone(), OPERATOR).get_opt(name).await?;
    let Some(data) = found.map(|secret| secret.data.unwrap_or_default()) else { return Ok(None) };
    let text = |key: &str| data.get(key).map(|ByteString(bytes)| String::from_utf8_lossy(bytes).into_owned());
    // Nothing of it is quoted.
    let odd = || {
        hopeless(LayeringErrorCode::Preflight, format!("Secret {name} holds no credentials of registries"))
    };
    let whole = match (text(".dockerconfigjson"), text(".dockercfg")) {
        (Some(whole), _) => whole,
        (None, Some(auths)) => {
            let auths: Value = serde_json::from_str(&auths).map_err(|_| odd())?;
            json!({ "auths": auths }).to_string()
        }
        (None, None) => return Err(odd()),
    };
    Ok(Some(whole.into()))
}

/// The user's further files for a folder of the build, out of the objects that the machine config operator takes them from.
async fn further(kube: &Client, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, PassError> {
    let mut files = BTreeMap::new();
    if folder == EXTRA_INPUTS[2] {
        let found = Api::<ConfigMap>::namespaced(kube.clone(), OPERATOR).get_opt(folder).await?;
        let map = found.unwrap_or_default();
        files.extend(map.data.unwrap_or_default().into_iter().map(|(name, text)| (name, text.into_bytes())));
        files.extend(map.binary_data.unwrap_or_default().into_iter().map(|(name, bytes)| (name, bytes.0)));
        return Ok(files);
    }
    // Entitlements are one for each pool there.
    for name in [folder.to_owned(), format!("{folder}-{POOL}")] {
        let found = Api::<Secret>::namespaced(kube.clone(), OPERATOR).get_opt(&name).await?;
        let data = found.and_then(|secret| secret.data).unwrap_or_default();
        files.extend(data.into_iter().map(|(name, bytes)| (name, bytes.0)));
    }
    Ok(files)
}
