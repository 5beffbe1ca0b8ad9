//! The cluster and the infra-env, from the manifests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assisted_client::{Client, ClusterFilter, InfraEnvFilter};
use assisted_console::{Failure, file};
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, ClusterImageSetReference};
use assisted_kubeapi::SyncError;
use assisted_kubeapi::cluster::{ClusterSpec, overrides};
use assisted_kubeapi::infra_env::{self, InfraEnvSpec};
use assisted_kubeapi::objects::{self, Document};
use assisted_wire::cluster::{Cluster, IgnitionEndpoint};
use assisted_wire::cluster_params::{ClusterUpdateParams, ImportClusterParams};
use assisted_wire::manifest::{CreateManifestParams, ManifestFolder};
use assisted_wire::operator::OperatorCreateParams;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::Deserialize;

use super::environment::{
    ClientConfig, ImportFiles, Manifests, OperatorFile, documents, documents_if_any, report,
};

/// Extra manifests go here.
const FOLDER: ManifestFolder = ManifestFolder::Openshift;

/// Registers the cluster, unless there is one; sets overrides and extra manifests.
pub async fn cluster(
    client: &Client,
    files: &Manifests,
    operators: &OperatorFile,
    config: &ClientConfig,
) -> Result<(), Failure> {
    let (deployment, install, set) = read_cluster(files)?;
    let wrong = |problem: SyncError| Failure::Usage(problem.to_string());
    let spec = ClusterSpec::resolve(&deployment, &install, &set).map_err(wrong)?;
    let existing = client.list_clusters(&ClusterFilter::default()).await?;
    let mut cluster = match existing.as_slice() {
        [one] => one.clone(),
        [] => {
            let mut params = spec.create("", None).map_err(wrong)?;
            params.olm_operators = read_operators(&operators.operator_install_file)?;
            let cluster = client.register_cluster(&params).await?;
            report(&format!("cluster {} is registered", cluster.id));
            cluster
        }
        several => {
            return Err(Failure::Refused(format!(
                "there are {} clusters; one service installs one cluster",
                several.len()
            )));
        }
    };
    let overrides = overrides(&install).map_err(wrong)?;
    if overrides.changes_install_config(&cluster) {
        client.update_cluster_install_config(cluster.id, &overrides.install_config).await?;
        cluster = client.get_cluster(cluster.id).await?;
        report("overrides of install-config are set");
    }
    extra_manifests(client, &cluster, &files.extra_manifests_path).await?;
    config.leave("CLUSTER_ID", &cluster.id.to_string());
    Ok(())
}

/// Registers the infra-env, unless there is one.
pub async fn infra_env(client: &Client, files: &Manifests, config: &ClientConfig) -> Result<(), Failure> {
    let existing = client.list_infra_envs(&InfraEnvFilter::default()).await?;
    let infra_env = match existing.as_slice() {
        [one] => one.clone(),
        _ => {
            let clusters = client.list_clusters(&ClusterFilter::default()).await?;
            let cluster = clusters.first().map(|cluster| infra_env::Cluster {
                id: cluster.id,
                // The service has one image, and takes it.
                openshift_version: String::new(),
            });
            let mut set = objects::Manifests::default();
            for document in documents_if_any(&files.nmstate_config_file)? {
                add(&mut set, document)?;
            }
            let mut secret = pull_secret(&files.pull_secret_file)?;
            let Some(Document::InfraEnv(mut object)) = documents(&files.infra_env_file)?.into_iter().next()
            else {
                return Err(no(&files.infra_env_file, "InfraEnv"));
            };
            secret.metadata.namespace.clone_from(&object.metadata.namespace);
            object.spec.pull_secret_ref =
                LocalObjectReference { name: secret.metadata.name.clone().unwrap_or_default() };
            add(&mut set, Document::Secret(secret))?;
            check_labels(&object, &set)?;
            let wrong = |problem: SyncError| Failure::Usage(problem.to_string());
            let spec = InfraEnvSpec::resolve(&object, &set).map_err(wrong)?;
            let mut params = spec.create(cluster.as_ref()).map_err(wrong)?;
            params.image_type = Some(files.image_type);
            let infra_env = client.register_infra_env(&params).await?;
            report(&format!("infra-env {} is registered", infra_env.id));
            infra_env
        }
    };
    config.leave("INFRA_ENV_ID", &infra_env.id.to_string());
    Ok(())
}

/// Imports the cluster that hosts are added to, unless it is there: a step that failed behind the import is repeated.
pub async fn import(client: &Client, files: &ImportFiles) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Config {
        networking: Networking,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Networking {
        user_managed_networking: bool,
    }
    let config: Config = json(&files.cluster_config_dir.join("import-cluster-config.json"))?;
    let endpoint = files.cluster_config_dir.join("worker-ignition-endpoint.json");
    let ignition_endpoint: Option<IgnitionEndpoint> =
        if endpoint.exists() { Some(json(&endpoint)?) } else { None };
    let own = ClusterFilter {
        openshift_cluster_id: Some(files.cluster_id.to_string()),
        ..ClusterFilter::default()
    };
    let cluster = match client.list_clusters(&own).await?.into_iter().next() {
        Some(cluster) => cluster,
        None => {
            let params = ImportClusterParams {
                name: files.cluster_name.clone(),
                api_vip_dnsname: files.cluster_api_vip_dns_name.clone(),
                openshift_version: String::new(),
                openshift_cluster_id: files.cluster_id.0,
            };
            client.import_cluster(&params).await?
        }
    };
    let update = ClusterUpdateParams {
        user_managed_networking: Some(config.networking.user_managed_networking),
        ignition_endpoint,
        ..ClusterUpdateParams::default()
    };
    client.update_cluster(cluster.id, &update).await?;
    report(&format!("cluster {} is imported", cluster.id));
    Ok(())
}

/// The cluster's objects. Which Secret and ClusterImageSet are meant is told by the files, whatever the references say.
fn read_cluster(
    files: &Manifests,
) -> Result<(ClusterDeployment, AgentClusterInstall, objects::Manifests), Failure> {
    let first = |path: &Path| Ok::<_, Failure>(documents(path)?.into_iter().next());
    let Some(Document::ClusterDeployment(mut deployment)) = first(&files.cluster_deployment_file)? else {
        return Err(no(&files.cluster_deployment_file, "ClusterDeployment"));
    };
    let Some(Document::AgentClusterInstall(mut install)) = first(&files.agent_cluster_install_file)? else {
        return Err(no(&files.agent_cluster_install_file, "AgentClusterInstall"));
    };
    let Some(Document::ClusterImageSet(image_set)) = first(&files.cluster_image_set_file)? else {
        return Err(no(&files.cluster_image_set_file, "ClusterImageSet"));
    };
    let mut secret = pull_secret(&files.pull_secret_file)?;
    secret.metadata.namespace.clone_from(&deployment.metadata.namespace);
    deployment.spec.pull_secret_ref =
        Some(LocalObjectReference { name: secret.metadata.name.clone().unwrap_or_default() });
    install.spec.image_set_ref =
        Some(ClusterImageSetReference { name: image_set.metadata.name.clone().unwrap_or_default() });
    let mut set = objects::Manifests::default();
    add(&mut set, Document::Secret(secret))?;
    add(&mut set, Document::ClusterImageSet(image_set))?;
    Ok((*deployment, *install, set))
}

fn pull_secret(path: &Path) -> Result<Box<k8s_openapi::api::core::v1::Secret>, Failure> {
    match documents(path)?.into_iter().next() {
        Some(Document::Secret(secret)) => Ok(secret),
        _ => Err(no(path, "Secret")),
    }
}

fn add(set: &mut objects::Manifests, document: Document) -> Result<(), Failure> {
    set.add(document).map_err(|error| Failure::Usage(error.to_string()))
}

fn no(path: &Path, kind: &str) -> Failure {
    Failure::Usage(format!("{} does not begin with an object of the kind {kind}", path.display()))
}

/// Each NMStateConfig is for the InfraEnv, and says so by the same labels.
fn check_labels(
    infra_env: &assisted_crd::agent_install::infra_env::InfraEnv,
    set: &objects::Manifests,
) -> Result<(), Failure> {
    let selector = infra_env.spec.nmstate_config_label_selector.as_ref();
    let wanted = selector.and_then(|selector| selector.match_labels.as_ref());
    for config in set.all_nmstate_configs() {
        let labels = config.metadata.labels.as_ref();
        if labels.is_none_or(BTreeMap::is_empty) || labels != wanted {
            return Err(Failure::Usage(format!(
                "NMStateConfig {}: its labels are not those of the InfraEnv's nmStateConfigLabelSelector",
                config.metadata.name.as_deref().unwrap_or_default()
            )));
        }
    }
    Ok(())
}

fn read_operators(path: &Path) -> Result<Option<Vec<OperatorCreateParams>>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let read = serde_yaml_ng::from_str(&file(path)?);
    read.map(Some).map_err(|error| {
        Failure::Usage(format!(
            "{} is no list of operators, each with name and properties: {error}",
            path.display()
        ))
    })
}

/// Adds the manifests of a folder; what is there already has to be the same.
async fn extra_manifests(client: &Client, cluster: &Cluster, dir: &Path) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::Usage(format!("can't read {}: {error}", dir.display()));
    if !dir.exists() {
        return Ok(());
    }
    let there = client.list_manifests(cluster.id).await?;
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if extension.starts_with('y') && extension.ends_with("ml") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    for path in paths {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let content = fs::read(&path).map_err(unreadable)?;
        if there.iter().any(|there| there.folder == Some(FOLDER) && there.file_name == file_name) {
            if client.has_manifest(cluster.id, FOLDER, &file_name, &content).await? {
                continue;
            }
            return Err(Failure::Refused(format!(
                "the cluster has another manifest {file_name} than {}",
                path.display()
            )));
        }
        let params =
            CreateManifestParams { folder: Some(FOLDER), file_name, content: STANDARD.encode(&content) };
        client.create_manifest(cluster.id, &params).await?;
    }
    Ok(())
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let read = serde_json::from_str(&file(path)?);
    read.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}
