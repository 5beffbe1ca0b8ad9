//! A service alone, by its REST API. What a hub's controllers do with a description is done here: the cluster is registered, changed
//! where it differs, installed when exactly its hosts are there, and opened for more.

use assisted_base::error::chain;
use assisted_client::{Client, ClusterHostFilter, InfraEnvFilter};
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::{GROUP, annotation};
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::common::ManifestsConfigMapReference;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, ProvisionRequirements};
use assisted_kubeapi::cluster::{ClusterSpec, custom_manifests, overrides};
use assisted_reconcile::Failure;
use assisted_wire::cluster as wire;
use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::cluster_params::ClusterCreateParams;
use assisted_wire::host::{Host, HostRole, HostStatus};
use assisted_wire::manifest::{CreateManifestParams, Manifest, ManifestFolder};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt;

use super::description::Referred;
use super::joining;
use super::state::Installation;
use crate::control_plane::installation::{self, Site, described, registry_manifests};
use crate::control_plane::management_cluster::ManagementCluster;
use crate::control_plane::report::was_initialized;
use crate::control_plane::version;
use crate::installer::Subject;
use crate::installer::rest::{Rest, failed, is_approved, optional, remove_infra_env};
use crate::objects::is_of;

/// Files with kubeconfigs: of a cluster that comes up, and of one that is installed.
const EARLY: &str = "kubeconfig-noingress";
const LATE: &str = "kubeconfig";
/// The most bytes of one.
const LARGEST: usize = 1 << 20;
/// Where manifests of ConfigMaps go.
const FOLDER: ManifestFolder = ManifestFolder::Openshift;

/// The service.
pub(in crate::control_plane) struct Service(Rest);

fn installation(cluster: &wire::Cluster) -> Installation {
    use ClusterStatus::{AddingHosts, Finalizing, Installed, Installing, InstallingPendingUserAction};
    let kubeconfig = match cluster.status {
        Installed | AddingHosts => Some(LATE),
        Installing | Finalizing | InstallingPendingUserAction => Some(EARLY),
        _ => None,
    };
    let kubeconfig = kubeconfig.map(str::to_owned);
    // What it refuses is told by the request.
    Installation { state: cluster.status.to_string(), kubeconfig, problem: None }
}

fn of_row(problem: assisted_kubeapi::SyncError) -> Failure {
    Failure::of_row(problem.text)
}

/// The Cluster of a control plane, which may be gone by now.
fn subject(plane: &OpenshiftAssistedControlPlane) -> Option<Subject> {
    let owner = plane.owner_references().iter().find(|owner| is_of(owner, GROUP, "Cluster"))?;
    let mut subject = Subject::of(plane);
    subject.key.name.clone_from(&owner.name);
    subject.uid.clone_from(&owner.uid);
    Some(subject)
}

impl Service {
    pub(super) fn new(rest: Rest) -> Self {
        Self(rest)
    }

    pub(super) fn rest(&self) -> &Rest {
        &self.0
    }

    pub(super) async fn find(&self, cluster: &Cluster) -> Result<Option<Installation>, Failure> {
        let found = self.0.find(&Subject::of(cluster)).await?;
        Ok(found.map(|found| installation(&found)))
    }

    pub(super) async fn settle(
        &self,
        management: &ManagementCluster,
        site: &Site<'_>,
    ) -> Result<Option<Installation>, Failure> {
        let of = Subject::of(site.cluster);
        let mut manifests = Vec::new();
        if let Some(registries) = site.registries {
            manifests.push(registry_manifests(management, site, registries).await?);
        }
        let found = self.0.find(&of).await?;
        let client = self.0.client().await?;
        // What an installation began with stays: nothing is left to be described.
        if let Some(found) = &found
            && (site.has_begun || !is_open(found))
        {
            advance(&client, found).await?;
            return self.find(site.cluster).await;
        }
        if found.is_none() && site.release.is_none() {
            return Ok(None);
        }
        let install = description(management, site, manifests)?;
        let deployment = installation::deployment(site, None);
        let referred = Referred::read(&management.client, site, &install).await?;
        let spec = ClusterSpec::resolve(&deployment, &install, &referred).map_err(of_row)?;
        let known = match found {
            Some(found) => {
                update(&client, &spec, &found).await?;
                found
            }
            None => register(&client, &spec, site, &of).await?,
        };
        let wanted = overrides(&install).map_err(of_row)?.install_config;
        if wanted != known.install_config_overrides {
            let set = client.update_cluster_install_config(known.id, &wanted).await;
            set.map_err(|error| failed(&error))?;
        }
        bring_manifests(&client, &known, &install, &referred).await?;
        let known = self.0.find(&of).await?.unwrap_or(known);
        begin(&client, &known, &install.spec.provision_requirements).await?;
        self.find(site.cluster).await
    }

    pub(super) async fn kubeconfig(&self, cluster: &Cluster, file: &str) -> Result<Option<String>, Failure> {
        let Some(found) = self.0.find(&Subject::of(cluster)).await? else { return Ok(None) };
        let client = self.0.client().await?;
        let download = match client.download_cluster_credentials(found.id, file).await {
            Ok(download) => download,
            // It comes with the next state.
            Err(error) if matches!(error.status(), Some(404 | 409)) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let bytes = download.bytes(LARGEST).await.map_err(|error| Failure::passing(chain(&error)))?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| Failure::passing("the kubeconfig of the service is no text"))
    }

    /// Approves the certificates of nodes that join the cluster; whether some are on their way.
    pub(super) async fn help_joining(
        &self,
        cluster: &Cluster,
        workload: &kube::Client,
    ) -> Result<bool, String> {
        let told = |failure: Failure| failure.message;
        let Some(found) = self.0.find(&Subject::of(cluster)).await.map_err(told)? else { return Ok(false) };
        if found.kind != ClusterKind::AddHostsCluster {
            return Ok(false);
        }
        let client = self.0.client().await.map_err(told)?;
        let filter = ClusterHostFilter { with_inventory: true, ..ClusterHostFilter::default() };
        let hosts = client.list_cluster_hosts(found.id, &filter).await.map_err(|error| chain(&error))?;
        joining::approve(workload, &found, hosts).await
    }

    pub(super) async fn remove(&self, plane: &OpenshiftAssistedControlPlane) -> Result<bool, Failure> {
        let Some(of) = subject(plane) else { return Ok(true) };
        let Some(found) = self.0.find(&of).await? else { return Ok(true) };
        let client = self.0.client().await?;
        if matches!(
            found.status,
            ClusterStatus::PreparingForInstallation | ClusterStatus::Installing | ClusterStatus::Finalizing
        ) {
            client.cancel_installation(found.id).await.map_err(|error| failed(&error))?;
            return Ok(false);
        }
        let filter = InfraEnvFilter { cluster_id: Some(found.id), ..InfraEnvFilter::default() };
        for infra_env in client.list_infra_envs(&filter).await.map_err(|error| failed(&error))? {
            remove_infra_env(&client, infra_env.id).await?;
        }
        optional(client.deregister_cluster(found.id).await)?;
        self.0.forget(&of);
        Ok(true)
    }
}

/// Whether it can still be said how a cluster is to be installed.
fn is_open(cluster: &wire::Cluster) -> bool {
    use ClusterStatus::{Insufficient, PendingForInput, Ready};
    cluster.kind == ClusterKind::Cluster && matches!(cluster.status, Insufficient | PendingForInput | Ready)
}

fn description(
    management: &ManagementCluster,
    site: &Site<'_>,
    manifests: Vec<ManifestsConfigMapReference>,
) -> Result<AgentClusterInstall, Failure> {
    let others = installation::others_of(management, site.cluster);
    described(None, site, others, manifests).map_err(Failure::of_row)
}

/// Registers a cluster. A release of the usual repositories is asked for by its version: services know those.
async fn register(
    client: &Client,
    spec: &ClusterSpec<'_>,
    site: &Site<'_>,
    of: &Subject,
) -> Result<wire::Cluster, Failure> {
    if was_initialized(site.plane) {
        return Err(Failure::of_row(format!(
            "the service has no cluster with the tag {} any more, which it had: it was deleted there, or the Cluster was moved here \
             from another API server. Give the tag to the cluster of the service",
            Rest::tag(of)
        )));
    }
    let wanted = &site.plane.spec.distribution_version;
    let wanted = wanted.strip_prefix('v').unwrap_or(wanted);
    let params = spec.create(wanted, None).map_err(of_row)?;
    let repository = site.plane.annotations().get(annotation::RELEASE_REPOSITORY);
    let is_usual = repository
        .is_none_or(|repository| repository.is_empty() || version::is_default_repository(repository));
    let params = ClusterCreateParams {
        tags: Some(Rest::tag(of)),
        ocp_release_image: if is_usual { String::new() } else { params.ocp_release_image },
        ..params
    };
    client.register_cluster(&params).await.map_err(|error| failed(&error))
}

/// Changes of a cluster what differs.
async fn update(client: &Client, spec: &ClusterSpec<'_>, known: &wire::Cluster) -> Result<(), Failure> {
    let mut update = spec.update(known, None).map_err(of_row)?;
    // The tag says whose it is.
    update.params.tags = None;
    update.changed.retain(|field| *field != "tags");
    if update.changed.is_empty() {
        return Ok(());
    }
    tracing::info!(cluster = %known.id, changed = update.changed.join(", "), "the cluster differs");
    client.update_cluster(known.id, &update.params).await.map(drop).map_err(|error| failed(&error))
}

/// Brings the values of ConfigMaps to the cluster, as manifests, and takes others away.
async fn bring_manifests(
    client: &Client,
    known: &wire::Cluster,
    install: &AgentClusterInstall,
    referred: &Referred,
) -> Result<(), Failure> {
    let wanted = custom_manifests(install, referred).map_err(of_row)?;
    let told = |error: assisted_client::Error| failed(&error);
    let mut there: Vec<Manifest> = client.list_manifests(known.id).await.map_err(told)?;
    there.retain(|manifest| manifest.folder == Some(FOLDER));
    for manifest in &there {
        if !wanted.iter().any(|wanted| wanted.file_name == manifest.file_name) {
            optional(client.delete_manifest(known.id, FOLDER, &manifest.file_name).await)?;
        }
    }
    for manifest in wanted {
        let content = manifest.content.as_bytes();
        if there.iter().any(|own| own.file_name == manifest.file_name)
            && client.has_manifest(known.id, FOLDER, &manifest.file_name, content).await.map_err(told)?
        {
            continue;
        }
        let content = STANDARD.encode(content);
        let params = CreateManifestParams { folder: Some(FOLDER), file_name: manifest.file_name, content };
        client.create_manifest(known.id, &params).await.map_err(told)?;
    }
    Ok(())
}

/// Begins the installation, when exactly the hosts of its machines are there.
async fn begin(
    client: &Client,
    known: &wire::Cluster,
    wanted: &ProvisionRequirements,
) -> Result<(), Failure> {
    if known.status != ClusterStatus::Ready {
        return Ok(());
    }
    let hosts = client.list_cluster_hosts(known.id, &ClusterHostFilter::default()).await;
    let hosts = hosts.map_err(|error| failed(&error))?;
    if !are_all_there(&hosts, wanted) {
        return Ok(());
    }
    tracing::info!(cluster = %known.id, hosts = hosts.len(), "the installation begins");
    client.install_cluster(known.id).await.map(drop).map_err(|error| failed(&error))
}

/// Whether exactly the hosts that are wanted are ready, and each belongs to a machine.
fn are_all_there(hosts: &[Host], wanted: &ProvisionRequirements) -> bool {
    let taking_part = || hosts.iter().filter(|host| host.status != HostStatus::Disabled);
    let count = |role: HostRole| {
        let own = taking_part().filter(|host| host.role == Some(role)).count();
        i64::try_from(own).unwrap_or(i64::MAX)
    };
    taking_part().all(|host| host.status == HostStatus::Known && is_approved(host))
        && count(HostRole::Master) == wanted.control_plane_agents
        && count(HostRole::Arbiter) == wanted.arbiter_agents.unwrap_or_default()
        && count(HostRole::Worker) == wanted.worker_agents.unwrap_or_default()
}

/// Takes a cluster a step further whose installation has begun.
async fn advance(client: &Client, known: &wire::Cluster) -> Result<(), Failure> {
    if (known.kind, known.status) != (ClusterKind::Cluster, ClusterStatus::Installed) {
        return Ok(());
    }
    tracing::info!(cluster = %known.id, "the cluster is installed, and takes more hosts");
    let opened = client.transform_cluster_to_adding_hosts(known.id).await;
    opened.map(drop).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::HostId;
    use serde_json::json;

    use super::*;

    fn host(role: &str, status: &str) -> Host {
        let at = "2026-01-01T00:00:00.000Z";
        serde_json::from_value(json!({
            "kind": "Host", "id": HostId::random(), "href": "", "status": status, "status_info": "", "role": role,
            "created_at": at, "updated_at": at,
        }))
        .unwrap()
    }

    #[test]
    fn an_installation_begins_with_exactly_the_hosts_of_its_machines() {
        let wanted = ProvisionRequirements {
            control_plane_agents: 1,
            worker_agents: Some(1),
            ..ProvisionRequirements::default()
        };
        let of = |hosts: &[(&str, &str)]| {
            let hosts: Vec<_> = hosts.iter().map(|(role, status)| host(role, status)).collect();
            are_all_there(&hosts, &wanted)
        };
        let (master, worker) = (("master", "known"), ("worker", "known"));
        assert!(of(&[master, worker]));
        assert!(of(&[master, worker, ("worker", "disabled")]));
        for wrong in [
            &[master][..],
            &[master, worker, worker],
            &[master, ("worker", "insufficient")],
            // Whose it is has not been told yet.
            &[master, worker, ("auto-assign", "known")],
            &[master, worker, ("auto-assign", "discovering")],
            &[master, ("arbiter", "known")],
        ] {
            assert!(!of(wrong), "{wrong:?}");
        }
    }
}
