//! What a request shows, and where it travels (service-api §14.1).

use assisted_wire::operation::{Location, Scheme};
use assisted_wire::secret::Secret;
use http::HeaderMap;
use http::header::COOKIE;

use crate::error::ApiError;

/// The cookie that holds a session's token.
pub(crate) const COOKIE_NAME: &str = "assisted_session";

/// A credential for one scheme.
pub(crate) enum Credential {
    /// As it stands in its header or in the query.
    Plain(Secret),
    /// Of a session, from a cookie.
    Session(Secret),
}

impl Credential {
    /// The one that a request has for a scheme.
    pub(crate) fn of(scheme: Scheme, query: Option<&str>, headers: &HeaderMap) -> Option<Self> {
        let (location, name) = scheme.carrier();
        let plain = match location {
            Location::Header => headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned),
            _ => form_urlencoded::parse(query?.as_bytes())
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.into_owned()),
        };
        let plain = plain.filter(|text| !text.is_empty()).map(|text| Self::Plain(text.into()));
        match scheme {
            Scheme::User => plain.or_else(|| session_cookie(headers).map(Self::Session)),
            _ => plain,
        }
    }

    /// The text as it was sent.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Session(text) => text.expose(),
        }
    }

    /// A person's token: two words, of which the first is `Bearer` in any spelling.
    pub(crate) fn bearer(&self) -> Result<&str, ApiError> {
        let Self::Plain(text) = self else { return Ok(self.text()) };
        match text.expose().split(' ').collect::<Vec<_>>().as_slice() {
            [scheme, token] if scheme.eq_ignore_ascii_case("bearer") => Ok(token),
            _ => Err(ApiError::framework(401, "Authorization header format must be Bearer {token}")),
        }
    }
}

/// The session's token in a cookie.
pub(crate) fn session_cookie(headers: &HeaderMap) -> Option<Secret> {
    cookie(headers, COOKIE_NAME)
}

/// A cookie that is not empty.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<Secret> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value.into())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_person_has_a_header_or_a_cookie() {
        let token = |pairs: &[_]| {
            let credential = Credential::of(Scheme::User, None, &headers(pairs))?;
            Some(credential.bearer().map(str::to_owned).map_err(|error| error.to_string()))
        };
        assert_eq!(token(&[]), None);
        assert_eq!(token(&[("authorization", "bEARER x")]), Some(Ok("x".to_owned())));
        for text in ["x", "Bearer", "Bearer x y", "Basic x", "Bearer  x"] {
            assert!(token(&[("authorization", text)]).unwrap().is_err(), "{text}");
        }
        let cookie = ("cookie", "a=b; assisted_session=s; c");
        assert_eq!(token(&[cookie]), Some(Ok("s".to_owned())));
        assert_eq!(token(&[cookie, ("authorization", "Bearer x")]), Some(Ok("x".to_owned())));
        assert_eq!(token(&[("cookie", "xassisted_session=s; assisted_session=")]), None);
        assert!(Credential::of(Scheme::Agent, None, &headers(&[cookie])).is_none());
    }
}
