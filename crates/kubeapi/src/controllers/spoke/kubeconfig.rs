//! Where the credentials of a cluster are (kube-api §3.7).

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::labels::label;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

/// The Secret with the kubeconfig of a cluster; that of a cluster whose object is gone is called as those that are made here.
pub(in crate::controllers) fn secret_of(
    key: &ObjectKey,
    deployment: Option<&ClusterDeployment>,
) -> ObjectKey {
    let metadata = deployment.and_then(|deployment| deployment.spec.cluster_metadata.as_ref());
    let given = metadata.map(|metadata| metadata.admin_kubeconfig_secret_ref.name.as_str());
    let name = match given.filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("{}-admin-kubeconfig", key.name),
    };
    ObjectKey::new(&key.namespace, name)
}

/// Where the API of a cluster is whose control plane is hosted in this one; `None`: where its kubeconfig says.
pub(super) fn server_of(key: &ObjectKey, deployment: Option<&ClusterDeployment>) -> Option<String> {
    let is_hosted =
        deployment.is_some_and(|deployment| deployment.labels().contains_key(label::AGENT_CLUSTER_REF));
    is_hosted.then(|| format!("https://kube-apiserver.{}.svc:6443", key.namespace))
}

/// The kubeconfig in a Secret.
///
/// # Errors
/// There is none, in words for a condition.
pub(super) fn text_of(key: &ObjectKey, secret: &Secret) -> Result<String, String> {
    let data = secret.data.as_ref().filter(|data| !data.is_empty());
    let data = data.ok_or_else(|| format!("secret '{key}' is empty"))?;
    let text = data.get("kubeconfig").map(|value| value.0.clone());
    let text = text.ok_or_else(|| format!("secret '{key}' doesn't contain the 'kubeconfig' key"))?;
    String::from_utf8(text).map_err(|_| format!("the kubeconfig of secret '{key}' is no text"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_where_the_object_says() {
        let key = ObjectKey::new("site", "demo");
        let object = |labels: serde_json::Value, name: &str| -> ClusterDeployment {
            serde_json::from_value(json!({
                "metadata": {"name": "demo", "namespace": "site", "labels": labels},
                "spec": {"clusterMetadata": {"adminKubeconfigSecretRef": {"name": name}}, "platform": {}},
            }))
            .unwrap()
        };
        assert_eq!(secret_of(&key, None), ObjectKey::new("site", "demo-admin-kubeconfig"));
        assert_eq!(
            secret_of(&key, Some(&object(json!({}), ""))),
            ObjectKey::new("site", "demo-admin-kubeconfig")
        );
        assert_eq!(secret_of(&key, Some(&object(json!({}), "own"))), ObjectKey::new("site", "own"));
        assert_eq!(server_of(&key, Some(&object(json!({}), "own"))), None);
        let hosted = object(json!({"agentClusterRef": ""}), "own");
        assert_eq!(server_of(&key, Some(&hosted)).unwrap(), "https://kube-apiserver.site.svc:6443");
    }

    #[test]
    fn a_secret_without_a_kubeconfig_says_so() {
        let key = ObjectKey::new("site", "own");
        let secret = |entries: &[(&str, &[u8])]| Secret {
            data: Some(
                entries
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), ByteString(value.to_vec())))
                    .collect::<BTreeMap<_, _>>(),
            ),
            ..Secret::default()
        };
        assert_eq!(text_of(&key, &secret(&[])).unwrap_err(), "secret 'site/own' is empty");
        assert_eq!(
            text_of(&key, &secret(&[("value", b"x")])).unwrap_err(),
            "secret 'site/own' doesn't contain the 'kubeconfig' key"
        );
        assert!(text_of(&key, &secret(&[("kubeconfig", &[0xff])])).is_err());
        assert_eq!(text_of(&key, &secret(&[("kubeconfig", b"x")])).unwrap(), "x");
    }
}
