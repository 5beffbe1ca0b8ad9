//! Credentials for the cluster's API, and the proxies that the cluster uses.

use std::path::Path;
use std::time::Duration;

use assisted_kube::client::{Client, ConnectError, from_file, from_pod};

use super::{PROXY, text};

/// How long nothing at all may come from the API, or be taken by it. Its address moves from host to host while a cluster is
/// installed: whoever waits on a connection to where it was would wait for ever.
const SILENCE: Duration = Duration::from_secs(60);

/// The proxies of a cluster, empty where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proxies {
    pub(crate) http: String,
    pub(crate) https: String,
    pub(crate) except: String,
}

/// The API as the pod reaches it; on a single node by the credentials of its bootstrap.
pub(crate) async fn connect(bootstrap: &Path) -> Result<Client, ConnectError> {
    if bootstrap.exists() { of_kubeconfig(bootstrap).await } else { from_pod(SILENCE) }
}

/// The API with the credentials of a kubeconfig.
pub(crate) async fn of_kubeconfig(path: &Path) -> Result<Client, ConnectError> {
    from_file(path, SILENCE).await
}

/// The proxies that reach what is outside of the cluster.
pub(crate) async fn proxies(kube: &Client) -> Result<Proxies, kube::Error> {
    let proxy = PROXY.all(kube).get("cluster").await?;
    let of = |pointer| text(&proxy.data, pointer).to_owned();
    Ok(Proxies {
        http: of("/status/httpProxy"),
        https: of("/status/httpsProxy"),
        except: of("/status/noProxy"),
    })
}
