//! Clusters: created, or changed where they differ.

use assisted_client::Client;
use assisted_console::Failure;
use assisted_kubeapi::SyncError;
use assisted_wire::cluster::{Cluster, ClusterKind, ClusterStatus};
use assisted_wire::cluster_params::{ClusterCreateParams, ClusterUpdateParams, IgnoredValidations};
use assisted_wire::manifest::{CreateManifestParams, ManifestFolder};
use assisted_wire::version::ReleaseImageParams;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::plan::{PlannedCluster, Request};
use super::report::{Action, Applied, Difference, Mode};
use crate::cli::common::Context;

/// Manifests of ConfigMaps go here (kube-api §6.1.10).
const FOLDER: ManifestFolder = ManifestFolder::Openshift;

/// States in which a cluster can be changed.
const CHANGEABLE: [ClusterStatus; 4] = [
    ClusterStatus::Insufficient,
    ClusterStatus::Ready,
    ClusterStatus::PendingForInput,
    ClusterStatus::AddingHosts,
];

/// What the mirrors of a cluster or an infra-env are called where it is told what differs.
pub const MIRRORS: &str = "mirror_registry";

/// What the service says of a release image that nobody configured.
const UNKNOWN_RELEASE: &str = "no release image has the URL";

impl PlannedCluster<'_> {
    /// Creates or changes the cluster, which may be one of those that are there: the cluster, as it is then. In a dry run none that does not exist.
    pub async fn apply(
        &self,
        context: &Context,
        there: &[Cluster],
        mode: Mode,
        applied: &mut Vec<Applied>,
    ) -> Result<Option<Cluster>, Failure> {
        let client = &context.client;
        let wrong = |problem: SyncError| Failure::Usage(format!("{}: {problem}", self.object));
        let mut differences = Vec::new();
        let (mut cluster, mut action, mut details) = match self.existing(context, there).await? {
            Some(cluster) => {
                let update = self.spec.update(&cluster, None).map_err(wrong)?;
                let details: Vec<_> = update.changed.iter().map(|field| (*field).to_owned()).collect();
                if mode.is_dry() {
                    differences = Difference::all(&update.changed, &cluster, &update.params);
                }
                if details.is_empty() {
                    (cluster, Action::Unchanged, details)
                } else if mode != Mode::Compare && !CHANGEABLE.contains(&cluster.status) {
                    return Err(Failure::Refused(format!(
                        "{}: the cluster is {} and can't be changed now, but {} differ from the manifests",
                        self.object,
                        cluster.status,
                        details.join(", ")
                    )));
                } else if mode.is_dry() {
                    (cluster, Action::WouldBeChanged, details)
                } else {
                    (client.update_cluster(cluster.id, &update.params).await?, Action::Changed, details)
                }
            }
            None if mode.is_dry() => {
                let action = Action::WouldBeCreated;
                let mirrors = self.mirror_registry.iter().map(|_| MIRRORS.to_owned());
                let manifests =
                    self.manifests.iter().map(|manifest| format!("manifest {}", manifest.file_name));
                let details = mirrors.chain(manifests).collect();
                applied.push(Applied { object: self.object.clone(), action, id: None, details, differences });
                return Ok(None);
            }
            None => match &self.request {
                Request::Import(params) => {
                    (client.import_cluster(params).await?, Action::Created, vec!["imported".to_owned()])
                }
                Request::Register(params) => (register(client, params).await?, Action::Created, Vec::new()),
            },
        };
        if cluster.kind != ClusterKind::AddHostsCluster {
            let more = self.settings(client, &cluster, mode).await?;
            if !more.is_empty() {
                if action == Action::Unchanged {
                    action = Action::change(mode);
                }
                if !mode.is_dry() {
                    cluster = client.get_cluster_alone(cluster.id).await?;
                }
                details.extend(more);
            }
        }
        let id = Some(cluster.id.to_string());
        applied.push(Applied { object: self.object.clone(), action, id, details, differences });
        Ok(Some(cluster))
    }

    /// The cluster of this name and domain.
    async fn existing(&self, context: &Context, there: &[Cluster]) -> Result<Option<Cluster>, Failure> {
        let (name, domain) = self.spec.name();
        let is_it = |cluster: &&Cluster| cluster.name == name && cluster.base_dns_domain == domain;
        let found: Vec<_> = there.iter().filter(is_it).collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(context.client.get_cluster_alone(one.id).await?)),
            several => Err(Failure::Refused(format!(
                "{}: {} clusters are called {name}.{domain}, and which one is meant can't be told; delete those that \
                 are not, with `assisted cluster delete ID`: {}",
                self.object,
                several.len(),
                several.iter().map(|cluster| cluster.id.to_string()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// What has operations of its own: annotations and manifests. The names of what differs.
    async fn settings(&self, client: &Client, cluster: &Cluster, mode: Mode) -> Result<Vec<String>, Failure> {
        let mut changed = Vec::new();
        let overrides = &self.overrides;
        if overrides.changes_install_config(cluster) {
            if !mode.is_dry() {
                client.update_cluster_install_config(cluster.id, &overrides.install_config).await?;
            }
            changed.push("install_config_overrides".to_owned());
        }
        // Most clusters ask for none, and the cluster itself does not tell it.
        if self.spec.image_mode_change(None).is_some() {
            let current = client.get_on_cluster_layering(cluster.id).await?.settings;
            if let Some(asked) = self.spec.image_mode_change(current.as_ref()) {
                if !mode.is_dry() {
                    let params = ClusterUpdateParams {
                        on_cluster_layering: Some(Box::new(asked)),
                        ..ClusterUpdateParams::default()
                    };
                    client.update_cluster(cluster.id, &params).await?;
                }
                changed.push("on_cluster_layering".to_owned());
            }
        }
        let ignored = IgnoredValidations {
            cluster_validation_ids: overrides.ignored_cluster_validations.clone(),
            host_validation_ids: overrides.ignored_host_validations.clone(),
        };
        if ignored != IgnoredValidations::default()
            && ignored != client.ignored_validations(cluster.id).await?
        {
            if !mode.is_dry() {
                client.set_ignored_validations(cluster.id, &ignored).await?;
            }
            changed.push("ignored validations".to_owned());
        }
        if let Some(mirrors) = &self.mirror_registry
            && client.cluster_mirror_registry(cluster.id).await? != *mirrors
        {
            if !mode.is_dry() {
                client.set_cluster_mirror_registry(cluster.id, mirrors).await?;
            }
            changed.push(MIRRORS.to_owned());
        }
        if self.manifests.is_empty() {
            return Ok(changed);
        }
        let there = client.list_manifests(cluster.id).await?;
        for manifest in &self.manifests {
            let is_there = there
                .iter()
                .any(|there| there.folder == Some(FOLDER) && there.file_name == manifest.file_name);
            if is_there
                && client
                    .has_manifest(cluster.id, FOLDER, &manifest.file_name, manifest.content.as_bytes())
                    .await?
            {
                continue;
            }
            if !mode.is_dry() {
                let params = CreateManifestParams {
                    folder: Some(FOLDER),
                    file_name: manifest.file_name.clone(),
                    content: STANDARD.encode(&manifest.content),
                };
                client.create_manifest(cluster.id, &params).await?;
            }
            changed.push(format!("manifest {}", manifest.file_name));
        }
        Ok(changed)
    }
}

/// Registers a cluster. A release that the service does not know is read by it first; what it says of that is told if it can't.
async fn register(client: &Client, params: &ClusterCreateParams) -> Result<Cluster, Failure> {
    let refused = match client.register_cluster(params).await {
        Err(error) if error.status() == Some(400) && error.to_string().contains(UNKNOWN_RELEASE) => error,
        registered => return Ok(registered?),
    };
    let release =
        ReleaseImageParams { url: params.ocp_release_image.clone(), pull_secret: params.pull_secret.clone() };
    match client.read_release_image(&release).await {
        Ok(_) => Ok(client.register_cluster(params).await?),
        // Another service, or one that lets administrators alone do that.
        Err(error) if matches!(error.status(), Some(403 | 404)) => Err(refused.into()),
        Err(error) => Err(error.into()),
    }
}
