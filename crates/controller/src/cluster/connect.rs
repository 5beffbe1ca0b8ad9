//! Credentials for the cluster's API, and the proxies that the cluster uses.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::{PROXY, text};
use crate::error::CredentialsError;

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
pub(crate) async fn connect(bootstrap: &Path) -> Result<Client, CredentialsError> {
    if bootstrap.exists() {
        return of_kubeconfig(bootstrap).await;
    }
    client(Config::incluster().map_err(Box::new)?)
}

/// The API with the credentials of a kubeconfig.
pub(crate) async fn of_kubeconfig(path: &Path) -> Result<Client, CredentialsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CredentialsError::Read { path: path.to_owned(), source })?;
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(Box::new)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    client(config.map_err(Box::new)?)
}

fn client(mut config: Config) -> Result<Client, CredentialsError> {
    config.connect_timeout = Some(SILENCE / 2);
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    config.write_timeout = Some(SILENCE);
    Ok(Client::try_from(config)?)
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
