//! What machines of each role are configured with, and the server that gives it to them when they first start.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use assisted_base::hex;
use assisted_ignition_spec::resource::Resource;
use assisted_ignition_spec::{Config, overlay};
use axum::Router;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};
use tokio::sync::Mutex;
use tracing::info;

use crate::cluster::{CONFIG_PORT, Cluster, NODE, PLAIN_CONFIG_PORT};
use crate::control_plane::{names, pair, parts};
use crate::files;
use crate::foundation::{MACHINE_CONFIG_NAMESPACE, ROLE};
use crate::os_image;
use crate::program::LOGS;
use crate::server;

/// Where this program is on each machine.
pub const PROGRAM: &str = "/usr/local/bin/lab-cluster";
/// The secret that keeps what is served.
pub const SECRET: &str = "machine-config-server";
/// Name of the server's log.
pub const LOG: &str = "machine-config-server";
/// What a node says about its own config.
pub const ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotations.json";
const VERSION: &str = "3.2.0";
const UNIT: &str = include_str!("../units/lab-node.service");
/// What a host that is being installed reads of its node's configuration, before it is one.
pub const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";
/// The credentials of a node's own pulls.
const PULL_SECRET: &str = "/var/lib/kubelet/config.json";

/// The configs of all roles.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    pub configs: BTreeMap<String, Vec<u8>>,
    /// The objects that say what they are made of.
    pub objects: Vec<Value>,
    /// By role: name and specification of the configuration, without what only this cluster's own program needs.
    pub specs: BTreeMap<String, (String, Value)>,
}

/// Makes the configs: what all have, what each role has, and over that the MachineConfigs among the manifests, by name. Parts of the cluster's
/// own are in a folder, the credentials of nodes' pulls in a file.
pub fn render(
    cluster: &Cluster,
    folder: &std::path::Path,
    pull_secret: &std::path::Path,
    manifests: &[Value],
) -> Result<Rendered> {
    let mut own: Vec<&Value> = manifests.iter().filter(|object| object["kind"] == "MachineConfig").collect();
    own.sort_by_key(|object| object["metadata"]["name"].as_str().unwrap_or_default());
    let mut rendered = Rendered::default();
    for role in ["master", "arbiter", "worker"] {
        let mut config = of_role(cluster, folder, role)?;
        let mut given = Config::new(VERSION);
        let image = os_image::of(role, manifests)?;
        if image.is_some() {
            for config in [&mut config, &mut given] {
                config.add_file(PULL_SECRET, 0o600, Resource::bytes(files::read(pull_secret)?));
            }
        }
        for object in own.iter().filter(|object| object["metadata"]["labels"][ROLE] == role) {
            let (name, part) = (&object["metadata"]["name"], &object["spec"]["config"]);
            if part.is_null() {
                continue;
            }
            for config in [&mut config, &mut given] {
                *config = overlay(config, &part.to_string())
                    .with_context(|| format!("MachineConfig {name} can't be used"))?;
            }
        }
        let mut hash = Sha256::new_with_prefix(config.to_json()?);
        hash.update(image.as_deref().unwrap_or_default());
        let digest = hash.finalize();
        let name = format!("rendered-{role}-{}", hex::encode(&digest[..16]));
        tell(&mut config, &name, image.as_deref());
        // The config itself holds keys that only its server gives away.
        let mut spec = json!({"config": {"ignition": {"version": VERSION}}});
        if let Some(image) = image {
            spec["osImageURL"] = json!(image);
            rendered.objects.extend(os_image::objects(role, &name, manifests));
            let whole =
                json!({"osImageURL": image, "config": serde_json::from_slice::<Value>(&given.to_json()?)?});
            rendered.specs.insert(role.to_owned(), (name.clone(), whole));
        }
        rendered.objects.push(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": name, "labels": {ROLE: role}}, "spec": spec,
        }));
        rendered.configs.insert(role.to_owned(), config.to_json()?);
    }
    Ok(rendered)
}

/// Says in a config under which name it is known, and which image its machine boots.
fn tell(config: &mut Config, name: &str, image: Option<&str>) {
    config.storage.files.retain(|file| ![ANNOTATIONS, ENCAPSULATED].contains(&file.path.as_str()));
    let key = |what: &str| format!("machineconfiguration.openshift.io/{what}");
    let annotations = json!({key("currentConfig"): name, key("desiredConfig"): name, key("state"): "Done"});
    config.add_file(ANNOTATIONS, 0o644, Resource::bytes(annotations.to_string()));
    if let Some(image) = image {
        let told = json!({"spec": {"osImageURL": image, "kernelArguments": []}});
        config.add_file(ENCAPSULATED, 0o600, Resource::bytes(told.to_string()));
    }
}

/// A config that is served, with another image and another name.
pub fn with_image(config: &[u8], name: &str, image: &str) -> Result<Vec<u8>> {
    let mut config: Config = serde_json::from_slice(config)?;
    tell(&mut config, name, Some(image));
    Ok(config.to_json()?)
}

/// A config that is served, with what MachineConfigs say that came later, and another name.
pub fn with_more(config: &[u8], name: &str, image: Option<&str>, more: &[Value]) -> Result<Vec<u8>> {
    let mut config: Config = serde_json::from_slice(config)?;
    for part in more {
        config = overlay(&config, &part.to_string()).with_context(|| format!("{name} can't be rendered"))?;
    }
    tell(&mut config, name, image);
    Ok(config.to_json()?)
}

/// The name by which a config is known that is served.
pub fn name_of(config: &Config) -> Option<String> {
    let file = config.storage.files.iter().find(|file| file.path == ANNOTATIONS)?;
    let told: Value = serde_json::from_slice(&file.contents.data()?).ok()?;
    told["machineconfiguration.openshift.io/desiredConfig"].as_str().map(str::to_owned)
}

fn of_role(cluster: &Cluster, folder: &std::path::Path, role: &str) -> Result<Config> {
    let mut config = Config::new(VERSION);
    let told = Cluster { role: role.to_owned(), ..cluster.clone() };
    let to = |name: &str| format!("{NODE}/{name}");
    config.add_file(&to("lab.json"), 0o600, Resource::bytes(told.text()?));
    for name in parts(role) {
        config.add_file(&to(&name), 0o600, Resource::bytes(files::read(folder.join(&name))?));
    }
    // It is long, and Ignition forgives no connection that breaks amid a file, as one to a host of the cluster does when that restarts: the
    // registry of the release has it. The digest proves it.
    let program = files::read_program()?;
    let url = cluster.release_part_url(&format!("sha256:{}", hex::encode(&Sha256::digest(&program))))?;
    config.add_file(PROGRAM, 0o755, Resource::fetched(&url, &hex::encode(&Sha512::digest(&program))));
    config.add_unit("lab-node.service", UNIT);
    Ok(config)
}

/// Puts the program itself into a config whose machine has nobody to get it from.
pub fn put_program(config: &mut Config) -> Result<()> {
    let packed = packed(&files::read_program()?)?;
    config.storage.files.retain(|file| file.path != PROGRAM);
    config.add_file(PROGRAM, 0o755, packed);
    Ok(())
}

/// A config that has another one in it, packed, as the config of a single node has it.
pub fn with_inner(config: &Config) -> Result<Config> {
    let mut outer = Config::new(VERSION);
    outer.ignition.config.merge.push(packed(&config.to_json()?)?);
    Ok(outer)
}

fn packed(bytes: &[u8]) -> Result<Resource> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes)?;
    Ok(Resource { compression: Some("gzip".to_owned()), ..Resource::bytes(packed.finish()?) })
}

impl Rendered {
    /// The secret from which control-plane hosts serve them, once the bootstrap host is gone.
    pub fn secret(&self) -> Value {
        let data: BTreeMap<_, _> =
            self.configs.iter().map(|(role, config)| (role, STANDARD.encode(config))).collect();
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": SECRET, "namespace": MACHINE_CONFIG_NAMESPACE}, "data": data,
        })
    }
}

/// Where the served configs come from.
pub enum Source {
    Made(Rendered),
    Cluster(Client),
}

struct Server {
    source: Source,
    log: Mutex<std::fs::File>,
}

/// Serves configs, with TLS by the certificates in a folder and without, until it is dropped. Who asked stands in its log.
pub async fn serve(folder: &str, source: Source) -> Result<()> {
    let certificate = pair(folder, names::CONFIG_SERVER)?;
    std::fs::create_dir_all(LOGS)?;
    let log = std::fs::File::options().create(true).append(true).open(crate::program::log_path(LOG))?;
    let state = Arc::new(Server { source, log: Mutex::new(log) });
    let routes = Router::new()
        .route("/config/{role}", get(config))
        .route("/healthz", get(async || ""))
        .with_state(state);
    tokio::try_join!(
        server::serve(CONFIG_PORT, &certificate, None, routes.clone()),
        server::serve_plain(PLAIN_CONFIG_PORT, routes),
    )?;
    Ok(())
}

async fn config(
    State(server): State<Arc<Server>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(role): Path<String>,
    headers: HeaderMap,
) -> Response {
    server.log_request(&role, peer, &headers).await;
    match server.source.config(&role).await {
        Ok(Some(config)) => ([(header::CONTENT_TYPE, "application/json")], config).into_response(),
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")).into_response(),
    }
}

impl Server {
    /// Writes who asked, in the words that others look for; what a client says of itself is cut to one harmless word.
    async fn log_request(&self, role: &str, peer: SocketAddr, headers: &HeaderMap) {
        use std::io::Write;
        let said = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let word = |text: &str| {
            text.chars().filter(|c| c.is_ascii_graphic() && *c != '"').take(100).collect::<String>()
        };
        let (role, agent, accept) = (word(role), word(said(header::USER_AGENT)), word(said(header::ACCEPT)));
        let line = format!(
            "Pool {role} requested by address:\"{peer}\" User-Agent:\"{agent}\" Accept-Header: \"{accept}\"\n"
        );
        info!(role, %peer, agent, "asked for its config");
        let _ = self.log.lock().await.write_all(line.as_bytes());
    }
}

impl Source {
    async fn config(&self, role: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Made(rendered) => Ok(rendered.configs.get(role).cloned()),
            Self::Cluster(client) => {
                let secrets = Api::<Secret>::namespaced(client.clone(), MACHINE_CONFIG_NAMESPACE);
                let data = secrets.get(SECRET).await?.data.unwrap_or_default();
                Ok(data.get(role).map(|ByteString(config)| config.clone()))
            }
        }
    }
}
