//! Records and their secrets: what is taken out of a document before it is written, and put back when it is read.
//!
//! A document is JSON. Where its record has secrets, a line stands before it: the secrets, sealed for this row. Without keys, as in
//! tests, that line has them as they are; the documents of older programs have them among their members.

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::host::HostRecord;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_seal::{Keyring, text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::error::Error;

/// What a line begins with whose secrets are not sealed.
const PLAIN: &str = "v0.";

/// A record whose secrets are kept apart from the rest of its document.
pub(crate) trait SecretFields: Serialize + DeserializeOwned + Clone {
    const TABLE: &'static str;
    /// Columns of the table's key.
    const KEY: usize;

    /// Whether one of the fields is set.
    fn has_secrets(&self) -> bool;

    /// Takes the fields that are set, by name.
    fn take_secrets(&mut self) -> Result<Map<String, Value>, serde_json::Error>;

    /// Puts the fields back; one that the document has itself wins, for a program wrote it that knows nothing of this.
    fn put_secrets(&mut self, secrets: Map<String, Value>) -> Result<(), serde_json::Error>;
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! secret_fields {
    ($($record:ty, $table:literal, $key:literal: { $($name:literal = $($field:ident).+;)+ })+) => { $(
        impl SecretFields for $record {
            const TABLE: &'static str = $table;
            const KEY: usize = $key;

            fn has_secrets(&self) -> bool {
                $(!is_default(&self.$($field).+))||+
            }

            fn take_secrets(&mut self) -> Result<Map<String, Value>, serde_json::Error> {
                let mut secrets = Map::new();
                $(if !is_default(&self.$($field).+) {
                    let taken = std::mem::take(&mut self.$($field).+);
                    secrets.insert($name.to_owned(), serde_json::to_value(taken)?);
                })+
                Ok(secrets)
            }

            fn put_secrets(&mut self, mut secrets: Map<String, Value>) -> Result<(), serde_json::Error> {
                $(if let Some(secret) = secrets.remove($name) && is_default(&self.$($field).+) {
                    self.$($field).+ = serde_json::from_value(secret)?;
                })+
                Ok(())
            }
        }
    )+ };
}

// Credentials stand in proxies, overrides, headers, kernel arguments and network settings (802.1x) as well.
secret_fields! {
    ClusterRecord, "clusters", 1: {
        "pull_secret" = pull_secret;
        "http_proxy" = cluster.http_proxy;
        "https_proxy" = cluster.https_proxy;
        "install_config_overrides" = cluster.install_config_overrides;
        "on_cluster_layering" = layering.asked;
        "on_cluster_layering_push_secret" = layering.push_secret;
    }
    InfraEnvRecord, "infra_envs", 1: {
        "pull_secret" = pull_secret;
        "image_token_key" = image_token_key;
        "proxy" = infra_env.proxy;
        "static_network_config" = infra_env.static_network_config;
        "ignition_config_override" = infra_env.ignition_config_override;
        "internal_ignition" = internal_ignition;
        "kernel_arguments" = infra_env.kernel_arguments;
        "download_url" = infra_env.download_url;
    }
    HostRecord, "hosts", 2: {
        "ignition_endpoint_token" = ignition_endpoint_token;
        "ignition_endpoint_http_headers" = ignition_endpoint_http_headers;
        "ignition_config_overrides" = host.ignition_config_overrides;
        "installer_args" = host.installer_args;
        "fencing_credentials" = host.fencing_credentials;
    }
}

/// The place of a row: its table and key.
pub(crate) fn place(table: &str, key: &[Uuid]) -> String {
    key.iter().fold(table.to_owned(), |place, id| format!("{place}/{id}"))
}

/// A document on its way into the database, its secrets not sealed yet.
#[derive(Clone, PartialEq)]
pub(crate) struct Unsealed {
    place: String,
    /// JSON; `None`: there are none.
    secrets: Option<String>,
    doc: String,
}

impl std::fmt::Debug for Unsealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unsealed").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Unsealed {
    /// The document of a record in a row.
    pub(crate) fn of<T: SecretFields>(record: &T, key: &[Uuid]) -> Result<Self, serde_json::Error> {
        let place = place(T::TABLE, key);
        if !record.has_secrets() {
            return Ok(Self { place, secrets: None, doc: serde_json::to_string(record)? });
        }
        let mut record = record.clone();
        let secrets = serde_json::to_string(&record.take_secrets()?)?;
        Ok(Self { place, secrets: Some(secrets), doc: serde_json::to_string(&record)? })
    }

    /// The document as it is written.
    pub(crate) fn sealed(&self, keys: Option<&Keyring>) -> Result<String, Error> {
        Ok(match (&self.secrets, keys) {
            (None, _) => self.doc.clone(),
            (Some(secrets), None) => format!("{PLAIN}{secrets}\n{}", self.doc),
            (Some(secrets), Some(keys)) => {
                let sealed = text::seal(keys, &self.place, secrets).map_err(Error::Seal)?;
                format!("{sealed}\n{}", self.doc)
            }
        })
    }
}

/// Reads the document of a row.
pub(crate) fn read<T: SecretFields>(text: &str, key: &[Uuid], keys: Option<&Keyring>) -> Result<T, Error> {
    // Neither a record nor a reason is quoted: both may have secrets.
    let corrupt = |error: serde_json::Error| {
        Error::Corrupt(format!("a document of {}: {:?} at {}", T::TABLE, error.classify(), error.column()))
    };
    let Some((line, doc)) = text.split_once('\n').filter(|_| !text.starts_with('{')) else {
        return serde_json::from_str(text).map_err(corrupt);
    };
    let mut record: T = serde_json::from_str(doc).map_err(corrupt)?;
    let secrets = match (line.strip_prefix(PLAIN), keys) {
        (Some(plain), _) => plain.to_owned(),
        (None, Some(keys)) => text::open(keys, &place(T::TABLE, key), line).map_err(Error::Seal)?,
        (None, None) => return Err(Error::Locked),
    };
    record.put_secrets(serde_json::from_str(&secrets).map_err(corrupt)?).map_err(corrupt)?;
    Ok(record)
}
