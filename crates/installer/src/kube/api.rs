//! Calls to a cluster's API.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{BodyError, Proxies, Trust, TrustError, authorities, builder, identity, read};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Url};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::NAMESPACE;
use super::kubeconfig::{Kubeconfig, KubeconfigError, User};
use super::object::{ConfigMap, List, Node, Pod};

/// How long nobody may confirm what was sent. The API's address moves from host to host, this one among them: what was
/// sent to where it was is lost, and nobody says so.
const UNCONFIRMED: Duration = Duration::from_secs(5);
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Longest answer that is read, in bytes: a list of nodes, or an hour of a log.
const LONGEST: usize = 64 << 20;
/// How the pods of the controller's job are found.
const CONTROLLER: &str = "job-name=assisted-installer-controller";
const CONTROLLER_NAME: &str = "assisted-installer-controller";

/// Why a cluster gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error("the cluster's address {0:?} can't be used")]
    Address(String),
    #[error("the certificates or the key of the kubeconfig can't be used: {0}")]
    Trust(#[from] TrustError),
    #[error("can't speak with the cluster: {}", chain(.0))]
    Http(#[from] reqwest::Error),
    #[error("the cluster refuses {path}: status {status}: {text}")]
    Refused { path: String, status: u16, text: String },
    #[error("the cluster's answer to {path} is longer than {LONGEST} bytes")]
    TooLong { path: String },
    #[error("the cluster's answer to {path} can't be read: {source}")]
    Malformed { path: String, source: serde_json::Error },
}

/// A cluster's API.
#[derive(Clone, Debug)]
pub struct Api {
    http: Client,
    server: Url,
}

impl Api {
    /// The API that a kubeconfig names.
    ///
    /// # Errors
    /// When its certificates, key or token can't be used.
    pub fn new(config: &Kubeconfig) -> Result<Self, KubeError> {
        let server = Url::parse(&config.server).ok().filter(|url| url.scheme() == "https" && url.has_host());
        let server = server.ok_or_else(|| KubeError::Address(config.server.clone()))?;
        let trust = Trust::Only(authorities(&config.authority)?);
        let builder = builder(crate::USER_AGENT, trust, &Proxies::FromEnvironment)?.timeout(LIMIT);
        // Each request finds out where the address is.
        let builder = builder.pool_max_idle_per_host(0).tcp_user_timeout(UNCONFIRMED);
        let builder = match &config.user {
            User::Certificate(pem) => builder.identity(identity(pem.expose().as_bytes())?),
            User::Token(token) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
                let mut value = value.map_err(|_| KubeconfigError::Missing("credential"))?;
                value.set_sensitive(true);
                builder.default_headers(HeaderMap::from_iter([(AUTHORIZATION, value)]))
            }
        };
        Ok(Self { http: builder.build()?, server })
    }

    pub(super) async fn nodes(&self, label: &str) -> Result<Vec<Node>, KubeError> {
        let list: List<Node> = self.get("/api/v1/nodes", &[("labelSelector", label)]).await?;
        Ok(list.items)
    }

    pub(super) async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, KubeError> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        let found: Option<ConfigMap> = there(self.get(&path, &[]).await)?;
        Ok(found.map(|found| found.data))
    }

    /// Changes what a config map holds under some keys.
    ///
    /// # Errors
    /// When the cluster refuses, or gives no answer.
    pub async fn change_config_map(
        &self,
        namespace: &str,
        name: &str,
        data: &BTreeMap<&str, String>,
    ) -> Result<(), KubeError> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        let request = self.http.request(Method::PATCH, self.url(&path, &[])?);
        let request = request.header(CONTENT_TYPE, "application/merge-patch+json");
        self.answer(&path, request.body(json!({ "data": data }).to_string())).await.map(drop)
    }

    pub(super) async fn has_event(&self, namespace: &str, name: &str) -> Result<bool, KubeError> {
        let path = format!("/api/v1/namespaces/{namespace}/events/{name}");
        Ok(there(self.get::<Value>(&path, &[]).await)?.is_some())
    }

    pub(super) async fn has_machine_config(&self, name: &str) -> Result<bool, KubeError> {
        let path = format!("/apis/machineconfiguration.openshift.io/v1/machineconfigs/{name}");
        Ok(there(self.get::<Value>(&path, &[]).await)?.is_some())
    }

    pub(super) async fn remove_taint(&self, node: &Node, key: &str) -> Result<(), KubeError> {
        let Some(index) = node.taint(key) else { return Ok(()) };
        // The list may have changed since it was read: then another taint would go.
        let patch = json!([
            {"op": "test", "path": format!("/spec/taints/{index}/key"), "value": key},
            {"op": "remove", "path": format!("/spec/taints/{index}")},
        ]);
        let path = format!("/api/v1/nodes/{}", node.name());
        let request = self.http.request(Method::PATCH, self.url(&path, &[])?);
        let request = request.header(CONTENT_TYPE, "application/json-patch+json").body(patch.to_string());
        self.answer(&path, request).await.map(drop)
    }

    pub(super) async fn controller_log(&self, seconds: u32) -> Result<Option<Vec<u8>>, KubeError> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        let pods: List<Pod> = self.get(&path, &[("labelSelector", CONTROLLER)]).await?;
        let pod = pods.items.into_iter().find(|pod| pod.metadata.name.starts_with(CONTROLLER_NAME));
        let Some(pod) = pod.filter(|pod| pod.status.phase == "Running") else { return Ok(None) };
        let path = format!("{path}/{}/log", pod.metadata.name);
        let request = self.http.get(self.url(&path, &[("sinceSeconds", &seconds.to_string())])?);
        self.answer(&path, request).await.map(Some)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, KubeError> {
        let body = self.answer(path, self.http.get(self.url(path, query)?)).await?;
        serde_json::from_slice(&body).map_err(|source| KubeError::Malformed { path: path.to_owned(), source })
    }

    /// An address below the server's. Names in it come from the cluster, and stay one segment each.
    fn url(&self, path: &str, query: &[(&str, &str)]) -> Result<Url, KubeError> {
        let mut url = self.server.clone();
        let segments = path.split('/').filter(|part| !part.is_empty());
        let safe = !path.split('/').any(|part| matches!(part, "." | ".."));
        let Some(mut to) = url.path_segments_mut().ok().filter(|_| safe) else {
            return Err(KubeError::Address(path.to_owned()));
        };
        to.pop_if_empty().extend(segments);
        drop(to);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    async fn answer(&self, path: &str, request: reqwest::RequestBuilder) -> Result<Vec<u8>, KubeError> {
        let mut answer = request.send().await?;
        let body = read(&mut answer, LONGEST).await.map_err(|error| match error {
            BodyError::TooLong(_) => KubeError::TooLong { path: path.to_owned() },
            BodyError::Broken(error) => KubeError::Http(error),
        })?;
        if answer.status().is_success() {
            return Ok(body);
        }
        let text = String::from_utf8_lossy(&body[..body.len().min(512)]).into_owned();
        Err(KubeError::Refused { path: path.to_owned(), status: answer.status().as_u16(), text })
    }
}

/// What is there, or that it isn't.
fn there<T>(answer: Result<T, KubeError>) -> Result<Option<T>, KubeError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(KubeError::Refused { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
