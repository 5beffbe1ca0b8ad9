//! Reads rows of infra-envs of the replaced service.

use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_wire::secret::Secret;

use crate::cluster::{mirror_registry, object_key};
use crate::row::{API, Row};

pub(crate) fn read(mut row: Row) -> Result<InfraEnvRecord, String> {
    let mirror_registry = mirror_registry(row.text("mirror_registry_configuration"))?;
    let object_key = object_key(row.text("kube_key_namespace"), row.text("name"));
    let text = |name: &str| row.text(name).to_owned();
    let (pull_secret, key, internal) =
        (text("pull_secret"), text("image_token_key"), text("internal_ignition_config_override"));
    // They are told anew whenever they are asked for.
    for made in ["download_url", "size_bytes", "expires_at", "generator_version"] {
        row.take(made);
    }
    row.nest("proxy_", "proxy");
    // The prefix of the proxy's own members is that of a column which is none.
    let href = format!("{API}/infra-envs/{}", row.text("id"));
    row.or("name", "").or("created_at", "").or("updated_at", "").or("href", href);
    Ok(InfraEnvRecord {
        infra_env: row.read()?,
        pull_secret: Secret::from(pull_secret.as_str()),
        image_token_key: Secret::from(key.as_str()),
        token_generation: 0,
        mirror_registry,
        internal_ignition: internal,
        object_key,
    })
}
