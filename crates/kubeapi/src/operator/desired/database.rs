//! PostgreSQL: its secret, and its container beside the service.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::keys::{BACKUP, secret_name};
use super::storage::{claim_name, is_given};
use super::{Input, labelled, object};
use crate::operator::{DATABASE_CLAIM, DATABASE_SECRET};

/// Takes over data of an older version, as the image's own program can, and starts.
const START: &str = r#"set -e
data=/var/lib/pgsql/data/userdata
if [ -f "$data/PG_VERSION" ] && [ "$(cat "$data/PG_VERSION")" != "$POSTGRESQL_VERSION" ]; then
  export POSTGRESQL_UPGRADE=hardlink
fi
exec run-postgresql
"#;

/// Whether there is a PostgreSQL; without a volume for it the service keeps its own database.
pub(super) fn is_wanted(input: &Input<'_>) -> bool {
    is_given(&input.config.spec.database_storage)
}

/// The secret; made once, since the database keeps its password.
pub(super) fn secret(input: &Input<'_>) -> Option<Value> {
    let is_missing = input.facts.database.is_none() && is_wanted(input);
    let password = input.fresh.password.as_ref().filter(|_| is_missing)?;
    let mut secret = object(input, "v1", "Secret", &secret_name(input, DATABASE_SECRET));
    secret["type"] = "Opaque".into();
    secret["data"] = json!({
        "db.host": STANDARD.encode("localhost"),
        "db.name": STANDARD.encode("installer"),
        "db.password": STANDARD.encode(password.expose()),
        "db.port": STANDARD.encode("5432"),
        "db.user": STANDARD.encode("admin"),
    });
    Some(labelled(secret, BACKUP.0, BACKUP.1))
}

/// The service's variables that lead to it.
pub(super) fn variables(input: &Input<'_>) -> Vec<Value> {
    if !is_wanted(input) {
        return Vec::new();
    }
    let of = |(variable, key): (&str, &str)| from_secret(input, variable, key);
    let members = [
        ("DB_HOST", "db.host"),
        ("DB_NAME", "db.name"),
        ("DB_PASS", "db.password"),
        ("DB_PORT", "db.port"),
        ("DB_USER", "db.user"),
    ];
    members.into_iter().map(of).collect()
}

fn from_secret(input: &Input<'_>, variable: &str, key: &str) -> Value {
    let name = secret_name(input, DATABASE_SECRET);
    json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}})
}

/// Its container.
pub(super) fn container(input: &Input<'_>) -> Option<Value> {
    is_wanted(input).then(|| {
        json!({
            "name": "postgres",
            "image": input.environment.database_image,
            "command": ["/bin/bash", "-c", START],
            "ports": [{"name": "postgresql", "containerPort": 5432, "protocol": "TCP"}],
            "env": [
                from_secret(input, "POSTGRESQL_DATABASE", "db.name"),
                from_secret(input, "POSTGRESQL_USER", "db.user"),
                from_secret(input, "POSTGRESQL_PASSWORD", "db.password"),
            ],
            "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}},
            "volumeMounts": [{"name": "postgresdb", "mountPath": "/var/lib/pgsql/data"}],
        })
    })
}

/// Its volume.
pub(super) fn volume(input: &Input<'_>) -> Option<Value> {
    let claim = claim_name(input.config, DATABASE_CLAIM);
    is_wanted(input).then(|| json!({"name": "postgresdb", "persistentVolumeClaim": {"claimName": claim}}))
}
