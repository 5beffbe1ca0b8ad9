//! Work in the clusters that the hub installed, by the connections that are kept.

use std::time::Duration;

use assisted_base::error::chain;
use assisted_core::model::object_key::ObjectKey;
use assisted_kube::client::from_foreign_text;
use kube::{Client, ResourceExt};
use tokio::time::{Instant, timeout};

use super::connections::{Connection, LIMIT, SpokeError};
use super::kubeconfig::{secret_of, server_of, text_of};
use crate::controllers::cache::get;
use crate::controllers::hub::Shared;

/// How long nothing at all may come from a cluster's API.
const SILENCE: Duration = Duration::from_secs(20);

impl Shared {
    /// Does a piece of work in a cluster, within a time limit.
    ///
    /// # Errors
    /// The cluster's credentials are not there or make no sense, or it is away, or refuses.
    pub(in crate::controllers) async fn in_spoke<T, F>(
        &self,
        key: &ObjectKey,
        work: impl FnOnce(Client) -> F,
    ) -> Result<T, SpokeError>
    where
        F: Future<Output = Result<T, kube::Error>>,
    {
        let deployment = get(&self.cache.cluster_deployments, key);
        let secret_key = secret_of(key, deployment.as_deref());
        let secret = self.secret(&secret_key).await.map_err(|error| SpokeError::Hub(Box::new(error)))?;
        let secret = secret.ok_or_else(|| SpokeError::NoSecret(secret_key.clone()))?;
        let version = (secret.uid(), secret.resource_version());
        let server = server_of(key, deployment.as_deref());
        let client = match self.spokes.kept(key, &version, server.as_deref())? {
            Some(client) => client,
            None => {
                let text = text_of(&secret_key, &secret).map_err(SpokeError::Unusable)?;
                let client = from_foreign_text(&text, server.as_deref(), SILENCE).await;
                let client = client.map_err(|error| {
                    SpokeError::Unusable(format!("secret '{secret_key}': {}", chain(&error)))
                })?;
                let connection = Connection {
                    secret: version.clone(),
                    server,
                    client: client.clone(),
                    used: Instant::now(),
                };
                self.spokes.keep(key, connection);
                client
            }
        };
        let away = |text: String| {
            self.spokes.is_away(key, version.clone(), &text);
            SpokeError::Away(text)
        };
        match timeout(LIMIT, work(client)).await {
            Ok(Ok(done)) => {
                self.spokes.is_there(key);
                Ok(done)
            }
            Ok(Err(error @ kube::Error::Api(_))) => {
                self.spokes.is_there(key);
                Err(SpokeError::Refused(Box::new(error)))
            }
            Ok(Err(error)) => Err(away(chain(&error))),
            Err(_) => Err(away(format!("no answer within {} s", LIMIT.as_secs()))),
        }
    }
}
