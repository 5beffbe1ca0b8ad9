//! The cluster as it is described, whoever the installer is: ClusterDeployment, AgentClusterInstall, and the manifests about mirrors
//! (capi-providers §10.6, §11, §14).

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::cluster_api::labels::{annotation, label};
use assisted_crd::cluster_api::machine_deployment::MachineDeployment;
use assisted_crd::cluster_api::openshift_assisted_control_plane::config::ControlPlaneConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::common::ManifestsConfigMapReference;
use assisted_crd::hive::cluster_deployment::{
    AgentBareMetal, ClusterDeployment, ClusterInstallReference, Platform,
};
use assisted_crd::hive_extensions::agent_cluster_install::{
    AgentClusterInstall, AgentClusterInstallSpec, ClusterImageSetReference, ClusterNetwork, ExternalPlatform,
    PlatformType, ProvisionRequirements,
};
use assisted_kube::cache::key;
use assisted_kube::error::optional;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use k8s_openapi::api::core::v1::{ConfigMap, LocalObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use super::image_registry::{self, AUTHORITIES, REGISTRIES};
use super::install_config;
use super::management_cluster::{KIND, ManagementCluster};
use crate::objects::{failed, owner};

/// Prefix length of what one node gets of the pods' networks.
const HOST_PREFIX: i32 = 23;
const HOST_PREFIX_V6: i32 = 64;
/// The one of those platforms that is never without its cloud controller manager, and how that is said.
const OCI: &str = "oci";
const MANAGED: &str = "External";
/// A cluster with half of its addresses would have none at all, which nobody means who wrote some.
const HALF: &str = "apiVIPs and ingressVIPs belong together: give both, and the cluster has these addresses; or neither, where a load \
                    balancer of yours stands before it";

/// What the description of a cluster is made of.
pub(super) struct Site<'a> {
    pub(super) plane: &'a OpenshiftAssistedControlPlane,
    pub(super) cluster: &'a Cluster,
    pub(super) pull_secret: &'a LocalObjectReference,
    /// The release by digest; none: it is not known yet.
    pub(super) release: Option<&'a str>,
    /// The ConfigMap with mirrors that the control plane names.
    pub(super) registries: Option<&'a ConfigMap>,
    /// Whether the installation has begun: what it was begun with can't be changed.
    pub(super) has_begun: bool,
}

impl Site<'_> {
    fn config(&self) -> ControlPlaneConfig {
        self.plane.spec.config.clone().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> String {
        self.plane.namespace().unwrap_or_default()
    }

    /// Labels of everything that is made for the control plane.
    fn labels(&self) -> BTreeMap<String, String> {
        labels(self.plane, &self.cluster.name_any())
    }
}

/// Labels of everything that is made for a control plane: those of its machines, and whose it is.
pub(super) fn labels(plane: &OpenshiftAssistedControlPlane, cluster: &str) -> BTreeMap<String, String> {
    let metadata = plane.spec.machine_template.metadata.clone().unwrap_or_default();
    let mut labels = metadata.labels;
    labels.insert(label::CLUSTER_NAME.to_owned(), cluster.to_owned());
    labels.insert(label::CONTROL_PLANE.to_owned(), String::new());
    labels.insert(label::CONTROL_PLANE_NAME.to_owned(), label_value(&plane.name_any()));
    labels
}

/// A name as the value of a label, which is shorter than a name may be.
pub(super) fn label_value(name: &str) -> String {
    const LONGEST: usize = 63;
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    // FNV-1a: a mark that tells one long name from another.
    let mark =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("hash_{mark:08x}_z")
}

/// How many hosts of each role the cluster is installed with, beside the control plane's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    pub(super) workers: i64,
    pub(super) arbiters: i64,
}

/// The machines of a cluster's MachineDeployments.
pub(super) fn others(deployments: &[Arc<MachineDeployment>]) -> Others {
    let mut others = Others::default();
    for deployment in deployments {
        let replicas = i64::from(deployment.spec.replicas.unwrap_or(1));
        let metadata = deployment.spec.template.metadata.as_ref();
        let is_arbiter = metadata.is_some_and(|metadata| metadata.labels.contains_key(label::ARBITER));
        *(if is_arbiter { &mut others.arbiters } else { &mut others.workers }) += replicas;
    }
    others
}

/// The same, of the copies.
pub(super) fn others_of(management: &ManagementCluster, cluster: &Cluster) -> Others {
    let of = key(cluster);
    others(&management.cache.deployments.state_filter(|deployment| {
        deployment.metadata.namespace.as_deref() == Some(&of.namespace)
            && deployment.spec.cluster_name == of.name
            && deployment.metadata.deletion_timestamp.is_none()
    }))
}

/// The name of the ClusterImageSet: it stands in no namespace, and no namespace has a dot in its name.
pub(super) fn image_set_name(plane: &OpenshiftAssistedControlPlane) -> String {
    format!("{}.{}", plane.namespace().unwrap_or_default(), plane.name_any())
}

fn install_reference(name: &str) -> ClusterInstallReference {
    ClusterInstallReference {
        group: "extensions.hive.openshift.io".to_owned(),
        version: "v1beta1".to_owned(),
        kind: "AgentClusterInstall".to_owned(),
        name: name.to_owned(),
    }
}

/// The ClusterDeployment as it is wanted. What a cluster is called can't change.
pub(super) fn deployment(site: &Site<'_>, before: Option<&ClusterDeployment>) -> ClusterDeployment {
    let name = site.plane.name_any();
    let mut after = before.cloned().unwrap_or_else(|| ClusterDeployment::new(&name, Default::default()));
    own(&mut after.metadata, site);
    after.spec.cluster_install_ref = Some(install_reference(&name));
    after.spec.pull_secret_ref = Some(site.pull_secret.clone());
    if before.is_none() {
        let config = site.config();
        after.spec.base_domain = config.base_domain;
        after.spec.cluster_name =
            if config.cluster_name.is_empty() { site.cluster.name_any() } else { config.cluster_name };
        after.spec.platform = Platform { agent_bare_metal: Some(AgentBareMetal::default()) };
    }
    after
}

/// Labels and owner of an object.
fn own(metadata: &mut ObjectMeta, site: &Site<'_>) {
    metadata.namespace.get_or_insert_with(|| site.namespace());
    metadata.labels.get_or_insert_default().extend(site.labels());
    let owners = metadata.owner_references.get_or_insert_default();
    if owners.is_empty() {
        owners.push(owner(site.plane, false));
    }
}

/// The ConfigMap with the manifests about mirrors, a cluster's own.
pub(super) async fn registry_manifests(
    management: &ManagementCluster,
    site: &Site<'_>,
    registries: &ConfigMap,
) -> Result<ManifestsConfigMapReference, Failure> {
    let data = registries.data.clone().unwrap_or_default();
    let conf = data.get(REGISTRIES).ok_or_else(|| {
        Failure::of_row(format!(
            "failed to find registry key [{REGISTRIES}] in configmap {}/{} for image registry configuration",
            registries.name_any(),
            site.namespace()
        ))
    })?;
    let manifests = image_registry::manifests(conf, data.get(AUTHORITIES).map(String::as_str));
    let manifests = manifests.map_err(Failure::of_row)?;
    let name = format!("{}-additional-registry-config", site.plane.name_any());
    let api: Api<ConfigMap> = management.api(&site.namespace());
    let before = optional(api.get(&name).await).map_err(|error| failed(&error))?;
    let mut after = before.clone().unwrap_or_default();
    after.metadata.name = Some(name.clone());
    own(&mut after.metadata, site);
    after.data = Some(manifests);
    let written = match &before {
        Some(before) => write::object(&api, before, &after, Guard::Version).await.map(drop),
        None => api.create(&PostParams::default(), &after).await.map(drop),
    };
    written.map_err(|error| failed(&error))?;
    Ok(ManifestsConfigMapReference { name })
}

/// The AgentClusterInstall as it is wanted.
pub(super) fn described(
    before: Option<&AgentClusterInstall>,
    site: &Site<'_>,
    others: Others,
    manifests: Vec<ManifestsConfigMapReference>,
) -> Result<AgentClusterInstall, String> {
    let name = site.plane.name_any();
    let mut object = before
        .cloned()
        .unwrap_or_else(|| AgentClusterInstall::new(&name, AgentClusterInstallSpec::default()));
    own(&mut object.metadata, site);
    let labels = object.metadata.labels.get_or_insert_default();
    labels.insert(label::CONSUMER.to_owned(), KIND.to_owned());
    if site.has_begun {
        return Ok(object);
    }
    let config = site.config();
    let annotations = site.plane.annotations();
    let external = annotations.get(annotation::EXTERNAL_PLATFORM).filter(|name| !name.is_empty());
    if config.api_vips.is_empty() != config.ingress_vips.is_empty() {
        return Err(HALF.to_owned());
    }
    let is_bare_metal = external.is_none() && !config.api_vips.is_empty() && !config.ingress_vips.is_empty();
    let written = annotations.get(annotation::INSTALL_CONFIG_OVERRIDE).map(String::as_str);
    let overrides = install_config::overrides(config.capabilities.as_ref(), is_bare_metal, written)?;
    let own_annotations = object.metadata.annotations.get_or_insert_default();
    match overrides {
        Some(overrides) => {
            own_annotations.insert(annotation::INSTALL_CONFIG_OVERRIDES.to_owned(), overrides);
        }
        None => {
            own_annotations.remove(annotation::INSTALL_CONFIG_OVERRIDES);
        }
    }
    let spec = &mut object.spec;
    spec.cluster_deployment_ref = LocalObjectReference { name };
    spec.image_set_ref = Some(ClusterImageSetReference { name: image_set_name(site.plane) });
    spec.provision_requirements = ProvisionRequirements {
        control_plane_agents: i64::from(site.plane.spec.replicas.unwrap_or_default()),
        worker_agents: Some(others.workers),
        arbiter_agents: (others.arbiters > 0).then_some(others.arbiters),
    };
    platform(spec, &config, is_bare_metal, external.map(String::as_str));
    networks(spec, site.cluster);
    spec.disk_encryption = config.disk_encryption;
    spec.masters_schedulable = config.masters_schedulable;
    spec.proxy = config.proxy;
    spec.ssh_public_key = config.ssh_authorized_key;
    spec.manifests_config_map_refs = config.manifests_config_map_refs;
    spec.manifests_config_map_refs.extend(manifests);
    Ok(object)
}

/// With addresses of its own a cluster is one on bare metal; without them somebody else balances its load.
fn platform(
    spec: &mut AgentClusterInstallSpec,
    config: &ControlPlaneConfig,
    is_bare_metal: bool,
    external: Option<&str>,
) {
    let (api, ingress) = if is_bare_metal {
        (config.api_vips.clone(), config.ingress_vips.clone())
    } else {
        (Vec::new(), Vec::new())
    };
    (spec.api_vips, spec.ingress_vips) = (api, ingress);
    spec.platform_type = Some(match external {
        Some(_) => PlatformType::External,
        None if is_bare_metal => PlatformType::BareMetal,
        None => PlatformType::None,
    });
    // Who asks the service itself, or a hub without its webhooks, has nobody who concludes it from the platform.
    let by_user = &mut spec.networking.user_managed_networking;
    if !is_bare_metal {
        *by_user = Some(true);
    } else if *by_user == Some(true) {
        *by_user = Some(false);
    }
    let before = spec.external.take().unwrap_or_default();
    spec.external = external.map(|name| ExternalPlatform {
        platform_name: name.to_owned(),
        cloud_controller_manager: if name == OCI {
            MANAGED.to_owned()
        } else {
            before.cloud_controller_manager
        },
    });
}

fn networks(spec: &mut AgentClusterInstallSpec, cluster: &Cluster) {
    let network = cluster.spec.cluster_network.clone().unwrap_or_default();
    let pods = network.pods.unwrap_or_default().cidr_blocks;
    let pods = pods.into_iter().map(|cidr| {
        let host_prefix = Some(if cidr.contains(':') { HOST_PREFIX_V6 } else { HOST_PREFIX });
        ClusterNetwork { cidr, host_prefix }
    });
    spec.networking.cluster_network = pods.collect();
    spec.networking.service_network = network.services.unwrap_or_default().cidr_blocks;
}

/// What is said of a cluster whose objects can't be made.
pub(super) fn refused(failure: &Failure) -> assisted_crd::condition::Statement {
    says::NOT_DESCRIBED.with(&[&failure.message])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn plane(config: &Value, annotations: &Value) -> OpenshiftAssistedControlPlane {
        serde_json::from_value(json!({
            "metadata": {"name": "plane", "namespace": "site", "uid": "u", "annotations": annotations},
            "spec": {"config": config, "replicas": 3, "machineTemplate": {"metadata": {"labels": {"a": "b"}}}},
        }))
        .unwrap()
    }

    fn of(
        plane: &OpenshiftAssistedControlPlane,
        before: Option<&AgentClusterInstall>,
        has_begun: bool,
        others: Others,
    ) -> AgentClusterInstall {
        tried(plane, before, has_begun, others).unwrap()
    }

    fn tried(
        plane: &OpenshiftAssistedControlPlane,
        before: Option<&AgentClusterInstall>,
        has_begun: bool,
        others: Others,
    ) -> Result<AgentClusterInstall, String> {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "cluster", "namespace": "site"},
            "spec": {"clusterNetwork": {"pods": {"cidrBlocks": ["172.18.0.0/20", "fd01::/48"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}}},
        })).unwrap();
        let pull_secret = LocalObjectReference::default();
        let site = Site {
            plane,
            cluster: &cluster,
            pull_secret: &pull_secret,
            release: None,
            registries: None,
            has_begun,
        };
        described(before, &site, others, vec![])
    }

    #[test]
    fn a_cluster_on_bare_metal_has_addresses_of_its_own() {
        let config = json!({
            "baseDomain": "example.com", "apiVIPs": ["192.0.2.1"], "ingressVIPs": ["192.0.2.2"], "mastersSchedulable": true,
            "diskEncryption": {"enableOn": "masters", "mode": "tpmv2"}, "proxy": {"httpProxy": "http://p"},
            "sshAuthorizedKey": "key", "manifestsConfigMapRefs": [{"name": "mine"}],
        });
        let made = of(&plane(&config, &json!({})), None, false, Others { workers: 2, arbiters: 0 });
        let mut spec = serde_json::to_value(&made.spec).unwrap();
        assert_eq!(
            spec.as_object_mut().unwrap().remove("networking").unwrap(),
            json!({
                "clusterNetwork": [{"cidr": "172.18.0.0/20", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
                "serviceNetwork": ["10.96.0.0/12"],
            })
        );
        assert_eq!(
            spec,
            json!({
                "apiVIPs": ["192.0.2.1"], "ingressVIPs": ["192.0.2.2"], "platformType": "BareMetal", "mastersSchedulable": true,
                "clusterDeploymentRef": {"name": "plane"}, "imageSetRef": {"name": "site.plane"},
                "provisionRequirements": {"controlPlaneAgents": 3, "workerAgents": 2},
                "diskEncryption": {"enableOn": "masters", "mode": "tpmv2"}, "proxy": {"httpProxy": "http://p"},
                "sshPublicKey": "key", "manifestsConfigMapRefs": [{"name": "mine"}],
            })
        );
        assert!(
            made.annotations()[annotation::INSTALL_CONFIG_OVERRIDES]
                .contains(r#""baselineCapabilitySet":"None""#)
        );
        assert_eq!(made.labels()["a"], "b");
        assert_eq!(made.labels()[label::CONSUMER], KIND);
        // Addresses that are taken away are no addresses any more, and neither is what followed from them.
        let bare = of(
            &plane(&json!({"baseDomain": "example.com"}), &json!({})),
            Some(&made),
            false,
            Others { workers: 0, arbiters: 1 },
        );
        assert_eq!(bare.spec.platform_type, Some(PlatformType::None));
        assert_eq!(bare.spec.networking.user_managed_networking, Some(true));
        assert!(
            bare.spec.api_vips.is_empty()
                && !bare.annotations().contains_key(annotation::INSTALL_CONFIG_OVERRIDES)
        );
        assert_eq!(bare.spec.provision_requirements.arbiter_agents, Some(1));
        let again = of(&plane(&config, &json!({})), Some(&bare), false, Others { workers: 2, arbiters: 0 });
        assert_eq!(again.spec.networking.user_managed_networking, Some(false));
        // What an installation was begun with stays.
        let begun = of(&plane(&json!({}), &json!({})), Some(&made), true, Others::default());
        assert_eq!(begun.spec, made.spec);
    }

    #[test]
    fn half_of_the_addresses_is_refused() {
        for config in [json!({"apiVIPs": ["192.0.2.1"]}), json!({"ingressVIPs": ["192.0.2.1"]})] {
            let refused = tried(&plane(&config, &json!({})), None, false, Others::default()).unwrap_err();
            assert!(refused.contains("give both"), "{refused}");
        }
    }

    #[test]
    fn a_platform_that_openshift_does_not_know_has_a_name() {
        let config = json!({"apiVIPs": ["192.0.2.1"], "ingressVIPs": ["192.0.2.2"]});
        let made = of(
            &plane(&config, &json!({annotation::EXTERNAL_PLATFORM: "oci"})),
            None,
            false,
            Others::default(),
        );
        assert_eq!(made.spec.platform_type, Some(PlatformType::External));
        let external = made.spec.external.unwrap();
        assert_eq!(
            (external.platform_name.as_str(), external.cloud_controller_manager.as_str()),
            ("oci", "External")
        );
        assert!(made.spec.api_vips.is_empty());
    }

    #[test]
    fn machines_are_counted_by_their_role() {
        let deployment = |spec: Value| {
            Arc::new(
                serde_json::from_value::<MachineDeployment>(json!({"metadata": {}, "spec": spec})).unwrap(),
            )
        };
        let arbiter = json!({"replicas": 1, "template": {"metadata": {"labels": {label::ARBITER: ""}}}});
        let all = [deployment(json!({"replicas": 2})), deployment(json!({})), deployment(arbiter)];
        assert_eq!(others(&all), Others { workers: 3, arbiters: 1 });
    }

    #[test]
    fn long_names_fit_into_labels() {
        assert_eq!(label_value("plane"), "plane");
        let (one, two) = (label_value(&"a".repeat(64)), label_value(&"a".repeat(65)));
        assert!(one != two && one.len() < 64, "{one} {two}");
    }
}
