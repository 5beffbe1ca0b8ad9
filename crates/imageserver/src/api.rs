//! What an image is made of, asked from the API service with the credential of whoever wants the image (image-service §1.5).

use std::path::PathBuf;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{BodyError, Proxies, Trust, TrustError, authorities_of_file, builder, read};
use bytes::Bytes;
use http::header::LAST_MODIFIED;
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use url::Url;
use uuid::Uuid;

use crate::credential::Credential;

const IMAGE_TOKEN: HeaderName = HeaderName::from_static("image-token");

/// Bytes of an answer at most: an Ignition config with a trust bundle takes a few hundred kilobytes.
const LONGEST: usize = 32 << 20;

/// Bytes of a refusal at most; a longer one is passed on without its text.
const LONGEST_REFUSAL: usize = 16 << 10;

/// For a whole answer: static networks of many hosts take some services a minute to write.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why the API service can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("the address of the API service can't be used: {0}")]
    Address(#[from] url::ParseError),
    #[error("can't set up HTTP for the API service")]
    Http(#[source] reqwest::Error),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// What the API service said instead of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorAnswer {
    /// The status to answer with.
    pub status: StatusCode,
    /// The reason, for the log and for answers that have a text; without addresses and credentials.
    pub reason: String,
    /// The API service's own sentence about it, if it gave one.
    pub said: Option<String>,
}

/// The body of a refusal: `reason` where the API's handlers refuse, `message` where its authorisation does (service-api §1.3).
#[derive(Default, Deserialize)]
struct ErrorBody {
    reason: Option<String>,
    message: Option<String>,
}

/// An Ignition config.
#[derive(Clone, Debug)]
pub(crate) struct Ignition {
    pub config: Bytes,
    /// When the infra-env changed last, as the API service reported it.
    pub modified: Option<HeaderValue>,
}

/// The API service.
#[derive(Clone, Debug)]
pub struct ApiService {
    http: Client,
    base: Url,
}

/// How the API service is reached.
#[derive(Clone, Debug)]
pub struct ApiAddress {
    /// `http` or `https`.
    pub scheme: String,
    /// Name or address, with a port when it is not that of the scheme.
    pub host: String,
    /// File with certificates (PEM) that are trusted instead of the system's; proxies then count for nothing.
    pub ca_file: Option<PathBuf>,
    /// Whether `HTTP_PROXY` and its kin count.
    pub proxies: bool,
}

#[derive(Deserialize)]
struct InfraEnv {
    kernel_arguments: Option<String>,
}

#[derive(Deserialize)]
struct KernelArgument {
    #[serde(default)]
    operation: String,
    #[serde(default)]
    value: String,
}

impl ApiService {
    /// Sets up the connection; nothing is sent.
    ///
    /// # Errors
    ///
    /// When the address is none, or TLS can't be set up.
    pub fn new(address: &ApiAddress) -> Result<Self, ApiError> {
        let base = format!("{}://{}/api/assisted-install/v2/infra-envs/", address.scheme, address.host);
        let base = Url::parse(&base)?;
        let trust = match &address.ca_file {
            Some(path) => Trust::Only(authorities_of_file(path)?),
            // Without TLS there is nobody to trust, and the system's certificates take a while to read.
            None if address.scheme == "http" => Trust::Only(Vec::new()),
            None => Trust::System,
        };
        let proxies = match address.proxies && address.ca_file.is_none() {
            true => Proxies::FromEnvironment,
            false => Proxies::None,
        };
        let http =
            builder(crate::USER_AGENT, trust, &proxies).and_then(|http| http.timeout(PATIENCE).build());
        Ok(Self { http: http.map_err(ApiError::Http)?, base })
    }

    /// The Ignition config of an infra-env; `kind` is the type of image it is for, else the infra-env's own.
    pub async fn ignition(
        &self,
        id: Uuid,
        kind: Option<&str>,
        credential: &Credential,
    ) -> Result<Ignition, ErrorAnswer> {
        let mut query = vec![("file_name", "discovery.ign")];
        query.extend(kind.map(|kind| ("discovery_iso_type", kind)));
        let response = self.get(id, "/downloads/files", &query, credential).await?;
        let response = expect(response, |status| status == StatusCode::OK).await?;
        let modified = response.headers().get(LAST_MODIFIED).cloned();
        Ok(Ignition { config: body(response).await?, modified })
    }

    /// What is unpacked into the initramfs beside the Ignition config; none when there is nothing.
    pub async fn ramdisk(&self, id: Uuid, credential: &Credential) -> Result<Option<Bytes>, ErrorAnswer> {
        let response = self.get(id, "/downloads/minimal-initrd", &[], credential).await?;
        let response = expect(response, |status| status.is_success()).await?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        body(response).await.map(Some)
    }

    /// The kernel arguments that are appended; none when nothing is said about them, which an empty list is not.
    pub async fn kernel_arguments(
        &self,
        id: Uuid,
        credential: &Credential,
    ) -> Result<Option<Vec<String>>, ErrorAnswer> {
        let response = self.get(id, "", &[], credential).await?;
        let response = expect(response, |status| status == StatusCode::OK).await?;
        let infra_env: InfraEnv = serde_json::from_slice(&body(response).await?)
            .map_err(|error| internal_error(format!("the infra-env can't be read: {error}")))?;
        infra_env.kernel_arguments.as_deref().map(appended).transpose()
    }

    async fn get(
        &self,
        id: Uuid,
        path: &str,
        query: &[(&str, &str)],
        credential: &Credential,
    ) -> Result<Response, ErrorAnswer> {
        let url =
            self.base.join(&format!("{id}{path}")).map_err(|error| internal_error(error.to_string()))?;
        let mut request = self.http.get(url);
        if !query.is_empty() {
            request = request.query(query);
        }
        let sent = authorise(request, credential).send().await;
        // Its address may hold a key.
        sent.map_err(|error| internal_error(chain(&error.without_url())))
    }
}

fn authorise(request: RequestBuilder, credential: &Credential) -> RequestBuilder {
    match credential {
        Credential::None => request,
        Credential::ApiKey(key) => request.query(&[("api_key", key.expose())]),
        Credential::ImageToken(token) => request.header(IMAGE_TOKEN, token.expose()),
        Credential::Authorization(value) => request.header(http::header::AUTHORIZATION, value),
    }
}

fn internal_error(reason: String) -> ErrorAnswer {
    ErrorAnswer { status: StatusCode::INTERNAL_SERVER_ERROR, reason, said: None }
}

async fn expect(mut response: Response, good: fn(StatusCode) -> bool) -> Result<Response, ErrorAnswer> {
    let status = response.status();
    if good(status) {
        return Ok(response);
    }
    let body = read(&mut response, LONGEST_REFUSAL).await.unwrap_or_default();
    let ErrorBody { reason, message } = serde_json::from_slice(&body).unwrap_or_default();
    let said = reason.or(message).filter(|said| !said.is_empty());
    // A redirect or an empty success would say something else to the client than it says here.
    let is_error = status.is_client_error() || status.is_server_error();
    Err(ErrorAnswer {
        status: if is_error { status } else { StatusCode::INTERNAL_SERVER_ERROR },
        reason: match &said {
            Some(said) => format!("the API service answered {status}: {said}"),
            None => format!("the API service answered {status}"),
        },
        said,
    })
}

async fn body(mut response: Response) -> Result<Bytes, ErrorAnswer> {
    match read(&mut response, LONGEST).await {
        Ok(body) => Ok(body.into()),
        Err(BodyError::TooLong(longest)) => {
            Err(internal_error(format!("an answer is longer than {longest} bytes")))
        }
        Err(BodyError::Broken(error)) => Err(internal_error(chain(&error.without_url()))),
    }
}

fn appended(json: &str) -> Result<Vec<String>, ErrorAnswer> {
    let arguments: Vec<KernelArgument> = serde_json::from_str(json)
        .map_err(|error| internal_error(format!("the kernel arguments can't be read: {error}")))?;
    let value = |argument: KernelArgument| match argument.operation.as_str() {
        "append" => Ok(argument.value),
        other => Err(internal_error(format!("only 'append' operation is allowed.  got {other}"))),
    };
    arguments.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_arguments_are_a_list_inside_a_text() {
        let list = r#"[{"operation":"append","value":"p1"},{"operation":"append","value":"p2=\"a b\""}]"#;
        assert_eq!(appended(list).unwrap(), ["p1", "p2=\"a b\""]);
        assert!(appended("[]").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_list_of_arguments_to_append_is_refused() {
        for (text, part) in [
            ("", "can't be read"),
            ("{}", "can't be read"),
            ("null", "can't be read"),
            (r#"[{"operation":"delete","value":"a"}]"#, "got delete"),
            (r#"[{"value":"a"}]"#, "only 'append'"),
        ] {
            let refused = appended(text).unwrap_err();
            assert_eq!(refused.status, 500);
            assert!(refused.reason.contains(part), "{text}: {}", refused.reason);
        }
    }
}
