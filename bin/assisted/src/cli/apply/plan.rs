//! What the objects ask for, before anything is done.

use assisted_console::Failure;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kubeapi::cluster::{
    ClusterSpec, CustomManifest, Overrides, custom_manifests, install_of, overrides,
};
use assisted_kubeapi::host::HostSpec;
use assisted_kubeapi::infra_env::InfraEnvSpec;
use assisted_kubeapi::objects::Manifests;
use assisted_kubeapi::{SyncError, mirrors};

use assisted_wire::cluster_params::{ClusterCreateParams, ImportClusterParams};
use assisted_wire::mirror_registry::MirrorRegistry;

use super::report::named;

/// A cluster to be.
pub struct PlannedCluster<'a> {
    /// For people.
    pub object: String,
    pub spec: ClusterSpec<'a>,
    /// What makes it, if it is not there.
    pub request: Request,
    pub manifests: Vec<CustomManifest>,
    pub overrides: Overrides,
    /// Registries that stand in for others; none: whatever the cluster has.
    pub mirror_registry: Option<MirrorRegistry>,
}

/// What makes a cluster.
pub enum Request {
    Register(Box<ClusterCreateParams>),
    Import(ImportClusterParams),
}

/// An infra-env to be.
pub struct PlannedInfraEnv<'a> {
    /// For people.
    pub object: String,
    pub spec: InfraEnvSpec<'a>,
    /// The place of its cluster among the clusters; none when hosts wait in a pool.
    pub cluster: Option<usize>,
    /// Registries that stand in for others; none: whatever the infra-env has.
    pub mirror_registry: Option<MirrorRegistry>,
}

/// What is said of a host that registers with an infra-env.
pub struct PlannedHost<'a> {
    /// For people.
    pub object: String,
    pub spec: HostSpec<'a>,
    /// The place of its infra-env among the infra-envs.
    pub infra_env: usize,
}

/// All that is asked for; clusters before the infra-envs that refer to them.
pub struct Plan<'a> {
    pub clusters: Vec<PlannedCluster<'a>>,
    pub infra_envs: Vec<PlannedInfraEnv<'a>>,
    pub hosts: Vec<PlannedHost<'a>>,
}

impl<'a> Plan<'a> {
    /// # Errors
    /// [`Failure::Usage`] with the first object that is wrong, or asks for what the REST API can't give.
    pub fn new(manifests: &'a Manifests) -> Result<Self, Failure> {
        let mut clusters = Vec::new();
        let mut keys = Vec::new();
        for deployment in manifests.cluster_deployments() {
            let namespace = deployment.metadata.namespace.as_deref();
            let name = deployment.metadata.name.as_deref().unwrap_or_default();
            let object = named("ClusterDeployment", namespace, name);
            let wrong = |text: String| Failure::Usage(format!("{object}: {text}"));
            let Some(install) = install_of(deployment) else {
                return Err(wrong(
                    "spec.clusterInstallRef is no AgentClusterInstall, so nothing tells how to install it"
                        .into(),
                ));
            };
            let found = manifests.agent_cluster_install(namespace.unwrap_or_default(), install);
            let install = found
                .ok_or_else(|| wrong(format!("AgentClusterInstall {install:?} is not among the files")))?;
            let problem = |problem: SyncError| wrong(problem.to_string());
            let spec = ClusterSpec::resolve(deployment, install, manifests).map_err(problem)?;
            let request = if spec.installed() {
                Request::Import(spec.import(None).map_err(problem)?)
            } else {
                // The service knows the version of the release that is named.
                Request::Register(Box::new(spec.create("", None).map_err(problem)?))
            };
            let mirror_registry = install.spec.mirror_registry_ref.as_ref();
            clusters.push(PlannedCluster {
                spec,
                request,
                mirror_registry: mirrors(mirror_registry, manifests).map_err(problem)?,
                manifests: custom_manifests(install, manifests).map_err(problem)?,
                overrides: overrides(install).map_err(problem)?,
                object: object.clone(),
            });
            keys.push((namespace.unwrap_or_default(), name));
        }
        for install in manifests.agent_cluster_installs() {
            let namespace = install.metadata.namespace.as_deref();
            let deployment = &install.spec.cluster_deployment_ref.name;
            if manifests.cluster_deployment(namespace.unwrap_or_default(), deployment).is_none() {
                let name = install.metadata.name.as_deref().unwrap_or_default();
                let object = named("AgentClusterInstall", namespace, name);
                return Err(Failure::Usage(format!(
                    "{object}: ClusterDeployment {deployment:?} is not among the files"
                )));
            }
        }
        let mut infra_envs = Vec::new();
        for object in manifests.infra_envs() {
            infra_envs.push(infra_env(object, manifests, &keys)?);
        }
        let mut hosts = Vec::new();
        for object in manifests.bare_metal_hosts() {
            hosts.push(host(object, manifests)?);
        }
        Ok(Self { clusters, infra_envs, hosts })
    }
}

fn infra_env<'a>(
    infra_env: &'a InfraEnv,
    manifests: &'a Manifests,
    clusters: &[(&str, &str)],
) -> Result<PlannedInfraEnv<'a>, Failure> {
    let namespace = infra_env.metadata.namespace.as_deref();
    let object = named("InfraEnv", namespace, infra_env.metadata.name.as_deref().unwrap_or_default());
    let wrong = |text: String| Failure::Usage(format!("{object}: {text}"));
    let cluster = match &infra_env.spec.cluster_ref {
        None => None,
        Some(reference) => {
            let place = clusters.iter().position(|key| *key == (&*reference.namespace, &*reference.name));
            Some(place.ok_or_else(|| {
                wrong(format!(
                    "ClusterDeployment {}/{}, which its clusterRef names, is not among the files",
                    reference.namespace, reference.name
                ))
            })?)
        }
    };
    let problem = |problem: SyncError| wrong(problem.to_string());
    let spec = InfraEnvSpec::resolve(infra_env, manifests).map_err(problem)?;
    // Whether all of it can be said in a request, before the first one is sent.
    spec.create(None).map_err(problem)?;
    let mirror_registry = mirrors(infra_env.spec.mirror_registry_ref.as_ref(), manifests).map_err(problem)?;
    Ok(PlannedInfraEnv { spec, cluster, mirror_registry, object: object.clone() })
}

fn host<'a>(
    bare_metal_host: &'a BareMetalHost,
    manifests: &'a Manifests,
) -> Result<PlannedHost<'a>, Failure> {
    let namespace = bare_metal_host.metadata.namespace.as_deref();
    let name = bare_metal_host.metadata.name.as_deref().unwrap_or_default();
    let object = named("BareMetalHost", namespace, name);
    let wrong = |text: String| Failure::Usage(format!("{object}: {text}"));
    let spec = HostSpec::new(bare_metal_host).map_err(|problem| wrong(problem.to_string()))?;
    let infra_env = spec.infra_env().unwrap_or_default();
    let mut all = manifests.infra_envs();
    let found = all.position(|there| {
        there.metadata.namespace.as_deref() == namespace && there.metadata.name.as_deref() == Some(infra_env)
    });
    let infra_env = found.ok_or_else(|| {
        wrong(format!(
            "InfraEnv {infra_env:?}, which its label {} names, is not among the files",
            label::INFRA_ENV
        ))
    })?;
    Ok(PlannedHost { spec, infra_env, object: object.clone() })
}
