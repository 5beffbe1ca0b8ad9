//! Credentials for the cluster's API, and the proxies that the cluster uses.

use std::path::Path;
use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

use super::{PROXY, text};
use crate::error::CredentialsError;

/// How long nothing at all may come from the API, or be taken by it. Its address moves from host to host while a cluster is
/// installed: whoever waits on a connection to where it was would wait for ever.
const SILENCE: Duration = Duration::from_secs(60);
/// After so much of it, and then as often, the API is asked whether the connection is still there: watches are silent for long,
/// and a host that has just got the address knows nothing of them.
const KEEPALIVE: Duration = Duration::from_secs(5);
const KEEPALIVES: u32 = 3;

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

/// A client as Kubernetes' own library makes it, but for the keepalive, for which that has no setting.
fn client(config: Config) -> Result<Client, CredentialsError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVES));
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(Some(SILENCE / 2));
    connector.set_read_timeout(Some(SILENCE));
    connector.set_write_timeout(Some(SILENCE));
    connector.set_reset_reader_on_write(true);
    let http = HttpClient::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(RetryLayer::new(RetryPolicy::server_retry()))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
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
