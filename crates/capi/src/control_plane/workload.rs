//! Connections to clusters that are installed, by their kubeconfigs; each is kept as long as its kubeconfig is the same.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_core::model::object_key::ObjectKey;
use assisted_kube::client::from_foreign_text;
use assisted_wire::secret::Secret;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::timeout;

/// How long nothing at all may come from a cluster.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a question may take.
const LIMIT: Duration = Duration::from_secs(30);

/// All of them, by their control planes.
#[derive(Default)]
pub(super) struct Workloads(Mutex<BTreeMap<ObjectKey, (Secret, Client)>>);

impl Workloads {
    /// A connection to a cluster.
    pub(super) async fn client(&self, key: &ObjectKey, kubeconfig: &Secret) -> Result<Client, String> {
        if let Some((known, client)) = self.0.lock().get(key)
            && known.expose() == kubeconfig.expose()
        {
            return Ok(client.clone());
        }
        let client = from_foreign_text(kubeconfig.expose(), None, SILENCE).await;
        let client = client.map_err(|error| format!("the kubeconfig of the cluster: {}", chain(&error)))?;
        self.0.lock().insert(key.clone(), (kubeconfig.clone(), client.clone()));
        Ok(client)
    }

    /// Forgets a cluster that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// Whether the API of a cluster takes requests.
pub(super) async fn is_ready(client: &Client) -> Result<(), String> {
    let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
    limited(client.request_text(request)).await.map(drop)
}

/// Waits for an answer, but not for ever.
pub(super) async fn limited<T>(asked: impl Future<Output = Result<T, kube::Error>>) -> Result<T, String> {
    match timeout(LIMIT, asked).await {
        Ok(answer) => answer.map_err(|error| format!("the API of the cluster: {}", chain(&error))),
        Err(_) => Err("the API of the cluster does not answer".to_owned()),
    }
}
