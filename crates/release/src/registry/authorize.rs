//! Credentials in the form that a registry asks for: a token that it names the issuer of, or user and password.

use assisted_base::http::Addresses;
use assisted_wire::secret::Secret;
use http::HeaderValue;
use http::header::{HeaderMap, WWW_AUTHENTICATE};
use http_auth::parser::ChallengeParser;
use reqwest::Client;
use serde::Deserialize;
use url::Url;

use super::body;
use super::transport::{failure, refusal};
use crate::error::RegistryError;
use crate::pull_secret::Credentials;
use crate::reference::Repository;

/// Longest answer of an issuer of tokens that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: Url, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Reads what the refusal of a request asks for; `None` when it is nothing that is known here.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut basic = None;
        for text in headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()) {
            for challenge in ChallengeParser::new(text).map_while(Result::ok) {
                if challenge.scheme.eq_ignore_ascii_case("basic") {
                    basic = Some(Self::Basic);
                }
                if !challenge.scheme.eq_ignore_ascii_case("bearer") {
                    continue;
                }
                let of = |name: &str| {
                    let found = challenge.params.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
                    found.map(|(_, value)| value.to_unescaped())
                };
                if let Some(realm) = of("realm").and_then(|realm| Url::parse(&realm).ok()) {
                    return Some(Self::Bearer { realm, service: of("service"), scope: of("scope") });
                }
            }
        }
        basic
    }

    /// The header that answers it; `None` when it takes credentials that there are none of. `insecure` allows credentials
    /// to travel in the open, as the registry's user does.
    pub(super) async fn answer(
        self,
        client: &Client,
        addresses: &Addresses,
        repository: &Repository,
        credentials: Option<&Credentials>,
        insecure: bool,
    ) -> Result<Option<HeaderValue>, RegistryError> {
        match self {
            Self::Basic => credentials.map(basic).transpose(),
            Self::Bearer { mut realm, service, scope } => {
                let open = realm.scheme() == "http" && insecure;
                if realm.scheme() != "https" && !open {
                    return Err(RegistryError::Malformed(
                        "the issuer of its tokens has no https address".to_owned(),
                    ));
                }
                if !addresses.allows(&realm) {
                    return Err(RegistryError::Malformed(format!(
                        "the issuer of its tokens is named with the address {}, which is of this machine or its link",
                        realm.host_str().unwrap_or_default()
                    )));
                }
                let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", repository.name));
                {
                    let mut query = realm.query_pairs_mut();
                    if let Some(service) = &service {
                        query.append_pair("service", service);
                    }
                    query.append_pair("scope", &scope);
                }
                let mut request = client.get(realm);
                if let Some(credentials) = credentials {
                    request = request.header(http::header::AUTHORIZATION, basic(credentials)?);
                }
                let answer = request.send().await.map_err(|error| failure(&error))?;
                match answer.status().as_u16() {
                    200 => bearer(&body(answer, "the token", LONGEST).await?).map(Some),
                    401 | 403 => Ok(None),
                    _ => Err(refusal(&answer)),
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Issued {
    #[serde(default)]
    token: Secret,
    #[serde(default)]
    access_token: Secret,
}

pub(crate) fn bearer(text: &[u8]) -> Result<HeaderValue, RegistryError> {
    let issued: Issued = serde_json::from_slice(text)
        .map_err(|_| RegistryError::Malformed("the issuer of its tokens answers no JSON".to_owned()))?;
    let token = if issued.token.is_empty() { issued.access_token } else { issued.token };
    header(&format!("Bearer {}", token.expose()))
}

fn basic(credentials: &Credentials) -> Result<HeaderValue, RegistryError> {
    use base64::Engine;
    let pair = format!("{}:{}", credentials.user, credentials.password.expose());
    header(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)))
}

fn header(text: &str) -> Result<HeaderValue, RegistryError> {
    let mut header = HeaderValue::from_str(text)
        .map_err(|_| RegistryError::Malformed("the issuer of its tokens answers no token".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        }
        Challenge::read(&headers)
    }

    #[test]
    fn what_registries_ask_for() {
        let realm: Url = "https://auth.example.com/token?a=b".parse().unwrap();
        let bearer = |service: Option<&str>, scope: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.clone(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        let whole =
            r#"Bearer realm="https://auth.example.com/token?a=b",service="r",scope="repository:a/b:pull""#;
        assert_eq!(read(&[whole]), bearer(Some("r"), Some("repository:a/b:pull")));
        assert_eq!(read(&[r#"bearer REALM="https://auth.example.com/token?a=b""#]), bearer(None, None));
        assert_eq!(read(&["Basic realm=x", whole]), bearer(Some("r"), Some("repository:a/b:pull")));
        assert_eq!(read(&["Basic realm=\"a, b\""]), Some(Challenge::Basic));
        for other in ["Negotiate", "Bearer", "Bearer realm=nowhere", "\"", ""] {
            assert_eq!(read(&[other]), None, "{other}");
        }
    }

    #[test]
    fn both_names_of_a_token() {
        for text in [
            r#"{"token":"t"}"#,
            r#"{"access_token":"t","expires_in":60}"#,
            r#"{"token":"t","access_token":"u"}"#,
        ] {
            assert_eq!(bearer(text.as_bytes()).unwrap(), "Bearer t", "{text}");
        }
        assert!(bearer(b"<html>").is_err() && bearer(br#"{"token":"a\nb"}"#).is_err());
    }
}
