//! Credentials for the cluster's API, and the proxies that the cluster uses.

use std::path::Path;
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

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
    client(&Config::incluster().map_err(Box::new)?, None)
}

/// The API with the credentials of a kubeconfig.
pub(crate) async fn of_kubeconfig(path: &Path) -> Result<Client, CredentialsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CredentialsError::Read { path: path.to_owned(), source })?;
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(Box::new)?;
    let proxy = proxy_url(&kubeconfig).map(http_proxy).transpose()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    client(&config.map_err(Box::new)?, proxy)
}

/// The proxy that a kubeconfig names for the cluster of its current context. One that the environment names is for what is outside of
/// the cluster, and not for its API.
fn proxy_url(kubeconfig: &Kubeconfig) -> Option<&str> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == *current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.as_deref().filter(|url| !url.is_empty())
}

/// A proxy that is spoken to by plain HTTP, and wants to know nobody's name: every other kind is refused.
fn http_proxy(url: &str) -> Result<Uri, CredentialsError> {
    let proxy = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http"));
    let proxy =
        proxy.filter(|uri| uri.authority().is_some_and(|authority| !authority.as_str().contains('@')));
    proxy.ok_or(CredentialsError::Proxy)
}

/// A client as Kubernetes' own library makes it, but for the keepalive, for which that has no setting.
fn client(config: &Config, proxy: Option<Uri>) -> Result<Client, CredentialsError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVES));
    match proxy {
        Some(proxy) => connected(config, Tunnel::new(proxy, tcp)),
        None => connected(config, tcp),
    }
}

/// A client over connections of a kind, with TLS.
fn connected<C>(config: &Config, connector: C) -> Result<Client, CredentialsError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Connection + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
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
    Ok(Client::new(service, config.default_namespace.clone()))
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn kubeconfig(proxy: &str) -> String {
        format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}], \
             clusters: [{{name: c, cluster: {{server: 'http://api.example.invalid:6443', proxy-url: '{proxy}'}}}}]}}"
        )
    }

    #[tokio::test]
    async fn the_proxy_of_a_kubeconfig_leads_to_the_api() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), kubeconfig(&format!("http://{}", proxy.local_addr().unwrap()))).unwrap();
        let client = of_kubeconfig(path.path()).await.unwrap();
        let asking = tokio::spawn(async move { client.apiserver_version().await });
        let (mut stream, _) = proxy.accept().await.unwrap();
        let read = async |stream: &mut tokio::net::TcpStream| {
            let mut text = Vec::new();
            while !text.ends_with(b"\r\n\r\n") {
                text.push(stream.read_u8().await.unwrap());
            }
            String::from_utf8(text).unwrap()
        };
        let asked = read(&mut stream).await;
        assert!(asked.starts_with("CONNECT api.example.invalid:6443 HTTP/1.1\r\n"), "{asked}");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let asked = read(&mut stream).await;
        assert!(asked.starts_with("GET /version HTTP/1.1\r\n"), "{asked}");
        let version = r#"{"major": "1", "minor": "34", "gitVersion": "v1.34.4", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}"#;
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{version}",
            version.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        assert_eq!(asking.await.unwrap().unwrap().git_version, "v1.34.4");
    }

    #[tokio::test]
    async fn a_proxy_that_is_not_plain_http_is_refused() {
        for proxy in
            ["socks5://127.0.0.1:1080", "https://proxy:3128", "http://user:secret@proxy:3128", "proxy"]
        {
            let path = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(path.path(), kubeconfig(proxy)).unwrap();
            let error = of_kubeconfig(path.path()).await.err().unwrap();
            assert!(matches!(error, CredentialsError::Proxy), "{proxy}: {error}");
        }
    }
}
