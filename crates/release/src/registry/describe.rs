//! What a registry has under a name, by its own bytes; and whether it would take an image.

use std::collections::BTreeMap;

use http::header::{AUTHORIZATION, CONTENT_LENGTH, LOCATION};
use http::{HeaderValue, StatusCode};
use reqwest::Response;

use super::authorize::Challenge;
use super::manifest::Found;
use super::{Session, host, transport};
use crate::error::{PullError, RegistryError};
use crate::mirror::Source;
use crate::reference::{Digest, Reference, Repository};

/// An image as its manifest and its configuration tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Of the manifest's bytes.
    pub digest: Digest,
    /// In the words of Go: `amd64`.
    pub architecture: String,
    pub labels: BTreeMap<String, String>,
    /// Of all layers, as they are kept.
    pub bytes: u64,
}

impl Session {
    /// Reads what a name of a single image leads to. Asked for by digest, what comes has it.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`].
    pub async fn describe(&self, wanted: &Reference) -> Result<Described, PullError> {
        let mut sources = self.sources(None, wanted);
        loop {
            let source = sources.next()?;
            match self.describe_at(&source).await {
                Ok(described) => return Ok(described),
                Err(error) => sources.failed(&source, error)?,
            }
        }
    }

    async fn describe_at(&self, source: &Source) -> Result<Described, RegistryError> {
        let (found, digest) = self.manifest(source).await?;
        let Found::Image(manifest) = found else {
            return Err(RegistryError::Malformed("it is a list of images".to_owned()));
        };
        let config = self.config(source, &manifest.config).await?;
        let bytes = manifest.layers.iter().map(|layer| layer.size).fold(0, u64::saturating_add);
        Ok(Described { digest, architecture: config.architecture, labels: config.settings.labels, bytes })
    }

    /// Begins an upload, and gives it up.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`].
    pub async fn try_upload(&self, repository: &Repository) -> Result<(), RegistryError> {
        let clients = &self.0.clients;
        clients.addresses.allow(host(&repository.registry));
        let name = Reference { repository: repository.clone(), tag: None, digest: None };
        let own = |source: &Source| source.insecure && source.reference.repository == *repository;
        let insecure = clients.mirrors.sources(&name).iter().any(own);
        let client = if insecure { &clients.unchecked } else { &clients.checked };
        let plain = insecure && self.is_plain(client, &repository.registry).await;
        let scheme = if plain { "http" } else { "https" };
        let url = format!("{scheme}://{}/v2/{}/blobs/uploads/", repository.registry, repository.name);
        let mut credentials: Option<HeaderValue> = None;
        loop {
            let mut request = client.post(&url).header(CONTENT_LENGTH, 0);
            if let Some(credentials) = &credentials {
                request = request.header(AUTHORIZATION, credentials.clone());
            }
            let answer = request.send().await.map_err(|error| transport::failure(&error))?;
            match answer.status() {
                StatusCode::ACCEPTED => {
                    give_up(client, &answer, credentials).await;
                    return Ok(());
                }
                StatusCode::UNAUTHORIZED => {
                    let entry = self.0.pull_secret.find(repository);
                    let refused = || RegistryError::Credentials(entry.map(|(name, _)| name.to_owned()));
                    if credentials.is_some() {
                        return Err(refused());
                    }
                    let challenge = Challenge::read(answer.headers()).ok_or_else(refused)?;
                    let user = entry.map(|(_, user)| user);
                    let header =
                        challenge.answer(client, &clients.addresses, repository, user, insecure).await?;
                    credentials = Some(header.ok_or_else(refused)?);
                }
                // A registry that takes nothing from anybody.
                StatusCode::METHOD_NOT_ALLOWED => return Err(RegistryError::Forbidden),
                _ => return Err(transport::refusal(&answer)),
            }
        }
    }
}

/// An upload that nobody gives up ends by itself, after a week or so.
async fn give_up(client: &reqwest::Client, answer: &Response, credentials: Option<HeaderValue>) {
    let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
    let Some(url) = place.and_then(|place| answer.url().join(place).ok()) else { return };
    // The credentials are for this server alone.
    if url.host_str() != answer.url().host_str() || url.scheme() != answer.url().scheme() {
        return;
    }
    let mut request = client.delete(url);
    if let Some(credentials) = credentials {
        request = request.header(AUTHORIZATION, credentials);
    }
    if let Err(error) = request.send().await {
        tracing::debug!(error = transport::cause(&error), "an upload stays open");
    }
}
