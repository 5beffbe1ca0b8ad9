//! Registries, as the OCI distribution specification has them: pulling only.
//!
//! A client of its own, because what is read here is foreign: every answer is bounded, a pause that a registry asks for is
//! kept, a download goes on where it broke, and every failure says what it was.

pub(crate) mod authorize;
mod blob;
mod describe;
mod head;
pub(crate) mod manifest;
mod retry;
mod transport;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use assisted_base::http::{Addresses, BodyError, read};
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, RANGE};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use reqwest::Response;

use crate::error::{PullError, RegistryError};
use crate::mirror::{Mirrors, Source};
use crate::pull_secret::PullSecret;
use crate::reference::{Reference, Repository};
use authorize::Challenge;

pub use describe::Described;
pub(crate) use manifest::{Descriptor, Found, Manifest};
pub use retry::Retry;
pub use transport::Transport;

/// The way to all registries: what is trusted, which mirrors there are, how patient one is.
#[derive(Clone, Debug)]
pub struct Registries(Arc<RegistryClients>);

#[derive(Debug)]
struct RegistryClients {
    checked: reqwest::Client,
    unchecked: reqwest::Client,
    addresses: Addresses,
    mirrors: Mirrors,
    retry: Retry,
}

impl Registries {
    /// Makes the way to all registries.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Settings`] when certificates or proxies can't be used.
    pub fn new(transport: &Transport, mirrors: Mirrors, retry: Retry) -> Result<Self, RegistryError> {
        let addresses = Addresses::new(&transport.proxies);
        let clients = RegistryClients {
            checked: transport.client(false, &addresses)?,
            unchecked: transport.client(true, &addresses)?,
            addresses,
            mirrors,
            retry,
        };
        Ok(Self(Arc::new(clients)))
    }

    /// Speaks to registries with the credentials of one pull secret.
    pub fn session(&self, pull_secret: PullSecret) -> Session {
        Session(Arc::new(SessionInner { clients: Arc::clone(&self.0), pull_secret, known: Mutex::default() }))
    }

    /// The mirrors that are asked.
    pub fn mirrors(&self) -> &Mirrors {
        &self.0.mirrors
    }
}

/// Speaks to registries with the credentials of one pull secret.
#[derive(Clone, Debug)]
pub struct Session(Arc<SessionInner>);

#[derive(Debug)]
struct SessionInner {
    clients: Arc<RegistryClients>,
    pull_secret: PullSecret,
    known: Mutex<LearnedAccess>,
}

/// What was learned of registries.
#[derive(Debug, Default)]
struct LearnedAccess {
    headers: HashMap<Repository, HeaderValue>,
    /// Registries without TLS; none but insecure ones come in here.
    plain: HashMap<String, bool>,
}

/// Sources where something is asked for, one after the other.
#[derive(Debug)]
pub(crate) struct Sources {
    wanted: Reference,
    left: VecDeque<Source>,
    failures: Vec<PullError>,
}

impl Sources {
    pub(crate) fn new(wanted: &Reference, places: impl IntoIterator<Item = Source>) -> Self {
        Self { wanted: wanted.clone(), left: places.into_iter().collect(), failures: Vec::new() }
    }

    /// The next place.
    ///
    /// # Errors
    ///
    /// What the places answered, when there is none left.
    pub(crate) fn next(&mut self) -> Result<Source, PullError> {
        if let Some(source) = self.left.pop_front() {
            return Ok(source);
        }
        let mut failures = std::mem::take(&mut self.failures);
        match failures.pop() {
            Some(only) if failures.is_empty() => Err(only),
            last => {
                failures.extend(last);
                Err(PullError::new(&self.wanted, RegistryError::Everywhere(failures)))
            }
        }
    }

    /// A place does not have it.
    ///
    /// # Errors
    ///
    /// The problem, when it is none of the place.
    pub(crate) fn failed(&mut self, source: &Source, error: RegistryError) -> Result<(), PullError> {
        let failure = PullError::new(&source.reference, error);
        if !failure.cause.is_of_the_place() {
            return Err(failure);
        }
        tracing::debug!(error = %failure, "an image is not to be had here");
        self.failures.push(failure);
        Ok(())
    }
}

/// A part of a repository: `manifests/…`, `blobs/…`.
struct Get<'a> {
    path: String,
    /// Whether only that it is there is asked for, and not what it holds.
    head: bool,
    accept: Option<&'static str>,
    /// The byte from which on it is wanted.
    from: u64,
    source: &'a Source,
}

impl Session {
    fn retry(&self) -> &Retry {
        &self.0.clients.retry
    }

    /// The places where an image may be; `first` before all others.
    pub(crate) fn sources(&self, first: Option<&Source>, wanted: &Reference) -> Sources {
        let others = self.0.clients.mirrors.sources(wanted).into_iter().filter(|source| {
            first.is_none_or(|first| first.reference.repository != source.reference.repository)
        });
        Sources::new(wanted, first.cloned().into_iter().chain(others))
    }

    /// A text of a registry.
    async fn text(&self, ask: &Get<'_>, what: &'static str, limit: u64) -> Result<Vec<u8>, RegistryError> {
        let mut tries = self.retry().tries();
        loop {
            let error = match self.ask(ask).await {
                Ok(answer) => match body(answer, what, limit).await {
                    Ok(text) => return Ok(text),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            tries.again(error).await?;
        }
    }

    /// What a registry says of a part without giving it, if it has it.
    async fn head(&self, ask: &Get<'_>) -> Result<HeaderMap, RegistryError> {
        let mut tries = self.retry().tries();
        loop {
            match self.ask(ask).await {
                Ok(answer) => return Ok(answer.headers().clone()),
                Err(error) => tries.again(error).await?,
            }
        }
    }

    /// One answer of a registry: 200, or 206 when it was asked for a part.
    async fn ask(&self, ask: &Get<'_>) -> Result<Response, RegistryError> {
        let Source { reference, insecure } = ask.source;
        let repository = &reference.repository;
        let clients = &self.0.clients;
        let client = if *insecure { &clients.unchecked } else { &clients.checked };
        // The image's name was set by somebody.
        clients.addresses.allow(host(&repository.registry));
        let plain = *insecure && self.is_plain(client, &repository.registry).await;
        let scheme = if plain { "http" } else { "https" };
        let url = format!("{scheme}://{}/v2/{}/{}", repository.registry, repository.name, ask.path);
        let mut known = self.0.known.lock().headers.get(repository).cloned();
        let mut renewed = false;
        loop {
            let mut headers = HeaderMap::new();
            if let Some(authorization) = &known {
                headers.insert(AUTHORIZATION, authorization.clone());
            }
            if let Some(accept) = ask.accept {
                headers.insert(ACCEPT, HeaderValue::from_static(accept));
            }
            let request = if ask.head { client.head(&url) } else { client.get(&url) };
            let mut request = request.headers(headers);
            if ask.from > 0 {
                request = request.header(RANGE, format!("bytes={}-", ask.from));
            }
            let answer = request.send().await.map_err(|error| transport::failure(&error))?;
            match answer.status() {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => return Ok(answer),
                StatusCode::UNAUTHORIZED => {
                    let entry = self.0.pull_secret.find(repository);
                    let refused = || RegistryError::Credentials(entry.map(|(name, _)| name.to_owned()));
                    // What was known may have expired; what is fresh has not.
                    if renewed {
                        return Err(refused());
                    }
                    renewed = true;
                    let challenge = Challenge::read(answer.headers()).ok_or_else(refused)?;
                    let credentials = entry.map(|(_, credentials)| credentials);
                    let header = challenge
                        .answer(client, &clients.addresses, repository, credentials, *insecure)
                        .await?;
                    let header = header.ok_or_else(refused)?;
                    self.0.known.lock().headers.insert(repository.clone(), header.clone());
                    known = Some(header);
                }
                _ => return Err(transport::refusal(&answer)),
            }
        }
    }

    /// Whether an insecure registry has no TLS: found out once.
    async fn is_plain(&self, client: &reqwest::Client, registry: &str) -> bool {
        if let Some(plain) = self.0.known.lock().plain.get(registry) {
            return *plain;
        }
        let [secure, open] = ["https", "http"].map(|scheme| format!("{scheme}://{registry}/v2/"));
        let plain = client.get(secure).send().await.is_err() && client.get(open).send().await.is_ok();
        self.0.known.lock().plain.insert(registry.to_owned(), plain);
        plain
    }
}

/// The host of a registry: what stands before its port.
fn host(registry: &str) -> &str {
    match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => registry,
    }
}

/// What a URL holds, if it is not longer than `limit` bytes.
pub(crate) async fn fetch(
    client: &reqwest::Client,
    url: &url::Url,
    what: &'static str,
    limit: u64,
) -> Result<Vec<u8>, RegistryError> {
    let request = client.get(url.clone()).header(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = request.send().await.map_err(|error| transport::failure(&error))?;
    if answer.status() != StatusCode::OK {
        return Err(transport::refusal(&answer));
    }
    body(answer, what, limit).await
}

/// The body of an answer, if it is not too long.
async fn body(mut answer: Response, what: &'static str, limit: u64) -> Result<Vec<u8>, RegistryError> {
    read(&mut answer, usize::try_from(limit).unwrap_or(usize::MAX)).await.map_err(|error| match error {
        BodyError::TooLong(_) => RegistryError::TooLarge { what, limit },
        BodyError::Broken(error) => transport::failure(&error),
    })
}
