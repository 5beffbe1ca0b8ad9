//! The keys by which the service signs tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Input, annotation_of, labelled, object};
use crate::operator::{KEYS_SECRET, annotation};

/// Taken along by a backup of the hub.
pub(super) const BACKUP: (&str, &str) = (assisted_crd::labels::label::BACKUP, "true");

/// The name of a secret, with the prefix that an annotation asks for.
pub(super) fn secret_name(input: &Input<'_>, name: &str) -> String {
    format!("{}{name}", annotation_of(input.config, annotation::SECRET_PREFIX))
}

/// The secret; made once, since what was signed would be good no more.
pub(super) fn secret(input: &Input<'_>) -> Option<Value> {
    if input.facts.keys.is_some() {
        return None;
    }
    let keys = &input.fresh.keys;
    let mut secret = object(input, "v1", "Secret", &secret_name(input, KEYS_SECRET));
    secret["type"] = "Opaque".into();
    secret["data"] = json!({
        "ec-private-key.pem": STANDARD.encode(keys.private.expose()),
        "ec-public-key.pem": STANDARD.encode(&keys.public),
    });
    Some(labelled(secret, BACKUP.0, BACKUP.1))
}
