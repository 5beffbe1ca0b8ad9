//! What the installer made, edited for the hosts and collected (install-generation §5, §6).

use std::io;
use std::path::Path;

use assisted_base::version;
use assisted_core::catalogue::operators::ClusterView;
use assisted_core::catalogue::operators::subscription::{self, Objects};
use assisted_core::decide::host::steps::vip_mac;
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::HostFacts;
use assisted_core::model::topology;
use assisted_core::network::{address, node_ip};
use assisted_core::state::host::boots_persistently;
use assisted_ignition::install::bare_metal_host::Machine;
use assisted_ignition::install::bootstrap::{self, Bootstrap};
use assisted_ignition::install::host::Host;
use assisted_ignition::install::joining::ClusterEndpoint;
use assisted_ignition::install::role::{LeasedVips, Role, Vip};
use assisted_ignition::install::{EditError, Tree};
use assisted_wire::host::HostRole;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cluster_input::{ClusterInput, installed_as};
use super::internal_release::{self, ServedError};
use super::layering::{Extracted, Images, LayeringError, Plan};
use super::manifests::{OverlaidManifest, has_pool};
use crate::generator::ignition_name;

/// Longest file that the installer makes, in bytes; a bootstrap config has about 300 KB.
const LONGEST: u64 = 64 << 20;

/// The objects of operators, for the controller.
const CUSTOM_MANIFESTS: &str = "custom_manifests.json";

/// Why the files can't be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    #[error("the installer made no {name} that can be read: {source}")]
    Read { name: String, source: io::Error },
    #[error("{name}: {source}")]
    Edit { name: String, source: EditError },
    #[error("machine config pool {0} was not found")]
    NoPool(String),
    #[error(transparent)]
    Served(#[from] ServedError),
    #[error(transparent)]
    Layering(#[from] LayeringError),
}

/// The files in the installer's folder, edited and collected; and the id that the cluster will have.
pub(super) fn collect(
    dir: &Path,
    known: &ClusterInput,
    given: &[OverlaidManifest],
    layered: Option<(&Plan, &Images, &Extracted)>,
) -> Result<(Vec<(String, Bytes)>, Uuid), OutputError> {
    let single = topology::is_single_node(&known.record.cluster);
    let mut contents = Vec::new();
    let name = if single { "bootstrap-in-place-for-live-iso.ign" } else { "bootstrap.ign" };
    let mut first = tree(dir, name)?;
    let failed = |name: &str| {
        let name = name.to_owned();
        move |source| OutputError::Edit { name, source }
    };
    let openshift_cluster_id = bootstrap::cluster_id(&first).map_err(failed("bootstrap.ign"))?;
    let hosts: Vec<&HostFacts> = known.hosts();
    let dual = known.record.primary_ip_stack.is_some();
    let machines: Vec<Machine> = hosts.iter().map(|host| Machine::of(host, &known.networks, dual)).collect();
    let edit = Bootstrap { single_node: single, machines: &machines };
    edit.edit(&mut first).map_err(failed("bootstrap.ign"))?;
    if internal_release::is_served(given) {
        internal_release::serve_bootstrap(&mut first, &known.record.cluster)?;
    }
    if let Some((plan, images, extracted)) = layered {
        plan.edit_bootstrap(known, images, extracted, &mut first)?;
    }
    contents.push(("bootstrap.ign".to_owned(), first.write().into()));

    let version = first.version().to_owned();
    let role = known.role();
    for kind in known.roles() {
        let name = format!("{kind}.ign");
        let mut base = if single { Tree::empty(&version) } else { tree(dir, &name)? };
        role.edit(&mut base, kind).map_err(failed(&name))?;
        for host in hosts.iter().filter(|host| installed_as(host) == kind) {
            let made = known.host(host, &base, given)?.write();
            contents.push((ignition_name(host), made.into()));
        }
        contents.push((name, base.write().into()));
    }
    for (name, from) in [
        ("metadata.json", "metadata.json"),
        ("kubeadmin-password", "auth/kubeadmin-password"),
        ("kubeconfig-noingress", "auth/kubeconfig"),
    ] {
        contents.push((name.to_owned(), read(dir, from)?.into()));
    }
    contents.push(("install-config.yaml".to_owned(), known.install_config.clone()));
    if !known.operators().is_empty() {
        contents.push((CUSTOM_MANIFESTS.to_owned(), known.operator_objects().to_string().into()));
    }
    Ok((contents, openshift_cluster_id))
}

impl ClusterInput {
    /// What the controller applies once the operators are there.
    fn operator_objects(&self) -> Value {
        let entry =
            |objects: Objects| json!({"Name": objects.operator, "Content": STANDARD.encode(objects.yaml())});
        let view = ClusterView::of(&self.facts);
        view.iter().flat_map(subscription::objects).map(entry).collect()
    }

    /// The roles whose configs there are.
    fn roles(&self) -> Vec<HostRole> {
        let mut roles = vec![HostRole::Master];
        roles.extend(self.has_arbiters().then_some(HostRole::Arbiter));
        roles.push(HostRole::Worker);
        roles
    }

    fn role(&self) -> Role {
        let cluster = &self.record.cluster;
        let has_ipv6 = |host: &HostFacts| {
            let inventory = host.inventory.as_deref();
            inventory.into_iter().flat_map(address::of_inventory).any(|found| !found.net.addr().is_ipv4())
        };
        let leased = topology::is_vip_dhcp(cluster) && !topology::is_user_managed_networking(cluster);
        let vip = |name: &str, ip: Option<&str>, lease: &str| Vip {
            ip: ip.unwrap_or_default().to_owned(),
            mac: vip_mac(cluster.id, name),
            lease: lease.to_owned(),
        };
        let api = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.as_str()).next();
        let ingress = cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.as_str()).next();
        let vips = || LeasedVips {
            api: vip("api", api, &self.record.api_vip_lease),
            ingress: vip("ingress", ingress, &self.record.ingress_vip_lease),
        };
        let hosts = self.hosts();
        Role {
            authority: self.authority.clone(),
            ipv6: !hosts.is_empty() && hosts.iter().all(|host| has_ipv6(host)),
            merges_connections: version::below(&cluster.openshift_version, 4, 10),
            vips: leased.then(vips),
        }
    }

    fn host(&self, host: &HostFacts, role: &Tree, given: &[OverlaidManifest]) -> Result<Tree, OutputError> {
        let own = &host.record.host;
        let name = host.name();
        let is_worker = own.role == Some(HostRole::Worker);
        let pool = if is_worker { own.machine_config_pool_name.as_str() } else { "" };
        if !pool.is_empty() && !has_pool(given, pool) {
            return Err(OutputError::NoPool(pool.to_owned()));
        }
        let edit = Host {
            name: &name,
            node_ip_hint: self.hint(host),
            overrides: &own.ignition_config_overrides,
            pool,
            keeps_discovery_root: host.inventory.as_deref().is_some_and(boots_persistently),
        };
        edit.edit(role).map_err(|source| OutputError::Edit { name: ignition_name(host), source })
    }

    /// An address in the network that the node's own is to be in; empty where the node finds it by itself.
    fn hint(&self, host: &HostFacts) -> String {
        let cluster = &self.record.cluster;
        let net = if topology::is_single_node(cluster) {
            self.networks.first().copied()
        } else if node_ip::is_chosen(cluster) {
            node_ip::allocate(&self.facts).ok().and_then(|chosen| chosen.get(&host.record.host.id).copied())
        } else {
            None
        };
        net.map(|net| net.network().to_string()).unwrap_or_default()
    }
}

/// The config of a host that joins a cluster that is installed already.
pub(super) fn joining(record: &ClusterRecord, host: &HostFacts) -> Result<Bytes, OutputError> {
    let (cluster, own) = (&record.cluster, &host.record.host);
    let endpoint = cluster.ignition_endpoint.as_ref();
    let role = match host.effective_role() {
        HostRole::AutoAssign => HostRole::Worker,
        role => role,
    };
    let pool =
        if own.machine_config_pool_name.is_empty() { role.as_str() } else { &own.machine_config_pool_name };
    let joining = ClusterEndpoint {
        api: cluster.api_vip_dns_name.as_deref().unwrap_or_default(),
        pool,
        endpoint: endpoint.and_then(|endpoint| endpoint.url.as_deref()).unwrap_or_default(),
        authority: endpoint.and_then(|endpoint| endpoint.ca_certificate.as_deref()).unwrap_or_default(),
        token: host.record.ignition_endpoint_token.expose(),
        headers: &host.record.ignition_endpoint_http_headers,
    };
    let name = host.name();
    let edit = Host {
        name: &name,
        overrides: &own.ignition_config_overrides,
        keeps_discovery_root: host.inventory.as_deref().is_some_and(boots_persistently),
        ..Host::default()
    };
    let made = joining.config(&edit);
    let failed = |source| OutputError::Edit { name: ignition_name(host), source };
    Ok(made.map_err(failed)?.write().into())
}

pub(super) fn tree(dir: &Path, name: &str) -> Result<Tree, OutputError> {
    Tree::read(&read(dir, name)?).map_err(|source| OutputError::Edit { name: name.to_owned(), source })
}

fn read(dir: &Path, name: &str) -> Result<Vec<u8>, OutputError> {
    use std::io::Read;
    let failed = |source| OutputError::Read { name: name.to_owned(), source };
    let file = std::fs::File::open(dir.join(name)).map_err(failed)?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}
