//! A registry that is written to: who writes, and each request that the OCI distribution specification has for it.

use std::io::Read;
use std::time::Duration;

use assisted_base::http::{Proxies, Trust, builder, read};
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_auth::parser::ChallengeParser;
use parking_lot::Mutex;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use url::Url;

use crate::{Blob, Manifest};

/// How much is sent at a time, in bytes.
const PIECE: usize = 8 << 20;
/// How long nothing may happen.
const SILENCE: Duration = Duration::from_secs(120);
/// How much of a refusal is told, and how long a token may be, in bytes.
const LONGEST: usize = 64 << 10;

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("the registry can't be reached")]
    Http(#[from] reqwest::Error),
    #[error("the image can't be read")]
    Read(#[from] std::io::Error),
    #[error("the registry refuses with status {status}: {answer}")]
    Refused { status: u16, answer: String },
    #[error("the registry answers what it may not: {0}")]
    Malformed(&'static str),
}

/// Who writes.
#[derive(Clone, Debug)]
pub struct Login {
    pub user: String,
    pub password: Secret,
}

/// A registry that images are pushed to.
#[derive(Debug)]
pub struct Registry {
    client: Client,
    /// `SCHEME://HOST[:PORT]`
    base: String,
    name: String,
    login: Option<Login>,
    /// What the last request for a repository was let in by, and which repository.
    authorization: Mutex<Option<(String, HeaderValue)>>,
}

impl Registry {
    /// A registry, by its host and port, that is reached by TLS.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn new(name: &str, login: Option<Login>, trust: Trust) -> Result<Self, PushError> {
        Self::at(&format!("https://{name}"), name, login, trust)
    }

    /// A registry that takes images over plain HTTP from anyone.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn plain(name: &str) -> Result<Self, PushError> {
        Self::at(&format!("http://{name}"), name, None, Trust::Any)
    }

    /// The same, with a name and a password, which travel as they are.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn plain_with(name: &str, login: Option<Login>) -> Result<Self, PushError> {
        Self::at(&format!("http://{name}"), name, login, Trust::Any)
    }

    fn at(base: &str, name: &str, login: Option<Login>, trust: Trust) -> Result<Self, PushError> {
        let agent = concat!("assisted/", env!("CARGO_PKG_VERSION"));
        let client = builder(agent, trust, &Proxies::FromEnvironment)?.read_timeout(SILENCE).build()?;
        let (base, name) = (base.to_owned(), name.to_owned());
        Ok(Self { client, base, name, login, authorization: Mutex::default() })
    }

    fn url(&self, repository: &str, path: &str) -> String {
        format!("{}/v2/{repository}/{path}", self.base)
    }

    /// Sends a request, and once more with what the registry asks for.
    async fn send(&self, repository: &str, request: RequestBuilder) -> Result<Response, PushError> {
        let again = request.try_clone().ok_or(PushError::Malformed("a request can't be repeated"))?;
        let known = self.authorization.lock().clone().filter(|(of, _)| of == repository);
        let request = match known {
            Some((_, value)) => request.header(AUTHORIZATION, value),
            None => request,
        };
        let answer = request.send().await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let Some(value) = self.answer(repository, &answer).await? else { return Ok(answer) };
        *self.authorization.lock() = Some((repository.to_owned(), value.clone()));
        Ok(again.header(AUTHORIZATION, value).send().await?)
    }

    /// What a registry asks for that refuses; nothing when it asks for what there is none of.
    async fn answer(&self, repository: &str, refusal: &Response) -> Result<Option<HeaderValue>, PushError> {
        let asked =
            refusal.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        for challenge in asked.flat_map(|text| ChallengeParser::new(text).map_while(Result::ok)) {
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                return self.login.as_ref().map(basic).transpose();
            }
            if !challenge.scheme.eq_ignore_ascii_case("bearer") {
                continue;
            }
            let of = |name: &str| {
                let found = challenge.params.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            let realm = of("realm").and_then(|realm| Url::parse(&realm).ok());
            let mut realm = realm.ok_or(PushError::Malformed("tokens have no issuer"))?;
            if realm.scheme() != "https" && self.base.starts_with("https:") {
                return Err(PushError::Malformed("the issuer of tokens has no https address"));
            }
            let scope = format!("repository:{repository}:pull,push");
            realm.query_pairs_mut().append_pair("scope", &scope);
            if let Some(service) = of("service") {
                realm.query_pairs_mut().append_pair("service", &service);
            }
            let mut request = self.client.get(realm);
            if let Some(login) = &self.login {
                request = request.header(AUTHORIZATION, basic(login)?);
            }
            return token(done(request.send().await?).await?).await.map(Some);
        }
        Ok(None)
    }

    /// Pushes a part, unless it is there.
    pub(crate) async fn blob(&self, repository: &str, blob: &Blob) -> Result<(), PushError> {
        let there =
            self.client.request(Method::HEAD, self.url(repository, &format!("blobs/{}", blob.digest)));
        if self.send(repository, there).await?.status().is_success() {
            return Ok(());
        }
        let begin = self.client.post(self.url(repository, "blobs/uploads/"));
        let mut place = location(&done(self.send(repository, begin).await?).await?)?;
        let mut content = blob.read()?;
        let mut left = blob.size;
        while left > 0 {
            let length = PIECE.min(usize::try_from(left).unwrap_or(PIECE));
            let mut piece = vec![0; length];
            content.read_exact(&mut piece)?;
            let start = blob.size - left;
            left -= length as u64;
            let range = format!("{start}-{}", blob.size - left - 1);
            let request = self.client.patch(place).header("content-range", range);
            let request = request.header(CONTENT_TYPE, "application/octet-stream").body(Bytes::from(piece));
            place = location(&done(self.send(repository, request).await?).await?)?;
        }
        place.query_pairs_mut().append_pair("digest", &blob.digest);
        done(self.send(repository, self.client.put(place)).await?).await?;
        Ok(())
    }

    /// Pushes a manifest under a tag, or under its digest; gives its name by digest.
    pub(crate) async fn manifest(
        &self,
        repository: &str,
        manifest: &Manifest,
        tag: Option<&str>,
    ) -> Result<String, PushError> {
        let url = self.url(repository, &format!("manifests/{}", tag.unwrap_or(&manifest.digest)));
        let body = Bytes::from(manifest.text.clone());
        let request = self.client.put(url).header(CONTENT_TYPE, manifest.media_type).body(body);
        done(self.send(repository, request).await?).await?;
        Ok(format!("{}/{repository}@{}", self.name, manifest.digest))
    }
}

#[derive(Deserialize)]
struct Issued {
    #[serde(default)]
    token: Secret,
    #[serde(default)]
    access_token: Secret,
}

async fn token(mut answer: Response) -> Result<HeaderValue, PushError> {
    const WRONG: PushError = PushError::Malformed("the issuer of tokens gives none");
    let text = read(&mut answer, LONGEST).await.map_err(|_| WRONG)?;
    let issued: Issued = serde_json::from_slice(&text).map_err(|_| WRONG)?;
    let token = if issued.token.is_empty() { issued.access_token } else { issued.token };
    header(&format!("Bearer {}", token.expose()))
}

fn basic(login: &Login) -> Result<HeaderValue, PushError> {
    let pair = format!("{}:{}", login.user, login.password.expose());
    header(&format!("Basic {}", STANDARD.encode(pair)))
}

fn header(text: &str) -> Result<HeaderValue, PushError> {
    let mut header = HeaderValue::from_str(text).map_err(|_| PushError::Malformed("a token is no text"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Where an upload goes on: some registries tell a path alone.
fn location(answer: &Response) -> Result<Url, PushError> {
    let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
    let place = place.and_then(|place| answer.url().join(place).ok());
    place.ok_or(PushError::Malformed("an upload has no place"))
}

async fn done(mut answer: Response) -> Result<Response, PushError> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status().as_u16();
    let text = read(&mut answer, LONGEST).await.unwrap_or_default();
    Err(PushError::Refused { status, answer: String::from_utf8_lossy(&text).trim().to_owned() })
}
