//! Image mode at installation: how it is asked for, and how the images are.

use std::path::{Path, PathBuf};

use assisted_client::Client;
use assisted_console::output::table;
use assisted_console::{Failure, file};
use assisted_wire::cluster::Cluster;
use assisted_wire::on_cluster_layering::LayeringState;
use clap::Args;
use serde_json::{Map, Value};

/// The field of the install config.
const FIELD: &str = "onClusterLayering";
/// Its id among the features that a cluster uses.
const FEATURE: &str = "ON_CLUSTER_LAYERING";

#[derive(Args, Debug)]
pub struct ImageMode {
    /// File with what is asked of image mode: JSON or YAML, as below onClusterLayering in an install config
    #[arg(long, value_name = "FILE")]
    on_cluster_layering_file: Option<PathBuf>,
}

impl ImageMode {
    /// Asks for it, if the user does; the cluster as it is then.
    pub async fn apply(&self, client: &Client, cluster: Cluster) -> Result<Cluster, Failure> {
        let Some(path) = &self.on_cluster_layering_file else { return Ok(cluster) };
        let overrides = with(&cluster.install_config_overrides, read(path)?)?;
        client.update_cluster_install_config(cluster.id, &overrides).await?;
        Ok(client.get_cluster(cluster.id).await?)
    }
}

fn read(path: &Path) -> Result<Value, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let read: Value = serde_yaml_ng::from_str(&file(path)?).map_err(|error| unreadable(&error))?;
    // Whoever has the whole install config at hand may give it as it is.
    let own = read.get(FIELD).cloned().unwrap_or(read);
    if own.is_object() { Ok(own) } else { Err(unreadable(&"an object is wanted, such as {mode: Enabled}")) }
}

/// The overrides with the field in them; the rest of them stays.
fn with(overrides: &str, asked: Value) -> Result<String, Failure> {
    let mut all: Map<String, Value> = if overrides.is_empty() {
        Map::new()
    } else {
        serde_json::from_str(overrides)
            .map_err(|error| Failure::Refused(format!("the cluster's overrides can't be read: {error}")))?
    };
    all.retain(|name, _| !name.eq_ignore_ascii_case(FIELD));
    all.insert(FIELD.to_owned(), asked);
    Ok(Value::Object(all).to_string())
}

/// How a cluster's images are, for people; empty for a cluster without image mode.
pub async fn of_cluster(client: &Client, cluster: &Cluster) -> Result<String, Failure> {
    // It may be asked for beside the install config as well, which the cluster itself tells by the features that it uses.
    let overrides = cluster.install_config_overrides.to_ascii_lowercase();
    if !overrides.contains(&FIELD.to_ascii_lowercase()) && !cluster.feature_usage.contains(FEATURE) {
        return Ok(String::new());
    }
    let state = client.get_on_cluster_layering(cluster.id).await?;
    Ok(if state.enabled { describe(&state) } else { String::new() })
}

fn describe(state: &LayeringState) -> String {
    let rows = state.builds.iter().map(|build| {
        // What is done right now, or waited for, goes before what there is.
        let told = build.error.as_ref().or(build.step.as_ref()).or(build.image.as_ref());
        [
            build.pool.to_string(),
            build.location.to_string(),
            build.state.to_string(),
            format!("{}%", build.percent),
            build.attempt.to_string(),
            told.cloned().unwrap_or_default(),
        ]
    });
    let table = table(["POOL", "BUILT ON", "STATE", "DONE", "ATTEMPT", "INFO"], rows);
    format!("image mode: {}: {}\n\n{table}", state.status, state.status_info)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_stands_beside_other_overrides() {
        let asked = json!({"mode": "Enabled"});
        assert_eq!(with("", asked.clone()).unwrap(), r#"{"onClusterLayering":{"mode":"Enabled"}}"#);
        let made = with(r#"{"fips":true,"onclusterlayering":{"mode":"Disabled"}}"#, asked).unwrap();
        let read: Value = serde_json::from_str(&made).unwrap();
        assert_eq!(read, json!({"fips": true, "onClusterLayering": {"mode": "Enabled"}}));
        assert!(with("[", json!({})).is_err());
    }

    #[test]
    fn each_pools_build_is_a_row() {
        let build = |pool: &str, more: Value| {
            let mut build = json!({"pool": pool, "location": "bootstrap", "state": "building", "attempt": 2, "percent": 58});
            for (name, value) in more.as_object().unwrap() {
                build[name] = value.clone();
            }
            build
        };
        let told = |builds: [Value; 2]| {
            let state = json!({
                "enabled": true, "registry_type": "Embedded", "rollout": "Deploy", "status": "building",
                "status_info": "Building image for pool master", "adopted": false, "builds": builds,
            });
            let text = describe(&serde_json::from_value(state).unwrap());
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).collect::<Vec<_>>()
        };
        let lines = told([
            build("master", json!({"step": "STEP 7/12: RUN x"})),
            build(
                "worker",
                json!({"state": "failed", "error": "no such package", "step": "STEP 1/2", "percent": 40}),
            ),
        ]);
        assert_eq!(lines[0], "image mode: building: Building image for pool master");
        assert_eq!(lines[3], "master bootstrap building 58% 2 STEP 7/12: RUN x");
        assert_eq!(lines[4], "worker bootstrap failed 40% 2 no such package");
        let waits = json!({"state": "ready", "percent": 100, "image": "api-int.c.d/ocl/os@sha256:1", "step": "not seeded"});
        let adopted = json!({"state": "ready", "percent": 100, "image": "api-int.c.d/ocl/os@sha256:1", "adopted": true});
        let lines = told([build("master", waits), build("worker", adopted)]);
        assert_eq!(lines[3], "master bootstrap ready 100% 2 not seeded");
        assert_eq!(lines[4], "worker bootstrap ready 100% 2 api-int.c.d/ocl/os@sha256:1");
    }

    #[test]
    fn files_may_have_the_field_or_what_is_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        for (text, fine) in [
            ("mode: Enabled\n", true),
            ("onClusterLayering: {mode: Enabled}\n", true),
            ("- a\n", false),
            ("{", false),
        ] {
            std::fs::write(&path, text).unwrap();
            let read = read(&path);
            assert_eq!(read.is_ok(), fine, "{text}");
            assert!(!fine || read.unwrap() == json!({"mode": "Enabled"}), "{text}");
        }
    }
}
