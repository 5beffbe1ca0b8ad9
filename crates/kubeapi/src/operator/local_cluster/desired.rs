//! The objects by which the hub's own cluster takes in further hosts (kube-api §6.11).

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::config::proxy::ProxySpec;
use assisted_wire::secret::Secret;
use k8s_openapi::ByteString;
use kube::ResourceExt;
use serde_json::{Value, json};

/// The ClusterImageSet of the hub's release.
pub const IMAGE_SET: &str = "local-cluster-image-set";
/// The Secret with the registry credentials of the hub.
pub const PULL_SECRET: &str = "pull-secret";
/// All but the ClusterImageSet carry it, so that they are found again.
pub const LABEL: (&str, &str) = ("agent-install.openshift.io/local-cluster-import", "true");

/// What is known of the hub.
#[derive(Clone, Debug)]
pub struct Own {
    /// Name of the ManagedCluster that is the hub, and of the namespace of its objects.
    pub name: String,
    pub release_image: String,
    /// How its API is reached from outside.
    pub kubeconfig: Secret,
    pub pull_secret: Secret,
    /// Domain of the cluster, its name included.
    pub domain: String,
    pub proxy: ProxySpec,
    /// Nodes of the control plane.
    pub control_plane: usize,
}

/// The Secret with the kubeconfig of the hub.
pub fn kubeconfig_secret(name: &str) -> String {
    format!("{name}-admin-kubeconfig")
}

/// The objects, in the order in which they are made.
pub fn desired(own: &Own, config: &AgentServiceConfig) -> Vec<Value> {
    let (cluster_name, base_domain) = own.domain.split_once('.').unwrap_or((&own.domain, ""));
    let bytes = |secret: &Secret| ByteString(secret.expose().as_bytes().to_vec());
    let owner = json!([{
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig", "name": config.name_any(),
        "uid": config.uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    let metadata = |name: &str| json!({"name": name, "namespace": own.name, "labels": {(LABEL.0): LABEL.1}, "ownerReferences": owner});
    let proxy = json!({
        "httpProxy": own.proxy.http_proxy, "httpsProxy": own.proxy.https_proxy, "noProxy": own.proxy.no_proxy,
    });
    let mut install = json!({
        "clusterDeploymentRef": {"name": own.name}, "imageSetRef": {"name": IMAGE_SET},
        "networking": {"userManagedNetworking": true},
        "provisionRequirements": {"controlPlaneAgents": own.control_plane},
    });
    let has_proxy = !own.proxy.http_proxy.is_empty() || !own.proxy.https_proxy.is_empty();
    if has_proxy {
        install["proxy"] = proxy;
    }
    vec![
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet",
            "metadata": {"name": IMAGE_SET, "ownerReferences": owner},
            "spec": {"releaseImage": own.release_image},
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata(&kubeconfig_secret(&own.name)),
            "data": {"kubeconfig": bytes(&own.kubeconfig)},
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata(PULL_SECRET),
            "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": bytes(&own.pull_secret)},
        }),
        json!({
            "apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall",
            "metadata": metadata(&own.name), "spec": install,
        }),
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "metadata": metadata(&own.name),
            "spec": {
                "baseDomain": base_domain, "clusterName": cluster_name, "installed": true,
                "clusterMetadata": {
                    "clusterID": "", "infraID": "", "adminKubeconfigSecretRef": {"name": kubeconfig_secret(&own.name)},
                },
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall",
                    "name": own.name,
                },
                "platform": {"agentBareMetal": {"agentSelector": {"matchLabels": {"infraenv": "local-cluster"}}}},
                "pullSecretRef": {"name": PULL_SECRET},
            },
        }),
        json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": own.name, "namespace": own.name, "labels": {(LABEL.0): LABEL.1}},
            "spec": {"clusterRef": {"name": own.name, "namespace": own.name}, "pullSecretRef": {"name": PULL_SECRET}},
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_a_cluster_that_takes_in_hosts() {
        let mut config = AgentServiceConfig::default();
        config.metadata.name = Some("agent".to_owned());
        config.metadata.uid = Some("1".to_owned());
        let own = |proxy: ProxySpec| Own {
            name: "local-cluster".to_owned(),
            release_image: "release:1".to_owned(),
            kubeconfig: "{}".into(),
            pull_secret: "{}".into(),
            domain: "hub.example.com".to_owned(),
            proxy,
            control_plane: 3,
        };
        let objects = desired(&own(ProxySpec::default()), &config);
        let of = |objects: &[Value], kind: &str| {
            objects.iter().find(|object| object["kind"] == kind).cloned().unwrap()
        };
        let deployment = of(&objects, "ClusterDeployment");
        assert_eq!(
            (&deployment["spec"]["clusterName"], &deployment["spec"]["baseDomain"]),
            (&json!("hub"), &json!("example.com"))
        );
        assert_eq!(deployment["metadata"]["ownerReferences"][0]["controller"], true);
        let install = of(&objects, "AgentClusterInstall");
        assert_eq!(install["spec"]["provisionRequirements"]["controlPlaneAgents"], 3);
        assert!(install["spec"].get("proxy").is_none());
        assert!(of(&objects, "InfraEnv")["metadata"].get("ownerReferences").is_none());
        let proxy = ProxySpec { https_proxy: "http://p".to_owned(), ..ProxySpec::default() };
        let install = of(&desired(&own(proxy), &config), "AgentClusterInstall");
        assert_eq!(install["spec"]["proxy"]["httpsProxy"], "http://p");
    }
}
