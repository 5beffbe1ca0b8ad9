//! Which web pages may call from another origin (service-api §17.1).

use assisted_config::Origins;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::response::{Answer, empty_answer};

const METHODS: HeaderValue = HeaderValue::from_static("DELETE, GET, PATCH, POST, PUT, HEAD, OPTIONS");
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Severity-Count-Info, Severity-Count-Warning, Severity-Count-Error, Severity-Count-Critical, Event-Count",
);
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Severity-Count-Info, Severity-Count-Warning, Severity-Count-Error, Severity-Count-Critical, Event-Count",
);
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origins that are let in.
#[derive(Debug, Default)]
pub(crate) struct Cors(pub(crate) Origins);

impl Cors {
    /// The origin of a request, if it is let in.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.0.admit(origin.to_str().ok()?).then(|| origin.clone())
    }

    /// Answers the question of a browser before the request itself.
    pub(crate) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Answer> {
        if method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        self.origin(headers)?;
        let mut answer = empty_answer(StatusCode::NO_CONTENT);
        let out = answer.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        out.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
        out.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        Some(answer)
    }
}

/// Tells the browser that the page may read the answer.
pub(crate) fn let_in(answer: &mut Answer, origin: HeaderValue) {
    let out = answer.headers_mut();
    out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    out.append(VARY, HeaderValue::from_static("Origin"));
}
