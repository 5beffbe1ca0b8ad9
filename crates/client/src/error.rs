//! What can go wrong with a request, told so that a person knows what to do next.

use std::fmt;
use std::io;
use std::time::Duration;

use assisted_base::error::{causes, chain, find};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// Longest text of a foreign answer that is kept for a message, in bytes.
const EXCERPT: usize = 512;

/// Longest name of a section, in bytes.
const LONGEST_NAME: usize = 64;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path parameter is missing, or is a value that would lead to another operation.
    #[error("{operation}: {parameter} is missing or can't be part of a path")]
    Argument { operation: &'static str, parameter: String },
    /// The body or a header can't be written.
    #[error("{operation}: can't write the request: {reason}")]
    Request { operation: &'static str, reason: String },
    /// No answer came.
    #[error("{operation}: no answer from {authority}: {cause}")]
    Unreachable { operation: &'static str, authority: String, failure: Failure, cause: String },
    /// The service, or something before it, said no.
    #[error(transparent)]
    Refused(Box<ErrorResponse>),
    /// The answer is longer than the client accepts.
    #[error("{operation}: the answer is longer than {limit} bytes")]
    TooLong { operation: &'static str, limit: usize },
    /// A success whose body is not what the contract says.
    #[error("{operation}: the answer is not what the contract says: {source}")]
    Malformed { operation: &'static str, source: serde_json::Error },
}

impl Error {
    /// HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// What the person at the keyboard can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::Refused(refusal) => return refusal.remedy(),
            Self::Unreachable { failure, .. } => match failure {
                Failure::Refused => "check the address and port, and that the service runs",
                Failure::Name => "check the host name, and the name servers of this machine",
                Failure::Certificate => {
                    "the server's certificate is not trusted: give its CA file, or check the host name and the clock"
                }
                Failure::Timeout => {
                    "check the network, the proxy and the load of the service, then try again"
                }
                Failure::Dropped => "the connection was cut while the request ran; try again",
                Failure::Other => return None,
            },
            Self::Malformed { .. } => {
                "check that the address is the service's, and that both sides have matching versions"
            }
            Self::TooLong { .. } => "ask for less: narrow the filter, or set a limit",
            Self::Argument { .. } | Self::Request { .. } => return None,
        })
    }

    /// Name of a section that tells what a refusal means, where the service has said one.
    pub fn section(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.section.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn unreachable(operation: &'static str, authority: &str, error: reqwest::Error) -> Self {
        // The query of an address may hold a token.
        let error = error.without_url();
        let failure = Failure::of(&error);
        Self::Unreachable { operation, authority: authority.to_owned(), failure, cause: chain(&error) }
    }
}

/// Kind of an absent answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody listens there.
    Refused,
    /// The host's name has no address.
    Name,
    /// TLS did not come about.
    Certificate,
    /// A time limit passed.
    Timeout,
    /// The connection broke after it stood.
    Dropped,
    Other,
}

impl Failure {
    fn of(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        if find::<rustls::Error>(error).is_some() {
            return Self::Certificate;
        }
        for cause in causes(error) {
            if let Some(cause) = cause.downcast_ref::<io::Error>() {
                match cause.kind() {
                    io::ErrorKind::ConnectionRefused => return Self::Refused,
                    io::ErrorKind::TimedOut => return Self::Timeout,
                    io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof => return Self::Dropped,
                    _ => {}
                }
            }
            if cause.to_string() == "dns error" {
                return Self::Name;
            }
        }
        if error.is_connect() { Self::Other } else { Self::Dropped }
    }
}

/// An answer that is no success.
#[derive(Clone, Debug)]
pub struct ErrorResponse {
    /// The operation's name in the contract.
    pub operation: &'static str,
    /// HTTP status.
    pub status: u16,
    pub body: ErrorBody,
    /// Stands in the service's log beside the cause.
    pub request_id: Uuid,
    /// Where a redirect points.
    pub location: Option<String>,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
    /// Section of the service's page about errors that tells what this one means (`assisted explain`).
    pub section: Option<String>,
}

/// The section that a header `Link` leads to: `</docs/errors#cluster-state>; rel="help"`. It is another's text, which is shown: no more
/// than a name is taken.
pub(crate) fn section(link: &str) -> Option<String> {
    let (address, relation) = link.strip_prefix('<')?.split_once('>')?;
    let (_, name) = address.split_once('#')?;
    let is_name = name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (relation.contains("rel=\"help\"") && is_name && !name.is_empty()).then(|| name.to_owned())
}

impl ErrorResponse {
    /// Whether the API itself gave this answer: the body has the shape that belongs to the status. A router's page or a
    /// proxy's text has not, and says nothing about the resource (agent-protocol §1.6).
    pub fn is_of_the_api(&self) -> bool {
        match self.body {
            ErrorBody::Error { .. } => !matches!(self.status, 401 | 403),
            ErrorBody::InfraError { .. } => matches!(self.status, 401 | 403),
            ErrorBody::Empty => true,
            ErrorBody::Foreign { .. } => false,
        }
    }

    fn remedy(&self) -> Option<&'static str> {
        Some(match self.status {
            300..=399 => "the service answers at another address: use that one",
            // What was refused is a name, a password or a code, as the message says.
            401 if self.section.as_deref() == Some("log-in") => return None,
            401 => "give a valid token: it is missing, wrong or expired",
            403 => "this token may not do that: use one of the owner, or with the role it needs",
            404 if !self.is_of_the_api() => "check the address: there is no such API there",
            404 => "check the id: it does not exist, was deleted, or belongs to someone else",
            413 => "the request is too large for the service",
            429 | 503 | 504 => "the service is busy or starting; try again in a minute",
            501 => "this service does not offer that operation",
            502 => "something before the service can't reach it: check that the service runs",
            500 => "look for the request id in the service's log",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.status)?;
        match &self.body {
            ErrorBody::Error { reason: text, .. }
            | ErrorBody::InfraError { message: text, .. }
            | ErrorBody::Foreign { excerpt: text }
                if !text.is_empty() =>
            {
                write!(f, ": {text}")?;
            }
            _ => {}
        }
        if let Some(location) = &self.location {
            write!(f, " (redirects to {location})")?;
        }
        if self.status >= 500 {
            write!(f, " (request id {})", self.request_id)?;
        }
        Ok(())
    }
}

impl std::error::Error for ErrorResponse {}

/// Body of a refusal, by its shape (service-api §1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorBody {
    /// A refusal by a handler.
    Error { code: String, id: i64, reason: String },
    /// A refusal before a handler ran.
    InfraError { code: i64, message: String },
    /// No body, and nothing that says it should have been something else than JSON.
    Empty,
    /// What the API does not write: a page, a plain text, JSON of another shape.
    Foreign { excerpt: String },
}

impl ErrorBody {
    /// Reads a body. `content_type` is the header's value, if there is one.
    pub(crate) fn read(content_type: Option<&str>, body: &[u8]) -> Self {
        let media_type = content_type.map(|value| value.split(';').next().unwrap_or_default().trim());
        let json = media_type.is_none_or(|kind| kind.eq_ignore_ascii_case("application/json"));
        if body.is_empty() && json {
            return Self::Empty;
        }
        let known = if json { serde_json::from_slice::<RawErrorBody>(body).ok() } else { None };
        known.and_then(RawErrorBody::body).unwrap_or_else(|| Self::Foreign { excerpt: excerpt(body) })
    }
}

/// Both shapes at once: `code` tells them apart.
#[derive(Deserialize)]
struct RawErrorBody {
    code: Value,
    #[serde(default)]
    id: Option<i64>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl RawErrorBody {
    fn body(self) -> Option<ErrorBody> {
        match self.code {
            Value::String(code) => Some(ErrorBody::Error {
                code,
                id: self.id.unwrap_or_default(),
                reason: self.reason.or(self.message).unwrap_or_default(),
            }),
            Value::Number(code) => {
                Some(ErrorBody::InfraError { code: code.as_i64()?, message: self.message.or(self.reason)? })
            }
            _ => None,
        }
    }
}

/// The beginning of a foreign text on one line, fit for a message.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    let words: Vec<_> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, content_type: Option<&str>, body: &str) -> ErrorResponse {
        ErrorResponse {
            operation: "v2RegisterHost",
            status,
            body: ErrorBody::read(content_type, body.as_bytes()),
            request_id: Uuid::nil(),
            location: None,
            retry_after: None,
            section: None,
        }
    }

    #[test]
    fn the_shape_tells_who_answers() {
        let json = Some("application/json; charset=utf-8");
        let error = r#"{"code":"404","href":"","id":404,"kind":"Error","reason":"gone","more":1}"#;
        let infra = r#"{"code":403,"message":"no"}"#;
        for (status, content_type, body, own) in [
            (404, json, error, true),
            (409, None, error, true),
            (403, json, infra, true),
            (401, json, "", true),
            (404, json, infra, false),
            (403, json, error, false),
            (404, json, "[]", false),
            (404, json, "not JSON", false),
            (404, Some("text/html"), "<html>no route</html>", false),
            (404, Some("text/plain"), "404 page not found", false),
            (404, Some("text/plain"), "", false),
            (409, Some("application/xml"), error, false),
        ] {
            assert_eq!(
                refusal(status, content_type, body).is_of_the_api(),
                own,
                "{status} {content_type:?} {body}"
            );
        }
    }

    #[test]
    fn a_section_is_a_name_and_nothing_else() {
        assert_eq!(section("</docs/errors#http-409>; rel=\"help\"").as_deref(), Some("http-409"));
        for other in [
            "",
            "</docs/errors>; rel=\"help\"",
            "</x#a>; rel=\"next\"",
            "</x#a b>; rel=\"help\"",
            "</x#>; rel=\"help\"",
        ] {
            assert_eq!(section(other), None, "{other}");
        }
    }

    #[test]
    fn messages_name_the_reason() {
        let body = r#"{"code":"404","href":"","id":404,"kind":"Error","reason":"gone"}"#;
        assert_eq!(refusal(404, None, body).to_string(), "v2RegisterHost: 404: gone");
        let page = refusal(502, Some("text/html"), "<h1>\n\u{1b}[31mBad  gateway</h1>");
        assert_eq!(
            page.to_string(),
            "v2RegisterHost: 502: <h1> [31mBad gateway</h1> (request id 00000000-0000-0000-0000-000000000000)"
        );
    }

    #[test]
    fn hostile_bodies_are_cut() {
        let deep = "[".repeat(1_000_000);
        let ErrorBody::Foreign { excerpt } = ErrorBody::read(None, deep.as_bytes()) else {
            panic!("foreign")
        };
        assert_eq!(excerpt.len(), EXCERPT);
    }
}
