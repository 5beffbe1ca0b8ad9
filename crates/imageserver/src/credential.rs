//! The credential of a request, as it is handed on to the API service (image-service §1.10).

use assisted_wire::secret::Secret;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use crate::http::{Head, query};

/// At most one is handed on.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    None,
    /// Query parameter `api_key`.
    ApiKey(Secret),
    /// Header `Image-Token`.
    ImageToken(Secret),
    /// Header `Authorization`.
    Authorization(HeaderValue),
}

impl Credential {
    /// That of a request whose path has none.
    pub fn of(head: &Head) -> Self {
        if let Some(key) = query::value(&head.uri, "api_key") {
            return Self::ApiKey(key.into());
        }
        Self::below_key(head)
    }

    /// That of a request with a token in its path, which comes after a key in its query.
    pub fn with_token(head: &Head, token: &str) -> Self {
        match query::value(&head.uri, "api_key") {
            Some(key) => Self::ApiKey(key.into()),
            None => Self::ImageToken(token.into()),
        }
    }

    fn below_key(head: &Head) -> Self {
        if let Some(token) = query::value(&head.uri, "image_token") {
            return Self::ImageToken(token.into());
        }
        match head.headers.get(AUTHORIZATION) {
            Some(value) if !value.is_empty() => {
                let mut value = value.clone();
                value.set_sensitive(true);
                Self::Authorization(value)
            }
            _ => Self::None,
        }
    }

    /// A hash that differs between credentials and does not show them.
    pub fn digest(&self) -> [u8; 32] {
        let (kind, value) = match self {
            Self::None => (0, [].as_slice()),
            Self::ApiKey(key) => (1, key.expose().as_bytes()),
            Self::ImageToken(token) => (2, token.expose().as_bytes()),
            Self::Authorization(value) => (3, value.as_bytes()),
        };
        Sha256::new().chain_update([kind]).chain_update(value).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::parse_for_tests as head;

    fn redacted(credential: &Credential) -> String {
        match credential {
            Credential::None => "none".to_owned(),
            Credential::ApiKey(key) => format!("key {}", key.expose()),
            Credential::ImageToken(token) => format!("token {}", token.expose()),
            Credential::Authorization(value) => format!("header {}", value.to_str().unwrap()),
        }
    }

    #[test]
    fn the_first_of_a_fixed_order_is_taken() {
        let of =
            |query: &str, headers: &str| redacted(&Credential::of(&head(&format!("/x{query}"), headers)));
        assert_eq!(of("", ""), "none");
        assert_eq!(of("?image_token=&api_key=", "Authorization: Bearer a\r\n"), "header Bearer a");
        assert_eq!(of("?image_token=t", "Authorization: Bearer a\r\n"), "token t");
        assert_eq!(of("?image_token=t&api_key=k", "Authorization: Bearer a\r\n"), "key k");
        let with = |query: &str| redacted(&Credential::with_token(&head(&format!("/x{query}"), ""), "p"));
        assert_eq!(with("?image_token=t"), "token p");
        assert_eq!(with("?api_key=k"), "key k");
    }

    #[test]
    fn a_digest_tells_kinds_and_values_apart_and_nothing_shows() {
        let key = Credential::ApiKey("secret".into());
        let token = Credential::ImageToken("secret".into());
        assert_ne!(key.digest(), token.digest());
        assert_ne!(key.digest(), Credential::ApiKey("secret2".into()).digest());
        assert_eq!(key.digest(), key.clone().digest());
        let header = Credential::of(&head("/", "Authorization: Bearer secret\r\n"));
        assert!(!format!("{key:?}{token:?}{header:?}").contains("secret"));
    }
}
