//! Setting a client up: address, trust, credentials, limits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_base::http::{self, Proxies, Trust};
use assisted_wire::operation::Scheme;
use assisted_wire::secret::Secret;
use reqwest::header::HeaderValue;

use crate::base_url::BaseUrl;
use crate::build_error::BuildError;
use crate::retry::RetryPolicy;

/// A connection to one service. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) base: BaseUrl,
    pub(crate) credentials: Vec<(Scheme, Secret)>,
    pub(crate) retry: RetryPolicy,
    pub(crate) longest_answer: usize,
}

impl Client {
    /// Begins a client of the service at `base_url`; see [`BaseUrl`] for the spellings.
    pub fn builder(base_url: &str) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.to_owned(),
            ca_file: None,
            insecure: false,
            proxies: Proxies::default(),
            connect_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(300),
            user_agent: concat!("assisted-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            credentials: Vec::new(),
            retry: RetryPolicy::default(),
            longest_answer: 64 << 20,
        }
    }

    /// The address below which requests go.
    pub fn base_url(&self) -> &BaseUrl {
        &self.shared.base
    }
}

/// Settings of a [`Client`].
#[derive(Debug)]
pub struct ClientBuilder {
    base_url: String,
    ca_file: Option<PathBuf>,
    insecure: bool,
    proxies: Proxies,
    connect_timeout: Duration,
    timeout: Duration,
    user_agent: String,
    credentials: Vec<(Scheme, Secret)>,
    retry: RetryPolicy,
    longest_answer: usize,
}

impl ClientBuilder {
    /// Certificates (PEM) trusted besides the system's.
    pub fn ca_file(mut self, path: impl AsRef<Path>) -> Self {
        self.ca_file = Some(path.as_ref().to_owned());
        self
    }

    /// Whether any certificate is accepted; only for trying things out.
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Whether `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` count; they do unless told otherwise.
    pub fn proxy_from_env(mut self, on: bool) -> Self {
        if !matches!(self.proxies, Proxies::Given { .. }) {
            self.proxies = if on { Proxies::FromEnvironment } else { Proxies::None };
        }
        self
    }

    /// Proxies instead of those of the environment: for plain HTTP, for HTTPS, and what is reached without one, in the form
    /// of `NO_PROXY`. Those that are empty change nothing.
    pub fn proxies(mut self, http: &str, https: &str, except: &str) -> Self {
        if !(http.is_empty() && https.is_empty()) {
            let [http, https, none_for] = [http, https, except].map(str::to_owned);
            self.proxies = Proxies::Given { http, https, none_for };
        }
        self
    }

    /// Limit for a connection to stand; 30 s unless told otherwise.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Limit for a request with its answer; 5 min unless told otherwise. Downloads have none.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Text of the header `User-Agent`.
    pub fn user_agent(mut self, text: &str) -> Self {
        text.clone_into(&mut self.user_agent);
        self
    }

    /// A credential for one scheme; it is sent with the operations that accept the scheme. Where an operation accepts
    /// several, the first in the contract's order that is known is sent.
    pub fn credential(mut self, scheme: Scheme, token: Secret) -> Self {
        self.credentials.retain(|(known, _)| *known != scheme);
        self.credentials.push((scheme, token));
        self
    }

    /// Token of a person or a user interface.
    pub fn user_token(self, token: Secret) -> Self {
        self.credential(Scheme::User, token)
    }

    /// Token of an agent, an installer or a controller.
    pub fn agent_token(self, token: Secret) -> Self {
        self.credential(Scheme::Agent, token)
    }

    /// Token of a monitor.
    pub fn watcher_token(self, token: Secret) -> Self {
        self.credential(Scheme::Watcher, token)
    }

    /// When and how often requests are repeated.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Longest JSON answer that is read, in bytes after decompression; 64 MiB unless told otherwise.
    pub fn longest_answer(mut self, bytes: usize) -> Self {
        self.longest_answer = bytes;
        self
    }

    /// Makes the client; the only input and output is reading certificates.
    pub fn build(self) -> Result<Client, BuildError> {
        let base: BaseUrl = self.base_url.parse()?;
        for (scheme, token) in &self.credentials {
            if HeaderValue::from_str(token.expose()).is_err() {
                return Err(BuildError::Token { scheme: scheme.name() });
            }
        }
        // A certificate that any would do for is still read: a file that is named has to be there.
        let authorities = self.ca_file.as_deref().map(http::authorities_of_file).transpose()?;
        let trust = match authorities {
            _ if self.insecure => Trust::Any,
            Some(authorities) => Trust::Also(authorities),
            None => Trust::System,
        };
        let http = http::builder(&self.user_agent, trust, &self.proxies)
            .map_err(BuildError::Proxy)?
            .connect_timeout(self.connect_timeout)
            .timeout(self.timeout)
            .pool_idle_timeout(Duration::from_secs(90))
            .tcp_keepalive(Duration::from_secs(30));
        Ok(Client {
            http: http.build().map_err(BuildError::Http)?,
            shared: Arc::new(Shared {
                base,
                credentials: self.credentials,
                retry: self.retry,
                longest_answer: self.longest_answer,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use assisted_base::http::TrustError;

    use super::*;

    #[test]
    fn a_ca_file_must_hold_a_certificate() {
        let build = |path: &str| Client::builder("https://host").ca_file(path).build();
        assert!(matches!(build("/does/not/exist"), Err(BuildError::Trust(TrustError::Read { .. }))));
        assert!(matches!(build("/dev/null"), Err(BuildError::Trust(TrustError::NoCertificate { .. }))));
    }

    #[test]
    fn tokens_stay_out_of_sight() {
        let token = Secret::from("very-secret");
        let client = Client::builder("http://host").user_token(token).build().unwrap();
        assert!(!format!("{client:?}").contains("very-secret"));
        let broken = Client::builder("http://host").agent_token(Secret::from("very\nsecret")).build();
        let error = broken.unwrap_err().to_string();
        assert!(error.contains("agentAuth") && !error.contains("very"), "{error}");
    }
}
