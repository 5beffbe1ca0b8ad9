//! An installed node boots the discovery image again by itself: an agent is started on it that does so (kube-api §6.4.3).

mod objects;

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_service::TokenResource;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, Client, ResourceExt};

use self::objects::{
    ACCOUNT, CONFIG, NAMESPACE, Wanted, account, config, daemon_set, daemon_set_name, namespace, role,
    role_binding, secret, secret_name,
};
use super::apply::apply;
use crate::SyncError;
use crate::controllers::hub::Shared;

impl Shared {
    /// Starts an agent on the node of a host that leaves the cluster of an object.
    ///
    /// # Errors
    /// It can't be started: the host has to be booted by somebody else.
    pub(in crate::controllers) async fn reclaim(
        &self,
        cluster: &ObjectKey,
        host: HostKey,
        node: &str,
    ) -> Result<(), SyncError> {
        let settings = self.service.settings();
        let token = self.service.access().token(TokenResource::InfraEnv(host.infra_env_id)).await;
        let token = token.map_err(|error| SyncError::from(&error))?;
        let authority = match settings.http.service_ca_cert_path.as_str() {
            "" => String::new(),
            path => tokio::fs::read_to_string(path).await.map_err(|error| {
                SyncError::backend(format!("SERVICE_CA_CERT_PATH can't be read: {error}"))
            })?,
        };
        let wanted = Wanted {
            host,
            node: node.to_owned(),
            node_uid: String::new(),
            image: settings.images.agent.clone(),
            service_url: settings.http.service_base_url.clone(),
            insecure: settings.http.skip_cert_verification,
            token: token.unwrap_or_default().into(),
            authority,
        };
        let started = self.in_spoke(cluster, |client| start(client, wanted)).await;
        started.map_err(|error| SyncError::from(&error))
    }
}

async fn start(client: Client, mut wanted: Wanted) -> Result<(), kube::Error> {
    let node = Api::<Node>::all(client.clone()).get(&wanted.node).await?;
    wanted.node_uid = node.uid().unwrap_or_default();
    apply::<Namespace>(&Api::all(client.clone()), NAMESPACE, namespace()).await?;
    apply::<ServiceAccount>(&Api::namespaced(client.clone(), NAMESPACE), ACCOUNT, account()).await?;
    apply::<Role>(&Api::namespaced(client.clone(), NAMESPACE), ACCOUNT, role()).await?;
    apply::<RoleBinding>(&Api::namespaced(client.clone(), NAMESPACE), ACCOUNT, role_binding()).await?;
    let name = secret_name(wanted.host.infra_env_id);
    apply::<Secret>(&Api::namespaced(client.clone(), NAMESPACE), &name, secret(&wanted)).await?;
    if let Some(config) = config(&wanted) {
        apply::<ConfigMap>(&Api::namespaced(client.clone(), NAMESPACE), CONFIG, config).await?;
    }
    let name = daemon_set_name(&wanted.node);
    apply::<DaemonSet>(&Api::namespaced(client, NAMESPACE), &name, daemon_set(&wanted)).await
}
