//! The keys by which the service signs tokens, and those that it seals secrets at rest with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Input, annotation_of, labelled, object};
use crate::operator::{KEYS_SECRET, SEAL_SECRET, annotation};

/// Taken along by a backup of the hub.
pub(super) const BACKUP: (&str, &str) = (assisted_crd::labels::label::BACKUP, "true");

/// The name of a secret, with the prefix that an annotation asks for.
pub(super) fn secret_name(input: &Input<'_>, name: &str) -> String {
    format!("{}{name}", annotation_of(input.config, annotation::SECRET_PREFIX))
}

/// File in the secret of the keys that seal.
pub(super) const SEAL_FILE: &str = "seal-keys";

/// The secret with the keys that seal; made once, since what was sealed would be lost.
pub(super) fn seal_secret(input: &Input<'_>) -> Option<Value> {
    let made = input.fresh.seal_keys.as_ref().filter(|_| !input.facts.has_seal_keys)?;
    let mut secret = object(input, "v1", "Secret", &secret_name(input, SEAL_SECRET));
    secret["type"] = "Opaque".into();
    secret["data"] = json!({SEAL_FILE: STANDARD.encode(made.expose())});
    Some(labelled(secret, BACKUP.0, BACKUP.1))
}

/// The secret with the keys that sign; made once, since what was signed would be good no more.
pub(super) fn secret(input: &Input<'_>) -> Option<Value> {
    let keys = input.fresh.keys.as_ref().filter(|_| input.facts.keys.is_none())?;
    let mut secret = object(input, "v1", "Secret", &secret_name(input, KEYS_SECRET));
    secret["type"] = "Opaque".into();
    secret["data"] = json!({
        "ec-private-key.pem": STANDARD.encode(keys.private.expose()),
        "ec-public-key.pem": STANDARD.encode(&keys.public),
    });
    Some(labelled(secret, BACKUP.0, BACKUP.1))
}
