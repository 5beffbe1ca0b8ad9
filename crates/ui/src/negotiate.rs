//! What a client takes: encodings, and whether it has the file already.

use assisted_base::html;
use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, IF_NONE_MATCH};

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// The name in `Content-Encoding`; nothing for a body as it is.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// Whether a client takes an encoding. Weights beside zero make no difference: the smallest form is the best for everybody.
pub(crate) fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    members(headers, &ACCEPT_ENCODING).any(|member| {
        let (name, weight) = member.split_once(';').unwrap_or((member, ""));
        let refused = weight.trim().trim_start_matches("q=").parse() == Ok(0.0_f32);
        !refused && (name.trim().eq_ignore_ascii_case(encoding) || name.trim() == "*")
    })
}

/// Whether a browser opens a page: scripts and programs do not ask for HTML.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    html::is_wanted(values(headers, &ACCEPT))
}

/// Whether the client has the form with this entity tag, which is compared weakly (RFC 9110 §13.1.2).
pub(crate) fn has(headers: &HeaderMap, tag: &str) -> bool {
    members(headers, &IF_NONE_MATCH).any(|member| member == "*" || member.trim_start_matches("W/") == tag)
}

/// The members of a header's lists.
fn members<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    values(headers, name).flat_map(|value| value.split(',')).map(str::trim)
}

fn values<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn encodings() {
        let takes = |value| {
            let headers = headers(ACCEPT_ENCODING, value);
            (takes(&headers, "br"), takes(&headers, "gzip"))
        };
        assert_eq!(takes("gzip, deflate, br, zstd"), (true, true));
        assert_eq!(takes("gzip;q=1.0, br;q=0"), (false, true));
        assert_eq!(takes("*"), (true, true));
        assert_eq!(takes("BR"), (true, false));
        assert_eq!(takes("identity"), (false, false));
        assert!(!super::takes(&HeaderMap::new(), "br"));
    }

    #[test]
    fn pages_and_tags() {
        assert!(wants_page(&headers(ACCEPT, "text/html,*/*;q=0.8")) && !wants_page(&headers(ACCEPT, "*/*")));
        let has = |value| has(&headers(IF_NONE_MATCH, value), "\"a-br\"");
        assert!(has("\"a-br\"") && has("W/\"a-br\"") && has("\"x\", \"a-br\"") && has("*"));
        assert!(!has("\"a-gzip\"") && !has("a-br"));
    }
}
