//! The published definitions: of our kinds as they are installed, of others as tests install them.
//!
//! They are the published ones to the letter, but for what they say to people: names, schemas with their defaults, patterns
//! and rules, printer columns, subresources. Where control planes depart from that, so that a ClusterClass can make them, stands in
//! `docs/adr/0023-control-planes-of-a-class.md`; AgentClusterInstalls have a field for image mode (`docs/adr/0021-image-mode-at-installation.md`).
//! Both are in the list of the test that compares them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// Definitions of our kinds, in YAML.
pub const OURS: &[&str] = &[
    include_str!("../definitions/agent-install.openshift.io/agentclassifications.yaml"),
    include_str!("../definitions/agent-install.openshift.io/agents.yaml"),
    include_str!("../definitions/agent-install.openshift.io/agentserviceconfigs.yaml"),
    include_str!("../definitions/agent-install.openshift.io/hypershiftagentserviceconfigs.yaml"),
    include_str!("../definitions/agent-install.openshift.io/infraenvs.yaml"),
    include_str!("../definitions/agent-install.openshift.io/nmstateconfigs.yaml"),
    include_str!("../definitions/bootstrap.cluster.x-k8s.io/openshiftassistedconfigs.yaml"),
    include_str!("../definitions/bootstrap.cluster.x-k8s.io/openshiftassistedconfigtemplates.yaml"),
    include_str!("../definitions/controlplane.cluster.x-k8s.io/openshiftassistedcontrolplanes.yaml"),
    include_str!("../definitions/controlplane.cluster.x-k8s.io/openshiftassistedcontrolplanetemplates.yaml"),
    include_str!("../definitions/extensions.hive.openshift.io/agentclusterinstalls.yaml"),
];

/// Definitions of the kinds of others that are used here, in YAML.
pub const OTHERS: &[&str] = &[
    include_str!("../definitions/cluster.open-cluster-management.io/managedclusters.yaml"),
    include_str!("../definitions/cluster.x-k8s.io/clusters.yaml"),
    include_str!("../definitions/cluster.x-k8s.io/machinedeployments.yaml"),
    include_str!("../definitions/cluster.x-k8s.io/machines.yaml"),
    include_str!("../definitions/config.openshift.io/apiservers.yaml"),
    include_str!("../definitions/config.openshift.io/clusteroperators.yaml"),
    include_str!("../definitions/config.openshift.io/clusterversions.yaml"),
    include_str!("../definitions/config.openshift.io/imagedigestmirrorsets.yaml"),
    include_str!("../definitions/config.openshift.io/imagetagmirrorsets.yaml"),
    include_str!("../definitions/config.openshift.io/infrastructures.yaml"),
    include_str!("../definitions/config.openshift.io/proxies.yaml"),
    include_str!("../definitions/hive.openshift.io/clusterdeployments.yaml"),
    include_str!("../definitions/hive.openshift.io/clusterimagesets.yaml"),
    include_str!("../definitions/infrastructure.cluster.x-k8s.io/metal3clusters.yaml"),
    include_str!("../definitions/infrastructure.cluster.x-k8s.io/metal3clustertemplates.yaml"),
    include_str!("../definitions/infrastructure.cluster.x-k8s.io/metal3datatemplates.yaml"),
    include_str!("../definitions/infrastructure.cluster.x-k8s.io/metal3machines.yaml"),
    include_str!("../definitions/infrastructure.cluster.x-k8s.io/metal3machinetemplates.yaml"),
    include_str!("../definitions/machineconfiguration.openshift.io/machineconfigpools.yaml"),
    include_str!("../definitions/machineconfiguration.openshift.io/machineosbuilds.yaml"),
    include_str!("../definitions/machineconfiguration.openshift.io/machineosconfigs.yaml"),
    include_str!("../definitions/metal3.io/baremetalhosts.yaml"),
    include_str!("../definitions/metal3.io/preprovisioningimages.yaml"),
    include_str!("../definitions/metal3.io/provisionings.yaml"),
];

/// Reads definitions.
///
/// # Errors
/// One is none; those of [`OURS`] and [`OTHERS`] are.
pub fn read(texts: &[&str]) -> Result<Vec<CustomResourceDefinition>, serde_yaml_ng::Error> {
    texts.iter().map(|text| serde_yaml_ng::from_str(text)).collect()
}
