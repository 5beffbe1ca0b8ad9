//! Files for hosts that only play an installation: valid, but nothing that a cluster would come of.
//!
//! The install config is the real one. No certificate and no key is in the others, so that nobody takes them for more than
//! they are.

use assisted_blob::Blob;
use assisted_core::admission::install_config;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::HostKey;
use assisted_wire::cluster::Cluster;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use rand::Rng;
use rand::distr::Alphanumeric;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Files, GenerateError, Generator, Payload, cluster, host, ignition_name};
use crate::Error;

/// A generator for simulated hosts: it makes files that no cluster comes of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulation;

impl Generator for Simulation {
    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        _: Payload,
        _: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async { files(facts) }.boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        key: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>> {
        async move { text(&ignition(&host_files(host(facts, key)?))) }.boxed()
    }
}

fn files(facts: &Facts) -> Result<Files, GenerateError> {
    let cluster = &cluster(facts)?.cluster;
    let additions = install_config::Additions::default();
    let install_config = install_config::text(facts, &cluster.install_config_overrides, &additions)
        .map_err(|error| GenerateError::Refused(error.to_string()))?;
    let openshift_cluster_id = Uuid::new_v4();
    let infra_id = format!("{}-{}", cluster.name, random(5));
    let metadata =
        json!({"clusterName": cluster.name, "clusterID": openshift_cluster_id, "infraID": infra_id});
    let mut contents = vec![
        ("metadata.json".to_owned(), text(&metadata)?),
        ("install-config.yaml".to_owned(), install_config.expose().to_owned().into()),
        ("kubeconfig-noingress".to_owned(), text(&kubeconfig(cluster))?),
        ("kubeadmin-password".to_owned(), password().into()),
        ("custom_manifests.json".to_owned(), text(&json!([]))?),
    ];
    for role in ["bootstrap", "master", "arbiter", "worker"] {
        contents.push((format!("{role}.ign"), text(&ignition(&[]))?));
    }
    for host in facts.hosts.iter().filter(|host| !host.is_day2()) {
        contents.push((ignition_name(host), text(&ignition(&host_files(host)))?));
    }
    Ok(Files { contents, manifests: Vec::new(), openshift_cluster_id, program: None, warnings: Vec::new() })
}

/// An Ignition config that writes these files.
fn ignition(files: &[(&str, String)]) -> Value {
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| {
            json!({
                "path": path, "mode": 0o644, "overwrite": true,
                "contents": {"source": format!("data:text/plain;base64,{}", base64(content))},
            })
        })
        .collect();
    json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}})
}

fn host_files(host: &HostFacts) -> Vec<(&'static str, String)> {
    vec![("/etc/hostname", format!("{}\n", host.name()))]
}

fn kubeconfig(cluster: &Cluster) -> Value {
    let server = format!("https://api.{}.{}:6443", cluster.name, cluster.base_dns_domain);
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "admin",
        "clusters": [{"name": cluster.name, "cluster": {"server": server}}],
        "contexts": [{"name": "admin", "context": {"cluster": cluster.name, "user": "admin"}}],
        "users": [{"name": "admin", "user": {}}],
    })
}

/// Four groups of five, as those of installers look.
fn password() -> String {
    [(); 4].map(|()| random(5)).join("-")
}

fn random(letters: usize) -> String {
    rand::rng()
        .sample_iter(Alphanumeric)
        .take(letters)
        .map(|letter| char::from(letter.to_ascii_lowercase()))
        .collect()
}

fn text(value: &Value) -> Result<Bytes, GenerateError> {
    Ok(serde_json::to_vec_pretty(value).map_err(Error::internal)?.into())
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}
