//! What is told about a cluster: one archive, without what may hold a credential.

use std::io;

use assisted_config::Settings;
use assisted_core::catalogue::release::component_versions;
use assisted_store::{Deleted, EventQuery};
use assisted_wire::cluster::Cluster;
use assisted_wire::event::EventCategory;
use assisted_wire::host::Host;
use assisted_wire::id::ClusterId;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::{Value, json};
use tar::{Builder, Header};

use super::identity::Identity;
use crate::attempt::AttemptError;
use crate::database::Database;
use crate::stream::WithoutSecrets;
use crate::view::cluster::render_without_hosts;
use crate::view::host::full_host;

/// The most events that are told.
const MOST_EVENTS: u64 = 50_000;
/// Stands for somebody who is not known.
const UNKNOWN: &str = "Unknown";

/// The archive of a cluster.
pub(super) async fn of_cluster(
    database: &Database,
    settings: &Settings,
    id: ClusterId,
    identity: &Identity,
) -> Result<io::Result<Vec<u8>>, AttemptError> {
    let Some(work) = database.load_cluster(id, Deleted::Hidden).await? else {
        return Ok(Err(io::Error::other("it is gone")));
    };
    let Some(record) = work.cluster() else { return Ok(Err(io::Error::other("it is gone"))) };
    let cluster = named(render_without_hosts(record).without_secrets(), identity);
    let hosts: Vec<Host> = work.facts.hosts.iter().map(|host| full_host(host).without_secrets()).collect();
    let infra_env = work.facts.hosts.iter().find_map(|host| work.infra_env(host.key().infra_env_id));
    let infra_env = infra_env.map(|record| record.infra_env.clone().without_secrets());
    let query = EventQuery {
        cluster_id: Some(id),
        categories: vec![EventCategory::User, EventCategory::Metrics],
        limit: Some(MOST_EVENTS),
        ..EventQuery::default()
    };
    let events = database.reader().events(&query).await?.events;
    let versions = component_versions(database.policy());
    let metadata = metadata(settings, &json!(versions));
    Ok(pack(id, |archive| {
        archive.add("events/cluster.json", &cluster)?;
        if !hosts.is_empty() {
            archive.add("events/hosts.json", &hosts)?;
        }
        if let Some(infra_env) = &infra_env {
            archive.add("events/infraenv.json", infra_env)?;
        }
        archive.add("events.json", &events)?;
        archive.add("versions.json", &versions)?;
        archive.add("metadata.json", &metadata)
    }))
}

/// Whose cluster it is, where the cluster does not say.
fn named(mut cluster: Cluster, identity: &Identity) -> Cluster {
    for (field, known) in
        [(&mut cluster.user_name, &identity.user_name), (&mut cluster.email_domain, &identity.email_domain)]
    {
        if (field.is_empty() || field == UNKNOWN) && !known.is_empty() {
            field.clone_from(known);
        }
    }
    cluster
}

fn metadata(settings: &Settings, versions: &Value) -> Value {
    let set = &settings.upload;
    let invoker = settings.http.install_invoker == "agent-installer";
    let mut metadata = json!({
        "deployment-type": if invoker { "ABI" } else { set.deployment_type.as_str() },
        "deployment-version": set.deployment_version,
        "git-ref": env!("CARGO_PKG_VERSION"),
    });
    for name in [
        "assisted-installer-service",
        "discovery-agent",
        "assisted-installer",
        "assisted-installer-controller",
    ] {
        metadata[name] = versions["versions"][name].clone();
    }
    metadata
}

struct Archive {
    builder: Builder<GzEncoder<Vec<u8>>>,
    folder: ClusterId,
}

impl Archive {
    fn add(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(value)?;
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        self.builder.append_data(&mut header, format!("{}/{name}", self.folder), text.as_slice())
    }
}

fn pack(folder: ClusterId, fill: impl FnOnce(&mut Archive) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let builder = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut archive = Archive { builder, folder };
    fill(&mut archive)?;
    archive.builder.into_inner()?.finish()
}
